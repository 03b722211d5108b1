#include "sim/rank_walk.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <utility>

#include "sim/flows.hpp"
#include "sim/walked_ranks.hpp"

namespace cmm::sim {
namespace {

std::vector<double> rates_of(const Network& network, const Symmetry& symmetry) {
  std::vector<double> rates;
  for (const int link : symmetry.first_link)
    rates.push_back(network.links()[link].bytes_per_second);
  return rates;
}

class Walk {
 public:
  Walk(const RankWork& work, const Network& network, const Symmetry& symmetry, bool record)
      : work_(work),
        symmetry_(symmetry),
        record_(record),
        flows_(rates_of(network, symmetry)),
        all_(make_walked_ranks(work, network, symmetry, flows_)),
        ranks_(static_cast<std::size_t>(all_.num_walked)),
        holdings_(all_.num_sends.size()),
        next_waiter_(all_.receives.size(), -1),
        streams_(all_.streams.size()),
        class_bytes_(symmetry.first_link.size()) {
    if (record) sending_.resize(all_.receives.size());
  }

  RankTimes run() {
    enter();
    for (double next; (next = next_event()) < std::numeric_limits<double>::infinity();) {
      std::vector<int> ended;
      flows_.move(now_, next, ended);
      now_ = next;
      for (const int receive : ended) leave(receive);
      while (!events_.empty() && events_.top().seconds == now_) {
        const Event event = events_.top();
        events_.pop();
        happen(event);
      }
      go_on();
    }
    return times();
  }

 private:
  enum class What { kAsk, kArrive, kMultiplied };
  struct Event {
    double seconds = 0;
    What what = What::kAsk;
    int number = 0;  // receive, or rank of kMultiplied
    bool operator>(const Event& other) const { return seconds > other.seconds; }
  };
  struct Holding {
    bool here = false;
    bool multiplied = false;
    int sends_left = 0;
    int brought_by = -1;    // receive; -1: the rank's own
    int first_waiter = -1;  // receive that waits for the chunk to be here; next_waiter_ goes on
  };
  struct Rank {
    int next = 0;             // receive to be asked for
    int under_way = 0;        // asked for and not yet sent
    int num_moving = 0;       // receives with bytes in flight
    int num_latent = 0;       // receives that wait for a latency alone
    int num_upstream = 0;     // receives that wait for their sender to have the chunk
    std::vector<int> came;    // receives, at this moment
    std::vector<int> chunks;  // in the order of arrival; multiplied up to `wave_begin`
    std::size_t wave_begin = 0, wave_end = 0;
    bool multiplies = false;
    double since_seconds = 0;  // of the present wave or cause of being idle
    double end_seconds = 0;
    double multiply_seconds = 0;
    double idle_seconds[kNumIdles] = {};
    bool is_due = false;
  };
  struct StreamState {
    int moving = -1;  // receive
    // Receives that may move; the first of the schedule goes first.
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    bool is_due = false;
  };

  const Receive& receive(int number) const { return all_.receives[number]; }
  Holding& holding(int rank, int chunk) { return holdings_[all_.holding(rank, chunk)]; }
  double next_event() {
    return std::min(flows_.settle(now_), events_.empty() ? std::numeric_limits<double>::infinity()
                                                         : events_.top().seconds);
  }
  bool is_done(const Rank& rank) const {
    return rank.wave_begin == static_cast<std::size_t>(all_.num_chunks);
  }

  void enter() {
    for (std::size_t i = 0; i < holdings_.size(); ++i) holdings_[i].sends_left = all_.num_sends[i];
    const int C = schedule::chunks_per_shard(work_.shape);
    for (int r = 0; r < all_.num_walked; ++r) {
      ranks_[r].chunks.reserve(all_.num_chunks);
      for (int chunk = r * C; chunk < (r + 1) * C; ++chunk) {
        holding(r, chunk).here = true;
        ranks_[r].chunks.push_back(chunk);
      }
      due(r);
    }
    for (int i = 0; i < static_cast<int>(all_.receives.size()); ++i)
      if (receive(i).in_place) ask(i);
    go_on();
  }

  // Before anything of a rank changes: it was idle for the reason that held until now.
  Rank& touch(int number) {
    Rank& rank = ranks_[number];
    if (!rank.multiplies && !is_done(rank) && now_ > rank.since_seconds) {
      const Idle idle = cause(rank);
      rank.idle_seconds[static_cast<int>(idle)] += now_ - rank.since_seconds;
      if (record_) result_.idles.push_back({number, idle, rank.since_seconds, now_});
    }
    if (!rank.multiplies) rank.since_seconds = now_;
    return rank;
  }
  static Idle cause(const Rank& rank) {
    if (rank.num_moving > 0) return Idle::kTransfer;
    if (rank.num_latent > 0) return Idle::kLatency;
    return rank.num_upstream > 0 ? Idle::kUpstream : Idle::kSlot;
  }

