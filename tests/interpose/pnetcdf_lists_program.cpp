// pnetcdf_lists_program FILE CASES [SEED]: random lists of boxes written through PnetCDF's iput_varn, completed in all
// the ways that there are, and read again. Every rank notes what it was told in FILE.RANK, so that a run can be
// compared with one in which somebody else carries it out. With `full` for CASES it writes 16 MiB, once, and says what
// it was told.
#include <mpi.h>
#include <pnetcdf.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

int rank_here = 0, ranks = 1;
std::FILE* notes = nullptr;
int failures = 0;

void note(const char* what, long long value) { std::fprintf(notes, "%s %lld\n", what, value); }
void must(int code, const char* what) {
  if (code == NC_NOERR) return;
  std::fprintf(stderr, "rank %d: cannot %s: %s\n", rank_here, what, ncmpi_strerror(code));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

using Random = std::mt19937;
long long pick(Random& random, long long low, long long high) {
  return std::uniform_int_distribution<long long>{low, high}(random);
}

struct Box {
  std::vector<MPI_Offset> start, count;
};

/// Where a cut has parts of random length.
std::vector<MPI_Offset> cuts(Random& random, MPI_Offset length) {
  std::vector<MPI_Offset> at{0};
  while (at.back() < length) at.push_back(std::min(length, at.back() + pick(random, 1, 4)));
  return at;
}

/// All boxes of a grid of random cuts through an array.
std::vector<Box> grid(Random& random, const std::vector<MPI_Offset>& shape) {
  std::vector<Box> boxes{{}};
  for (const MPI_Offset length : shape) {
    const auto at = cuts(random, length);
    std::vector<Box> finer;
    for (const Box& box : boxes)
      for (std::size_t i = 0; i + 1 < at.size(); ++i) {
        finer.push_back(box);
        finer.back().start.push_back(at[i]);
        finer.back().count.push_back(at[i + 1] - at[i]);
      }
    boxes = std::move(finer);
  }
  return boxes;
}

struct Variable {
  int id = 0;
  nc_type type = NC_INT;
  bool has_records = false;
  std::vector<MPI_Offset> shape;  // of a record
  std::vector<Box> boxes;         // of this rank; with the record as first dimension
};

MPI_Offset elements(const Box& box) {
  return std::accumulate(box.count.begin(), box.count.end(), MPI_Offset{1}, std::multiplies<>{});
}

/// The value of an element in a step of a case: of every type.
double value(MPI_Offset place, int variable, int step) {
  return static_cast<double>((place * 7 + variable * 31 + step * 13) % 100);
}

template <class Visit>
void for_each_element(const Box& box, const std::vector<MPI_Offset>& shape, std::size_t before, Visit&& visit) {
  const std::size_t dimensions = shape.size();
  std::vector<MPI_Offset> at(box.start.begin() + static_cast<std::ptrdiff_t>(before), box.start.end());
  while (true) {
    MPI_Offset place = 0;
    for (std::size_t d = 0; d < dimensions; ++d) place = place * shape[d] + at[d];
    visit(place);
    std::size_t d = dimensions;
    while (d > 0 && ++at[d - 1] == box.start[before + d - 1] + box.count[before + d - 1]) {
      at[d - 1] = box.start[before + d - 1];
      --d;
    }
    if (d == 0) return;
  }
}

/// A list of boxes with its data, given to PnetCDF.
struct List {
  const Variable* variable;
  std::vector<Box> boxes;
  std::vector<double> doubles;
  std::vector<float> floats;
  std::vector<int> ints;
  std::vector<short> shorts;
  std::vector<MPI_Offset*> starts, counts;
  int request = NC_REQ_NULL;
  bool wrong = false;
  bool cancelled = false;

  void post(int file, Random& random, int number, int step, bool wants_request) {
    const std::size_t before = variable->has_records ? 1 : 0;
    bool ones = true;
    for (Box& box : boxes) {
      for_each_element(box, variable->shape, before,
                       [&](MPI_Offset place) { doubles.push_back(value(place, number, step)); });
      starts.push_back(box.start.data());
      counts.push_back(box.count.data());
      ones = ones && elements(box) == 1;
    }
    floats.assign(doubles.begin(), doubles.end());
    ints.assign(doubles.begin(), doubles.end());
    shorts.assign(doubles.begin(), doubles.end());
    if (!boxes.empty() && pick(random, 0, 30) == 0) {
      boxes[boxes.size() / 2].start.back() = variable->shape.back();  // outside
      wrong = true;
    }
    MPI_Offset* const* const all_counts = ones && pick(random, 0, 1) ? nullptr : counts.data();
    const auto count = static_cast<int>(boxes.size());
    const auto size = static_cast<MPI_Offset>(doubles.size());
    int* const id = wants_request ? &request : nullptr;
    int code = NC_NOERR;
    const bool other_type = pick(random, 0, 8) == 0;
    if (pick(random, 0, 3) == 0 && variable->type == NC_DOUBLE) {
      code =
          ncmpi_bput_varn(file, variable->id, count, starts.data(), all_counts, doubles.data(), size, MPI_DOUBLE, id);
    } else if (pick(random, 0, 3) == 0 && variable->type == NC_SHORT) {
      code = ncmpi_bput_varn_short(file, variable->id, count, starts.data(), all_counts, shorts.data(), id);
      if (code == NC_NOERR) shorts.assign(shorts.size(), 5);  // PnetCDF has it
    } else if (other_type)
      code = ncmpi_iput_varn_double(file, variable->id, count, starts.data(), all_counts, doubles.data(), id);
    else if (variable->type == NC_DOUBLE)
      code =
          ncmpi_iput_varn(file, variable->id, count, starts.data(), all_counts, doubles.data(), size, MPI_DOUBLE, id);
    else if (variable->type == NC_FLOAT && pick(random, 0, 1))
      code = ncmpi_iput_varn(file, variable->id, count, starts.data(), all_counts, floats.data(), 0, MPI_DATATYPE_NULL,
                             id);
    else if (variable->type == NC_FLOAT)
      code = ncmpi_iput_varn_float(file, variable->id, count, starts.data(), all_counts, floats.data(), id);
    else if (variable->type == NC_INT)
      code = ncmpi_iput_varn(file, variable->id, count, starts.data(), all_counts, ints.data(),
                             pick(random, 0, 20) == 0 ? size + 1 : size, MPI_INT, id);
    else
      code = ncmpi_iput_varn_short(file, variable->id, count, starts.data(), all_counts, shorts.data(), id);
    note("post", code);
    wrong = code != NC_NOERR;
  }
};

void fill(int file, const Variable& variable, MPI_Offset record) {
  if (variable.has_records) must(ncmpi_fill_var_rec(file, variable.id, record), "fill");
}

void run_case(const std::string& path, unsigned seed) {
  Random common{seed};  // the same on all ranks
  Random own{seed * 1000 + static_cast<unsigned>(rank_here)};
  int file = 0, time = 0;
  const int formats[] = {0, NC_64BIT_OFFSET, NC_64BIT_DATA};
  must(ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_CLOBBER | formats[pick(common, 0, 2)], MPI_INFO_NULL, &file),
       "create");
  must(ncmpi_set_fill(file, NC_FILL, nullptr), "ask for filling");
  must(ncmpi_def_dim(file, "time", NC_UNLIMITED, &time), "define");
  std::vector<Variable> variables(static_cast<std::size_t>(pick(common, 1, 5)));
  int dimension = 0;
  for (std::size_t v = 0; v < variables.size(); ++v) {
    Variable& variable = variables[v];
    const nc_type types[] = {NC_INT, NC_FLOAT, NC_DOUBLE, NC_SHORT};
    const bool as_before = v > 0 && pick(common, 0, 1);
    variable.type = types[pick(common, 0, 3)];
    variable.has_records = pick(common, 0, 1) != 0;
    const long long dimensions = pick(common, 1, 3);
    for (long long d = 0; d < dimensions; ++d) variable.shape.push_back(pick(common, 1, dimensions == 1 ? 200 : 12));
    variable.shape.back() += variable.shape.back() % 2;  // no padding behind shorts: ROMIO leaves anything there
    if (as_before) variable.shape = variables[v - 1].shape;
    std::vector<int> ids;
    if (variable.has_records) ids.push_back(time);
    for (const MPI_Offset length : variable.shape)
      must(ncmpi_def_dim(file, ("d" + std::to_string(dimension++)).c_str(), length, &ids.emplace_back()), "define");
    must(ncmpi_def_var(file, ("v" + std::to_string(v)).c_str(), variable.type, static_cast<int>(ids.size()), ids.data(),
                       &variable.id),
         "define");
    auto boxes = grid(common, variable.shape);
    std::shuffle(boxes.begin(), boxes.end(), common);
    const long long kind = pick(common, 0, 2);
    for (std::size_t b = 0; b < boxes.size(); ++b) {
      const auto owner = kind == 0 ? 0 : pick(common, 0, ranks);  // some belong to nobody
      if (owner != rank_here) continue;
      if (variable.has_records) {
        boxes[b].start.insert(boxes[b].start.begin(), 0);
        boxes[b].count.insert(boxes[b].count.begin(), 1);
      }
      variable.boxes.push_back(boxes[b]);
    }
    if (pick(common, 0, 3) != 0) std::ranges::sort(variable.boxes, {}, [](const Box& box) { return box.start; });
    if (as_before && variable.has_records == variables[v - 1].has_records) variable.boxes = variables[v - 1].boxes;
  }
  must(ncmpi_enddef(file), "end definitions");
  constexpr MPI_Offset enough = 100'000, too_little = 300;
  const bool has_buffer = pick(common, 0, 1);
  if (has_buffer) must(ncmpi_buffer_attach(file, pick(common, 0, 3) == 0 ? too_little : enough), "attach a buffer");
  const int steps = static_cast<int>(pick(common, 1, 3));
  for (int step = 0; step < steps; ++step) {
    for (const Variable& variable : variables) fill(file, variable, step);
    const long long ending = pick(common, 0, 6);
    const bool wants_requests = ending >= 2 || pick(own, 0, 1);
    std::vector<List> lists;
    lists.reserve(2 * variables.size());
    for (Variable& variable : variables) {
      if (step > 0 && !variable.has_records && pick(common, 0, 1)) continue;
      std::vector<Box> first, second;
      const bool twice = pick(own, 0, 3) == 0;
      for (Box& box : variable.boxes) {
        if (variable.has_records) box.start[0] = step;
        (twice && pick(own, 0, 1) ? second : first).push_back(box);
      }
      for (auto* boxes : {&first, &second})
        if (!boxes->empty()) {
          lists.push_back({&variable, *boxes, {}, {}, {}, {}, {}, {}});
          lists.back().post(file, own, static_cast<int>(&variable - variables.data()), step, wants_requests);
        }
    }
    int pending = 0;
    must(ncmpi_inq_nreqs(file, &pending), "count requests");
    note("pending", pending);
    MPI_Offset used = 0;
    if (has_buffer) {
      must(ncmpi_inq_buffer_usage(file, &used), "ask for the buffer");
      note("used", used);
      note("detach", pick(own, 0, 9) == 0 && used > 0 ? ncmpi_buffer_detach(file) : 0);
    }
    std::vector<int> requests, statuses;
    // PnetCDF 1.12 takes a list with a null request, but as long as what is pending, for all that is pending.
    std::vector<List*> listed;
    for (List& list : lists)
      if (list.request != NC_REQ_NULL || !wants_requests) {
        listed.push_back(&list);
        requests.push_back(list.request);
      }
    statuses.assign(requests.size(), 77);
    const auto count = static_cast<int>(requests.size());
    const auto half = count / 2;
    if (ending == 0) {
      note("wait", ncmpi_wait_all(file, NC_REQ_ALL, nullptr, nullptr));
    } else if (ending == 1) {
      note("wait", ncmpi_wait_all(file, NC_PUT_REQ_ALL, nullptr, nullptr));
    } else if (ending == 2) {
      note("wait", ncmpi_wait_all(file, count, requests.data(), statuses.data()));
    } else if (ending == 3) {
      note("wait", ncmpi_wait_all(file, half, requests.data(), nullptr));
      must(ncmpi_inq_nreqs(file, &pending), "count requests");
      note("pending", pending);
      note("wait", ncmpi_wait_all(file, count - half, requests.data() + half, statuses.data() + half));
    } else if (ending == 4) {
      note("cancel", ncmpi_cancel(file, half, requests.data(), statuses.data()));
      for (int i = 0; i < half; ++i) listed[static_cast<std::size_t>(i)]->cancelled = true;
      note("wait", ncmpi_wait_all(file, NC_REQ_ALL, nullptr, nullptr));
    } else if (ending == 5) {
      must(ncmpi_begin_indep_data(file), "go alone");
      note("wait", ncmpi_wait(file, count, requests.data(), statuses.data()));
      must(ncmpi_end_indep_data(file), "go together");
    } else {
      must(ncmpi_redef(file), "define again");
      must(ncmpi_put_att_int(file, NC_GLOBAL, "step", NC_INT, 1, &step), "describe");
      must(ncmpi_enddef(file), "end definitions");
      note("wait", ncmpi_wait_all(file, count, requests.data(), statuses.data()));
    }
    for (std::size_t i = 0; i < requests.size(); ++i) {
      note("is null", requests[i] == NC_REQ_NULL);
      note("status", statuses[i]);
    }
    must(ncmpi_inq_nreqs(file, &pending), "count requests");
    note("pending", pending);
    for (const List& list : lists)  // nobody has changed what the program owns
      for (std::size_t i = 0; i < list.doubles.size(); ++i)
        if (list.floats[i] != static_cast<float>(list.doubles[i]) ||
            list.ints[i] != static_cast<int>(list.doubles[i]) ||
            (list.shorts[i] != 5 && list.shorts[i] != static_cast<short>(list.doubles[i])))
          ++failures;
    if (has_buffer) {
      must(ncmpi_inq_buffer_usage(file, &used), "ask for the buffer");
      note("used", used);
    }
    MPI_Offset written = 0, records = 0;
    must(ncmpi_inq_put_size(file, &written), "count bytes");
    must(ncmpi_inq_dimlen(file, time, &records), "count records");
    note("written", written);
    note("records", records);
    must(ncmpi_begin_indep_data(file), "go alone");
    for (const List& list : lists) {
      const Variable& variable = *list.variable;
      const auto number = static_cast<int>(&variable - variables.data());
      for (const Box& box : list.boxes) {
        if (list.wrong || list.cancelled) break;
        std::vector<double> back(static_cast<std::size_t>(elements(box)));
        must(ncmpi_get_vara_double(file, variable.id, box.start.data(), box.count.data(), back.data()), "read");
        std::size_t next = 0;
        for_each_element(box, variable.shape, variable.has_records ? 1 : 0, [&](MPI_Offset place) {
          if (back[next++] != value(place, number, step)) ++failures;
        });
        break;  // the file is compared as a whole
      }
    }
    must(ncmpi_end_indep_data(file), "go together");
  }
  if (pick(common, 0, 5) == 0 && !variables.front().boxes.empty()) {  // left to itself
    List list{&variables.front(), variables.front().boxes, {}, {}, {}, {}, {}, {}};
    list.post(file, own, 0, 9, false);
    note("close", ncmpi_close(file));
  } else {
    note("close", ncmpi_close(file));
  }
}

