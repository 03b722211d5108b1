// Options with one value, handed over as text: the parsers of arguments.hpp word the errors, not
// the argument library.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "arguments.hpp"

namespace cmm::cli {

template <class App, class Parse>
auto* add_value(App& app, const char* name, Parse parse, const std::string& help,
                const char* type) {
  return app
      .add_option_function(std::string(name), std::function<void(const std::string&)>(parse), help)
      ->type_name(type);
}

template <class Value>
struct ValueOf {
  using type = Value;
};
template <class Value>
struct ValueOf<std::optional<Value>> {
  using type = Value;
};

// `target`: a whole number, or an optional one.
template <class App, class Target>
void add_int(App& app, const char* name, Target& target, IntRange range, const std::string& help) {
  add_value(
      app, name,
      [name, &target, range](const std::string& word) {
        target = static_cast<typename ValueOf<Target>::type>(parse_int(name, word, range));
      },
      help, "N");
}

// `of_what`, as "of the search", begins the help.
template <class App>
void add_seed(App& app, std::uint64_t& seed, const std::string& of_what) {
  add_value(
      app, "--seed", [&seed](const std::string& word) { seed = parse_seed("--seed", word); },
      text(of_what, " (default: ", seed, ")"), "N");
}

// The library's parsers of names know no flags.
template <class App, class Target, class Parse>
void add_name(App& app, const char* name, Target& target, Parse parse, const std::string& help,
              const char* type) {
  add_value(
      app, name,
      [name, &target, parse](const std::string& word) { target = parse_name(name, word, parse); },
      help, type);
}

// The name of a file to write.
template <class App>
void add_file(App& app, const char* name, std::string& target, const std::string& help) {
  add_value(
      app, name,
      [name, &target](const std::string& word) {
        if (word.empty()) {
          throw Error(ErrorCode::kInvalidArgument, text(name, " is ''; give the name of a file"));
        }
        target = word;
      },
      help, "FILE");
}

}  // namespace cmm::cli
