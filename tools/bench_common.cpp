#include "bench_common.hpp"

#include <fmt/format.h>

#include <fstream>

#include "commands.hpp"
#include "core/errors.hpp"

namespace weir::tools {

void Progress::show(const std::string& what, double done) const {
  constexpr int width = 30;
  const int filled = static_cast<int>(done * width);
  if (terminal_) fmt::print(stderr, "\r[{:#<{}}{:.<{}}] {:<40}", "", filled, "", width - filled, what);
}

void Progress::clear() const {
  if (terminal_) fmt::print(stderr, "\r{:<80}\r", "");
}

std::map<std::string, std::string> pairs_of(const std::vector<std::string>& words, const std::string& option) {
  std::map<std::string, std::string> result;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
      throw CLI::ValidationError(option, fmt::format("'{}' is not of the form key=value", word));
    result[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return result;
}

void print_results(const std::string& json_option, const std::string& table, const nlohmann::ordered_json& json) {
  if (json_option == "-") return fmt::print("{}\n", json.dump(2));
  fmt::print("{}", table);
  if (json_option.empty()) return;
  std::ofstream file{json_option};
  file << json.dump(2) << '\n';
  file.close();
  if (!file) throw Error{system_problem(errno, fmt::format("write '{}'", json_option))};
}

void telling_errors(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    const Code code = error.status().code();
    fmt::print(stderr, "{}\n", error.what());
    set_exit_code(code == Code::invalid || code == Code::settings ? 2 : 1);
  }
}

}  // namespace weir::tools
