// Folders of dumps go with their owners, also with those that were killed.
#include "tpu/aot/dump_folder.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "support/scratch.hpp"

namespace cmm::tpu::aot {
namespace {

namespace fs = std::filesystem;

// In a temporary folder of its own: in that of all, another test removes what the dead have left.
class DumpFolders : public testing::Test {
 protected:
  DumpFolders() {
    const char* const before = std::getenv("TMPDIR");
    if (before != nullptr) before_ = before;
    setenv("TMPDIR", scratch_.path().c_str(), 1);
  }
  ~DumpFolders() override { before_ ? setenv("TMPDIR", before_->c_str(), 1) : unsetenv("TMPDIR"); }

  // What a process that was killed has left.
  static fs::path left_by_the_dead() {
    int pipe_ends[2];
    EXPECT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      const DumpFolder folder;
      std::ofstream(folder.path() + "/dump.txt") << "of libtpu";
      if (write(pipe_ends[1], folder.path().data(), folder.path().size()) < 0) _exit(1);
      for (;;) pause();
    }
    close(pipe_ends[1]);  // else a child that fails leaves the read without an end
    char path[256] = {};
    EXPECT_GT(read(pipe_ends[0], path, sizeof path - 1), 0);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(pipe_ends[0]);
    return path;
  }

  test::Scratch scratch_;
  std::optional<std::string> before_;
};

TEST_F(DumpFolders, GoAtTheirEnd) {
  std::string path;
  {
    const DumpFolder folder;
    path = folder.path();
    std::ofstream(path + "/dump.txt") << "of libtpu";
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(fs::is_empty(scratch_.path()));
}

TEST_F(DumpFolders, OfAKilledProcessGoWithTheNext) {
  const DumpFolder in_use;
  const fs::path left = left_by_the_dead();
  EXPECT_TRUE(fs::exists(left / "dump.txt"));
  const DumpFolder next;
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(in_use.path()));
  EXPECT_TRUE(fs::exists(next.path()));
}

// Each is what a killed process has left but for one thing.
TEST_F(DumpFolders, WhatOnlyLooksLikeOneStays) {
  std::vector<fs::path> kept;
  for (const char* name : {"cmm-tpu-results", "cmm-tpu-dump-", "cmm-tpu-dump-results",
                           "cmm-tpu-dump-mine", "my-cmm-tpu-dump-abcdef"}) {
    kept.push_back(scratch_.path() / name);
    fs::rename(left_by_the_dead(), kept.back());
  }
  kept.push_back(left_by_the_dead());
  fs::permissions(kept.back(), fs::perms{0750});

  kept.push_back(scratch_.path() / "cmm-tpu-dump-folder");  // no marker
  fs::create_directory(kept.back());
  fs::permissions(kept.back(), fs::perms{0700});
  std::ofstream(kept.back() / "dump.txt") << "of a user";

  const fs::path linked = scratch_.path() / "linked";
  fs::rename(left_by_the_dead(), linked);
  kept.push_back(scratch_.path() / "cmm-tpu-dump-linked");
  fs::create_directory_symlink(linked, kept.back());

  const DumpFolder next;
  for (const fs::path& path : kept) EXPECT_TRUE(fs::exists(path / "dump.txt")) << path;
}

}  // namespace
}  // namespace cmm::tpu::aot
