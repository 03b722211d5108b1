#include <cmm/cmm.hpp>
#include <cmm/mpi.hpp>

int main() {
  const cmm::Mesh mesh = cmm::mesh_from_environment({{"tp", 1}});
  return mesh.axis("tp").num_ranks() == 1 ? 0 : 1;
}
