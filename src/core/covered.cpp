#include "core/covered.hpp"

#include <algorithm>

namespace weir {

namespace {

/// The pieces of a list that lie in an extent, one after another.
class Walk {
 public:
  Walk(const PieceList& list, Extent within)
      : runs_{&list.runs()}, next_{list.find(within.offset)}, within_{within} {
    load();
    if (left_ == 0 || begin_ >= within.offset || left_ == 1) return;
    const std::uint64_t skipped = (within.offset - begin_) / stride_;
    begin_ += skipped * stride_;
    left_ -= skipped;
    if (begin_ + length_ <= within.offset) advance();
  }
  [[nodiscard]] bool done() const noexcept { return left_ == 0 || begin_ >= within_.end(); }
  [[nodiscard]] std::uint64_t begin() const noexcept { return std::max(begin_, within_.offset); }
  [[nodiscard]] std::uint64_t end() const noexcept { return std::min(begin_ + length_, within_.end()); }
  void advance() noexcept {
    if (--left_ == 0) return load();
    begin_ += stride_;
  }

 private:
  void load() noexcept {
    if (next_ == runs_->size()) return;
    const Strided run = (*runs_)[next_++];
    begin_ = run.offset;
    length_ = run.length;
    stride_ = run.stride;
    left_ = run.count;
  }

  const StridedList* runs_;
  std::size_t next_;  // run
  Extent within_;
  std::uint64_t begin_ = 0, length_ = 0, stride_ = 0;
  std::uint64_t left_ = 0;  // pieces of the run, with this one
};

/// Walks in a heap, the one with the lowest piece first.
class Walks {
 public:
  Walks(std::span<const PieceList* const> lists, Extent within) {
    walks_.reserve(lists.size());
    heap_.reserve(lists.size());
    for (const PieceList* list : lists)
      if (Walk walk{*list, within}; !walk.done()) {
        heap_.push_back({walk.begin(), walks_.size()});
        walks_.push_back(walk);
      }
    std::make_heap(heap_.begin(), heap_.end(), [](const Head& a, const Head& b) { return a.begin > b.begin; });
  }
  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  [[nodiscard]] Walk& lowest() noexcept { return walks_[heap_.front().walk]; }
  /// Where the next walk goes on: up to there the lowest is the lowest.
  [[nodiscard]] std::uint64_t others() const noexcept {
    std::uint64_t begin = ~std::uint64_t{0};
    for (std::size_t i = 1; i < std::min<std::size_t>(3, heap_.size()); ++i) begin = std::min(begin, heap_[i].begin);
    return begin;
  }
  /// The lowest has been advanced.
  void settle() noexcept {
    Head head{lowest().begin(), heap_.front().walk};
    if (lowest().done()) {
      head = heap_.back();
      heap_.pop_back();
      if (heap_.empty()) return;
    }
    std::size_t hole = 0;
    while (true) {
      std::size_t child = 2 * hole + 1;
      if (child >= heap_.size()) break;
      if (child + 1 < heap_.size() && heap_[child + 1].begin < heap_[child].begin) ++child;
      if (heap_[child].begin >= head.begin) break;
      heap_[hole] = heap_[child];
      hole = child;
    }
    heap_[hole] = head;
  }

 private:
  struct Head {
    std::uint64_t begin;
    std::size_t walk;
  };
  std::vector<Walk> walks_;
  std::vector<Head> heap_;
};

}  // namespace

std::vector<Extent> covered(std::span<const PieceList* const> lists, Extent within) {
  std::vector<Extent> extents;
  std::uint64_t begin = 0, end = 0;
  Walks walks{lists, within};
  while (!walks.empty()) {
    Walk& walk = walks.lowest();
    const std::uint64_t others = walks.others();
    do {
      if (walk.begin() > end) {
        if (end > begin) extents.push_back({begin, end - begin});
        begin = walk.begin();
        end = walk.end();
      } else {
        end = std::max(end, walk.end());
      }
      walk.advance();
    } while (!walk.done() && walk.begin() <= others);
    walks.settle();
  }
  if (end > begin) extents.push_back({begin, end - begin});
  return extents;
}

}  // namespace weir
