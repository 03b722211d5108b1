// cmm tpu table: what searches have found, and the making of it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "add_option.hpp"
#include "arguments.hpp"
#include "cmm/tpu.hpp"
#include "exit_code.hpp"
#include "files/text_file.hpp"
#include "text.hpp"
#include "tpu_command.hpp"

namespace cmm::cli {
namespace {

using Json = nlohmann::ordered_json;

struct TableArguments {
  tpu::TileTableOptions options;
  std::string output_path;
  bool json = false;
};

// Its lines but for comments and empty ones.
Json entries_of(const std::string& table) {
  Json entries = Json::array();
  for (std::size_t at = 0; at < table.size();) {
    const std::size_t end = std::min(table.find('\n', at), table.size());
    if (end > at && table[at] != '#') entries.push_back(table.substr(at, end - at));
    at = end + 1;
  }
  return entries;
}

int run(const TableArguments& arguments) {
  if (arguments.output_path.empty()) {
    const std::string table = tpu::tile_table_text();
    const std::string shown =
        arguments.json ? Json{{"entries", entries_of(table)}}.dump(2) + "\n" : table;
    std::fputs(shown.c_str(), stdout);
    return kDone;
  }
  const std::string table = tpu::make_tile_table(arguments.options, [&](std::string_view line) {
    if (!arguments.json) std::fputs((std::string(line) + "\n").c_str(), stdout);
  });
  files::write_text(arguments.output_path, table);
  if (arguments.json) {
    std::fputs((Json{{"entries", entries_of(table)}}.dump(2) + "\n").c_str(), stdout);
  }
  return kDone;
}

}  // namespace

TpuCommand add_tpu_table_command(CLI::App& tpu) {
  auto arguments = std::make_shared<TableArguments>();
  CLI::App* sub = tpu.add_subcommand("table", "parameters that searches have found, by shape");
  add_file(*sub, "--output,-o", arguments->output_path,
           "search all entries anew and write them; takes minutes");
  add_int(*sub, "--search", arguments->options.num_candidates, {1, 10'000'000},
          text("candidates of each entry (default: ", arguments->options.num_candidates, ")"));
  add_seed(*sub, arguments->options.seed, "of the searches");
  sub->add_flag("--json", arguments->json, "print JSON instead of lines")->disable_flag_override();
  sub->footer(
      "Without -o prints the library's table, from which `simulate`, `verify` and `show` take the\n"
      "parameters of the nearest entry where they beat the planner's rule.\n"
      "Examples:\n"
      "  cmm tpu table\n"
      "  cmm tpu table -o tpu_tiles.txt --search 20000");
  return {sub, [arguments] { return run(*arguments); }};
}

}  // namespace cmm::cli
