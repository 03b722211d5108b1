// Writes a random f32 matrix as .npy: the stand-in for model weights where they cannot be fetched.
// usage: make_matrix OUT.npy ROWS COLS SEED
// Elements are uniform in [-0.1, 0.1), the scale of trained weights; the same seed gives the same
// file on every machine.
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

namespace {

static_assert(std::endian::native == std::endian::little, "the header below says '<f4'");

std::string npy_header(std::int64_t rows, std::int64_t cols) {
  std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(rows) +
                     ", " + std::to_string(cols) + "), }";
  constexpr std::size_t kPrefixBytes = 10;  // magic, version, length
  constexpr std::size_t kAlignment = 64;    // of the data, as the format asks
  text.append(kAlignment - 1 - (kPrefixBytes + text.size()) % kAlignment, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

// splitmix64
std::uint64_t next(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

float next_weight(std::uint64_t& state) {
  const auto units = static_cast<std::int32_t>(next(state) >> 40);  // 24 bits
  return static_cast<float>(units - (1 << 23)) * (0.1f / (1 << 23));
}

void write_matrix(const std::string& path, std::int64_t rows, std::int64_t cols,
                  std::uint64_t seed) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << npy_header(rows, cols);
  std::vector<float> row(static_cast<std::size_t>(cols));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (float& element : row) element = next_weight(seed);
    file.write(reinterpret_cast<const char*>(row.data()),
               static_cast<std::streamsize>(row.size() * sizeof(float)));
  }
  file.close();
  if (!file) throw std::runtime_error("could not write " + path);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: make_matrix OUT.npy ROWS COLS SEED\n";
    return 2;
  }
  try {
    write_matrix(argv[1], std::stoll(argv[2]), std::stoll(argv[3]), std::stoull(argv[4]));
  } catch (const std::exception& error) {
    std::cerr << "make_matrix: " << error.what() << '\n';
    return 1;
  }
}