void fill_disk(const char* path) {
  constexpr MPI_Offset elements = 4 << 20, length = 64;
  int file = 0, dimension = 0, variable = 0;
  must(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file), "create");
  must(ncmpi_def_dim(file, "x", elements, &dimension), "define");
  must(ncmpi_def_var(file, "v", NC_FLOAT, 1, &dimension, &variable), "define");
  must(ncmpi_enddef(file), "end definitions");
  std::vector<MPI_Offset> at;
  for (MPI_Offset i = rank_here * length; i < elements; i += ranks * length) at.push_back(i);
  std::vector<MPI_Offset*> starts, counts;
  MPI_Offset count = length;
  for (MPI_Offset& start : at) {
    starts.push_back(&start);
    counts.push_back(&count);
  }
  std::vector<float> data(at.size() * length, 1);
  must(ncmpi_iput_varn_float(file, variable, static_cast<int>(at.size()), starts.data(), counts.data(), data.data(),
                             nullptr),
       "post");
  std::printf("told: %s\n", ncmpi_strerrno(ncmpi_wait_all(file, NC_REQ_ALL, nullptr, nullptr)));
  (void)ncmpi_close(file);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_here);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::string path = argv[1];
  if (argc > 2 && argv[2] == std::string{"full"}) {
    fill_disk(argv[1]);
    MPI_Finalize();
    return 0;
  }
  const int cases = argc > 2 ? std::atoi(argv[2]) : 1, first = argc > 3 ? std::atoi(argv[3]) : 1;
  notes = std::fopen((path + "." + std::to_string(rank_here)).c_str(), "w");
  for (int i = 0; i < cases; ++i) {
    std::fprintf(notes, "case %d\n", first + i);
    run_case(path + "." + std::to_string(first + i) + ".nc", static_cast<unsigned>(first + i));
    if (failures > 0) {
      std::fprintf(stderr, "rank %d: %d elements are not what was written in case %d\n", rank_here, failures,
                   first + i);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  std::fclose(notes);
  MPI_Finalize();
}
