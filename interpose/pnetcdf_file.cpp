#include "pnetcdf_file.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <new>
#include <string>
#include <string_view>

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

MPI_Datatype bytes_of_pieces(const Boxes& boxes, std::size_t element) {
  std::vector<int> lengths;
  std::vector<MPI_Aint> places;
  for (const Boxes::Piece& piece : boxes.pieces) {
    lengths.push_back(static_cast<int>(piece.length * static_cast<MPI_Offset>(element)));
    places.push_back(static_cast<MPI_Aint>((piece.at - boxes.first()) * static_cast<MPI_Offset>(element)));
  }
  MPI_Datatype type = MPI_DATATYPE_NULL;
  PMPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(), MPI_BYTE, &type);
  return type;
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

bool PnetcdfFile::keep(int number, int count, MPI_Offset* const* starts, MPI_Offset* const* counts, const void* data,
                       MPI_Offset elements, MPI_Datatype type, int* request) noexcept try {
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
  const auto* const first = static_cast<const std::byte*>(data);
  kept_.push_back({next_request_, number, record, boxes, {first, first + bytes}});
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
  return real_pnetcdf().iput_varn(id_, list.variable, static_cast<int>(start_of.size()), start_of.data(), count_of.data(),
                                  list.data.data(), 0, MPI_DATATYPE_NULL, &list.theirs);
} catch (const std::bad_alloc&) {
  return nc::no_memory;
}

int PnetcdfFile::hand_over() noexcept {
  int result = nc::no_error;
  for (List& list : kept_) {
    keep_first(result, hand_over(list));
    handed_.push_back(std::move(list));
  }
  kept_.clear();
  return result;
}

std::vector<PnetcdfFile::List> PnetcdfFile::take(int count, int* requests, int* statuses) {
  if (count == nc::all_requests || count == nc::all_puts) return std::exchange(kept_, {});
  std::vector<List> taken;
  for (int i = 0; i < count && requests; ++i) {
    const auto found = std::ranges::find(kept_, requests[i], &List::request);
    if (found == kept_.end()) continue;
    taken.push_back(std::move(*found));
    kept_.erase(found);
    requests[i] = nc::no_request;
    if (statuses) taken.back().status = &statuses[i];
  }
  return taken;
}

int PnetcdfFile::call_pnetcdf(Call call, int count, int* requests, int* statuses, std::vector<int> more) {
  if (count < 0 || (count > 0 && !requests) || (more.empty() && handed_.empty())) {
    const int code = call(id_, count, requests, statuses);
    if (count == nc::all_requests || count == nc::all_puts) handed_.clear();
    return code;
  }
  // As PnetCDF knows them, and with those that only we know of.
  std::vector<int> theirs(requests, requests + count);
  for (int& request : theirs)
    if (const auto found = std::ranges::find(handed_, request, &List::request); found != handed_.end())
      request = found->theirs;
  theirs.insert(theirs.end(), more.begin(), more.end());
  std::vector<int> told(theirs.size(), nc::no_error);
  const int code = call(id_, static_cast<int>(theirs.size()), theirs.data(), statuses ? told.data() : nullptr);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    if (statuses && told[i] != nc::no_error) statuses[i] = told[i];
    if (theirs[i] != nc::no_request || requests[i] == nc::no_request) continue;
    std::erase_if(handed_, [&](const List& list) { return list.request == requests[i]; });
    requests[i] = nc::no_request;
  }
  return code;
}

