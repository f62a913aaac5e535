#!/bin/bash
# Makes libfuse's example `passthrough_hp`, which the benchmark compares with, from the sources of Debian's libfuse.
# Usage: Benchmarks/passthrough_hp.sh FILE; called by `scripts/setup bench`. What is there already stays.
# The sources are fetched and checked by apt, and only the program stays: nothing of it is part of this project.
set -euo pipefail

program=$1
[[ ! -x $program ]] || exit 0
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
work=$(mktemp -d /var/tmp/varve-peer-XXXXXX)
trap 'rm -rf "$work"' EXIT
# Lists of our own: what the machine's apt knows stays as it is.
mkdir -p "$work/parts" "$work/lists/partial" "$work/cache/archives/partial"
cat >"$work/parts/debian.sources" <<END
Types: deb-src
URIs: http://deb.debian.org/debian
Suites: $suite
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
apt=(apt-get -qq -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$work/parts"
  -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root)
cd "$work"
"${apt[@]}" update
"${apt[@]}" --download-only source fuse3
for archive in fuse3_*.orig.tar.*; do
  [[ $archive == *.asc ]] || tar xf "$archive"
done
# Its build writes this file; the example takes nothing from it.
touch config.h
read -ra flags < <(pkg-config --cflags --libs fuse3)
g++ -std=c++17 -O2 -I. fuse-3*/example/passthrough_hp.cc -o "$work/passthrough_hp" "${flags[@]}" -lpthread
cd - >/dev/null
mv "$work/passthrough_hp" "$program"
