#!/bin/bash
# Measures `varve acl propagate` beside `setfacl -R` on the file system below, in turns, and prints the medians.
# Usage: Benchmarks/propagate.sh [ITEMS [ROUNDS]]; needs root, /dev/fuse and setfacl. VARVE names the program,
# VARVE_TEST_DIRECTORY the place for the trees (a file system that keeps POSIX access lists, such as ext4).
set -euo pipefail

items=${1:-200000}
rounds=${2:-5}
root=$(cd "$(dirname "$0")/.." && pwd)
varve=${VARVE:-$root/.build/release/varve}
base=$(mktemp -d "${VARVE_TEST_DIRECTORY:-/var/tmp}/varve-bench-XXXXXX")
mount=$base/mount

clean() {
  "$varve" umount "$mount" 2>/dev/null || true
  rm -rf "$base"
}
trap clean EXIT

# 100 files a directory, 20 directories in each of their own.
make_tree() {
  local made=0 directory=0 place
  while ((made < items)); do
    place=$1/d$((directory / 20))/s$directory
    mkdir -p "$place"
    (cd "$place" && touch f{1..100})
    made=$((made + 101))
    directory=$((directory + 1))
  done
}

now() { date +%s%N; }

# Runs a command; sets `milliseconds`, and `peak` to the most memory it had, in kilobytes.
measure() {
  local start line
  start=$(now)
  peak=0
  "$@" &
  while line=$(grep -s VmHWM "/proc/$!/status"); do
    line=${line//[!0-9]/}
    ((line > peak)) && peak=$line
    sleep 0.2
  done
  wait $!
  milliseconds=$((($(now) - start) / 1000000))
}

median() { printf '%s\n' "$@" | sort -n | sed -n "$((($# + 1) / 2))p"; }

mkdir "$base/upper" "$base/native" "$mount"
make_tree "$base/upper/tree"
cp -a "$base/upper/tree" "$base/native/tree"
count=$(find "$base/native/tree" | wc -l)
"$varve" mount "$base/upper" "$mount"

native=() ours=() again=() undone=() listed=() memory=0
for ((round = 1; round <= rounds; round++)); do
  measure setfacl -R -m "u:$((5000 + round)):rx" "$base/native/tree"
  native+=("$milliseconds")
  "$varve" acl set -e "group:$((5000 + round)) allow readonly,file_inherit,directory_inherit" "$mount/tree"
  measure "$varve" acl propagate "$mount/tree"
  ours+=("$milliseconds")
  ((peak > memory)) && memory=$peak
  measure "$varve" acl propagate "$mount/tree"
  again+=("$milliseconds")
  "$varve" acl set -e "group:$((6000 + round)) allow readonly,file_inherit,directory_inherit" "$mount/tree"
  measure "$varve" acl propagate --undo "$base/undo$round" "$mount/tree"
  undone+=("$milliseconds")
  measure "$varve" ls -RleO "$mount/tree" >"$base/listing"
  listed+=("$milliseconds")
done

native_median=$(median "${native[@]}")
report() {
  local value
  value=$(median "${@:2}")
  awk -v name="$1" -v value="$value" -v native="$native_median" -v count="$count" 'BEGIN {
    printf "%-28s %8d ms %7.1f us an item %6.2f x\n", name, value, value * 1000 / count, value / native }'
}
echo "$count items, medians of $rounds rounds in turns, against setfacl -R on the file system below"
report "setfacl -R" "${native[@]}"
report "acl propagate" "${ours[@]}"
report "acl propagate, nothing to do" "${again[@]}"
report "acl propagate --undo" "${undone[@]}"
report "ls -RleO" "${listed[@]}"
echo "most memory of acl propagate: $memory KB"
