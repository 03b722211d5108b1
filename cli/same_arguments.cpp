#include "same_arguments.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "arguments.hpp"
#include "combine.hpp"
#include "text.hpp"

namespace cmm::cli {
namespace {

constexpr char kEnd = '\0';  // of a word: no argument of a process has one inside

std::string message_of(const GivenArguments& given) {
  std::string message = given.command + kEnd;
  for (const GivenArgument& argument : given.arguments) {
    message += argument.name + kEnd + argument.value + kEnd;
  }
  return message;
}

struct Sorted {
  std::string command;
  std::map<std::string, std::string> values;  // by name
};

Sorted from_message(std::size_t rank, std::string_view message) {
  std::vector<std::string> words;
  while (!message.empty()) {
    const std::size_t end = message.find(kEnd);
    if (end == std::string_view::npos) break;
    words.emplace_back(message.substr(0, end));
    message.remove_prefix(end + 1);
  }
  if (!message.empty() || words.size() % 2 == 0) throw not_understood(rank, "its arguments");
  Sorted given;
  given.command = words[0];
  for (std::size_t i = 1; i < words.size(); i += 2) given.values[words[i]] = words[i + 1];
  return given;
}

// `word` from shortly before where it begins to differ from `other`: long paths end differently.
std::string from_difference(const std::string& word, const std::string& other) {
  constexpr std::size_t kBefore = 30;
  const auto common = static_cast<std::size_t>(
      std::mismatch(word.begin(), word.end(), other.begin(), other.end()).first - word.begin());
  return common > kBefore ? "..." + word.substr(common - kBefore) : word;
}

// What the two were given differently, first by name.
std::optional<std::string> different_name(const Sorted& a, const Sorted& b) {
  auto at_a = a.values.begin(), at_b = b.values.begin();
  for (; at_a != a.values.end() && at_b != b.values.end(); ++at_a, ++at_b) {
    if (at_a->first != at_b->first) return std::min(at_a->first, at_b->first);
    if (at_a->second != at_b->second) return at_a->first;
  }
  if (at_a != a.values.end()) return at_a->first;
  if (at_b != b.values.end()) return at_b->first;
  return std::nullopt;
}

std::string shown(const std::string& name, const Sorted& given, const Sorted& other) {
  const auto found = given.values.find(name), elsewhere = other.values.find(name);
  if (found == given.values.end()) return "no " + name;
  if (found->second.empty()) return name;
  return name + " " +
         quoted(elsewhere == other.values.end()
                    ? found->second
                    : from_difference(found->second, elsewhere->second));
}

[[noreturn]] void throw_different(std::size_t rank, const std::string& of_rank_0,
                                  const std::string& of_rank) {
  throw AgreedError(ErrorCode::kInvalidArgument,
                    text("rank 0 was given ", of_rank_0, " but rank ", rank, " ", of_rank,
                         "; start all ranks with the same arguments"),
                    static_cast<int>(rank));
}

}  // namespace

void check_same_arguments(World& world, const GivenArguments& mine) {
  if (world.is_one_process()) return;
  const std::vector<std::string> messages = gather_long(world, message_of(mine));
  const Sorted first = from_message(0, messages[0]);
  for (std::size_t rank = 1; rank < messages.size(); ++rank) {
    const Sorted given = from_message(rank, messages[rank]);
    if (given.command != first.command) {
      throw_different(rank, "the command " + quoted(first.command), quoted(given.command));
    }
    if (const std::optional<std::string> name = different_name(first, given)) {
      throw_different(rank, shown(*name, first, given), shown(*name, given, first));
    }
  }
}

}  // namespace cmm::cli
