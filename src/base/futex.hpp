// Sleeping on a word that other threads or other processes write. std::atomic::wait will not do:
// its futex is private to a process, and it knows no limit.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace cmm {

// Returns when woken, when the word is not `expected`, after `limit`, or for no reason.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::chrono::microseconds limit) noexcept;
// Wakes all that sleep on the word.
void futex_wake(const std::atomic<std::uint32_t>& word) noexcept;

}  // namespace cmm
