// What a process holds of the system, and what lies about on the machine, before and after.
#pragma once

#include <dirent.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <string>

#include "base/text.hpp"

namespace cmm::contract {

struct Held {
  long descriptors = 0;
  long shared_mappings = 0;  // of files without a name
  long threads = 0;
  long children = 0;
  std::set<std::string> shm_files;     // of the machine
  std::set<std::string> unix_sockets;  // of the machine, that have a name
};

inline std::set<std::string> names_in(const char* folder) {
  std::set<std::string> names;
  DIR* const dir = opendir(folder);
  if (dir == nullptr) return names;
  while (const dirent* entry = readdir(dir)) names.insert(entry->d_name);
  closedir(dir);
  return names;
}

inline Held held_now() {
  Held held;
  // The descriptor of the listing itself is in every count alike.
  held.descriptors = static_cast<long>(names_in("/proc/self/fd").size());
  held.threads = static_cast<long>(names_in("/proc/self/task").size());
  held.shm_files = names_in("/dev/shm");
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/memfd:") != std::string::npos) ++held.shared_mappings;
  }
  std::ifstream children(cat("/proc/self/task/", getpid(), "/children"));
  for (std::string child; children >> child;) ++held.children;
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    const std::size_t name = line.find_first_of("@/");
    if (name != std::string::npos) held.unix_sockets.insert(line.substr(name));
  }
  return held;
}

inline void expect_nothing_more(const Held& before, const Held& after) {
  EXPECT_EQ(before.descriptors, after.descriptors);
  EXPECT_EQ(before.shared_mappings, after.shared_mappings);
  EXPECT_EQ(before.threads, after.threads);
  EXPECT_EQ(before.children, after.children);
}

// Nothing of the library is in /dev/shm, and no socket has a name that holds `mine`. Other tests
// run at the same time.
inline void expect_no_names(const std::string& mine) {
  const Held held = held_now();
  for (const std::string& name : held.shm_files) {
    EXPECT_EQ(name.find("cmm"), std::string::npos) << "left in /dev/shm: " << name;
  }
  for (const std::string& name : held.unix_sockets) {
    EXPECT_EQ(name.find(mine), std::string::npos) << "a socket that is left: " << name;
  }
}

}  // namespace cmm::contract
