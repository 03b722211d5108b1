#include "files/input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "cmm/error.hpp"
#include "files/messages.hpp"

namespace cmm::files {

InputFile::InputFile(std::string path)
    : path_(std::move(path)),
      // O_NONBLOCK: opening a FIFO returns at once. It changes nothing for regular files.
      fd_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)) {
  if (fd_.get() < 0) throw_io(path_, "cannot open", errno);
  struct stat status;
  if (::fstat(fd_.get(), &status) != 0) throw_io(path_, "cannot read its size", errno);
  if (!S_ISREG(status.st_mode)) {
    throw Error(
        ErrorCode::kIo,
        cli::text(path_, ": is ", S_ISDIR(status.st_mode) ? "a directory" : "a device or pipe",
                  "; a regular file is needed"));
  }
  bytes_ = status.st_size;
  if (bytes_ == 0) throw_bad_file(path_, "is empty");
}

void InputFile::read(std::int64_t offset_bytes, std::span<std::byte> into,
                     const char* purpose) const {
  std::size_t done = 0;
  while (done < into.size()) {
    const std::int64_t at = offset_bytes + static_cast<std::int64_t>(done);
    const ssize_t got = ::pread(fd_.get(), into.data() + done, into.size() - done, at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_io(path_, cli::text("cannot read at byte ", at), errno);
    if (got == 0) {
      throw_bad_file_at(
          path_, at,
          cli::text("the file ends here; ", purpose, " needs ", into.size() - done, " bytes more"));
    }
    done += static_cast<std::size_t>(got);
  }
}

}  // namespace cmm::files
