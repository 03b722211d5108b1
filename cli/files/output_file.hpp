// A file that appears under its name only when it is complete: written without a name in the same
// folder, or under a temporary one where the file system has no files without, synced, then
// renamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "files/unfinished_file.hpp"
#include "files/unique_fd.hpp"

namespace cmm::files {

class OutputFile {
 public:
  // Reserves the whole size at once, so that a full disk is reported before the work, not after
  // it. An existing regular file is replaced at commit, keeping its permissions; a link is
  // followed. Throws Error(kIo): no space (with the bytes needed and present), no permission, or
  // `path` is something else than a regular file. Until commit, destruction leaves nothing behind,
  // and a process that is killed only what has a temporary name.
  OutputFile(const std::string& path, std::int64_t total_bytes);

  // Appends. Throws Error(kIo).
  void write(std::span<const std::byte> bytes);
  // The file is on the disk and has its name when this returns. To be called once, after
  // total_bytes have been written. Throws Error(kIo).
  void commit();

 private:
  void flush();

  std::string shown_path_;  // as the user wrote it, for messages
  std::string path_;        // links resolved
  UnfinishedFile temporary_;
  UniqueFd fd_;
  bool is_named_ = false;  // temporarily, from the start
  std::int64_t total_bytes_;
  std::int64_t written_bytes_ = 0;  // pending ones included
  std::vector<std::byte> pending_;  // small writes, gathered
};

// Writes all of `bytes` at the position of `fd`. Throws Error(kIo) with `path`; where the disk is
// full, with the bytes still needed and those present.
void write_fully(int fd, const std::string& path, std::span<const std::byte> bytes);

}  // namespace cmm::files
