#include "run_report.hpp"

#include "table.hpp"
#include "text.hpp"

namespace cmm::cli {
namespace {

using Json = nlohmann::ordered_json;

void add_time(Table& table, const char* name, const Spread& s, const std::string& remark) {
  table.add({name, seconds_text(s.median), seconds_text(s.min), seconds_text(s.p10),
             seconds_text(s.p90), seconds_text(s.max), remark});
}

std::string shape_text(const Problem& p) {
  std::string shape = text("x [", p.m, ", ", p.k, "] * y [", p.k, ", ", p.n, "]");
  if (p.num_weights > 1) shape += text(" x ", p.num_weights, " right sides");
  shape += text(", ", dtype_name(p.dtype));
  if (p.output_dtype() != p.dtype) shape += text(" to ", dtype_name(p.output_dtype()));
  return shape + (p.transpose_y ? ", y stored as [n, k]" : "");
}

}  // namespace

Json spread_json(const Spread& s) {
  return {{"min", s.min}, {"p10", s.p10}, {"median", s.median}, {"p90", s.p90}, {"max", s.max}};
}

std::string ranks_text(const RanksShown& shown) {
  const Problem& p = shown.problem;
  const std::string hosts = shown.num_hosts > 1 ? text(" on ", shown.num_hosts, " hosts") : "";
  return text(p.ranks, p.ranks == 1 ? " rank" : " ranks", hosts, ", ", p.threads,
              p.threads == 1 ? " thread each" : " threads each",
              p.rows.empty() ? "" : ", rows " + joined(p.rows, ","), "; transport ",
              shown.transport);
}

double RunReport::gflops() const { return problem.flops() / measured.fused.median / 1e9; }

double RunReport::weight_bytes_per_second() const {
  return static_cast<double>(problem.k) * static_cast<double>(problem.n) * problem.num_weights *
         static_cast<double>(dtype_bytes(problem.dtype)) / measured.fused.median;
}

double RunReport::share_of_peak() const { return gflops() * 1e9 / peak.flops; }

double RunReport::share_of_read_bandwidth() const {
  return weight_bytes_per_second() / peak.read_bytes;
}

double RunReport::speedup_over_sequential() const {
  return measured.sequential_seconds() / measured.fused.median;
}

double RunReport::ratio_to_bound() const {
  return measured.fused.median / measured.bound_seconds();
}

Json RunReport::json() const {
  const Measurement& t = measured;
  Json j;
  if (check) {
    j["correct"] = check->mismatches == 0;
    j["mismatches"] = check->mismatches;
    j["compared_elements"] = check->num_elements;
    if (check->mismatches > 0) j["first_mismatch"] = check->first_mismatch;
  } else {
    j["correct"] = nullptr;  // not checked
    j["mismatches"] = nullptr;
  }
  j["output_hash"] = hash_text(output_hash);
  j["median_seconds"] = t.fused.median;
  j["bound_seconds"] = t.bound_seconds();
  j["gemm_seconds"] = t.gemm.median;
  j["allgather_seconds"] = t.gather.median;
  j["sequential_seconds"] = t.sequential_seconds();
  j["ratio_to_bound"] = ratio_to_bound();
  j["hidden_share"] = t.hidden_share();
  j["speedup_over_sequential"] = speedup_over_sequential();
  j["gflops"] = gflops();
  j["share_of_peak"] = share_of_peak();
  j["peak_gflops"] = peak.flops / 1e9;
  j["weight_gigabytes_per_second"] = weight_bytes_per_second() / 1e9;
  j["share_of_read_bandwidth"] = share_of_read_bandwidth();
  j["read_gigabytes_per_second"] = peak.read_bytes / 1e9;
  j["isa"] = isa_name(t.plan.isa);
  j["engine"] = engine_name(t.engine);
  j["algorithm"] = algorithm_name(t.plan.algorithm);
  j["pieces"] = t.plan.pieces;
  j["reason"] = t.plan.reason;
  j["numerics"] = definition_text(definition_of(problem, t.engine));
  j["ranks"] = problem.ranks;
  j["threads"] = problem.threads;
  j["transport"] = transport;
  j["hosts"] = num_hosts;
  j["m"] = problem.m;
  j["k"] = problem.k;
  j["n"] = problem.n;
  j["weights"] = problem.num_weights;
  j["dtype"] = dtype_name(problem.dtype);
  j["out_dtype"] = dtype_name(problem.output_dtype());
  j["seed"] = problem.seed;
  j["repeats"] = t.repeats;
  j["bound_terms"] = {{"in_place", t.in_place},
                      {"first_chunk_seconds", t.first_chunk_seconds},
                      {"last_chunk_seconds", t.last_chunk_seconds}};
  j["spread"] = {{"fused", spread_json(t.fused)},
                 {"gemm", spread_json(t.gemm)},
                 {"allgather", spread_json(t.gather)},
                 {"barrier", spread_json(t.barrier)},
                 {"allgather_then_gemm", spread_json(t.gather_then_gemm)}};
  if (t.in_place_then_gemm) {
    j["spread"]["in_place_then_gemm"] = spread_json(*t.in_place_then_gemm);
  }
  return j;
}

std::string RunReport::str() const {
  const Measurement& t = measured;
  Table head;
  head.add({"problem", shape_text(problem)});
  head.add({"ranks", ranks_text({problem, transport, num_hosts})});
  head.add({"algorithm", text(algorithm_name(t.plan.algorithm), ", ", t.plan.pieces,
                              t.plan.pieces == 1 ? " piece per shard" : " pieces per shard")});
  head.add({"because", t.plan.reason});
  head.add({"multiply", text(isa_name(t.plan.isa), ", engine ", engine_name(t.engine), ": ",
                             definition_text(definition_of(problem, t.engine)))});

  Table times({"", "median", "min", "p10", "p90", "max"});
  add_time(times, "all_gather_matmul", t.fused, "");
  add_time(times, "  product alone", t.gemm, "x gathered already");
  add_time(times, "  gather alone", t.gather, "");
  add_time(times, "  barrier alone", t.barrier, "");
  add_time(times, "gather, then product", t.gather_then_gemm, "sequential (a)");
  if (t.in_place_then_gemm) {
    add_time(times, "barrier, then product", *t.in_place_then_gemm,
             "sequential (b), x read in place");
  }

  Table figures;
  figures.add({"bound", seconds_text(t.bound_seconds()),
               text("time / bound ", fixed_text(ratio_to_bound(), 3))});
  if (t.in_place) {
    figures.add({"hidden share", "-", "nothing is transferred: rows are read in place"});
  } else {
    figures.add(
        {"hidden share", percent_text(t.hidden_share()), "of the shorter of product, gather"});
  }
  figures.add({"speed-up", fixed_text(speedup_over_sequential(), 3), "over the better sequential"});
  figures.add({"rate", flops_text(gflops() * 1e9),
               text(percent_text(share_of_peak()), " of the L1-fed peak of ", peak.num_cores,
                    peak.num_cores == 1 ? " core, " : " cores, ", flops_text(peak.flops))});
  if (problem.m <= kDecodeRows) {
    figures.add({"weights read", rate_text(weight_bytes_per_second()),
                 text(percent_text(share_of_read_bandwidth()), " of the read bandwidth, ",
                      rate_text(peak.read_bytes))});
  }
  figures.add({"output hash", hash_text(output_hash)});
  if (check) figures.add({"check", check->verdict()});
  return head.str() + "\n" + text("times of ", t.repeats, t.repeats == 1 ? " call\n" : " calls\n") +
         times.str() + "\n" + figures.str();
}

}  // namespace cmm::cli
