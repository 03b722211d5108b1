#include "files/safetensors_header.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "cmm/error.hpp"
#include "files/messages.hpp"

namespace cmm::files {
namespace {
static_assert(std::endian::native == std::endian::little, "the length is read as it lies");

constexpr std::int64_t kLengthBytes = 8;
constexpr std::int64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
constexpr std::size_t kMaxDims = 64;
constexpr char kMetadataName[] = "__metadata__";

// Takes the JSON as events rather than as a document: memory stays within a small multiple of
// the header (100 MB of "[[[[" would make a document of gigabytes), nesting is bounded, and
// repeated names, which a document would merge, are seen.
class HeaderEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  HeaderEvents(const std::string& path, std::map<std::string, TensorEntry>* tensors)
      : path_(path), tensors_(tensors) {}

  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("a boolean"); }
  bool number_float(double, const std::string& text) override { unexpected(in_quotes(text)); }
  bool binary(binary_t&) override { unexpected("binary data"); }
  bool number_integer(std::int64_t value) override { unexpected(cli::text(value)); }

  bool number_unsigned(std::uint64_t value) override {
    if (place_ != Place::kShape && place_ != Place::kOffsets) unexpected(cli::text(value));
    if (value > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
      unexpected(cli::text(value));
    std::vector<std::int64_t>& list = place_ == Place::kShape ? entry_->shape : offsets_;
    if (list.size() == (place_ == Place::kShape ? kMaxDims : 2)) unexpected("a longer list");
    list.push_back(static_cast<std::int64_t>(value));
    return true;
  }

  bool string(std::string& value) override {
    if (place_ == Place::kTensor && field_ == "dtype") {
      entry_->dtype = value;
    } else if (place_ != Place::kMetadata) {
      unexpected(in_quotes(value));
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::kStart) {
      place_ = Place::kTop;
    } else if (place_ == Place::kTop) {
      place_ = entry_ == nullptr ? Place::kMetadata : Place::kTensor;
    } else {
      unexpected("an object");
    }
    return true;
  }

  bool key(std::string& name) override {
    if (place_ == Place::kTop) {
      name_ = name;
      seen_fields_ = 0;
      offsets_.clear();
      if (name == kMetadataName) {
        if (std::exchange(has_metadata_, true)) fail("stands twice in the header");
        entry_ = nullptr;
      } else {
        const auto [place, is_new] = tensors_->try_emplace(name);
        if (!is_new) fail("stands twice in the header");
        entry_ = &place->second;
      }
    } else if (place_ == Place::kTensor) {
      field_ = name;
      const unsigned bit = name == "dtype"          ? 1u
                           : name == "shape"        ? 2u
                           : name == "data_offsets" ? 4u
                                                    : 0u;
      if (bit == 0 || (seen_fields_ & bit) != 0)
        fail(cli::text("unknown or repeated field ", in_quotes(name)));
      seen_fields_ |= bit;
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kTensor) {
      if (seen_fields_ != 7) fail("lacks one of dtype, shape and data_offsets");
      if (offsets_.size() != 2) fail("data_offsets is not [begin, end]");
      entry_->begin = offsets_[0];
      entry_->end = offsets_[1];
    }
    place_ = place_ == Place::kTop ? Place::kEnd : Place::kTop;
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::kTensor || field_ == "dtype") unexpected("a list");
    place_ = field_ == "shape" ? Place::kShape : Place::kOffsets;
    return true;
  }

  bool end_array() override {
    place_ = Place::kTensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 3: REASON"
    const std::string_view text = error.what();
    const std::size_t reason = text.find(": ");
    throw_bad_file_at(path_, kLengthBytes + static_cast<std::int64_t>(position),
                      cli::text("the header is not JSON: ",
                                in_quotes(reason == text.npos ? text : text.substr(reason + 2))));
  }

 private:
  enum class Place { kStart, kTop, kMetadata, kTensor, kShape, kOffsets, kEnd };

