# A program plainly and under `weir run`, in pairs of changing order; for scripts that set `build`, `program` (its words but
# for the last two: file and rounds), `pattern` (of sed, for what it prints each round), `figures` (the parts of it that
# count), and call in_pairs.
flags="--oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n 16"

# in_pairs PAIRS MPI-IO DIRECTORY: every pair's files are compared.
in_pairs() {
  directory=$(mktemp -d "$3/pairs.XXXXXX")
  trap 'rm -rf "$directory"' EXIT
  echo "load before: $(cut -d' ' -f1-3 /proc/loadavg)"
  for pair in $(seq "$1"); do
    if [ $((pair % 2)) -eq 0 ]; then plainly "$2"; taken "$2"; else taken "$2"; plainly "$2"; fi
    cmp "$directory/plain.out" "$directory/taken.out"
    echo "$(seconds plain) $(seconds taken) $(whole plain) $(whole taken)" >>"$directory/all"
  done
  echo "load behind: $(cut -d' ' -f1-3 /proc/loadavg)"
}
plainly() { mpirun $flags --mca io "$1" $program "$directory/plain.out" 4 >"$directory/plain"; }
taken() { "$build/bin/weir" run $flags --mca io "$1" $program "$directory/taken.out" 4 >"$directory/taken"; }
# seconds plain|taken: the figures of the first round and of the third, on a line. In the second the program's memory still
# grows; the fourth keeps its end, in which ranks that are through are busy, away from the third.
seconds() { sed -n "s/$pattern.*/$figures/p" "$directory/$1" | sed -n '1p;3p' | paste -sd ' '; }
# whole plain|taken: the sum of the first figure over all rounds.
whole() { sed -n "s/$pattern.*/$figures/p" "$directory/$1" | awk '{ sum += $1 } END { print sum }'; }

# ratio NAME PLAIN TAKEN [INSIDE]: median, least and greatest of two columns' ratios; of what is taken without INSIDE, which
# is what the ratio would be if Weir took no time.
ratio() {
  awk -v plain="$2" -v taken="$3" -v inside="${4:-}" '{ print $plain / ($taken - (inside ? $inside : 0)) }' "$directory/all" | sort -g |
    awk -v name="$1" '{ value[NR] = $1 }
      END { printf "%-28s %.2f [%.2f, %.2f]\n", name, (value[int((NR + 1) / 2)] + value[int(NR / 2) + 1]) / 2, value[1], value[NR] }'
}
