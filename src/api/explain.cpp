// What a plan says of itself, with times expected from a measured machine.
#include <algorithm>
#include <iomanip>
#include <numeric>
#include <sstream>

#include "api/gather_cost.hpp"
#include "api/plan_state.hpp"
#include "base/integers.hpp"
#include "base/text.hpp"
#include "cmm/machine.hpp"

namespace cmm {
namespace {

// Hand-over of a chunk between spinning threads is 0.2 us; a rank enters a call within a few.
constexpr double kEntrySeconds = 2e-6;
// Share of the L1-fed rate that a whole product reaches.
constexpr double kProductShare = 0.92;

std::string numerics_text(Engine engine, Isa isa, DType dtype) {
  if (engine == Engine::kOneDnn) {
    return "oneDNN: f32 sums in an order of that library's choice; no bits are promised";
  }
  return isa == Isa::kAvx512Bf16 && dtype == DType::kBF16
             ? "native bf16: pairs of k, subnormals count as zero; the same bits for every number "
               "of ranks, algorithm and thread count"
             : "ascending fmaf chain, rounded once; the same bits on every instruction set, number "
               "of ranks, algorithm and thread count";
}

void estimate_seconds(const api::PlanState& plan, Explanation& out) {
  const ProblemShape& shape = plan.shape();
  const Machine machine = known_machine(plan.isa(), shape.dtype);
  const std::vector<int>& hosts = plan.axis().endpoint().hosts();
  const int my_host = hosts[static_cast<std::size_t>(plan.axis().rank())];
  // Ranks that share this machine.
  const auto num_ranks = static_cast<double>(std::count(hosts.begin(), hosts.end(), my_host));
  const double threads = num_ranks * plan.options().threads;
  const double cores = std::min<double>(threads, machine.num_cores);
  const auto n = static_cast<double>(
      std::accumulate(shape.n_local.begin(), shape.n_local.end(), std::int64_t{0}));
  const auto m = static_cast<double>(shape.m);
  const auto k = static_cast<double>(shape.k);
  const auto elem_bytes = static_cast<double>(dtype_bytes(shape.dtype));
  // A rank has its share of the cores and of the memory's speed.
  const double rank_flops = kProductShare * machine.l1_flops * cores / num_ranks;
  const double rank_bytes_per_second =
      std::min(machine.read_bytes_per_second, machine.core_read_bytes_per_second * cores) /
      num_ranks;
  out.multiply_seconds =
      std::max(2.0 * m * n * k / rank_flops, k * n * elem_bytes / rank_bytes_per_second);
  if (hosts.size() > 1) {
    // A copied byte is read and written; a byte read in place is read once, by packing.
    const auto moved = static_cast<double>(out.received_bytes + 2 * out.copied_bytes);
    out.gather_seconds = kEntrySeconds * num_ranks + moved / rank_bytes_per_second;
    // Packing reads the rows anyway, so in place only the entry shows. A copy shows in full: it is
    // made by the threads that multiply.
    out.exposed_seconds = kEntrySeconds * num_ranks +
                          2.0 * static_cast<double>(out.copied_bytes) / rank_bytes_per_second;
  }
  if (out.hosts > 1) {
    // What crosses the links hides behind the multiply, but for the first chunk and the last one's
    // multiply.
    const Network& network = plan.options().network;
    const double crossing = api::gather_cost(plan.choice().schedule.algorithm, hosts)
                                .seconds(network, plan.shard_bytes());
    const double num_chunks = out.num_chunks;
    out.gather_seconds += crossing;
    out.exposed_seconds = std::max(0.0, crossing - out.multiply_seconds) +
                          std::min(crossing, out.multiply_seconds) / num_chunks +
                          network.latency_seconds;
  }
  out.expected_seconds = out.multiply_seconds + out.exposed_seconds;
}

// Of `hosts`, which the caller made up.
void check_numbering(const std::vector<int>& hosts) {
  if (hosts.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "hosts is empty; it needs one entry per rank");
  }
  int num_hosts = 0;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (hosts[rank] < 0 || hosts[rank] > num_hosts) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("rank ", rank, " is on host ", hosts[rank], " but ranks before it are on ",
                      num_hosts, "; number hosts from 0 in the order of their first ranks"));
    }
    num_hosts = std::max(num_hosts, hosts[rank] + 1);
  }
}

}  // namespace

GatherForecast forecast_gather(const ProblemShape& shape, const Options& options,
                               const std::vector<int>& hosts) {
  check_numbering(hosts);
  const auto num_ranks = static_cast<int>(hosts.size());
  api::check_shape(shape, options, num_ranks);
  api::check_hosts(options, hosts);
  const api::Choice choice = api::choose(shape, options, hosts);
  const std::int64_t shard_bytes = api::largest_shard_bytes(shape, num_ranks);
  const api::GatherCost cost = api::gather_cost(choice.schedule.algorithm, hosts);
  GatherForecast out;
  out.algorithm = api::to_public(choice.schedule.algorithm);
  out.pieces = choice.schedule.num_pieces;
  out.num_chunks = schedule::num_chunks(choice.schedule);
  out.hosts = api::num_hosts(hosts);
  out.link_bytes = cost.shards_into_host * shard_bytes;
  out.link_seconds = cost.seconds(options.network, shard_bytes);
  out.reason = choice.reason;
  return out;
}

Explanation Plan::explain() const {
  const api::PlanState& plan = state();
  const api::Choice& choice = plan.choice();
  Explanation out;
  out.algorithm = algorithm();
  out.transport = plan.axis().endpoint().transport_name();
  out.pieces = choice.schedule.num_pieces;
  out.hosts =
      options().hosts != 0 ? options().hosts : api::num_hosts(plan.axis().endpoint().hosts());
  out.num_chunks = schedule::num_chunks(choice.schedule);
  out.isa = plan.isa();
  out.engine = plan.engine();
  out.numerics = numerics_text(out.engine, out.isa, shape().dtype);
  out.received_bytes = (shape().m - plan.rows_of(rank(), shape().m)) * shape().k *
                       static_cast<std::int64_t>(dtype_bytes(shape().dtype));
  const int num_received = schedule::received_chunks(choice.schedule);
  out.copied_bytes = num_received == 0 ? 0 : out.received_bytes * plan.num_fetches() / num_received;
  out.workspace_bytes = plan.workspace_bytes();
  out.reason = choice.reason;
  estimate_seconds(plan, out);
  return out;
}

std::string Explanation::to_string() const {
  std::ostringstream text;
  const auto milliseconds = [](double seconds) { return seconds * 1e3; };
  text << std::fixed << std::setprecision(3);
  text << "algorithm    " << algorithm_name(algorithm) << ", " << pieces
       << (pieces == 1 ? " piece" : " pieces") << " per shard, " << num_chunks
       << (num_chunks == 1 ? " chunk\n" : " chunks\n") << "because      " << reason << "\n"
       << "transport    " << transport << ", " << hosts << (hosts == 1 ? " host\n" : " hosts\n")
       << "multiply     " << isa_name(isa) << ", engine " << engine_name(engine) << "\n"
       << "numerics     " << numerics << "\n"
       << "x from peers " << received_bytes << " bytes, of these copied " << copied_bytes << "\n"
       << "workspace    " << workspace_bytes << " bytes on this rank\n"
       << "expected     " << milliseconds(expected_seconds) << " ms = multiply "
       << milliseconds(multiply_seconds) << " ms + exposed " << milliseconds(exposed_seconds)
       << " ms (gather alone " << milliseconds(gather_seconds) << " ms)\n";
  return std::move(text).str();
}

}  // namespace cmm
