#include "transport/mpi/hosts.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <sstream>

#include "base/text.hpp"
#include "transport/memory/heap_space.hpp"
#include "transport/mpi/exchange.hpp"
#include "transport/mpi/private_space.hpp"
#include "transport/shm/meeting.hpp"

namespace cmm::transport::mpi {
namespace {

std::string random_text() {
  std::random_device random;
  std::ostringstream text;
  text << std::hex;
  for (int i = 0; i < 4; ++i) text << random() << (i < 3 ? "-" : "");
  return text.str();
}

// What a rank tells the others: where it listens, what keeps it apart, and the token of a meeting
// that it leads.
struct Introduction {
  std::string socket;
  std::string token;
  std::uint64_t pid_namespace = 0;
  int apart = 0;

  std::string text() const { return cat(socket, ' ', token, ' ', pid_namespace, ' ', apart); }
  static Introduction of(const std::string& text) {
    Introduction result;
    std::istringstream(text) >> result.socket >> result.token >> result.pid_namespace >>
        result.apart;
    return result;
  }
};

bool can_connect(const std::string& socket) {
  try {
    shm::connect_to(socket, Deadline(std::chrono::milliseconds(0)));
    return true;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kOutOfMemory) throw;
    return false;
  }
}

// The lowest rank of this host. Everybody listens already.
int find_leader(const std::vector<Introduction>& all, int rank) {
  const Introduction& mine = all[static_cast<std::size_t>(rank)];
  for (int lower = 0; lower < rank; ++lower) {
    const Introduction& other = all[static_cast<std::size_t>(lower)];
    if (other.pid_namespace == mine.pid_namespace && other.apart == mine.apart &&
        can_connect(other.socket)) {
      return lower;
    }
  }
  return rank;
}

// One rank's step that the others must hear of when it fails: its error, or what it has to say.
template <class Step>
std::vector<std::string> together(Mailbox& mailbox, const Deadline& deadline, const Step& step) {
  std::string mine;
  try {
    mine = cat(-1, ' ', step());
  } catch (const Error& error) {
    mine = cat(static_cast<int>(error.code()), ' ', error.what());
  }
  std::vector<std::string> texts = exchange(mailbox, mine, deadline);
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    const std::size_t space = texts[rank].find(' ');
    const int code = std::stoi(texts[rank].substr(0, space));
    texts[rank].erase(0, space + 1);
    if (code >= 0) {
      throw Error(static_cast<ErrorCode>(code),
                  cat("rank ", rank, " cannot share memory with its host: ", texts[rank]),
                  static_cast<int>(rank));
    }
  }
  return texts;
}

void number_hosts(const std::vector<std::string>& leaders, int rank, Host& host) {
  std::vector<int> number_of(leaders.size(), -1);
  int num_hosts = 0;
  for (std::size_t other = 0; other < leaders.size(); ++other) {
    int& number = number_of[static_cast<std::size_t>(std::stoi(leaders[other]))];
    if (number < 0) number = num_hosts++;
    host.host_of.push_back(number);
    if (leaders[other] == leaders[static_cast<std::size_t>(rank)]) {
      host.members.push_back(static_cast<int>(other));
    }
  }
}

std::shared_ptr<shm::Arena> meet(const Host& host, const Introduction& leader, int rank,
                                 const HostRequest& request, const Deadline& deadline) {
  const auto num_members = static_cast<int>(host.members.size());
  const auto place = std::find(host.members.begin(), host.members.end(), rank);
  return shm::meet_at(leader.socket + "-meeting",
                      {.rank = static_cast<int>(place - host.members.begin()),
                       .num_ranks = num_members,
                       .axes_ranks = num_members,
                       .axes_fingerprint = 0,
                       .axes = "of a communicator",
                       .token = leader.token,
                       .control_bytes = request.control_bytes,
                       .failure = {}},
                      deadline);
}

// Each rank writes a random text into memory of its own and tells where; the others must read it.
void prove(Mailbox& mailbox, const Host& host, const Deadline& deadline) {
  constexpr std::int64_t kProofBytes = 64;
  memory::Space& space = *host.space;
  const std::string mine = random_text();
  std::byte* data = nullptr;
  const std::vector<std::string> told = together(mailbox, deadline, [&] {
    data = space.allocate(kProofBytes);
    std::memset(data, 0, static_cast<std::size_t>(kProofBytes));
    std::memcpy(data, mine.data(), mine.size());
    return cat(space.address(data, kProofBytes), ' ', mine);
  });
  together(mailbox, deadline, [&] {
    for (std::size_t member = 0; member < host.members.size(); ++member) {
      const int rank = host.members[member];
      std::int64_t address = -1;
      std::string expected;
      std::istringstream(told[static_cast<std::size_t>(rank)]) >> address >> expected;
      const std::byte* const there = space.at(static_cast<int>(member), address, kProofBytes);
      if (there == nullptr || std::memcmp(there, expected.data(), expected.size()) != 0) {
        throw Error(ErrorCode::kUnsupported,
                    cat("it does not read in the memory of rank ", rank, " what that wrote"));
      }
    }
    return "";
  });
  space.deallocate(data, kProofBytes);
}

}  // namespace

Host find_host(Mailbox& mailbox, const HostRequest& request, const Deadline& deadline) {
  const int rank = mailbox.rank();
  const Introduction mine = {.socket = "@cmm-mpi-" + random_text(),
                             .token = random_text(),
                             .pid_namespace = shm::pid_namespace(),
                             .apart = request.apart};
  std::unique_ptr<shm::Listener> listener;
  std::vector<Introduction> all;
  for (const std::string& text : together(mailbox, deadline, [&] {
         listener = std::make_unique<shm::Listener>(mine.socket, deadline);
         return mine.text();
       })) {
    all.push_back(Introduction::of(text));
  }
  const std::vector<std::string> leaders =
      together(mailbox, deadline, [&] { return cat(find_leader(all, rank)); });
  Host host;
  number_hosts(leaders, rank, host);
  together(mailbox, deadline, [&] {
    if (host.members.size() == 1) {
      host.space = make_private_space();
      host.control = memory::zeroed_memory(request.control_bytes);
      return "";
    }
    const auto arena =
        meet(host, all[static_cast<std::size_t>(host.members.front())], rank, request, deadline);
    host.control = std::shared_ptr<std::byte>(arena, arena->control());
    host.space = arena;
    return "";
  });
  prove(mailbox, host, deadline);
  return host;
}

}  // namespace cmm::transport::mpi
