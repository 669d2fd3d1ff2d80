#include "launch.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>

#include "child.hpp"

namespace weir::bench {
namespace {

volatile std::sig_atomic_t interrupt = 0;

void pass_on(const std::string& line, const std::function<void(const Answer&)>& each) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (json.is_object()) {
    each(json.get<Answer>());
  } else {
    fmt::print(stderr, "{}\n", line);
  }
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int number) { interrupt = number; };
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, nullptr);
}

bool interrupted() { return interrupt != 0; }

std::string run_job(const std::vector<std::string>& command, const Request& request, double silence_s,
                    const std::function<void(const Answer&)>& each) {
  Child child{command};
  child.give(nlohmann::json(request).dump());
  std::string text, problem;
  for (;;) {
    const Child::Got got = interrupted() ? Child::Got::nothing : child.read(text, silence_s);
    if (got == Child::Got::end) break;
    if (got == Child::Got::nothing) {
      problem = interrupted() ? "interrupted" : fmt::format("it was silent for {:.0f} s and was ended", silence_s);
      child.end();
      break;
    }
    for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1))
      pass_on(text.substr(0, end), each);
  }
  const int status = child.wait();
  if (problem.empty() && WIFSIGNALED(status))
    problem = fmt::format("the launcher was ended by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  if (problem.empty() && WEXITSTATUS(status) != 0)
    problem = fmt::format("the launcher ended with exit code {}", WEXITSTATUS(status));
  return problem;
}

}  // namespace weir::bench
