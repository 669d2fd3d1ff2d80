#include "storage/fault_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>

#include "core/errors.hpp"

namespace weir {
namespace {

struct OpName {
  std::string_view name;
  FaultOp op;
};

constexpr OpName op_names[] = {
    {"open", FaultOp::open},   {"write", FaultOp::write},   {"read", FaultOp::read},     {"sync", FaultOp::sync},
    {"close", FaultOp::close}, {"rename", FaultOp::rename}, {"remove", FaultOp::remove}, {"syncdir", FaultOp::syncdir},
};

constexpr std::string_view word_forms =
    "words are op=open|write|read|sync|close|rename|remove|syncdir, one of error=<errno name>, short=<bytes> and flip, "
    "and if wanted after=<calls>, times=<count>, rank=<number>";

Status malformed(std::string_view rule, std::string_view word, std::string_view why, std::string_view allowed) {
  return problem(Code::settings, fmt::format("cannot use fault rule '{}': '{}' {}", rule, word, why), allowed);
}

/// Takes what stands before the next `separator` off the front of `text`, without blanks around it.
std::string_view take(std::string_view& text, char separator) {
  const auto end = std::min(text.find(separator), text.size());
  std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
  while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
  return part;
}

bool read_number(std::string_view text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

int errno_of(std::string_view name) {
  constexpr int last_errno = 133;  // EHWPOISON
  for (int error = 1; error <= last_errno; ++error) {
    const char* known = strerrorname_np(error);
    if (known && name == known) return error;
  }
  return 0;
}

/// What the words of a rule have said so far.
class RuleReader {
 public:
  explicit RuleReader(std::string_view text) : text_{text} {}

  Result<FaultRule> read() {
    for (std::string_view rest = text_; !rest.empty();) {
      const std::string_view word = take(rest, ' ');
      if (word.empty()) continue;
      if (Status status = read_word(word); !status) return status;
    }
    if (Status status = check(); !status) return status;
    return rule_;
  }

 private:
  Status read_word(std::string_view word) {
    if (word == "flip") return set_kind(FaultRule::Kind::flip), Status{};
    std::string_view value = word;
    const std::string_view key = take(value, '=');
    if (key == "op") return read_op(word, value);
    if (key == "error") {
      set_kind(FaultRule::Kind::error);
      rule_.error = errno_of(value);
      if (rule_.error) return {};
      return malformed(text_, word, "names no errno",
                       "allowed are ENOSPC, EIO, EDQUOT, EINTR and all others of errno(3)");
    }
    std::uint64_t rank = 0;
    std::uint64_t* number = nullptr;
    if (key == "short")
      set_kind(FaultRule::Kind::shorten), number = &rule_.most;
    else if (key == "after")
      number = &rule_.after;
    else if (key == "times")
      number = &rule_.times;
    else if (key == "rank")
      number = &rank;
    else
      return malformed(text_, word, "is not known", word_forms);
    if (!read_number(value, *number)) return malformed(text_, word, "has no whole number", "allowed are 0, 1, 2, ...");
    if (key == "rank") rule_.rank = rank;
    return {};
  }

  Status read_op(std::string_view word, std::string_view value) {
    const auto* known = std::ranges::find(op_names, value, &OpName::name);
    if (known == std::end(op_names)) {
      return malformed(text_, word, "names no operation",
                       "allowed are open, write, read, sync, close, rename, remove, syncdir");
    }
    rule_.op = known->op;
    has_op_ = true;
    return {};
  }

  void set_kind(FaultRule::Kind kind) {
    rule_.kind = kind;
    ++kinds_;
  }

  Status check() const {
    const bool moves = rule_.op == FaultOp::write || rule_.op == FaultOp::read;
    if (!has_op_) return malformed(text_, "op=", "is missing", word_forms);
    if (kinds_ != 1) return malformed(text_, "error=, short= or flip", "must stand there once", word_forms);
    if (rule_.kind != FaultRule::Kind::error && !moves) {
      return malformed(text_, rule_.kind == FaultRule::Kind::flip ? "flip" : "short=", "needs bytes that move",
                       "allowed with op=write and op=read");
    }
    if (moves && rule_.error == EINTR && rule_.times == FaultRule{}.times) {
      return malformed(text_, "error=EINTR", "would be repeated for ever", "give times=<count> with it");
    }
    return {};
  }

  std::string_view text_;
  FaultRule rule_;
  bool has_op_ = false;
  int kinds_ = 0;
};

FaultOp op_of(Io::Kind kind) noexcept { return kind == Io::Kind::read ? FaultOp::read : FaultOp::write; }

}  // namespace

Result<std::shared_ptr<FaultRules>> FaultRules::parse(std::string_view text, int rank) {
  auto rules = std::make_shared<FaultRules>();
  while (!text.empty()) {
    const std::string_view part = take(text, ';');
    if (part.empty()) continue;
    Result<FaultRule> rule = RuleReader{part}.read();
    if (!rule) return rule.status();
    const bool here = !rule->rank || static_cast<std::int64_t>(*rule->rank) == rank;
    if (here) rules->rules_.push_back(*rule);
  }
  return rules;
}

bool FaultRules::fires(FaultRule& rule) noexcept {
  if (rule.after > 0) return --rule.after, false;
  if (rule.times == 0) return false;
  --rule.times;
  ++fired_;
  return true;
}

int FaultRules::before(Io::Kind kind, std::uint64_t& length) noexcept {
  for (FaultRule& rule : rules_) {
    if (rule.op != op_of(kind)) continue;
    if (rule.kind == FaultRule::Kind::shorten && rule.most < length && fires(rule)) length = rule.most;
    if (rule.kind == FaultRule::Kind::error && fires(rule)) return rule.error;
  }
  return 0;
}

int FaultRules::error_for(FaultOp op) noexcept {
  for (FaultRule& rule : rules_) {
    if (rule.op == op && rule.kind == FaultRule::Kind::error && fires(rule)) return rule.error;
  }
  return 0;
}

bool FaultRules::flips(Io::Kind kind) noexcept {
  for (FaultRule& rule : rules_) {
    if (rule.op == op_of(kind) && rule.kind == FaultRule::Kind::flip && fires(rule)) return true;
  }
  return false;
}

bool FaultRules::meets_transfers() const noexcept {
  return std::ranges::any_of(
      rules_, [](const FaultRule& rule) { return rule.op == FaultOp::write || rule.op == FaultOp::read; });
}

}  // namespace weir
