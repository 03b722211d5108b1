// Folders of dumps go with their owners, also with those that were killed.
#include "tpu/aot/dump_folder.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

namespace cmm::tpu::aot {
namespace {

namespace fs = std::filesystem;

// What a process that was killed has left.
std::string left_by_the_dead() {
  int pipe_ends[2];
  EXPECT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const DumpFolder folder;
    std::ofstream(folder.path() + "/dump.txt") << "of libtpu";
    if (write(pipe_ends[1], folder.path().data(), folder.path().size()) < 0) _exit(1);
    for (;;) pause();
  }
  char path[256] = {};
  EXPECT_GT(read(pipe_ends[0], path, sizeof path - 1), 0);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  return path;
}

TEST(DumpFolder, GoesAtItsEnd) {
  std::string path;
  {
    const DumpFolder folder;
    path = folder.path();
    std::ofstream(path + "/dump.txt") << "of libtpu";
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(DumpFolder, OfAKilledProcessGoesWithTheNext) {
  const DumpFolder in_use;
  const std::string left = left_by_the_dead();
  EXPECT_TRUE(fs::exists(left + "/dump.txt"));
  const DumpFolder next;
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(in_use.path()));
  EXPECT_TRUE(fs::exists(next.path()));
}

}  // namespace
}  // namespace cmm::tpu::aot
