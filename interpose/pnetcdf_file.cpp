#include "pnetcdf_file.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <new>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "file_bytes.hpp"
#include "open_file.hpp"

namespace weir::interpose {

namespace {

/// Fewer boxes, or larger ones, PnetCDF has soon written.
constexpr int fewest_boxes = 8;
constexpr std::size_t largest_box = 4096;
/// Lists of boxes that are remembered: those of different decompositions, each used for many variables.
constexpr std::size_t most_boxes = 8;

struct ElementType {
  std::size_t bytes;
  MPI_Datatype type;
};
/// By the number that PnetCDF has for a type of variables.
std::optional<ElementType> element_type(int number) noexcept {
  switch (number) {
    case 1: return ElementType{1, MPI_SIGNED_CHAR};
    case 2: return ElementType{1, MPI_CHAR};
    case 3: return ElementType{2, MPI_SHORT};
    case 4: return ElementType{4, MPI_INT};
    case 5: return ElementType{4, MPI_FLOAT};
    case 6: return ElementType{8, MPI_DOUBLE};
    case 7: return ElementType{1, MPI_UNSIGNED_CHAR};
    case 8: return ElementType{2, MPI_UNSIGNED_SHORT};
    case 9: return ElementType{4, MPI_UNSIGNED};
    case 10: return ElementType{8, MPI_LONG_LONG_INT};
    case 11: return ElementType{8, MPI_UNSIGNED_LONG_LONG};
    default: return {};
  }
}

/// As PnetCDF tells what MPI-IO tells it.
int pnetcdf_error(int code) noexcept {
  int kind = MPI_ERR_IO;
  PMPI_Error_class(code, &kind);
  constexpr int unknown = -204;
  constexpr std::array<std::pair<int, int>, 7> known{{{MPI_ERR_READ_ONLY, -37},
                                                      {MPI_ERR_ACCESS, -77},
                                                      {MPI_ERR_BAD_FILE, -223},
                                                      {MPI_ERR_NO_SPACE, -224},
                                                      {MPI_ERR_QUOTA, -225},
                                                      {MPI_ERR_NO_SUCH_FILE, -220},
                                                      {MPI_ERR_NO_MEM, nc::no_memory}}};
  const auto found = std::ranges::find(known, kind, &std::pair<int, int>::first);
  return found == known.end() ? unknown : found->second;
}

void keep_first(int& result, int code) noexcept {
  if (result == nc::no_error) result = code;
}

bool is_hint(MPI_Info info, const char* name, std::string_view off) {
  char text[MPI_MAX_INFO_VAL + 1] = {};
  int found = 0;
  PMPI_Info_get(info, name, MPI_MAX_INFO_VAL, text, &found);
  return found && text != off;
}

}  // namespace

/// A list where it goes in the file.
struct PnetcdfFile::Placed {
  List* list;
  std::size_t element;
  MPI_Offset first, end;  ///< bytes

