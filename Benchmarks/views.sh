#!/bin/bash
# Measures views beside the ordinary tree and a native program, in turns, and prints medians and their ratios.
# Usage: Benchmarks/views.sh [ITEMS [ROUNDS [PLACE...]]]; needs root, /dev/fuse and gcc. The places for the trees are the
# memory of the machine and a disk unless others are named. VARVE names the program.
set -euo pipefail

items=${1:-100000}
rounds=${2:-5}
places=("${@:3}")
[ ${#places[@]} -gt 0 ] || places=(/dev/shm "${VARVE_TEST_DIRECTORY:-/var/tmp}")
few=$((items < 10000 ? items : 10000))
# Of each of the many directories that are to fill the memory of views.
many=1000
each=$((items < 50000 ? items / 100 : 500))
# Listings that are open at a time.
held=$((items < 50000 ? items / 10 : 10000))
root=$(cd "$(dirname "$0")/.." && pwd)
varve=${VARVE:-$root/.build/release/varve}
base=
loads=()

quiet() {
  for load in "${loads[@]}"; do
    kill "$load" 2>/dev/null || true
    wait "$load" 2>/dev/null || true
  done
  loads=()
}
clean() {
  quiet
  [ -n "$base" ] || return 0
  "$varve" umount "$base/mount" 2>/dev/null || true
  rm -rf "$base"
}
trap clean EXIT

# A mount that nothing is remembered of.
fresh() {
  "$varve" umount "$mount" 2>/dev/null || true
  "$varve" mount "$base/upper" "$mount"
}

declare -A taken
keep() { taken[$1]+="$2 "; }
calls() { keep "$1" "$("$base/calls" "${@:2}")"; }
# How long a command takes.
timed() {
  local start
  start=$(date +%s%N)
  "${@:2}" >/dev/null
  keep "$1" $(($(date +%s%N) - start))
}
# By names alone, and with the status of each file.
walk() { timed "$1" find "$2"; }
walk_status() { timed "$1" find "$2" -type f -size +1G; }
# A number of `.varve/status`.
status() { grep -o "\"$1\":[0-9]*" "$mount/.varve/status" | head -n 1 | cut -d: -f2; }

# Of what the readers waited for, by the column.
longest() { cut -d ' ' -f "$1" "$base"/wait.* | sort -n | tail -n 1; }

median() { tr ' ' '\n' <<<"${taken[$1]}" | grep . | sort -n | sed -n "$(((rounds + 1) / 2))p"; }
row() {
  awk -v name="$1" -v value="$(median "$2")" -v other="$(median "$3")" -v wanted="${4:-}" 'BEGIN {
    printf "%-52s %9.1f ms %6.2f x%s\n", name, value / 1e6, value / other, wanted ? ", wanted " wanted : "" }'
}
memory() { awk -v name="$1" -v value="$2" -v wanted="$3" 'BEGIN { printf "%-52s %9.1f MiB, wanted %s\n", name, value / 1048576, wanted }'; }

measure() {
  base=$(mktemp -d "$1/varve-bench-XXXXXX")
  mount=$base/mount
  taken=()
  gcc -O2 -o "$base/calls" "$root/Benchmarks/calls.c"
  mkdir -p "$base/upper/d" "$base/upper/source" "$mount"
  (cd "$base/upper/d" && seq "$items" | sed 's/.*/file number &.txt/' | tr '\n' '\0' | xargs -0 touch)
  cp -a "$root/Sources" "$root/Tests" "$base/upper/source"
  seq "$few" | sed 's/.*/file number &.txt/' >"$base/real"
  seq "$few" | sed 's/.*/file number &/' >"$base/shown"

  for ((round = 1; round <= rounds; round++)); do
    view=$mount/.varve/view/de
    calls native native "$base/upper/d"
    fresh
    keep "memory" "$(status residentBytes)"
    calls "view first" list "$view/d"
    calls "view again" list "$view/d"
    fresh
    calls "tree first" list "$mount/d"
    fresh
    calls "tree status" status "$mount/d"
    fresh
    timed "tree ls" ls -l "$mount/d"
    fresh
    "$base/calls" list "$view/d" >/dev/null
    calls "view status" status "$view/d"
    fresh
    "$base/calls" list "$view/d" >/dev/null
    timed "view ls" ls -l "$view/d"
    fresh
    calls "tree names" names "$mount/d" "$base/real"
    fresh
    calls "view real" names "$view/d" "$base/real"
    fresh
    "$base/calls" list "$view/d" >/dev/null
    calls "view shown" names "$view/d" "$base/shown"
    for way in walk walk_status; do
      fresh
      "$way" "tree $way" "$mount/source"
      "$way" "tree $way again" "$mount/source"
      fresh
      "$way" "view $way" "$view/source"
      "$way" "view $way again" "$view/source"
    done
    fresh
    calls "writer alone" pace "$mount/d/made" 5000
    for name in de fr; do
      "$base/calls" load "$mount/.varve/view/$name/d" "$base/shown" >"$base/wait.$name" &
      loads+=($!)
    done
    calls "writer watched" pace "$mount/d/made" 5000
    quiet
    # A reader that failed has said why.
    [ "$(cat "$base"/wait.* | wc -l)" = 2 ]
    keep "longest listing" "$(longest 1)"
    keep "longest lookup" "$(longest 2)"
    keep "middle lookup" "$(longest 3)"
  done

  echo "$items files below $1, medians of $rounds rounds in turns"
  row "first listing of a view, by a native program" "view first" native "at most 1.5, and 1500 ms"
  row "the listing again, by the tree's first" "view again" "tree first" "at most 1.5"
  row "again with stat of each, by the tree's ls -l, cold" "view status" "tree ls" "at most 1.2"
  row "  the same, by the tree's bare stats, cold" "view status" "tree status"
  row "  ls -l again, by the tree's, cold" "view ls" "tree ls"
  row "cold stat of $few real names, by the tree's" "view real" "tree names" "at most 1.1"
  row "cold stat of $few shown names, by the tree's" "view shown" "tree names" "at most 1.3"
  row "find in a source tree, first, by the tree's" "view walk" "tree walk" "at most 2"
  row "find in a source tree, again, by the tree's again" "view walk again" "tree walk again" "at most 1.2"
  row "  with the status of each file, first" "view walk_status" "tree walk_status" "at most 2"
  row "  with the status of each file, again" "view walk_status again" "tree walk_status again" "at most 1.2"
  # The other way round: the share of its speed that a writer keeps.
  row "a writer alone, by one in a directory that is listed" "writer alone" "writer watched" "at least 0.8"
  # A build beside a writer and another build takes longer than one alone.
  row "the longest wait for a listing then, by a first listing" "longest listing" "view first" "at most two builds then"
  row "the longest wait for a shown name, by a first listing" "longest lookup" "view first" "at most two builds then"
  awk -v value="$(median "middle lookup")" 'BEGIN { printf "%-52s %9.1f us\n", "  for a shown name in the middle", value / 1e3 }'
  memory "memory after the mount" "$(median memory)" "at most 20"

  for ((number = 1; number <= many; number++)); do
    mkdir "$base/upper/many $number"
    (cd "$base/upper/many $number" && seq "$each" | sed 's/.*/file number &.txt/' | tr '\n' '\0' | xargs -0 touch)
  done
  fresh
  for name in de fr ja ru; do
    for ((number = 1; number <= many; number++)); do
      "$base/calls" list "$mount/.varve/view/$name/many $number" >/dev/null
    done
  done
  memory "indexes of $many directories of $each in 4 views" "$(status indexBytes)" "at most 64"
  memory "  all of the daemon's memory then" "$(status residentBytes)" "to be known"

  # As many as can be had: a listing takes one.
  ulimit -n 65536 2>/dev/null || ulimit -n "$(ulimit -Hn)"
  fresh
  for name in de fr ja ru; do
    "$base/calls" hold "$mount/.varve/view/$name" $((held / 4)) "$many" >"$base/held.$name" &
    loads+=($!)
  done
  until [ "$(cat "$base"/held.* | grep -c ready)" = 4 ]; do
    # One that failed has said why, and ends this.
    for load in "${loads[@]}"; do kill -0 "$load"; done
    sleep 0.1
  done
  "$base/calls" pace "$mount/many 1/made" 2000 >/dev/null
  memory "indexes, with $held open listings and a writer" "$(status indexBytes)" "at most 64"
  memory "  all of the daemon's memory then" "$(status residentBytes)" "to be known"
  quiet
  clean
  base=
}

for place in "${places[@]}"; do measure "$place"; done
