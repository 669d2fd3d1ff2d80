#pragma once

#include <string>

#include "mover.hpp"

namespace weir::bench {

/// A file by plain calls of the system, which throw what goes wrong.
class PlainFile {
 public:
  PlainFile(std::string path, int flags);
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;
  ~PlainFile();

  void transfer(Operation operation, std::byte* data, Piece piece) const;
  void close();

 private:
  std::string path_;
  int file_;
};

}  // namespace weir::bench
