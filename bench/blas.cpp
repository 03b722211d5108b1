// OpenBLAS and MKL, loaded at run time: the programs build and run without them.
#include <dlfcn.h>

#include <cstring>
#include <fstream>
#include <stdexcept>

#include "base/aligned_buffer.hpp"
#include "contender.hpp"

namespace cmm::bench {
namespace {

// Values of the CBLAS interface.
constexpr int kRowMajor = 101, kNoTranspose = 111, kPacked = 151, kB = 162;

class SharedLibrary {
 public:
  explicit SharedLibrary(const std::string& path)
      : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
  }
  template <class Function>
  Function* get(const char* name) const {
    void* found = dlsym(handle_, name);
    if (found == nullptr) throw std::runtime_error(std::string("it has no ") + name);
    return reinterpret_cast<Function*>(found);
  }

 private:
  void* handle_;  // stays loaded: its threads may live as long as the process
};

// Which of the libraries PREFIX + name this process has loaded.
std::string loaded_library(const std::string& prefix, const std::vector<std::string>& names) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    for (const std::string& name : names) {
      if (line.find("/" + prefix + name + ".so") != std::string::npos) return prefix + name;
    }
  }
  return "unknown libraries";
}

int to_int(std::int64_t extent) { return static_cast<int>(extent); }

class OpenBlas : public Contender {
 public:
  explicit OpenBlas(const SharedLibrary& library)
      : core_(library.get<char*()>("openblas_get_corename")()),
        config_(library.get<char*()>("openblas_get_config")()),
        set_threads_(library.get<void(int)>("openblas_set_num_threads")),
        sgemm_(library.get<Sgemm>("cblas_sgemm")) {}

  std::string name() const override { return "openblas"; }
  std::string description() const override {
    return config_.substr(0, config_.find(' ', config_.find(' ') + 1)) + ", kernel " + core_ +
           ", y not packed";
  }
  bool multiplies(DType dtype) const override { return dtype == DType::kF32; }

  void prepare(const Job& job) override {
    set_threads_(job.num_threads);
    if (source_ == job.y.data && copies_.size() == static_cast<std::size_t>(job.num_copies)) return;
    copies_.clear();
    source_ = job.y.data;
    for (int copy = 0; copy < job.num_copies; ++copy) {
      copies_.emplace_back(job.y.rows * job.y.cols * 4);
      std::memcpy(copies_.back().data(), job.y.data,
                  static_cast<std::size_t>(copies_.back().bytes()));
    }
  }
  void multiply(const ConstMatrixRef& x, const MatrixRef& out, int copy) override {
    const int m = to_int(x.rows), k = to_int(x.cols), n = to_int(out.cols);
    sgemm_(kRowMajor, kNoTranspose, kNoTranspose, m, n, k, 1.0f, static_cast<const float*>(x.data),
           k, copies_[static_cast<std::size_t>(copy)].as<float>(), n, 0.0f,
           static_cast<float*>(out.data), n);
  }
  void release() override {
    copies_.clear();
    source_ = nullptr;
  }

 private:
  using Sgemm = void(int, int, int, int, int, int, float, const float*, int, const float*, int,
                     float, float*, int);
  std::string core_;
  std::string config_;
  void (*set_threads_)(int);
  Sgemm* sgemm_;
  std::vector<AlignedBuffer> copies_;
  const void* source_ = nullptr;
};

// The packed interface; what it packs is good for one m.
class Mkl : public Contender {
 public:
  explicit Mkl(const SharedLibrary& library)
      : set_threads_(library.get<int(int)>("MKL_Set_Num_Threads_Local")),
        f32_(library, "cblas_sgemm"),
        bf16_(library, "cblas_gemm_bf16bf16f32") {
    constexpr int kLp64 = 0, kGnuThreads = 3;
    library.get<int(int)>("MKL_Set_Interface_Layer")(kLp64);
    library.get<int(int)>("MKL_Set_Threading_Layer")(kGnuThreads);
    char version[256] = {};
    library.get<void(char*, int)>("MKL_Get_Version_String")(version, sizeof(version) - 1);
    version_ = version;
    const std::size_t at = version_.find("Version ");
    if (at != std::string::npos) {
      version_ = version_.substr(at + 8, version_.find(' ', at + 8) - at - 8);
    }
    f32_.pack_size(kB, 1, 1, 1);  // loads the library of this processor's kernels
    kernels_ = loaded_library("libmkl_", {"def", "mc3", "avx2", "avx512", "avx10"});
  }

