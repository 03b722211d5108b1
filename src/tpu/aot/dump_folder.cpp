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

constexpr std::string_view kPrefix = "cmm-tpu-dump-";
constexpr std::string_view kUnique = "XXXXXX";      // what mkdtemp replaces
constexpr const char* kMarker = ".cmm-tpu-folder";  // a file in a folder of ours

// A lock goes with the process, whatever ends it, and says nothing of a pid that is used again.
int open_folder(const fs::path& path) {
  return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

bool is_named_as_ours(const std::string& name) {
  return name.size() == kPrefix.size() + kUnique.size() && name.starts_with(kPrefix);
}

// Whether nobody but this class, run by this user, can have made what is open as `folder`.
bool is_ours(int folder) {
  struct stat of_folder = {}, of_marker = {};
  return fstat(folder, &of_folder) == 0 && of_folder.st_uid == geteuid() &&
         (of_folder.st_mode & 0777) == 0700 &&
         fstatat(folder, kMarker, &of_marker, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(of_marker.st_mode) && of_marker.st_uid == geteuid();
}

// The temporary folder is everybody's: what may be another's stays, however it is named.
void remove_those_of_the_dead(const fs::path& parent) {
  std::error_code ignored;
  for (fs::directory_iterator at(parent, ignored), end; at != end; at.increment(ignored)) {
    const fs::path& path = at->path();
    if (!is_named_as_ours(path.filename().string())) continue;
    const int folder = open_folder(path);
    if (folder < 0) continue;
    if (is_ours(folder) && flock(folder, LOCK_EX | LOCK_NB) == 0) fs::remove_all(path, ignored);
    close(folder);
  }
}

// Once it is locked: a folder is nobody's to remove before it has its marker.
void mark(int folder) {
  const int marker = openat(folder, kMarker, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (marker >= 0) close(marker);
}

}  // namespace

DumpFolder::DumpFolder() {
  std::error_code failed;
  const fs::path parent = fs::temp_directory_path(failed);
  if (!failed) remove_those_of_the_dead(parent);
  path_ = (parent / cat(kPrefix, kUnique)).string();
  if (failed || mkdtemp(path_.data()) == nullptr) {
    throw Error(ErrorCode::kIo, cat("cannot make a folder ", path_, ": ", std::strerror(errno)));
  }
  lock_ = open_folder(path_);
  // Without a lock or a marker nobody removes it but this object.
  if (lock_ >= 0 && flock(lock_, LOCK_EX) == 0) mark(lock_);
}

DumpFolder::~DumpFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (lock_ >= 0) close(lock_);
}

}  // namespace cmm::tpu::aot
