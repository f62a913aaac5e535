// What the work is done with: a real tree, a repository, a program to compile. The same for everybody.

import BenchmarkReport
import Foundation

/// Archives in memory, so that reading them costs everybody the same.
struct Stock {
  private let folder: String
  /// Headers of the system and, where it is there, Python's library.
  var tree: String { "\(folder)/tree.tar" }
  private var repository: String { "\(folder)/repository.tar" }

  /// The word that `grep -r` looks for; one file holds it.
  static let needle = "a-word-that-only-the-benchmark-knows"
  private static let mostFiles = 1500
  /// Larger files would turn the rows about trees into rows about data.
  private static let mostBytes = 256 << 10
  static let entries = 100_000

  init(in folder: String) throws {
    self.folder = folder
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let list = "\(folder)/files"
    let script = """
      set -eu
      cd /usr
      for part in include lib/python3 lib/python3.*; do
        [ ! -d "$part" ] || find "$part" -type f -size -\(Stock.mostBytes / 1024)k
      done | LC_ALL=C sort | awk '{ name[NR] = $0 }
        END { step = NR > \(Stock.mostFiles) ? NR / \(Stock.mostFiles) : 1
          for (at = 1; at <= NR; at += step) print name[int(at)] }' >"\(list)"
      mkdir "\(folder)/tree"
      tar cf - -T "\(list)" | tar xf - --no-same-owner -C "\(folder)/tree"
      echo "\(Stock.needle)" >"\(folder)/tree/needle.txt"
      tar cf "\(tree)" -C "\(folder)/tree" .
      cp -a "\(folder)/tree" "\(folder)/repository"
      cd "\(folder)/repository"
      git init -q .
      git add -A -f .
      git -c user.name=benchmark -c user.email=benchmark@localhost -c commit.gpgsign=false commit -qm tree
      cd "\(folder)"
      tar cf "\(repository)" -C repository .
      rm -rf tree repository
      """
    try Programs.run(["sh", "-c", script])
  }

  /// How large the tree is, for the document.
  var description: String {
    let count = (try? Programs.run(["tar", "tf", tree]))?.split(separator: "\n").count ?? 0
    let attributes = try? FileManager.default.attributesOfItem(atPath: tree)
    let bytes = (attributes?[.size] as? NSNumber)?.intValue ?? 0
    return "\(count) items, \(bytes >> 20) MiB, from /usr/include and /usr/lib/python3*"
  }

  /// Puts into a directory what the scenes find there, before anything is mounted.
  func furnish(_ arena: Arena, for scenes: [Scene], load: String) throws {
    let source = arena.source
    for scene in scenes where scene.includes(arena.contender) {
      switch scene {
      case .entries:
        try FileManager.default.createDirectory(
          atPath: "\(source)/entries", withIntermediateDirectories: false)
        try Programs.run([load, "fill", "\(source)/entries", "\(Stock.entries)"])
      case .repository:
        try FileManager.default.createDirectory(
          atPath: "\(source)/repository", withIntermediateDirectories: false)
        try Programs.run(["tar", "xf", repository, "-C", "\(source)/repository"])
      case .compile: try writeProject("\(source)/project")
      case .deep:
        try FileManager.default.createDirectory(atPath: "\(source)/deep", withIntermediateDirectories: false)
      case .data, .storm, .tree: continue
      }
    }
    if arena.user != 0 { try Programs.run(["chown", "-R", "\(arena.user):\(arena.user)", source]) }
  }

  /// A dozen C files that include what C files include, and a makefile.
  private func writeProject(_ folder: String) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    let names = (0..<12).map { "part\($0)" }
    for (index, name) in names.enumerated() {
      let text = """
        #include "project.h"
        int \(name)(int n) {
          char room[64];
          snprintf(room, sizeof room, "%d", n + \(index));
          return (int)strlen(room) + atoi(room);
        }

        """
      try text.write(toFile: "\(folder)/\(name).c", atomically: false, encoding: .utf8)
    }
    let header =
      "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
      + names.map { "int \($0)(int n);\n" }.joined()
    try header.write(toFile: "\(folder)/project.h", atomically: false, encoding: .utf8)
    let sum = names.map { "\($0)(1)" }.joined(separator: " + ")
    try "#include \"project.h\"\nint main(void) { return (\(sum)) == 0; }\n"
      .write(toFile: "\(folder)/main.c", atomically: false, encoding: .utf8)
    let objects = (names + ["main"]).map { "\($0).o" }.joined(separator: " ")
    try """
    all: project
    \(objects): project.h
    project: \(objects)
    \tgcc -o $@ \(objects)
    %.o: %.c
    \tgcc -O1 -c -o $@ $<

    """.write(toFile: "\(folder)/Makefile", atomically: false, encoding: .utf8)
  }
}
