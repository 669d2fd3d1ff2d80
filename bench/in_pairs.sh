# A program plainly and under `weir run`, in pairs of changing order; for scripts that set `build`, `program` (its words but
# for the last two: file and rounds), `pattern` (of sed, for the two figures that it prints each round), and call in_pairs.
flags="--oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n 16"

# in_pairs PAIRS MPI-IO DIRECTORY: every pair's files are compared.
in_pairs() {
  directory=$(mktemp -d "$3/pairs.XXXXXX")
  trap 'rm -rf "$directory"' EXIT
  echo "load before: $(cut -d' ' -f1-3 /proc/loadavg)"
  for pair in $(seq "$1"); do
    if [ $((pair % 2)) -eq 0 ]; then plainly "$2"; taken "$2"; else taken "$2"; plainly "$2"; fi
    cmp "$directory/plain.out" "$directory/taken.out"
    echo "$(seconds plain) $(seconds taken)" >>"$directory/all"
  done
  echo "load behind: $(cut -d' ' -f1-3 /proc/loadavg)"
}
plainly() { mpirun $flags --mca io "$1" $program "$directory/plain.out" 2 >"$directory/plain"; }
taken() { "$build/bin/weir" run $flags --mca io "$1" $program "$directory/taken.out" 2 >"$directory/taken"; }
# seconds plain|taken: both figures of the first round and of the second, on a line.
seconds() { sed -n "s/$pattern.*/\\1 \\2/p" "$directory/$1" | paste -sd ' '; }

# ratio NAME PLAIN TAKEN: median, least and greatest of two columns' ratios.
ratio() {
  awk -v plain="$2" -v taken="$3" '{ print $plain / $taken }' "$directory/all" | sort -g |
    awk -v name="$1" '{ value[NR] = $1 }
      END { printf "%-28s %.2f [%.2f, %.2f]\n", name, (value[int((NR + 1) / 2)] + value[int(NR / 2) + 1]) / 2, value[1], value[NR] }'
}
