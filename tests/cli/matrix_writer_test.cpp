// Writing: what other programs would write, whole or not at all.
#include "files/matrix_writer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>
#include <limits>

#include "cli/files_support.hpp"
#include "cli/golden_files.hpp"
#include "files/read_matrix.hpp"
#include "files/spec.hpp"

namespace cmm::files {
namespace {
using namespace std::string_literals;

class Writer : public InTemporaryFolder {
 protected:
  // Writes the [2, 3] matrix `data` (its bytes in row order).
  void write_whole(const std::string& spec, DType dtype, const std::string& data) const {
    MatrixWriter writer(spec, dtype, 2, 3);
    writer.write_rows({data.data(), dtype, 2, 3, 3});
    writer.commit();
  }
};

TEST_F(Writer, WritesNpyAsNumpyDoes) {
  write_whole(path("f32.npy"), DType::kF32, golden::kF32Data);
  EXPECT_EQ(read("f32.npy"), golden::kNpyF32);
  write_whole(path("f16.npy"), DType::kF16, golden::kF16Data);
  EXPECT_EQ(read("f16.npy"), golden::kNpyF16);
  write_whole(path("bf16.npy"), DType::kBF16, golden::kBF16Data);
  EXPECT_EQ(read("bf16.npy"), golden::kNpyBF16);
}

TEST_F(Writer, WritesSafetensorsAsOthersDo) {
  write_whole(path("o.safetensors"), DType::kF32, golden::kF32Data);
  EXPECT_EQ(read("o.safetensors"), golden::kSafetensorsOut);
  write_whole(path("o.safetensors:out"), DType::kF32, golden::kF32Data);
  EXPECT_EQ(read("o.safetensors"), golden::kSafetensorsOut);
}

TEST_F(Writer, NamesTheTensor) {
  for (const std::string name : {"h", "a:\"b\"\\", "\xc3\xa9", "line\nbreak"}) {
    write_whole(path("o.safetensors:" + name), DType::kBF16, golden::kBF16Data);
    const Tensor t = read_matrix(path("o.safetensors:" + name));
    EXPECT_EQ(t.view.dtype, DType::kBF16);
    EXPECT_EQ(values(t.view), golden::values_of(65536));
  }
  const auto error = [&](const std::string& name) {
    return error_of([&] { MatrixWriter(path("o2.safetensors:" + name), DType::kF32, 2, 3); });
  };
  EXPECT_TRUE(contains(error("__metadata__"), "invalid argument: '__metadata__' cannot be"));
  EXPECT_TRUE(contains(error("\xff"), "invalid argument: the tensor name '\\xff' is not UTF-8"));
  EXPECT_EQ(names(), std::vector{"o.safetensors"s});
}

TEST_F(Writer, WritesStridedRowsInBlocks) {
  // Row sizes below, around and above the size up to which writes are gathered (1 MiB).
  for (const std::int64_t cols : {1, 1000, 262'143, 262'144, 300'000}) {
    const std::int64_t rows = 5, stride = cols + 3;
    std::vector<float> data(rows * stride);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i);
    for (const char* name : {"o.npy", "o.safetensors"}) {
      MatrixWriter writer(path(name), DType::kF32, rows, cols);
      const auto block = [&](std::int64_t begin, std::int64_t end) {
        writer.write_rows({data.data() + begin * stride, DType::kF32, end - begin, cols, stride});
      };
      block(0, 2);
      block(2, 2);
      block(2, 5);
      writer.commit();
      const StridedMatrixRef whole(data.data(), DType::kF32, rows, cols, stride, 1);
      EXPECT_EQ(values(read_matrix(path(name)).view), values(whole)) << cols << " columns";
    }
  }
}

TEST_F(Writer, WritesMatricesWithoutElements) {
  for (const auto& [rows, cols] : {std::pair(0, 3), std::pair(3, 0), std::pair(0, 0)}) {
    for (const char* name : {"o.npy", "o.safetensors"}) {
      MatrixWriter writer(path(name), DType::kF16, rows, cols);
      writer.write_rows({nullptr, DType::kF16, rows, cols, cols});
      writer.commit();
      const Tensor t = read_matrix(path(name));
      EXPECT_EQ(t.view.rows, rows);
      EXPECT_EQ(t.view.cols, cols);
    }
  }
}

TEST_F(Writer, AppearsOnlyWhenComplete) {
  write("o.npy", "what was there before");
  {
    MatrixWriter writer(path("o.npy"), DType::kF32, 2, 3);
    writer.write_rows({golden::kF32Data.data(), DType::kF32, 1, 3, 3});
    EXPECT_EQ(read("o.npy"), "what was there before");
    EXPECT_TRUE(contains(error_of([&] { writer.commit(); }), "only 1 of 2 rows"));
  }
  EXPECT_EQ(read("o.npy"), "what was there before");
  EXPECT_EQ(names(), std::vector{"o.npy"s});
  write_whole(path("o.npy"), DType::kF32, golden::kF32Data);
  EXPECT_EQ(read("o.npy"), golden::kNpyF32);
  EXPECT_EQ(names(), std::vector{"o.npy"s});
}

TEST_F(Writer, RefusesRowsThatDoNotFit) {
  MatrixWriter writer(path("o.npy"), DType::kF32, 2, 3);
  const auto error = [&](DType dtype, std::int64_t rows, std::int64_t cols) {
    return error_of([&] { writer.write_rows({golden::kF32Data.data(), dtype, rows, cols, cols}); });
  };
  EXPECT_TRUE(contains(error(DType::kF16, 2, 3), "invalid argument: " + path("o.npy") + ": f16"));
  EXPECT_TRUE(contains(error(DType::kF32, 2, 2), "f32 [2, 2] cannot be written after row 0 of"));
  EXPECT_TRUE(contains(error(DType::kF32, 3, 3), "f32 [3, 3] cannot be written after row 0 of"));
  EXPECT_EQ(error(DType::kF32, 1, 3), "no error");
  EXPECT_TRUE(contains(error(DType::kF32, 2, 3), "cannot be written after row 1 of f32 [2, 3]"));
}

TEST_F(Writer, RefusesSizesThatNoFileHas) {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  for (const auto& size :
       {std::pair(huge, huge), std::pair(huge, std::int64_t{1}),
        std::pair(huge / 4, std::int64_t{1}), std::pair(std::int64_t{-1}, std::int64_t{3}),
        std::pair(std::int64_t{3}, -huge)}) {
    EXPECT_TRUE(contains(
        error_of([&] { MatrixWriter(path("o.npy"), DType::kF32, size.first, size.second); }),
        "invalid argument: " + path("o.npy")));
  }
  EXPECT_TRUE(names().empty());
}

TEST_F(Writer, ReportsAFullDiskBeforeAnythingIsComputed) {
  const std::string error =
      error_of([&] { MatrixWriter(path("o.npy"), DType::kF32, 1 << 30, 1 << 20); });
  // 4 PiB: file systems that allow such a file lack the space, others the size.
  EXPECT_TRUE(contains(error, "input/output: " + path("o.npy")));
  EXPECT_TRUE(contains(error, "4503599627370624 bytes"));
  EXPECT_TRUE(names().empty());
}

TEST_F(Writer, ReportsAFullDiskWhileWriting) {
  const int fd = ::open("/dev/full", O_WRONLY);
  ASSERT_GE(fd, 0);
  const std::array<std::byte, 10> bytes{};
  const std::string error = error_of([&] { write_fully(fd, "o.npy", bytes); });
  ::close(fd);
  EXPECT_TRUE(contains(error, "input/output: o.npy: no space left: 10 bytes are needed, "));
  EXPECT_TRUE(contains(error, "are present"));
}

TEST_F(Writer, RespectsTheLimitOnFileSizes) {  // the kernel would send SIGXFSZ
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit low = before;
  low.rlim_cur = 151;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  const std::string error =
      error_of([&] { write_whole(path("o.npy"), DType::kF32, golden::kF32Data); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_TRUE(contains(error, "takes 152 bytes; this process may write 151"));
  EXPECT_TRUE(names().empty());
}

TEST_F(Writer, ReplacesNothingButRegularFiles) {
  const auto error = [](const std::string& name) {
    return error_of([&] { MatrixWriter(name, DType::kF32, 2, 3); });
  };
  std::filesystem::create_directory(path("folder.npy"));
  EXPECT_TRUE(contains(error(path("folder.npy")), "exists and is not a regular file"));
  std::filesystem::create_symlink("/dev/full", path("full.npy"));
  EXPECT_TRUE(contains(error(path("full.npy")), "exists and is not a regular file"));
  std::filesystem::create_symlink(path("nowhere"), path("dangling.npy"));
  EXPECT_TRUE(contains(error(path("dangling.npy")), "is a link to a file that does not exist"));
  EXPECT_TRUE(contains(error(path("no-such-folder/o.npy")),
                       "cannot create a file in its folder: No such file or directory"));
  EXPECT_TRUE(contains(error(path(std::string(300, 'x') + ".npy")), "File name too long"));
  EXPECT_TRUE(contains(error(path("o.txt")), "unknown kind of file"));
}

TEST_F(Writer, RefusesToReplaceAFileItMayNotWrite) {  // which a rename alone would
  const std::string name = write("o.npy", "before");
  ASSERT_EQ(::chmod(name.c_str(), 0444), 0);
  ASSERT_EQ(::chmod(scratch_.path().c_str(), 0777), 0);
  std::string error = "not run";
  if (!without_root(
          [&] { error = error_of([&] { write_whole(name, DType::kF32, golden::kF32Data); }); })) {
    GTEST_SKIP() << "cannot drop root's rights";
  }
  EXPECT_TRUE(contains(error, "input/output: " + name + ": cannot overwrite: Permission denied"));
  EXPECT_EQ(read("o.npy"), "before");
}

TEST_F(Writer, FollowsLinksAndKeepsPermissions) {
  const std::string target = write("target.npy", "before");
  ASSERT_EQ(::chmod(target.c_str(), 0640), 0);
  std::filesystem::create_symlink("target.npy", path("link.npy"));
  write_whole(path("link.npy"), DType::kF32, golden::kF32Data);
  EXPECT_TRUE(std::filesystem::is_symlink(path("link.npy")));
  EXPECT_EQ(read("target.npy"), golden::kNpyF32);
  EXPECT_EQ(std::filesystem::status(target).permissions(), std::filesystem::perms(0640));
}

TEST_F(Writer, GivesNewFilesThePermissionsOfTheUmask) {
  const mode_t before = ::umask(027);
  write_whole(path("o.npy"), DType::kF32, golden::kF32Data);
  ::umask(before);
  EXPECT_EQ(std::filesystem::status(path("o.npy")).permissions(), std::filesystem::perms(0640));
}

// From here on this process cannot open files without a name, as on NFS.
bool refuse_unnamed_files() {
  constexpr std::uint32_t kUnnamed = O_TMPFILE & ~O_DIRECTORY;
  struct sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kUnnamed, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {.len = std::size(steps), .filter = steps};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Exit code of a process that runs `body`; -1 where a signal ended it.
int exit_code_of_process(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(Writer, LeavesNothingWhenTheProcessIsKilled) {
  const int fd = ::open(scratch_.path().c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (fd < 0)
    GTEST_SKIP() << "the file system of " << scratch_.path() << " has no files without a name";
  ::close(fd);
  write("o.npy", "before");
  EXPECT_EQ(exit_code_of_process([&] {
              MatrixWriter writer(path("o.npy"), DType::kF32, 2, 3);
              writer.write_rows({golden::kF32Data.data(), DType::kF32, 2, 3, 3});
              ::raise(SIGKILL);
            }),
            -1);
  EXPECT_EQ(names(), std::vector{"o.npy"s});
  EXPECT_EQ(read("o.npy"), "before");
}

TEST_F(Writer, WritesWhereFilesNeedANameFromTheStart) {
  const int exit_code = exit_code_of_process([&] {
    if (!refuse_unnamed_files()) ::_exit(77);
    MatrixWriter writer(path("o.npy"), DType::kF32, 2, 3);
    if (names().size() != 1 || !contains(names()[0], "o.npy.part-")) ::_exit(1);
    writer.write_rows({golden::kF32Data.data(), DType::kF32, 2, 3, 3});
    writer.commit();
  });
  if (exit_code == 77) GTEST_SKIP() << "this kernel has no filter of system calls";
  EXPECT_EQ(exit_code, 0);
  EXPECT_EQ(names(), std::vector{"o.npy"s});
  EXPECT_EQ(read("o.npy"), golden::kNpyF32);
}

TEST_F(Writer, LeavesNothingWhenASignalEndsTheProcess) {
  const int exit_code = exit_code_of_process([&] {
    if (!refuse_unnamed_files()) ::_exit(77);
    ::signal(SIGTERM, [](int) {
      remove_unfinished_files();
      ::_exit(3);
    });
    MatrixWriter writer(path("o.npy"), DType::kF32, 2, 3);
    MatrixWriter second(path("p.npy"), DType::kF32, 2, 3);
    if (names().size() != 2) ::_exit(1);
    ::raise(SIGTERM);
    ::_exit(2);
  });
  if (exit_code == 77) GTEST_SKIP() << "this kernel has no filter of system calls";
  EXPECT_EQ(exit_code, 3);
  EXPECT_TRUE(names().empty());
}

TEST_F(Writer, LeavesOthersAloneWhenASignalComesLater) {
  write_whole(path("o.npy"), DType::kF32, golden::kF32Data);
  remove_unfinished_files();
  EXPECT_EQ(read("o.npy"), golden::kNpyF32);
}

TEST_F(Writer, WorksInTheCurrentFolder) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(scratch_.path());
  const std::string error = error_of([&] { write_whole("o.npy", DType::kF32, golden::kF32Data); });
  std::filesystem::current_path(before);
  EXPECT_EQ(error, "no error");
  EXPECT_EQ(read("o.npy"), golden::kNpyF32);
}

TEST_F(Writer, KnowsWhenTwoSpecsAreOneFile) {
  const std::string a = write("a.safetensors", "a");
  write("b.safetensors", "b");
  std::filesystem::create_hard_link(a, path("c.npy"));
  EXPECT_TRUE(same_file(a + ":x", path("./a.safetensors:y")));
  EXPECT_TRUE(same_file(a, path("c.npy")));
  EXPECT_FALSE(same_file(a, path("b.safetensors")));
  EXPECT_FALSE(same_file(a, path("none.npy")));
  EXPECT_FALSE(same_file(path("none.npy"), path("none.npy")));
}

}  // namespace
}  // namespace cmm::files
