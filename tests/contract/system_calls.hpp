// Named points of what has no hook of its own: every system call that the library makes while
// processes become a mesh, exchange and doze. The program's own functions of these names are called
// instead of the C library's; they do what they should unless this process has armed a mishap.
#pragma once

#include <atomic>
#include <string>

namespace cmm::contract {

enum class Mishap { kNone, kKill, kExit, kStop, kSlow, kError };

// What happens at the number-th system call after arm(), counted from 1.
struct MishapAt {
  Mishap mishap = Mishap::kNone;
  int number = 0;
};

void arm(const MishapAt& at);
// System calls since arm(), which ends with this; the name of the one that met the mishap, or "".
int disarm();
std::string mishap_name();

}  // namespace cmm::contract