  [[noreturn]] void fail(const std::string& what) const {
    throw_bad_file(path_, cli::text("header, entry ", in_quotes(name_), ": ", what));
  }
  [[noreturn]] void unexpected(const std::string& what) const {
    if (place_ == Place::kStart || (place_ == Place::kTop && name_.empty())) {
      throw_bad_file_at(path_, kLengthBytes,
                        cli::text("the header is not a JSON object of tensors"));
    }
    fail(cli::text(what, " does not belong here"));
  }

  const std::string& path_;
  std::map<std::string, TensorEntry>* tensors_;
  Place place_ = Place::kStart;
  bool has_metadata_ = false;
  std::string name_;                   // of the entry being read
  TensorEntry* entry_ = nullptr;       // the same; null: metadata
  std::string field_;                  // of the entry
  unsigned seen_fields_ = 0;           // dtype 1, shape 2, data_offsets 4
  std::vector<std::int64_t> offsets_;  // [begin, end]
};

}  // namespace

SafetensorsHeader read_safetensors_header(const InputFile& file) {
  std::uint64_t length = 0;
  file.read(0, std::as_writable_bytes(std::span(&length, 1)), "the header's length");
  const std::int64_t present_bytes = file.bytes() - kLengthBytes;
  if (length > std::uint64_t{kMaxHeaderBytes} ||
      static_cast<std::int64_t>(length) > present_bytes) {
    throw_bad_file_at(
        file.path(), 0,
        cli::text("the header claims ", length, " bytes; the file has ", present_bytes,
                  " after this, and the format allows ", kMaxHeaderBytes));
  }
  std::string text(length, '\0');
  file.read(kLengthBytes, std::as_writable_bytes(std::span(text)), "the header");

  SafetensorsHeader header;
  header.data_offset = kLengthBytes + static_cast<std::int64_t>(length);
  HeaderEvents events(file.path(), &header.tensors);
  nlohmann::json::sax_parse(text.begin(), text.end(), &events);

  const std::int64_t data_bytes = file.bytes() - header.data_offset;
  for (const auto& [name, entry] : header.tensors) {
    if (entry.begin > entry.end || entry.end > data_bytes) {
      throw_bad_file(file.path(), cli::text("tensor ", in_quotes(name), ": data_offsets [",
                                            entry.begin, ", ", entry.end, "] do not lie in the ",
                                            data_bytes, " bytes of data that follow the header"));
    }
  }
  return header;
}

std::string safetensors_dtype_name(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "F32";
    case DType::kBF16:
      return "BF16";
    case DType::kF16:
      return "F16";
  }
  return "";
}

std::string make_safetensors_header(const std::string& name, DType dtype, std::int64_t rows,
                                    std::int64_t cols) {
  if (name.empty() || name == kMetadataName) {
    throw Error(
        ErrorCode::kInvalidArgument,
        cli::text(in_quotes(name), " cannot be the name of a tensor in a .safetensors file"));
  }
  const std::int64_t data_bytes = rows * cols * static_cast<std::int64_t>(dtype_bytes(dtype));
  const nlohmann::ordered_json document = {{kMetadataName, {{"format", "pt"}}},
                                           {name,
                                            {{"dtype", safetensors_dtype_name(dtype)},
                                             {"shape", {rows, cols}},
                                             {"data_offsets", {std::int64_t{0}, data_bytes}}}}};
  std::string text;
  try {
    text = document.dump();
  } catch (const nlohmann::json::type_error&) {
    throw Error(ErrorCode::kInvalidArgument,
                cli::text("the tensor name ", in_quotes(name), " is not UTF-8"));
  }
  if (text.size() > kMaxHeaderBytes) {
    throw Error(ErrorCode::kInvalidArgument, cli::text("a tensor name of ", name.size(), " bytes"));
  }
  while (text.size() % 8 != 0) text += ' ';
  const std::uint64_t length = text.size();
  std::string header(kLengthBytes, '\0');
  std::memcpy(header.data(), &length, kLengthBytes);
  return header + text;
}

}  // namespace cmm::files
