// The cores this process may run on.
#pragma once

namespace cmm {

int num_allowed_cores();  // at least 1; asks the system

}  // namespace cmm
