// SIGUSR1 makes the tool write to standard error what its ranks did last and wait for:
// `kill -USR1 PID`, of a job that seems to hang. A job of threads writes all ranks', a job of
// processes those of the process that was signalled.
#pragma once

#include <cstddef>

namespace cmm {
class Mesh;
}

namespace cmm::cli {

// From here on SIGUSR1 is handled, unless the program was started with it ignored.
void show_history_on_signal();

// A mesh that is shown while this object lives; beyond some thousands, meshes are not.
class ShownMesh {
 public:
  explicit ShownMesh(const Mesh& mesh);
  ShownMesh(const ShownMesh&) = delete;
  ShownMesh& operator=(const ShownMesh&) = delete;
  // Returns once no handler looks at the mesh any more.
  ~ShownMesh();

 private:
  std::size_t slot_;
};

}  // namespace cmm::cli
