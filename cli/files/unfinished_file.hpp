// Names of files that must not outlive a failure, kept where a signal handler can reach them.
#pragma once

#include <string>

namespace cmm::files {

// Reserves a temporary name beside `path`; creating the file is the owner's work. The destructor
// removes what has that name, which is nothing once the file has been renamed.
class UnfinishedFile {
 public:
  // Throws Error(kIo) where the name is too long or too many are held.
  explicit UnfinishedFile(const std::string& path);
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

  const char* temporary_path() const;

 private:
  int slot_;
};

// Removes the files of all UnfinishedFiles. Async-signal-safe, callable from any thread.
void remove_unfinished_files() noexcept;

// From here on SIGHUP, SIGINT, SIGPIPE, SIGTERM and std::quick_exit remove the files of all
// UnfinishedFiles before they end the process. A signal that the process was started with ignored
// (nohup) stays ignored.
void remove_unfinished_files_on_signals();

}  // namespace cmm::files