  std::string name() const override { return "mkl"; }
  std::string description() const override {
    return "MKL " + version_ + ", kernels of " + kernels_ + ", packed weights, OpenMP";
  }
  bool multiplies(DType dtype) const override { return dtype != DType::kF16; }

  void prepare(const Job& job) override {
    set_threads_(job.num_threads);
    copies_.clear();
    dtype_ = job.y.dtype;
    const int m = to_int(job.m), k = to_int(job.y.rows), n = to_int(job.y.cols);
    for (int copy = 0; copy < job.num_copies; ++copy) {
      if (dtype_ == DType::kF32) {
        copies_.emplace_back(static_cast<std::int64_t>(f32_.pack_size(kB, m, n, k)));
        f32_.pack(kRowMajor, kB, kNoTranspose, m, n, k, 1.0f, static_cast<const float*>(job.y.data),
                  n, copies_.back().as<float>());
      } else {
        copies_.emplace_back(static_cast<std::int64_t>(bf16_.pack_size(kB, m, n, k)));
        bf16_.pack(kRowMajor, kB, kNoTranspose, m, n, k,
                   static_cast<const std::uint16_t*>(job.y.data), n,
                   copies_.back().as<std::uint16_t>());
      }
    }
  }
  void multiply(const ConstMatrixRef& x, const MatrixRef& out, int copy) override {
    const int m = to_int(x.rows), k = to_int(x.cols), n = to_int(out.cols);
    const AlignedBuffer& y = copies_[static_cast<std::size_t>(copy)];
    auto* to = static_cast<float*>(out.data);
    if (dtype_ == DType::kF32) {
      f32_.compute(kRowMajor, kNoTranspose, kPacked, m, n, k, static_cast<const float*>(x.data), k,
                   y.as<float>(), n, 0.0f, to, n);
    } else {
      bf16_.compute(kRowMajor, kNoTranspose, kPacked, m, n, k, 1.0f,
                    static_cast<const std::uint16_t*>(x.data), k, y.as<std::uint16_t>(), n, 0.0f,
                    to, n);
    }
  }
  void release() override { copies_.clear(); }

 private:
  using PackSize = std::size_t(int, int, int, int);
  struct F32 {
    F32(const SharedLibrary& library, const std::string& name)
        : pack_size(library.get<PackSize>((name + "_pack_get_size").c_str())),
          pack(library.get<Pack>((name + "_pack").c_str())),
          compute(library.get<Compute>((name + "_compute").c_str())) {}
    using Pack = void(int, int, int, int, int, int, float, const float*, int, float*);
    using Compute = void(int, int, int, int, int, int, const float*, int, const float*, int, float,
                         float*, int);
    PackSize* pack_size;
    Pack* pack;
    Compute* compute;
  };
  struct BF16 {
    BF16(const SharedLibrary& library, const std::string& name)
        : pack_size(library.get<PackSize>((name + "_pack_get_size").c_str())),
          pack(library.get<Pack>((name + "_pack").c_str())),
          compute(library.get<Compute>((name + "_compute").c_str())) {}
    using Pack = void(int, int, int, int, int, int, const std::uint16_t*, int, std::uint16_t*);
    using Compute = void(int, int, int, int, int, int, float, const std::uint16_t*, int,
                         const std::uint16_t*, int, float, float*, int);
    PackSize* pack_size;
    Pack* pack;
    Compute* compute;
  };

  int (*set_threads_)(int);
  F32 f32_;
  BF16 bf16_;
  std::string version_;
  std::string kernels_;
  DType dtype_ = DType::kF32;
  std::vector<AlignedBuffer> copies_;
};

}  // namespace

std::unique_ptr<Contender> make_openblas(std::vector<std::string>& missing) {
  // A core type forced by the environment would measure another machine's kernel.
  unsetenv("OPENBLAS_CORETYPE");
  unsetenv("OPENBLAS_L2_SIZE");
  try {
    return std::make_unique<OpenBlas>(SharedLibrary("libopenblas.so.0"));
  } catch (const std::exception& error) {
    missing.push_back(std::string("openblas: ") + error.what() + " (package libopenblas0-pthread)");
    return nullptr;
  }
}

std::unique_ptr<Contender> make_mkl(const std::string& path, std::vector<std::string>& missing) {
  try {
    return std::make_unique<Mkl>(SharedLibrary(path));
  } catch (const std::exception& error) {
    missing.push_back(std::string("mkl: ") + error.what() + " (tools/fetch_mkl build/mkl)");
    return nullptr;
  }
}

}  // namespace cmm::bench