  [[nodiscard]] bool has_pieces_of(const Placed& other) const noexcept {
    return list->boxes == other.list->boxes && element == other.element;
  }
};

/// What is written of several lists, and how it lies in the file.
struct PnetcdfFile::Joined {
  std::vector<std::byte> data;
  FileBytes bytes;
  std::uint64_t lists = 0, pieces = 0;
  std::vector<List*> others;  ///< that lie in among the pieces of one of these
  List* newest = nullptr;     ///< has a record that PnetCDF does not know of
};

void PnetcdfFile::enter(Mode mode) noexcept {
  mode_ = mode;
  if (mode == Mode::define) variables_.clear();
}

bool PnetcdfFile::can_keep() noexcept {
  if (!writable_ || mode_ != Mode::collective) return false;
  if (!plain_) {
    constexpr int newer_format = 3;  // and 4: files of HDF5
    int format = 0;
    MPI_Info info = MPI_INFO_NULL;
    plain_ = real_pnetcdf().inq_format(id_, &format) == nc::no_error && format != newer_format &&
             format != newer_format + 1 && real_pnetcdf().inq_file_info(id_, &info) == nc::no_error;
    if (info != MPI_INFO_NULL) {
      if (is_hint(info, "nc_burst_buf", "disable") || is_hint(info, "nc_num_subfiles", "0")) plain_ = false;
      PMPI_Info_free(&info);
    }
  }
  const OpenFile* const file = *plain_ ? find(file_) : nullptr;
  return file && file->form == Form::file && !file->why_pass(Way::write);
}

const PnetcdfFile::Variable& PnetcdfFile::variable(int number) {
  const auto [found, is_new] = variables_.try_emplace(number);
  Variable& variable = found->second;
  if (!is_new) return variable;
  const RealPnetcdf& real = real_pnetcdf();
  int type = 0, dimensions = 0, records = -1;
  if (real.inq_var(id_, number, nullptr, &type, &dimensions, nullptr, nullptr) != nc::no_error || dimensions < 1)
    return variable;
  std::vector<int> ids(static_cast<std::size_t>(dimensions));
  const auto element = element_type(type);
  if (!element || real.inq_var(id_, number, nullptr, nullptr, nullptr, ids.data(), nullptr) != nc::no_error ||
      real.inq_unlimdim(id_, &records) != nc::no_error)
    return variable;
  variable.has_records = ids.front() == records;
  for (std::size_t d = variable.has_records ? 1 : 0; d < ids.size(); ++d)
    if (real.inq_dimlen(id_, ids[d], &variable.shape.emplace_back()) != nc::no_error) return variable;
  if (variable.shape.empty()) return variable;  // a record is one element
  variable.element = element->bytes;
  variable.type = type;
  return variable;
}

std::shared_ptr<const Boxes> PnetcdfFile::boxes_of(const GivenBoxes& given) {
  for (const auto& boxes : last_boxes_)
    if (boxes->is(given)) return boxes;
  auto made = Boxes::of(given);
  if (!made) return nullptr;
  auto boxes = std::make_shared<const Boxes>(*std::move(made));
  if (last_boxes_.size() < most_boxes)
    last_boxes_.push_back(boxes);
  else
    last_boxes_[next_boxes_++ % most_boxes] = boxes;
  return boxes;
}

bool PnetcdfFile::has_room(std::size_t bytes) const noexcept {
  MPI_Offset size = 0, used = 0;
  return real_pnetcdf().inq_buffer_size(id_, &size) == nc::no_error &&
         real_pnetcdf().inq_buffer_usage(id_, &used) == nc::no_error &&
         static_cast<MPI_Offset>(bytes) <= size - used - buffered_;
}

bool PnetcdfFile::keep(Buffer buffer, int number, int count, MPI_Offset* const* starts, MPI_Offset* const* counts,
                       const void* data, MPI_Offset elements, MPI_Datatype type, int* request) noexcept try {
  if (count < fewest_boxes || !starts || !starts[0] || !data || !can_keep()) return false;
  const Variable& known = variable(number);
  if (known.type == 0) return false;
  if (type != MPI_DATATYPE_NULL && type != element_type(known.type)->type) return false;
  const MPI_Offset record = known.has_records ? starts[0][0] : 0;
  if (record < 0) return false;
  const auto boxes = boxes_of({count, starts, counts, known.shape, known.has_records});
  if (!boxes || (type != MPI_DATATYPE_NULL && elements != -1 && elements != boxes->elements)) return false;
  const std::size_t bytes = static_cast<std::size_t>(boxes->elements) * known.element;
  if (bytes / static_cast<std::size_t>(count) > largest_box || bytes > INT_MAX) return false;
  if (buffer == Buffer::attached && !has_room(bytes)) return (void)hand_over(), false;  // PnetCDF says what it has
  const auto* const first = static_cast<const std::byte*>(data);
  kept_.push_back({next_request_, number, buffer, record, boxes, {first, first + bytes}});
  if (buffer == Buffer::attached) buffered_ += static_cast<MPI_Offset>(bytes);
  if (request) *request = next_request_;
  next_request_ += 2;
  if (next_request_ < 0) next_request_ = 1 << 30;
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

int PnetcdfFile::hand_over(List& list) noexcept try {
  const Boxes& boxes = *list.boxes;
  const std::size_t dimensions = boxes.shape.size(), before = variable(list.variable).has_records ? 1 : 0;
  std::vector<MPI_Offset> starts, counts;
  for (std::size_t box = 0; box < boxes.count(); ++box) {
    if (before) starts.push_back(list.record), counts.push_back(1);
    for (std::size_t d = 0; d < dimensions; ++d) {
      starts.push_back(boxes.starts[box * dimensions + d]);
      counts.push_back(boxes.counts[box * dimensions + d]);
    }
  }
  std::vector<MPI_Offset*> start_of, count_of;
  for (std::size_t at = 0; at < starts.size(); at += before + dimensions) {
    start_of.push_back(&starts[at]);
    count_of.push_back(&counts[at]);
  }
  const auto give = [&](decltype(&::ncmpi_iput_varn) put) {
    return put(id_, list.variable, static_cast<int>(start_of.size()), start_of.data(), count_of.data(),
               list.data.data(), 0, MPI_DATATYPE_NULL, &list.theirs);
  };
  if (list.buffer == Buffer::attached && give(real_pnetcdf().bput_varn) == nc::no_error) return nc::no_error;
  return give(real_pnetcdf().iput_varn);  // also when others have the buffer: the data is kept here
} catch (const std::bad_alloc&) {
  return nc::no_memory;
}

int PnetcdfFile::hand_over() noexcept try {
  int result = nc::no_error;
  std::vector<List> left;
  left.reserve(kept_.size());
  handed_.reserve(handed_.size() + kept_.size());
  buffered_ = 0;
  for (List& list : kept_) {
    const int code = hand_over(list);
    keep_first(result, code);
    if (code != nc::no_error && list.buffer == Buffer::attached) buffered_ += static_cast<MPI_Offset>(list.data.size());
    (code == nc::no_error ? handed_ : left).push_back(std::move(list));
  }
  kept_ = std::move(left);
  return result;
} catch (const std::bad_alloc&) {
  return nc::no_memory;
}

std::vector<PnetcdfFile::List> PnetcdfFile::take(int count, int* requests, int* statuses) {
  std::vector<List> taken, left;
  if (count == nc::all_requests || count == nc::all_puts) {
    taken = std::exchange(kept_, {});
  } else if (count > 0 && requests && !kept_.empty()) {
    std::unordered_map<int, int> wanted;  // where each is in the list
    for (int i = 0; i < count; ++i) wanted.emplace(requests[i], i);
    taken.reserve(kept_.size());
    left.reserve(kept_.size());
    for (List& list : kept_) {
      const auto found = wanted.find(list.request);
      (found == wanted.end() ? left : taken).push_back(std::move(list));
      if (found == wanted.end()) continue;
      requests[found->second] = nc::no_request;
      if (statuses) taken.back().status = &statuses[found->second];
    }
    kept_ = std::move(left);
  }
  for (const List& list : taken)
    if (list.buffer == Buffer::attached) buffered_ -= static_cast<MPI_Offset>(list.data.size());
  return taken;
}

int PnetcdfFile::call_pnetcdf(Call call, int count, int* requests, int* statuses, const std::vector<int>& more) noexcept
    try {
  if (count < 0 || (count > 0 && !requests)) {
    const int code = call(id_, count, requests, statuses);
    if (count == nc::all_requests || count == nc::all_puts) handed_.clear();
    return code;
  }
  // Only what PnetCDF has, and under its names: it takes a list as long as all that it has for all of that.
  std::unordered_map<int, int> names;
  for (const List& list : handed_) names.emplace(list.request, list.theirs);
  std::vector<int> theirs, places;
  for (int i = 0; i < count; ++i) {
    if (requests[i] == nc::no_request) {
      if (statuses) statuses[i] = nc::no_error;
      continue;
    }
    const auto found = names.find(requests[i]);
    theirs.push_back(found == names.end() ? requests[i] : found->second);
    places.push_back(i);
  }
  theirs.insert(theirs.end(), more.begin(), more.end());
  std::vector<int> told(theirs.size(), nc::no_error);
  const std::vector<int> before = theirs;
  std::unordered_set<int> done;
  done.reserve(theirs.size());
  const int code = call(id_, static_cast<int>(theirs.size()), theirs.data(), told.data());
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const bool is_done = theirs[i] == nc::no_request;
    if (is_done) done.insert(before[i]);
    if (i >= places.size()) continue;
    if (statuses) statuses[places[i]] = told[i];
    if (is_done) requests[places[i]] = nc::no_request;
  }
  // What is not, for a mistake in the list, PnetCDF still has, and so the data stays.
  std::erase_if(handed_, [&](const List& list) { return done.contains(list.theirs); });
  return code;
} catch (const std::bad_alloc&) {
  (void)call(id_, 0, nullptr, nullptr);  // others may wait for it
  return nc::no_memory;
}

void PnetcdfFile::join(std::vector<List>& lists, Joined& joined) {
  const RealPnetcdf& real = real_pnetcdf();
  if (lists.empty()) return;
  MPI_Offset record_bytes = 0, records = 0;
  int records_id = -1;
  (void)real.inq_recsize(id_, &record_bytes);
  if (real.inq_unlimdim(id_, &records_id) == nc::no_error && records_id >= 0)
    (void)real.inq_dimlen(id_, records_id, &records);
  std::vector<Placed> parts;
  for (List& list : lists) {
    const Variable& known = variable(list.variable);
    MPI_Offset begin = 0;
    (void)real.inq_varoffset(id_, list.variable, &begin);
    begin += list.record * record_bytes;
    const auto element = static_cast<MPI_Offset>(known.element);
    parts.push_back({&list, known.element, begin + list.boxes->first() * element, begin + list.boxes->end() * element});
  }
  std::ranges::sort(parts, {}, &Placed::first);
  std::size_t bytes = 0;
  MPI_Offset reached = 0;
  std::erase_if(parts, [&](const Placed& part) {
    if (part.first < reached || bytes + part.list->data.size() > INT_MAX)
      return joined.others.push_back(part.list), true;
    reached = part.end;
    bytes += part.list->data.size();
    return false;
  });
  joined.data.resize(bytes);
  std::byte* next = joined.data.data();
  for (std::size_t p = 0; p < parts.size();) {
    // A decomposition that comes again from variable to variable, at equal distances.
    std::size_t end = p + 1;
    while (end < parts.size() && parts[end].has_pieces_of(parts[p]) &&
           parts[end].first - parts[end - 1].first == parts[p + 1].first - parts[p].first)
      ++end;
    joined.bytes.add(*parts[p].list->boxes, parts[p].element, end - p,
                     end > p + 1 ? parts[p + 1].first - parts[p].first : 0, parts[p].first);
    for (; p < end; ++p) {
      List& list = *parts[p].list;
      list.boxes->to_file_order(list.data.data(), parts[p].element, next);
      next += list.data.size();
      joined.pieces += list.boxes->pieces.size();
      if (variable(list.variable).has_records && list.record >= records &&
          (!joined.newest || joined.newest->record < list.record))
        joined.newest = &list;
    }
  }
  joined.lists = parts.size();
  joined.bytes.put_together();
}

int PnetcdfFile::write(const Joined& joined) {
  int code = MPI_File_set_view(file_, 0, MPI_BYTE, joined.bytes.whole(), "native", MPI_INFO_NULL);
  const int written = MPI_File_write_at_all(file_, 0, joined.data.data(), static_cast<int>(joined.data.size()),
                                            MPI_BYTE, MPI_STATUS_IGNORE);
  if (code == MPI_SUCCESS) code = written;
  MPI_File_set_view(file_, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  if (code != MPI_SUCCESS) return pnetcdf_error(code);
  written_ += static_cast<MPI_Offset>(joined.data.size());
  find(file_)->tally.joined(joined.lists, joined.pieces, joined.data.size());
  return nc::no_error;
}

int PnetcdfFile::tell_of_record(List& list) noexcept try {
  std::vector<MPI_Offset> start{list.record};
  start.insert(start.end(), list.boxes->starts.begin(),
               list.boxes->starts.begin() + static_cast<std::ptrdiff_t>(list.boxes->shape.size()));
  std::vector<MPI_Offset> one(start.size(), 1);
  MPI_Offset *const starts[] = {start.data()}, *const counts[] = {one.data()};
  written_ -= static_cast<MPI_Offset>(variable(list.variable).element);  // which PnetCDF counts
  return real_pnetcdf().iput_varn(id_, list.variable, 1, starts, counts, list.data.data(), 0, MPI_DATATYPE_NULL,
                                  &list.theirs);
} catch (const std::bad_alloc&) {
  return nc::no_memory;
}

int PnetcdfFile::wait_all(int count, int* requests, int* statuses) noexcept {
  if (mode_ != Mode::collective) return call_pnetcdf(real_pnetcdf().wait_all, count, requests, statuses);
  enum { nothing, some, no_room };  // of any rank
  std::vector<List> lists;
  std::vector<int> theirs;
  Joined joined;
  int state = nothing, result = nc::no_error;
  try {
    lists = take(count, requests, statuses);
    theirs.reserve(lists.size());
    handed_.reserve(handed_.size() + lists.size());
    join(lists, joined);
    if (!lists.empty()) state = some;
  } catch (const std::bad_alloc&) {
    state = no_room;
  }
  PMPI_Allreduce(MPI_IN_PLACE, &state, 1, MPI_INT, MPI_MAX, communicator_);
  if (state == some) {
    result = write(joined);
    for (List* list : joined.others) keep_first(result, hand_over(*list));
    if (joined.newest && result == nc::no_error) result = tell_of_record(*joined.newest);
  } else if (state == no_room) {
    for (List& list : lists) keep_first(result, hand_over(list));
  }
  for (List& list : lists) {
    if (list.theirs == nc::no_request) continue;
    theirs.push_back(list.theirs);
    handed_.push_back(std::move(list));
  }
  const int code = call_pnetcdf(real_pnetcdf().wait_all, count, requests, statuses, theirs);
  for (const List& list : lists)
    if (list.status) *list.status = result;
  keep_first(result, code);
  return result;
}

int PnetcdfFile::wait(int count, int* requests, int* statuses) noexcept {
  int result = hand_over();
  keep_first(result, call_pnetcdf(real_pnetcdf().wait, count, requests, statuses));
  return result;
}

int PnetcdfFile::cancel(int count, int* requests, int* statuses) noexcept {
  try {
    take(count, requests, statuses);
  } catch (const std::bad_alloc&) {
    return nc::no_memory;
  }
  return call_pnetcdf(real_pnetcdf().cancel, count, requests, statuses);
}

}  // namespace weir::interpose
