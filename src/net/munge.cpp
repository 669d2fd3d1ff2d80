#include "net/munge.hpp"

#include "core/errors.hpp"
#include "net/secret.hpp"

#if WEIR_HAVE_MUNGE
#include <dlfcn.h>
#include <fmt/format.h>
#include <munge.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#endif

namespace weir {

std::optional<std::string> Munge::socket_in(const std::string& secret) {
  constexpr std::string_view word = "munge";
  if (secret == word) return std::string{};
  if (secret.starts_with(word) && secret[word.size()] == ':') return secret.substr(word.size() + 1);
  return {};
}

#if WEIR_HAVE_MUNGE
namespace {

#define WEIR_MUNGE_FUNCTIONS(apply)                                                                          \
  apply(munge_encode) apply(munge_decode) apply(munge_strerror) apply(munge_ctx_create) apply(munge_ctx_set) \
      apply(munge_ctx_destroy)

struct MungeLibrary {
#define WEIR_MUNGE_MEMBER(name) decltype(&::name) name = nullptr;
  WEIR_MUNGE_FUNCTIONS(WEIR_MUNGE_MEMBER)
#undef WEIR_MUNGE_MEMBER

  /// The same for the whole life of the process; null when it is not installed.
  static const MungeLibrary* load() noexcept {
    static const std::optional<MungeLibrary> library = []() -> std::optional<MungeLibrary> {
      void* const munge = ::dlopen("libmunge.so.2", RTLD_NOW | RTLD_LOCAL);
      if (!munge) return {};
      MungeLibrary found;
#define WEIR_MUNGE_FIND(name)                                              \
  found.name = reinterpret_cast<decltype(&::name)>(::dlsym(munge, #name)); \
  if (!found.name) return {};
      WEIR_MUNGE_FUNCTIONS(WEIR_MUNGE_FIND)
#undef WEIR_MUNGE_FIND
      return found;
    }();
    return library ? &*library : nullptr;
  }
};

using MungeSession = std::unique_ptr<munge_ctx, void (*)(munge_ctx_t)>;
template <class T>
using MungeFreed = std::unique_ptr<T, void (*)(void*)>;

/// How to talk to the daemon; null when there is no memory for it.
MungeSession session_at(const MungeLibrary& munge, const std::string& socket) {
  MungeSession session{munge.munge_ctx_create(), munge.munge_ctx_destroy};
  if (session && !socket.empty() &&
      munge.munge_ctx_set(session.get(), MUNGE_OPT_SOCKET, socket.c_str()) != EMUNGE_SUCCESS)
    session.reset();
  return session;
}

Status munge_problem(const MungeLibrary& munge, munge_err_t error, std::string_view action) {
  const bool absent = error == EMUNGE_SOCKET;
  return problem(
      absent ? Code::io : Code::access,
      [&] { return fmt::format("cannot {} with munge: {}", action, munge.munge_strerror(error)); },
      absent ? "see whether munged runs on this machine" : "");
}

Status no_memory_for_munge() { return problem(Code::no_memory, "cannot use munge: out of memory"); }

}  // namespace

Result<Munge> Munge::make(std::string socket, int lifetime_s) {
  if (!MungeLibrary::load())
    return problem(Code::unsupported, "cannot use munge: libmunge.so.2 is not there",
                   "install it, or name a file with a secret");
  return Munge{std::move(socket), lifetime_s};
}

Result<std::vector<std::byte>> Munge::credential(std::span<const std::byte> message) const {
  const MungeLibrary& munge = *MungeLibrary::load();
  const MungeSession session = session_at(munge, socket_);
  if (!session) return no_memory_for_munge();
  munge_err_t error = munge.munge_ctx_set(session.get(), MUNGE_OPT_UID_RESTRICTION, ::geteuid());
  if (error == EMUNGE_SUCCESS && lifetime_s_ > 0)
    error = munge.munge_ctx_set(session.get(), MUNGE_OPT_TTL, lifetime_s_);
  char* text = nullptr;
  if (error == EMUNGE_SUCCESS)
    error = munge.munge_encode(&text, session.get(), message.data(), static_cast<int>(message.size()));
  const MungeFreed<char> owned{text, std::free};
  if (error != EMUNGE_SUCCESS) return munge_problem(munge, error, "prove who this is");
  const std::string_view made{text};
  const auto bytes = std::as_bytes(std::span{made});
  return std::vector<std::byte>{bytes.begin(), bytes.end()};
}

Status Munge::check(std::span<const std::byte> credential, std::span<const std::byte> message) const {
  const MungeLibrary& munge = *MungeLibrary::load();
  const MungeSession session = session_at(munge, socket_);
  if (!session) return no_memory_for_munge();
  const std::string text{reinterpret_cast<const char*>(credential.data()), credential.size()};
  void* found = nullptr;
  int length = 0;
  uid_t user = static_cast<uid_t>(-1);
  gid_t group = static_cast<gid_t>(-1);
  const munge_err_t error = munge.munge_decode(text.c_str(), session.get(), &found, &length, &user, &group);
  const MungeFreed<void> owned{found, std::free};
  if (error != EMUNGE_SUCCESS) return munge_problem(munge, error, "check who the other side is");
  const std::span contents{static_cast<const std::byte*>(found), static_cast<std::size_t>(length)};
  if (user != ::geteuid())
    return problem(Code::access,
                   [&] { return fmt::format("cannot trust a credential of munge: user {} made it", user); });
  if (!same(contents, message))
    return problem(Code::access, "cannot trust a credential of munge: it was made for something else");
  return {};
}

#else

namespace {
Status built_without_munge() { return problem(Code::unsupported, "cannot use munge: Weir was built without it"); }
}  // namespace

Result<Munge> Munge::make(std::string, int) { return built_without_munge(); }
Result<std::vector<std::byte>> Munge::credential(std::span<const std::byte>) const { return built_without_munge(); }
Status Munge::check(std::span<const std::byte>, std::span<const std::byte>) const { return built_without_munge(); }

#endif

}  // namespace weir
