// Runs a fuzz target without a fuzzer: every seed, then mutations of the seeds, the same ones each
// time. It finds less than libFuzzer, which sees what the code does, but needs no special compiler
// and so runs with the other tests.
// usage: fuzz_NAME_replay SEED_FOLDER NUM_MUTATIONS      or      fuzz_NAME_replay INPUT_FILE
// The input at hand when a run dies is left in the working folder as NAME_OF_PROGRAM.failed.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// Present in builds with a sanitizer only.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

using Input = std::vector<std::uint8_t>;

std::string failed_path;
Input current;

void save_current() {
  const int fd = ::open(failed_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd >= 0 && ::write(fd, current.data(), current.size()) >= 0) ::close(fd);
}

void run(Input input) {
  current = std::move(input);
  LLVMFuzzerTestOneInput(current.data(), current.size());
}

Input load(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

class Mutator {
 public:
  explicit Mutator(const std::vector<Input>& seeds) : seeds_(seeds) {}

  Input next() {
    Input input = pick(seeds_);
    for (std::size_t i = 0, count = 1 + below(6); i < count; ++i) change(input);
    return input;
  }

 private:
  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : random_() % bound; }
  template <class T>
  const T& pick(const std::vector<T>& of) {
    return of[below(of.size())];
  }

  void change(Input& input) {
    // Bytes that mean something to a parser of lengths, numbers and literals.
    static const std::vector<std::uint8_t> kBytes = {0,   1,    0x7f, 0x80, 0xff, '0', '9', '-',
                                                     '"', '\'', '(',  ')',  '[',  ']', '{', '}',
                                                     ':', ',',  ' ',  '\n', 'L',  'O', '<', '>'};
    const std::size_t at = below(input.size() + 1);
    const std::size_t rest = input.size() - at;
    switch (below(8)) {
      case 0:
        if (rest > 0) input[at] ^= static_cast<std::uint8_t>(1u << below(8));
        break;
      case 1:
        if (rest > 0) input[at] = pick(kBytes);
        break;
      case 2:
        input.insert(input.begin() + at, pick(kBytes));
        break;
      case 3:  // a run of one byte: long numbers, deep nesting, huge lengths
        input.insert(input.begin() + at, 1 + below(64), pick(kBytes));
        break;
      case 4:
        input.erase(input.begin() + at,
                    input.begin() + at + below(std::min<std::size_t>(rest, 16) + 1));
        break;
      case 5:
        input.resize(at);
        break;
      case 6: {  // a part once more
        const Input part(input.begin() + at, input.begin() + at + below(rest + 1));
        input.insert(input.begin() + below(input.size() + 1), part.begin(), part.end());
        break;
      }
      case 7: {  // the end of another seed
        const Input& other = pick(seeds_);
        input.resize(at);
        input.insert(input.end(), other.begin() + std::min(at, other.size()), other.end());
        break;
      }
    }
  }

  const std::vector<Input>& seeds_;
  std::mt19937_64 random_{20240229};
};

int replay(const std::filesystem::path& folder, std::size_t num_mutations) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry);
  std::sort(paths.begin(), paths.end());
  std::vector<Input> seeds;
  for (const auto& path : paths) seeds.push_back(load(path));
  if (seeds.empty()) throw std::runtime_error("no seed in " + folder.string());

  run({});
  for (const Input& seed : seeds) run(seed);
  Mutator mutator(seeds);
  for (std::size_t i = 0; i < num_mutations; ++i) run(mutator.next());
  std::cout << seeds.size() << " seeds and " << num_mutations << " mutations: nothing found\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  failed_path = std::filesystem::path(argv[0]).filename().string() + ".failed";
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(save_current);
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    // Sanitizers have handlers of their own for some, which call the above.
    if (signal == SIGABRT || __sanitizer_set_death_callback == nullptr) {
      ::signal(signal, [](int number) {
        save_current();
        ::signal(number, SIG_DFL);
        ::raise(number);
      });
    }
  }
  if (argc == 2) {
    run(load(argv[1]));
    return 0;
  }
  if (argc == 3) return replay(argv[1], std::stoul(argv[2]));
  std::cerr << "usage: " << argv[0] << " SEED_FOLDER NUM_MUTATIONS, or INPUT_FILE\n";
  return 2;
}
