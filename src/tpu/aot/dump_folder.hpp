// Where libtpu writes what it tells of a compile.
#pragma once

#include <string>

namespace cmm::tpu::aot {

// A folder of its own for a dump, removed with what is in it at the end. Its process may be killed
// before that; so a folder is locked as long as it is in use, and the next one to be made removes
// those of this user that nobody holds. It knows them by name, mode and a file that marks them.
class DumpFolder {
 public:
  DumpFolder();  // throws Error(kIo)
  DumpFolder(const DumpFolder&) = delete;
  DumpFolder& operator=(const DumpFolder&) = delete;
  ~DumpFolder();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int lock_ = -1;  // the folder, open
};

}  // namespace cmm::tpu::aot
