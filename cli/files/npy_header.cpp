#include "files/npy_header.hpp"

#include "files/messages.hpp"

namespace cmm::files {
namespace {

constexpr std::size_t kMaxDims = 64;  // numpy 2 allows as many

// What numpy writes for a dtype. ml_dtypes registers bfloat16 as an unnamed two-byte type, so
// its arrays are saved as '<V2', and as '|V2' once they have been loaded and saved again.
std::string_view descr_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "<f4";
    case DType::kBF16:
      return "<V2";
    case DType::kF16:
      return "<f2";
  }
  return "";
}

class Parser {
 public:
  Parser(const std::string& path, std::int64_t offset_bytes, std::string_view text)
      : path_(path), offset_bytes_(offset_bytes), text_(text) {}

  NpyHeader parse() {
    NpyHeader header;
    bool has_descr = false, has_order = false, has_shape = false;
    expect('{', "the dict of a .npy header");
    while (!accept('}')) {
      const std::size_t key_at = here();
      const std::string_view key = parse_string("a key");
      expect(':', "a value after the key");
      if (key == "descr" && !has_descr) {
        header.dtype = parse_descr();
        has_descr = true;
      } else if (key == "fortran_order" && !has_order) {
        header.fortran_order = parse_bool();
        has_order = true;
      } else if (key == "shape" && !has_shape) {
        header.shape = parse_shape();
        has_shape = true;
      } else {
        fail(key_at, cli::text("unknown or repeated key ", in_quotes(key)));
      }
      if (!accept(',')) {
        expect('}', "',' or the end of the dict");
        break;
      }
    }
    if (here() != text_.size()) fail(pos_, "text after the dict");
    for (const auto& [present, key] :
         {std::pair(has_descr, "descr"), std::pair(has_order, "fortran_order"),
          std::pair(has_shape, "shape")}) {
      if (!present) fail(0, cli::text("the header has no '", key, "'"));
    }
    return header;
  }

 private:
  [[noreturn]] void fail(std::size_t at, const std::string& what) const {
    throw_bad_file_at(path_, offset_bytes_ + static_cast<std::int64_t>(at), what);
  }

  // Position of the next token.
  std::size_t here() {
    while (pos_ < text_.size() && std::string_view(" \t\r\n").find(text_[pos_]) != text_.npos) {
      ++pos_;
    }
    return pos_;
  }

  bool accept(char c) {
    if (here() == text_.size() || text_[pos_] != c) return false;
    ++pos_;
    return true;
  }

  void expect(char c, const char* what) {
    if (!accept(c)) fail(pos_, cli::text("expected '", c, "' (", what, "), found ", found()));
  }

  std::string found() const {
    return pos_ == text_.size() ? "the end of the header" : in_quotes(text_.substr(pos_, 20));
  }

  std::string_view parse_string(const char* what) {
    const char quote = here() < text_.size() ? text_[pos_] : '\0';
    if (quote != '\'' && quote != '"') {
      fail(pos_, cli::text("expected ", what, " in quotes, found ", found()));
    }
    const std::size_t begin = pos_ + 1;
    const std::size_t end = text_.find(quote, begin);
    if (end == text_.npos) fail(pos_, "a string without its closing quote");
    pos_ = end + 1;
    return text_.substr(begin, end - begin);
  }

  DType parse_descr() {
    const std::size_t at = here();
    if (at < text_.size() && text_[at] == '[') {
      fail(at, "an array of records; a matrix of one element type is needed");
    }
    const std::string_view descr = parse_string("the element type");
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
      if (descr == descr_of(dtype)) return dtype;
    }
    if (descr == "|V2") return DType::kBF16;
    if (descr.find('O') != descr.npos) {
      fail(at, cli::text("element type ", in_quotes(descr),
                         ": pickled Python objects, which are never loaded"));
    }
    fail(at, cli::text("element type ", in_quotes(descr),
                       descr.starts_with('>') ? " is big endian" : "",
                       "; supported are '<f4' (f32), '<f2' (f16) and '<V2' (bf16 of ml_dtypes)"));
  }

  bool parse_bool() {
    here();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(pos_).starts_with(word)) {
        pos_ += word.size();
        return value;
      }
    }
    fail(pos_, cli::text("expected True or False, found ", found()));
  }

  std::vector<std::int64_t> parse_shape() {
    std::vector<std::int64_t> shape;
    expect('(', "the tuple of the shape");
    bool comma = true;
    while (!accept(')')) {
      if (!comma) fail(pos_, cli::text("expected ',' or ')' in the shape, found ", found()));
      if (shape.size() == kMaxDims) fail(pos_, cli::text("more than ", kMaxDims, " dimensions"));
      shape.push_back(parse_int());
      comma = accept(',');
    }
    // In Python (3) is an integer, (3,) a tuple.
    if (shape.size() == 1 && !comma) fail(pos_, "the shape is not a tuple");
    return shape;
  }

  std::int64_t parse_int() {
    const std::size_t begin = here();
    std::int64_t value = 0;
    for (; pos_ < text_.size() && text_[pos_] >= '0' && text_[pos_] <= '9'; ++pos_) {
      const std::int64_t digit = text_[pos_] - '0';
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, digit, &value)) {
        fail(begin,
             cli::text("a dimension that overflows 63 bits: ", in_quotes(text_.substr(begin, 24))));
      }
    }
    if (pos_ == begin) fail(pos_, cli::text("expected a dimension >= 0, found ", found()));
    if (pos_ < text_.size() && text_[pos_] == 'L') ++pos_;  // written by Python 2: (3L, 4L)
    return value;
  }

  const std::string& path_;
  const std::int64_t offset_bytes_;
  const std::string_view text_;
  std::size_t pos_ = 0;
};

}  // namespace

NpyHeader parse_npy_header(const std::string& path, std::int64_t offset_bytes,
                           std::string_view text) {
  return Parser(path, offset_bytes, text).parse();
}

std::string make_npy_header(DType dtype, std::int64_t rows, std::int64_t cols) {
  constexpr std::size_t kAlignmentBytes = 64;
  constexpr std::size_t kPrefixBytes = 10;  // magic, version, length
  std::string text = cli::text("{'descr': '", descr_of(dtype),
                               "', 'fortran_order': False, 'shape': (", rows, ", ", cols, "), }");
  while ((kPrefixBytes + text.size() + 1) % kAlignmentBytes != 0) text += ' ';
  text += '\n';
  return cli::text(kNpyMagic, '\x01', '\0', static_cast<char>(text.size() & 0xff),
                   static_cast<char>(text.size() >> 8), text);
}

}  // namespace cmm::files