  void due(int rank) {
    if (!std::exchange(ranks_[rank].is_due, true)) due_ranks_.push_back(rank);
  }
  void due_stream(int stream) {
    if (!std::exchange(streams_[stream].is_due, true)) due_streams_.push_back(stream);
  }

  // All that follows from what has happened at this moment, in steps that all ranks do together:
  // so nothing depends on the order of events within a moment.
  void go_on() {
    while (!due_ranks_.empty() || !due_streams_.empty()) {
      const std::vector<int> ranks = std::exchange(due_ranks_, {});
      for (const int rank : ranks) ranks_[rank].is_due = false;
      for (const int rank : ranks) take_what_came(rank);
      for (const int rank : ranks) ask_for_more(rank);
      const std::vector<int> streams = std::exchange(due_streams_, {});
      for (const int stream : streams) streams_[stream].is_due = false;
      for (const int stream : streams) start(stream);
      for (const int rank : ranks) multiply(rank);
    }
  }

  void take_what_came(int number) {
    Rank& rank = ranks_[number];
    std::ranges::sort(rank.came);
    for (const int came : rank.came) rank.chunks.push_back(receive(came).transfer.chunk);
    rank.came.clear();
  }

  bool slot_is_free(const schedule::Transfer& t) {
    if (t.after == schedule::kNone) return true;
    const Holding& before = holding(t.to, t.after);
    return before.multiplied && before.sends_left == 0;
  }

  void ask_for_more(int number) {
    Rank& rank = touch(number);
    for (; rank.next < all_.receives_of_rank; ++rank.next) {
      const int next = number * all_.receives_of_rank + rank.next;
      const schedule::Transfer& t = receive(next).transfer;
      if (receive(next).in_place) continue;
      if (work_.max_in_flight > 0 && rank.under_way == work_.max_in_flight) break;
      if (!slot_is_free(t)) break;
      ++rank.under_way;
      // That a slot is free again must be told; the first use of each is known.
      const double latency = all_.streams[receive(next).stream].latency_seconds;
      if (t.after == schedule::kNone) {
        ask(next);
      } else {
        ++rank.num_latent;
        events_.push({now_ + latency, What::kAsk, next});
      }
    }
  }

  void ask(int number) {
    Holding& source = holdings_[receive(number).holder];
    if (source.here) return ready(number);
    ++touch(all_.rank_of(number)).num_upstream;
    next_waiter_[number] = std::exchange(source.first_waiter, number);
  }

  void ready(int number) {
    const int stream = receive(number).stream;
    if (receive(number).in_place) return set_off(number);  // looks do not hold each other up
    streams_[stream].ready.push(number);
    due_stream(stream);
  }

  void start(int number) {
    StreamState& stream = streams_[number];
    while (stream.moving < 0 && !stream.ready.empty()) {
      stream.moving = stream.ready.top();
      stream.ready.pop();
      set_off(stream.moving);
    }
  }

  void set_off(int number) {
    const Receive& what = receive(number);
    const int path = all_.streams[what.stream].path;
    const std::int64_t bytes = work_.partition->chunk(what.transfer.chunk).size() * work_.row_bytes;
    if (record_) sending_[number].first = now_;
    ++touch(all_.rank_of(number)).num_moving;
    if (path < 0 || bytes == 0) return leave(number);
    for (const Crossing& crossing : flows_.crossings(path))
      class_bytes_[crossing.link] += bytes * crossing.weight;
    flows_.start(number, path, static_cast<double>(bytes));
  }

  // The last byte has left the sender.
  void leave(int number) {
    const Receive& what = receive(number);
    const int to = all_.rank_of(number);
    if (record_) sending_[number].second = now_;
    Rank& rank = touch(to);
    --rank.num_moving;
    ++rank.num_latent;
    events_.push({now_ + all_.streams[what.stream].latency_seconds, What::kArrive, number});
    if (what.in_place) return;
    --rank.under_way;
    due(to);
    streams_[what.stream].moving = -1;
    due_stream(what.stream);
    sent(what.holder);
  }

  void sent(int number) {
    --holdings_[number].sends_left;
    due(number / all_.num_chunks);  // a slot may have become free there
  }

