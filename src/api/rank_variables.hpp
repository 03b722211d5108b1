// The environment variables that tell a process which rank it is.
#pragma once

#include <string>

namespace cmm::api {

inline constexpr const char* kRankVariable = "CMM_RANK";
inline constexpr const char* kNumRanksVariable = "CMM_NUM_RANKS";
// Set by a launcher: the rank's end of its connection, which it inherits.
inline constexpr const char* kRankSocketVariable = "CMM_RANK_SOCKET";
// Given by hand: where the ranks meet, and their token.
inline constexpr const char* kSocketVariable = "CMM_SOCKET";
inline constexpr const char* kTokenVariable = "CMM_TOKEN";

// "DESCRIPTOR:INODE": a program between the launcher and the rank may have closed the descriptor
// and the number may be another file's by now, which the inode tells.
std::string rank_socket_text(int descriptor);

}  // namespace cmm::api