int PnetcdfFile::write_at_once(const std::vector<Placed>& parts, std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  std::byte* next = data.data();
  std::vector<MPI_Datatype> once, types;
  std::vector<MPI_Aint> places;
  for (std::size_t p = 0; p < parts.size();) {
    // A decomposition that repeats itself from variable to variable, at equal distances.
    std::size_t end = p + 1;
    while (end < parts.size() && parts[end].has_pieces_of(parts[p]) &&
           parts[end].first - parts[end - 1].first == parts[p + 1].first - parts[p].first)
      ++end;
    const MPI_Aint apart = end > p + 1 ? static_cast<MPI_Aint>(parts[p + 1].first - parts[p].first) : 0;
    once.push_back(bytes_of_pieces(*parts[p].list->boxes, parts[p].element));
    PMPI_Type_create_hvector(static_cast<int>(end - p), 1, apart, once.back(), &types.emplace_back());
    places.push_back(static_cast<MPI_Aint>(parts[p].first));
    for (; p < end; ++p) {
      const List& list = *parts[p].list;
      list.boxes->to_file_order(list.data.data(), parts[p].element, next);
      next += list.data.size();
    }
  }
  MPI_Datatype view = MPI_BYTE;
  if (!types.empty()) {
    const std::vector<int> ones(types.size(), 1);
    PMPI_Type_create_struct(static_cast<int>(types.size()), ones.data(), places.data(), types.data(), &view);
    PMPI_Type_commit(&view);
  }
  int code = MPI_File_set_view(file_, 0, MPI_BYTE, view, "native", MPI_INFO_NULL);
  const int written = MPI_File_write_at_all(file_, 0, data.data(), static_cast<int>(bytes), MPI_BYTE, MPI_STATUS_IGNORE);
  if (code == MPI_SUCCESS) code = written;
  MPI_File_set_view(file_, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  for (auto* made : {&once, &types})
    for (MPI_Datatype& type : *made) PMPI_Type_free(&type);
  if (view != MPI_BYTE) PMPI_Type_free(&view);
  if (code != MPI_SUCCESS) return pnetcdf_error(code);
  written_ += static_cast<MPI_Offset>(bytes);
  return nc::no_error;
}

int PnetcdfFile::write(std::vector<List>& lists, std::vector<int>& theirs) {
  const RealPnetcdf& real = real_pnetcdf();
  int result = nc::no_error, records_id = -1;
  MPI_Offset record_bytes = 0, records = 0;
  keep_first(result, real.inq_recsize(id_, &record_bytes));
  if (real.inq_unlimdim(id_, &records_id) == nc::no_error && records_id >= 0)
    keep_first(result, real.inq_dimlen(id_, records_id, &records));
  std::vector<Placed> parts;
  List* newest = nullptr;
  for (List& list : lists) {
    const Variable& known = variable(list.variable);
    MPI_Offset begin = 0;
    keep_first(result, real.inq_varoffset(id_, list.variable, &begin));
    begin += list.record * record_bytes;
    const auto element = static_cast<MPI_Offset>(known.element);
    parts.push_back({&list, known.element, begin + list.boxes->first() * element, begin + list.boxes->end() * element});
    if (known.has_records && list.record >= records && (!newest || newest->record < list.record)) newest = &list;
  }
  std::ranges::sort(parts, {}, &Placed::first);
  std::size_t bytes = 0;
  MPI_Offset end = 0;
  std::erase_if(parts, [&](const Placed& part) {
    List& list = *part.list;
    if (part.first >= end && bytes + list.data.size() <= INT_MAX) {
      end = part.end;
      bytes += list.data.size();
      return false;
    }
    keep_first(result, hand_over(list));  // in among another: PnetCDF sorts that out
    theirs.push_back(list.theirs);
    return true;
  });
  keep_first(result, write_at_once(parts, bytes));
  if (newest && newest->theirs == nc::no_request && result == nc::no_error)
    result = tell_of_record(*newest, theirs.emplace_back(nc::no_request));
  return result;
}

int PnetcdfFile::tell_of_record(const List& list, int& request) {
  std::vector<MPI_Offset> start{list.record};
  start.insert(start.end(), list.boxes->starts.begin(),
               list.boxes->starts.begin() + static_cast<std::ptrdiff_t>(list.boxes->shape.size()));
  std::vector<MPI_Offset> one(start.size(), 1);
  MPI_Offset *const starts[] = {start.data()}, *const counts[] = {one.data()};
  written_ -= static_cast<MPI_Offset>(variable(list.variable).element);  // which PnetCDF counts
  return real_pnetcdf().iput_varn(id_, list.variable, 1, starts, counts, list.data.data(), 0, MPI_DATATYPE_NULL, &request);
}

int PnetcdfFile::wait_all(int count, int* requests, int* statuses) {
  if (mode_ != Mode::collective) return call_pnetcdf(real_pnetcdf().wait_all, count, requests, statuses);
  std::vector<List> lists = take(count, requests, statuses);
  int any = lists.empty() ? 0 : 1, result = nc::no_error;
  PMPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, communicator_);
  std::vector<int> theirs;
  if (any) result = write(lists, theirs);
  for (const List& list : lists)
    if (list.status) *list.status = result;
  keep_first(result, call_pnetcdf(real_pnetcdf().wait_all, count, requests, statuses, std::move(theirs)));
  return result;
}

int PnetcdfFile::wait(int count, int* requests, int* statuses) {
  int result = hand_over();
  keep_first(result, call_pnetcdf(real_pnetcdf().wait, count, requests, statuses));
  return result;
}

int PnetcdfFile::cancel(int count, int* requests, int* statuses) {
  take(count, requests, statuses);
  return call_pnetcdf(real_pnetcdf().cancel, count, requests, statuses);
}

}  // namespace weir::interpose
