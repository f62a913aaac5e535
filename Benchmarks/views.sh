#!/bin/bash
# Measures views beside the ordinary tree and a native program, in turns, and prints medians and their ratios.
# Usage: Benchmarks/views.sh [ITEMS [ROUNDS]]; needs root, /dev/fuse and gcc. VARVE names the program, VARVE_TEST_DIRECTORY
# the place for the trees.
set -euo pipefail

items=${1:-100000}
rounds=${2:-5}
few=$((items < 10000 ? items : 10000))
root=$(cd "$(dirname "$0")/.." && pwd)
varve=${VARVE:-$root/.build/release/varve}
base=$(mktemp -d "${VARVE_TEST_DIRECTORY:-/var/tmp}/varve-bench-XXXXXX")
mount=$base/mount

clean() {
  "$varve" umount "$mount" 2>/dev/null || true
  rm -rf "$base"
}
trap clean EXIT

gcc -O2 -o "$base/calls" "$root/Benchmarks/calls.c"
mkdir -p "$base/upper/d" "$base/upper/source" "$mount"
(cd "$base/upper/d" && seq "$items" | sed 's/.*/file number &.txt/' | tr '\n' '\0' | xargs -0 touch)
cp -a "$root/Sources" "$root/Tests" "$base/upper/source"
seq "$few" | sed 's/.*/file number &.txt/' >"$base/real"
seq "$few" | sed 's/.*/file number &/' >"$base/shown"

# A mount that nothing is remembered of.
fresh() {
  "$varve" umount "$mount" 2>/dev/null || true
  "$varve" mount "$base/upper" "$mount"
}

declare -A taken
keep() { taken[$1]+="$2 "; }
calls() { keep "$1" "$("$base/calls" "${@:2}")"; }
walk() {
  local start
  start=$(date +%s%N)
  find "$2" -type f -size +1G
  keep "$1" $(($(date +%s%N) - start))
}

for ((round = 1; round <= rounds; round++)); do
  view=$mount/.varve/view/de
  calls native native "$base/upper/d"
  fresh
  calls "view first" list "$view/d"
  calls "view again" list "$view/d"
  fresh
  calls "tree first" list "$mount/d"
  fresh
  calls "tree status" status "$mount/d"
  fresh
  "$base/calls" list "$view/d" >/dev/null
  calls "view status" status "$view/d"
  fresh
  calls "tree names" names "$mount/d" "$base/real"
  fresh
  calls "view real" names "$view/d" "$base/real"
  fresh
  "$base/calls" list "$view/d" >/dev/null
  calls "view shown" names "$view/d" "$base/shown"
  fresh
  walk "tree find" "$mount/source"
  fresh
  walk "view find" "$view/source"
  walk "view find again" "$view/source"
done

median() { tr ' ' '\n' <<<"${taken[$1]}" | grep . | sort -n | sed -n "$(((rounds + 1) / 2))p"; }
row() {
  awk -v name="$1" -v value="$(median "$2")" -v other="$(median "$3")" -v wanted="$4" 'BEGIN {
    printf "%-46s %9.1f ms %6.2f x, wanted at most %s\n", name, value / 1e6, value / other, wanted }'
}
echo "$items files, medians of $rounds rounds in turns"
row "first listing of a view, by a native program" "view first" native 1.5
row "the listing again, by the tree's first" "view again" "tree first" 1.5
row "again with stat of each, by the tree's cold" "view status" "tree status" 1.2
row "cold stat of $few real names, by the tree's" "view real" "tree names" 1.1
row "cold stat of $few shown names, by the tree's" "view shown" "tree names" 1.3
row "find in a source tree, first, by the tree's" "view find" "tree find" 2
row "find in a source tree, again, by the tree's" "view find again" "tree find" 1.2
