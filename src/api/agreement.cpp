// The checks of Plan::make: first what a rank can see alone, then what the ranks must agree on.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "api/collective.hpp"
#include "api/plan_state.hpp"
#include "base/check.hpp"
#include "base/integers.hpp"
#include "base/text.hpp"

namespace cmm::api {
namespace {

[[noreturn]] void reject(const std::string& message) {
  throw Error(ErrorCode::kInvalidArgument, message);
}

[[noreturn]] void refuse(const std::string& message) {
  throw Refused(ErrorCode::kInvalidArgument, message);
}

void check_extents(const ProblemShape& shape) {
  if (shape.m < 0 || shape.k < 0) {
    reject(cat("m=", shape.m, ", k=", shape.k, ": extents must be >= 0"));
  }
  if (shape.n_local.empty()) reject("n_local is empty; it needs one entry per right side");
  if (shape.n_local.size() > 64) {
    reject(cat("n_local has ", shape.n_local.size(), " right sides; at most 64"));
  }
  for (const std::int64_t n : shape.n_local) {
    if (n < 0) reject(cat("n_local=", n, ": extents must be >= 0"));
    // 64-bit byte offsets in out, y and packed x, with room for padding.
    if (checked_product(checked_product(n + 64, shape.k + 64), 8) < 0 ||
        checked_product(checked_product(n + 64, shape.m + 64), 8) < 0) {
      reject(cat("m=", shape.m, ", k=", shape.k, ", n_local=", n, ": a size overflows 63 bits"));
    }
  }
  if (checked_product(checked_product(shape.m + 64, shape.k + 64), 8) < 0) {
    reject(cat("m=", shape.m, ", k=", shape.k, ": the size of x overflows 63 bits"));
  }
}

void check_rows(const ProblemShape& shape, int num_ranks) {
  if (shape.rows.empty()) return;
  if (static_cast<int>(shape.rows.size()) != num_ranks) {
    reject(cat("rows has ", shape.rows.size(), " entries; the axis has ", num_ranks, " ranks"));
  }
  std::int64_t sum = 0;
  for (std::size_t rank = 0; rank < shape.rows.size(); ++rank) {
    const std::int64_t rows = shape.rows[rank];
    if (rows < 0 || rows > shape.m) {
      reject(cat("rank ", rank, " has rows=", rows, "; it must be between 0 and m=", shape.m));
    }
    sum += rows;
    if (sum > shape.m) break;  // also keeps the sum from overflowing
  }
  if (sum != shape.m)
    reject(cat("rows sum to ", sum, sum > shape.m ? " or more" : "",
               "; they must sum to m=", shape.m));
}

void check_options(const ProblemShape& shape, const Options& options, int num_ranks) {
  if (options.pieces < 0 || options.pieces > 1024) {
    reject(cat("pieces=", options.pieces, "; it must be between 1 and 1024, or 0 for the plan's"));
  }
  if (options.threads < 1 || options.threads > 1024) {
    reject(cat("threads=", options.threads, "; it must be between 1 and 1024"));
  }
  if (options.deadline.count() <= 0) {
    reject(cat("deadline=", options.deadline.count(), " ms; it must be positive"));
  }
  if (options.hosts < 0 || options.hosts > num_ranks) {
    reject(cat("hosts=", options.hosts, "; it must be between 1 and the ", num_ranks,
               " ranks of the axis"));
  }
  if (options.hosts > 1 && options.algorithm != Algorithm::kHierarchical &&
      options.algorithm != Algorithm::kAuto) {
    reject(cat("hosts=", options.hosts, " with algorithm ", algorithm_name(options.algorithm),
               "; only hierarchical takes hosts"));
  }
  const Network& network = options.network;
  if (!(network.bytes_per_second > 0) || !(network.latency_seconds >= 0) ||
      !std::isfinite(network.bytes_per_second) || !std::isfinite(network.latency_seconds)) {
    reject(cat("network of ", network.bytes_per_second, " bytes/s and ", network.latency_seconds,
               " s; the rate must be positive, the latency not negative, and both finite"));
  }
  const std::size_t num_sides = shape.n_local.size();
  if (!options.activations.empty() && options.activations.size() != num_sides) {
    reject(cat("activations has ", options.activations.size(), " entries; there are ", num_sides,
               " right sides"));
  }
  if (options.swiglu) {
    if (num_sides != 2 || shape.n_local[0] != shape.n_local[1]) {
      reject("swiglu needs two right sides {gate, up} of the same n_local");
    }
    if (!options.activations.empty()) reject("swiglu takes no activations; it has its own");
  }
}

// What all ranks must say alike, one `name=value` a line, so that a difference can be named.
std::vector<std::pair<std::string, std::string>> agreed_fields(const ProblemShape& shape,
                                                               const Options& options) {
  const std::string rows = joined(shape.rows, ",");
  return {{"m", cat(shape.m)},
          {"k", cat(shape.k)},
          {"dtype", cat(dtype_name(shape.dtype))},
          {"number of right sides", cat(shape.n_local.size())},
          {"rows", rows.empty() ? "even" : rows},
          {"algorithm", cat(algorithm_name(options.algorithm))},
          {"pieces", cat(options.pieces)},
          {"hosts", cat(options.hosts)},
          {"network", cat(options.network.bytes_per_second, " bytes/s, ",
                          options.network.latency_seconds, " s")}};
}

std::string field_value(const std::string& text, std::size_t field) {
  std::size_t begin = text.starts_with('f') ? 1 : 0;
  for (std::size_t i = 0; i < field; ++i) begin = text.find('\n', begin) + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}

// A text starts with 'e' (error) or 'f' (fields), so that one exchange settles both.
std::vector<std::string> exchange_texts(const Axis& axis, const std::string& text,
                                        const Deadline& deadline) {
  return axis.endpoint().exchange(text, deadline, transport::Purpose::kPlan);
}

// The first rank that cannot take part, alike on all ranks.
std::optional<Refused> find_refusal(const Axis& axis, const std::vector<std::string>& texts) {
  const auto first =
      std::ranges::find_if(texts, [](const std::string& text) { return text.starts_with('e'); });
  if (first == texts.end()) return std::nullopt;
  return Refused(ErrorCode::kInvalidArgument, cat("rank ", first - texts.begin(), " of axis '",
                                                  axis.name(), "': ", first->substr(1)));
}

}  // namespace

void check_shape(const ProblemShape& shape, const Options& options, int num_ranks) {
  check_extents(shape);
  check_rows(shape, num_ranks);
  check_options(shape, options, num_ranks);
}

Refused agree_to_refuse(const Axis& axis, const std::string& reason, const Deadline& deadline) {
  const auto refusal = find_refusal(axis, exchange_texts(axis, "e" + reason, deadline));
  CMM_DCHECK(refusal.has_value());  // this rank's own at least
  return *refusal;
}

void agree(const Axis& axis, const ProblemShape& shape, const Options& options,
           const std::string& mine, const Deadline& deadline) {
  const auto fields = agreed_fields(shape, options);
  std::string text = mine.empty() ? "f" : "e" + mine;
  if (mine.empty()) {
    for (const auto& [name, value] : fields) text += value + "\n";
  }
  const std::vector<std::string> all = exchange_texts(axis, text, deadline);
  if (const auto refusal = find_refusal(axis, all)) throw *refusal;
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    for (std::size_t field = 0; field < fields.size(); ++field) {
      const std::string first = field_value(all[0], field);
      const std::string other = field_value(all[rank], field);
      if (first == other) continue;
      refuse(cat("the ranks of axis '", axis.name(), "' disagree on ", fields[field].first,
                 ": rank 0 has ", first, ", rank ", rank, " has ", other));
    }
  }
}

}  // namespace cmm::api
