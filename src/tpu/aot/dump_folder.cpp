#include "tpu/aot/dump_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/text.hpp"
#include "cmm/error.hpp"

namespace cmm::tpu::aot {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "cmm-tpu-";

// A lock goes with the process, whatever ends it, and says nothing of a pid that is used again.
int open_folder(const fs::path& path) {
  return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// False where another process removed the folder as a dead one's, before this one had locked it.
bool is_there(const fs::path& path) {
  struct stat status = {};
  return lstat(path.c_str(), &status) == 0;
}

void remove_those_of_the_dead(const fs::path& parent) {
  std::error_code ignored;
  for (fs::directory_iterator at(parent, ignored), end; at != end; at.increment(ignored)) {
    const fs::path& path = at->path();
    if (!path.filename().string().starts_with(kPrefix)) continue;
    const int folder = open_folder(path);
    if (folder < 0) continue;
    struct stat status = {};
    if (fstat(folder, &status) == 0 && status.st_uid == geteuid() &&
        flock(folder, LOCK_EX | LOCK_NB) == 0) {
      fs::remove_all(path, ignored);
    }
    close(folder);
  }
}

}  // namespace

DumpFolder::DumpFolder() {
  std::error_code failed;
  const fs::path parent = fs::temp_directory_path(failed);
  if (!failed) remove_those_of_the_dead(parent);
  do {
    if (lock_ >= 0) close(lock_);
    path_ = (parent / cat(kPrefix, "XXXXXX")).string();
    if (failed || mkdtemp(path_.data()) == nullptr) {
      throw Error(ErrorCode::kIo, cat("cannot make a folder ", path_, ": ", std::strerror(errno)));
    }
    lock_ = open_folder(path_);
    // Where a file system has no locks, nobody else gets one either.
    if (lock_ >= 0) flock(lock_, LOCK_EX);
  } while (!is_there(path_));
}

DumpFolder::~DumpFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (lock_ >= 0) close(lock_);
}

}  // namespace cmm::tpu::aot
