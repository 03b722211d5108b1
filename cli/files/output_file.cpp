#include "files/output_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "cmm/error.hpp"
#include "files/messages.hpp"

namespace cmm::files {
namespace {

constexpr std::size_t kPendingBytes = std::size_t{1} << 20;

[[noreturn]] void throw_no_space(int fd, const std::string& path, std::int64_t needed_bytes) {
  struct statvfs disk {};
  std::string present = "an unknown number";
  if (::fstatvfs(fd, &disk) == 0) present = cli::text(disk.f_bavail * disk.f_frsize);
  throw Error(ErrorCode::kIo, cli::text(path, ": no space left: ", needed_bytes,
                                        " bytes are needed, ", present, " are present"));
}

// What stands at `path`, links followed; nothing where there is no such file.
std::optional<struct stat> existing(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) == 0) return status;
  if (errno != ENOENT) throw_io(path, "cannot write", errno);
  if (::lstat(path.c_str(), &status) == 0) {
    throw Error(ErrorCode::kIo, cli::text(path, ": is a link to a file that does not exist"));
  }
  return std::nullopt;
}

// Where the file really goes: the rename must replace what a link points to, not the link.
std::string resolve(const std::string& path) {
  const std::optional<struct stat> status = existing(path);
  if (!status) return path;
  if (!S_ISREG(status->st_mode)) {  // a rename would replace /dev/full itself
    throw Error(ErrorCode::kIo, cli::text(path, ": exists and is not a regular file"));
  }
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) {
    throw_io(path, "cannot overwrite", errno);
  }
  return std::filesystem::canonical(path).string();
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Where the kernel shows an open file, and so lets it be given a name.
std::string path_of_descriptor(int fd) { return cli::text("/proc/self/fd/", fd); }

// A file without a name, which no kind of end leaves behind; -1 where the file system has none
// (NFS, older overlays) or /proc is missing.
int create_unnamed(const std::string& path) {
  UniqueFd fd(::open(folder_of(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
  if (fd.get() < 0) return -1;
  const bool can_be_named = ::access(path_of_descriptor(fd.get()).c_str(), F_OK) == 0;
  return can_be_named ? fd.release() : -1;
}

int create_named(const char* temporary_path, const std::string& shown_path) {
  const int fd = ::open(temporary_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) throw_io(shown_path, "cannot create a file in its folder", errno);
  return fd;
}

void reserve(int fd, const std::string& path, std::int64_t bytes) {
  // Passing this limit ends the process with SIGXFSZ, so it is compared first.
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      static_cast<std::uint64_t>(bytes) > limit.rlim_cur) {
    throw Error(ErrorCode::kIo,
                cli::text(path, ": takes ", bytes, " bytes; this process may write ",
                          limit.rlim_cur, " to a file (ulimit -f)"));
  }
  int result = 0;
  do {
    result = ::fallocate(fd, 0, 0, bytes);
  } while (result != 0 && errno == EINTR);
  if (result == 0 || errno == EOPNOTSUPP || errno == ENOSYS) return;
  if (errno == ENOSPC) throw_no_space(fd, path, bytes);
  throw_io(path, cli::text("cannot reserve ", bytes, " bytes"), errno);
}

}  // namespace

OutputFile::OutputFile(const std::string& path, std::int64_t total_bytes)
    : shown_path_(path),
      path_(resolve(path)),
      temporary_(path_),
      fd_(create_unnamed(path_)),
      total_bytes_(total_bytes) {
  if (fd_.get() < 0) {
    is_named_ = true;
    fd_ = UniqueFd(create_named(temporary_.temporary_path(), path));
  }
  if (const std::optional<struct stat> replaced = existing(path)) {
    if (::fchmod(fd_.get(), replaced->st_mode & 0777) != 0) {
      throw_io(path, "cannot keep its permissions", errno);
    }
  }
  reserve(fd_.get(), shown_path_, total_bytes);
  pending_.reserve(kPendingBytes);
}

void OutputFile::write(std::span<const std::byte> bytes) {
  written_bytes_ += static_cast<std::int64_t>(bytes.size());
  if (pending_.size() + bytes.size() > kPendingBytes) flush();
  if (bytes.size() >= kPendingBytes) {
    write_fully(fd_.get(), shown_path_, bytes);
  } else {
    pending_.insert(pending_.end(), bytes.begin(), bytes.end());
  }
}

void OutputFile::flush() {
  write_fully(fd_.get(), shown_path_, pending_);
  pending_.clear();
}

void OutputFile::commit() {
  if (written_bytes_ != total_bytes_) {
    throw std::logic_error(
        cli::text(path_, ": ", written_bytes_, " bytes written of ", total_bytes_));
  }
  flush();
  if (::fsync(fd_.get()) != 0) throw_io(shown_path_, "cannot write to the disk", errno);
  // A link never replaces a file, so that the temporary name is needed for a moment.
  if (!is_named_ && ::linkat(AT_FDCWD, path_of_descriptor(fd_.get()).c_str(), AT_FDCWD,
                             temporary_.temporary_path(), AT_SYMLINK_FOLLOW) != 0) {
    throw_io(shown_path_, "cannot name the finished file in its folder", errno);
  }
  // Some file systems report a failed write only here.
  if (::close(fd_.release()) != 0) throw_io(shown_path_, "cannot write to the disk", errno);
  if (std::rename(temporary_.temporary_path(), path_.c_str()) != 0) {
    throw_io(shown_path_, "cannot give the finished file its name", errno);
  }
  // The content is safe; that the name is too is worth an attempt, which not every file system
  // supports.
  const UniqueFd folder_fd(::open(folder_of(path_).c_str(), O_RDONLY | O_CLOEXEC));
  if (folder_fd.get() >= 0) ::fsync(folder_fd.get());
}

void write_fully(int fd, const std::string& path, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0 && errno == ENOSPC) {
      throw_no_space(fd, path, static_cast<std::int64_t>(bytes.size()));
    }
    if (done < 0) throw_io(path, "cannot write", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

}  // namespace cmm::files
