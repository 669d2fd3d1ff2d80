#include "net/contact_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/private_file.hpp"
#include "net/secret.hpp"
#include "net/socket.hpp"
#include "remote/server_process.hpp"

using namespace weir;
using weir::testing::ScratchDirectory;

namespace {

Contact contact_in(const ScratchDirectory& directory) {
  return {{true, directory / "socket", 0}, "job-7", {std::byte{1}, std::byte{0xfe}}, 42, "node1"};
}

}  // namespace

TEST(ContactFile, says_what_was_written_and_is_private_and_goes) {
  const ScratchDirectory directory;
  const std::string path = directory / "contact";
  {
    const ContactFile file = ContactFile::make(path, contact_in(directory)).value();
    struct stat facts {};
    ASSERT_EQ(::stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0600U);
    const Contact read = read_contact(path).value();
    EXPECT_EQ(read.endpoint, contact_in(directory).endpoint);
    EXPECT_EQ(read.job, "job-7");
    EXPECT_EQ(read.nonce, contact_in(directory).nonce);
    EXPECT_EQ(read.pid, 42);
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

TEST(ContactFile, of_a_server_that_listens_is_kept_and_a_stale_one_replaced) {
  const ScratchDirectory directory;
  const std::string path = directory / "contact";
  Contact contact = contact_in(directory);
  ASSERT_TRUE(write_private_file(path, contact.text()).ok());
  {
    const Descriptor listener = listen_at(contact.endpoint).value();
    Contact other = contact;
    other.endpoint.place += "2";
    EXPECT_EQ(ContactFile::make(path, other).status().code(), Code::exists);
  }
  contact.job = "next";
  const ContactFile file = ContactFile::make(path, contact).value();
  EXPECT_EQ(read_contact(path).value().job, "next");
}

TEST(ContactFile, of_a_later_server_stays_when_an_earlier_one_ends) {
  const ScratchDirectory directory;
  const std::string path = directory / "contact";
  Contact later = contact_in(directory);
  {
    const ContactFile file = ContactFile::make(path, contact_in(directory)).value();
    later.nonce[0] = std::byte{9};
    ASSERT_TRUE(write_private_file(path, later.text()).ok());
  }
  EXPECT_EQ(read_contact(path).value().nonce, later.nonce);
}

TEST(ContactFile, that_others_can_read_or_that_makes_no_sense_is_refused) {
  const ScratchDirectory directory;
  const std::string path = directory / "contact", good = contact_in(directory).text();
  ASSERT_TRUE(write_private_file(path, good).ok());
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  EXPECT_EQ(read_contact(path).status().code(), Code::access);
  EXPECT_EQ(read_contact(directory / "none").status().code(), Code::not_found);
  EXPECT_EQ(read_contact(directory.path()).status().code(), Code::invalid);
  for (std::size_t length = 0; length + 1 < good.find("\npid"); ++length)
    EXPECT_FALSE(Contact::parse(good.substr(0, length), "cut").ok()) << length;
  EXPECT_FALSE(Contact::parse(good + "more x\n", "more").ok());
}

TEST(Secret, is_read_only_from_a_private_file) {
  const ScratchDirectory directory;
  const std::string path = directory / "secret";
  ASSERT_TRUE(make_secret(path).ok());
  const Secret secret = read_secret(path).value();
  EXPECT_EQ(secret.size(), 32U);
  ASSERT_TRUE(make_secret(path).ok());
  EXPECT_EQ(read_secret(path).value(), secret);
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  EXPECT_EQ(read_secret(path).status().code(), Code::access);
  ASSERT_TRUE(write_private_file(path, "short").ok());
  EXPECT_EQ(read_secret(path).status().code(), Code::invalid);
}

TEST(Endpoint, is_read_as_it_is_written) {
  for (const char* text : {"unix:/tmp/x", "tcp:127.0.0.1:80", "tcp:[::1]:0", "tcp:node7:65535"})
    EXPECT_EQ(Endpoint::parse(text).value().text(), text);
  for (const char* text :
       {"", "unix:", "tcp:", "tcp:host", "tcp:host:", "tcp:host:65536", "tcp::1", "http://x", "tcp:h:1x"})
    EXPECT_FALSE(Endpoint::parse(text).ok()) << text;
  EXPECT_FALSE(Endpoint::parse("unix:/" + std::string(200, 'x')).ok());
}
