#include "files/safetensors.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "cmm/error.hpp"
#include "files/input_file.hpp"
#include "files/messages.hpp"
#include "files/safetensors_header.hpp"

namespace cmm::files {
namespace {

constexpr std::size_t kNumNamesShown = 5;

// Number of one-character edits that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);  // distances of a[0, i) to each b[0, j)
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

// The names most like `wanted`: those that contain it, then by edit distance. The bounds on names
// and their lengths keep a hostile file from costing more than a moment.
std::string nearest_names(const SafetensorsHeader& header, std::string_view wanted) {
  constexpr std::size_t kMaxNames = 10'000, kMaxLength = 100;
  std::vector<std::pair<std::size_t, std::string_view>> ranked;
  for (const auto& [name, entry] : header.tensors) {
    if (ranked.size() == kMaxNames) break;
    const std::string_view compared = std::string_view(name).substr(0, kMaxLength);
    ranked.emplace_back(!wanted.empty() && name.find(wanted) != name.npos
                            ? 0
                            : edit_distance(wanted.substr(0, kMaxLength), compared),
                        name);
  }
  const std::size_t num_shown = std::min(kNumNamesShown, ranked.size());
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(num_shown),
                    ranked.end());
  ranked.resize(num_shown);
  const auto quoted = [](const auto& name) { return in_quotes(name.second); };
  return cli::joined(ranked, ", ", quoted) + (num_shown < header.tensors.size() ? ", ..." : "");
}

std::string first_names(const SafetensorsHeader& header) {
  std::vector<std::string> shown;
  for (const auto& [name, entry] : header.tensors)
    if (shown.size() < kNumNamesShown) shown.push_back(in_quotes(name));
  return cli::joined(shown, ", ") + (header.tensors.size() > kNumNamesShown ? ", ..." : "");
}

const std::pair<const std::string, TensorEntry>& choose(const std::string& path,
                                                        const SafetensorsHeader& header,
                                                        const std::optional<std::string>& name) {
  if (header.tensors.empty()) throw_bad_file(path, "holds no tensor");
  if (!name) {
    if (header.tensors.size() == 1) return *header.tensors.begin();
    throw Error(ErrorCode::kInvalidArgument,
                cli::text(path, ": holds ", header.tensors.size(), " tensors; name one as ", path,
                          ":TENSOR, of ", first_names(header)));
  }
  const auto found = header.tensors.find(*name);
  if (found == header.tensors.end()) {
    throw Error(ErrorCode::kInvalidArgument,
                cli::text(path, ": no tensor ", in_quotes(*name), " among its ",
                          header.tensors.size(), "; nearest are ", nearest_names(header, *name)));
  }
  return *found;
}

DType supported_dtype(const std::string& path, const std::string& name, const TensorEntry& entry) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    if (entry.dtype == safetensors_dtype_name(dtype)) return dtype;
  }
  throw_bad_file(path, cli::text("tensor ", in_quotes(name), " has element type ",
                                 in_quotes(entry.dtype), "; supported are F32, BF16 and F16"));
}

}  // namespace

MatrixFile open_safetensors(const std::string& path, const std::optional<std::string>& wanted) {
  InputFile file(path);
  const SafetensorsHeader header = read_safetensors_header(file);
  const auto& [name, entry] = choose(path, header, wanted);
  const DType dtype = supported_dtype(path, name, entry);
  if (entry.shape.size() != 2) {
    throw_bad_file(
        path, cli::text("tensor ", in_quotes(name), " has ", entry.shape.size(), " dimensions, ",
                        shape_text(entry.shape), "; a matrix [rows, cols] is needed"));
  }
  const std::int64_t rows = entry.shape[0];
  const std::int64_t cols = entry.shape[1];
  const std::int64_t data_bytes = matrix_bytes(dtype, rows, cols);
  const std::string description = matrix_text(dtype, rows, cols);
  if (data_bytes < 0) {
    throw_bad_file(
        path, cli::text("tensor ", in_quotes(name), ": the size of ", description, " overflows"));
  }
  if (data_bytes != entry.end - entry.begin) {
    throw_bad_file(path, cli::text("tensor ", in_quotes(name), ": ", description, " takes ",
                                   data_bytes, " bytes, but data_offsets [", entry.begin, ", ",
                                   entry.end, "] give it ", entry.end - entry.begin));
  }

  return {.file = std::move(file),
          .data_offset = header.data_offset + entry.begin,
          .data_bytes = data_bytes,
          .view = StridedMatrixRef(nullptr, dtype, rows, cols, cols, 1),
          .description = cli::text(description, " of ", path, ":", name)};
}

}  // namespace cmm::files