  void happen(const Event& event) {
    if (event.what == What::kMultiplied) return multiplied(event.number);
    const int to = all_.rank_of(event.number);
    --touch(to).num_latent;
    if (event.what == What::kAsk) return ask(event.number);
    const schedule::Transfer& t = receive(event.number).transfer;
    if (record_)
      result_.transfers.push_back({t, sending_[event.number].first, sending_[event.number].second,
                                   now_, receive(event.number).in_place});
    Holding& here = holding(to, t.chunk);
    here.here = true;
    here.brought_by = event.number;
    ranks_[to].came.push_back(event.number);
    due(to);
    for (int waiter = std::exchange(here.first_waiter, -1); waiter >= 0;
         waiter = next_waiter_[waiter]) {
      --touch(all_.rank_of(waiter)).num_upstream;
      ready(waiter);
    }
  }

  void multiply(int number) {
    Rank& rank = ranks_[number];
    const bool all_here = rank.chunks.size() == static_cast<std::size_t>(all_.num_chunks);
    if (rank.multiplies || rank.wave_begin == rank.chunks.size()) return;
    if (work_.gathers_first && !all_here) return;
    std::int64_t rows = 0;
    for (rank.wave_end = rank.wave_begin; rank.wave_end < rank.chunks.size(); ++rank.wave_end) {
      const std::int64_t more = work_.partition->chunk(rank.chunks[rank.wave_end]).size();
      const bool is_full = rank.wave_end > rank.wave_begin && rows + more > work_.wave_rows;
      if (is_full && !work_.gathers_first) break;
      rows += more;
    }
    touch(number);
    rank.multiplies = true;
    const double seconds = rows == 0 ? 0 : work_.multiply_seconds(rows, rank.multiply_seconds == 0);
    rank.multiply_seconds += seconds;
    events_.push({now_ + seconds, What::kMultiplied, number});
  }

  void multiplied(int number) {
    Rank& rank = ranks_[number];
    for (std::size_t i = rank.wave_begin; i < rank.wave_end; ++i) {
      Holding& chunk = holding(number, rank.chunks[i]);
      chunk.multiplied = true;
      // Rows that are read in place are needed until now, where they lie.
      if (chunk.brought_by >= 0 && receive(chunk.brought_by).in_place)
        sent(receive(chunk.brought_by).holder);
    }
    if (record_ && now_ > rank.since_seconds)
      result_.products.push_back(
          {number,
           {rank.chunks.begin() + static_cast<std::ptrdiff_t>(rank.wave_begin),
            rank.chunks.begin() + static_cast<std::ptrdiff_t>(rank.wave_end)},
           rank.since_seconds,
           now_});
    rank.wave_begin = rank.wave_end;
    rank.multiplies = false;
    rank.since_seconds = now_;
    if (is_done(rank)) rank.end_seconds = now_;
    due(number);
  }

  RankTimes times() {
    const auto last = std::ranges::max_element(ranks_, {}, &Rank::end_seconds);
    result_.seconds = last->end_seconds;
    result_.last_rank = static_cast<int>(last - ranks_.begin());
    result_.multiply_seconds = last->multiply_seconds;
    std::ranges::copy(last->idle_seconds, result_.idle_seconds);
    result_.num_walked = all_.num_walked;
    for (std::size_t i = 0; i < class_bytes_.size(); ++i)
      if (class_bytes_[i] > 0)
        result_.links.push_back(
            {symmetry_.first_link[i], symmetry_.links_in_class[i], class_bytes_[i]});
    return std::move(result_);
  }

  const RankWork& work_;
  const Symmetry& symmetry_;
  const bool record_;
  Flows flows_;
  const WalkedRanks all_;
  double now_ = 0;
  std::vector<Rank> ranks_;
  std::vector<Holding> holdings_;
  std::vector<int> next_waiter_;  // by receive
  std::vector<StreamState> streams_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<int> due_ranks_;
  std::vector<int> due_streams_;
  std::vector<std::int64_t> class_bytes_;
  // By receive, where recorded: when its first byte was sent, and when its last.
  std::vector<std::pair<double, double>> sending_;
  RankTimes result_;
};

}  // namespace

std::string_view idle_name(Idle idle) {
  switch (idle) {
    case Idle::kTransfer:
      return "transfer";
    case Idle::kLatency:
      return "latency";
    case Idle::kUpstream:
      return "upstream";
    case Idle::kSlot:
      return "slot";
  }
  return "unknown";
}

RankTimes walk_ranks(const RankWork& work, const Network& network, const Symmetry& symmetry,
                     bool record) {
  return Walk(work, network, symmetry, record).run();
}

}  // namespace cmm::sim
