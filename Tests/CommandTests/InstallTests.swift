// `make install` and what it installs, without building anything: what is said, what is put where, and as whom it builds.

import Foundation
import MountSupport
import Testing

extension CommandTests {
  @Suite("Installing", .enabled(if: Programs.has("make"), "needs make")) struct InstallTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent()
      .deletingLastPathComponent().path

    private func output(_ script: String) throws -> String {
      let base = try TemporaryDirectory.make()
      defer { TemporaryDirectory.remove(base) }
      let result = try Program.shell(
        script, in: base,
        environment: [
          "ROOT": Self.root, "BUILT": String(Program.built("varve").dropLast("/varve".count)),
          "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C",
        ])
      #expect(result.exit == 0, "\(result.output)")
      return result.output
    }

    @Test("It says what it put where, and uninstalling takes all of it away") func places() throws {
      let said = try output(
        """
        export DESTDIR=$PWD/there
        "$ROOT/scripts/place" add >said
        find there ! -type d | sed "s|^there|$DESTDIR|" | sort >found
        while read -r directory names; do for name in $names; do echo "${directory%:}/$name"; done; done <said | sort | diff - found
        grep -c . <found
        for text in LICENSE docs/SECURITY.md; do cmp "$ROOT/$text" there/usr/local/share/doc/varve/${text##*/}; done
        "$ROOT/scripts/place" remove
        find there ! -type d
        """)
      let count = try #require(Int(said.split(separator: "\n").first ?? ""))
      #expect(count > 40 && said == "\(count)\n", "\(said)")
    }

    @Test(
      "Manuals name what is installed where it is, and nothing else is written into them",
      arguments: ["/usr/local", "/usr", "/opt/varve"])
    func manuals(_ prefix: String) throws {
      let said = try output(
        """
        export DESTDIR=$PWD/there PREFIX=\(prefix)
        "$ROOT/scripts/place" add >said
        cd there; cat .$PREFIX/share/man/man?/* | grep -o "/[a-z/]*/\\(lib\\|share/doc\\)/varve/[A-Za-z./]*" | sort -u >../named
        while read -r path; do test -e ".$path" || echo "$path is not there"; done <../named
        grep -c . <../named; sed "s|^$PREFIX||" ../named
        for page in "$ROOT"/man/*; do
          diff "$page" .$PREFIX/share/man/man?/"${page##*/}" | grep '^>' | grep -v "$PREFIX/\\(lib\\|share/doc\\)/varve/" || true
        done
        stat -c %a .$PREFIX/share/man/man1/varve.1
        """)
      #expect(
        said == """
          3
          /lib/varve/bin
          /share/doc/varve/FORMATS.md
          /share/doc/varve/portability.md
          644

          """)
    }

    @Test("The mount helper runs the program that it was installed with") func helper() throws {
      let said = try output(
        """
        mkdir bin; printf '#!/bin/sh\\necho other\\n' >bin/varve; chmod 755 bin/varve
        export SYSCONFDIR=$PWD/etc SBINDIR=$PWD/sbin UNITDIR=$PWD/units
        PREFIX=$PWD/own "$ROOT/scripts/place" add >said
        printf '#!/bin/sh\\necho own "$@"\\n' >own/bin/varve
        PATH=$PWD/bin:$PATH sbin/mount.varve upper there -o rw; env -i sbin/mount.fuse.varve upper there
        rm own/bin/varve; PATH=$PWD/bin:$PATH sbin/mount.varve upper there
        # In a copy, it is where the copy will be.
        SBINDIR=/sbin UNITDIR= PREFIX=/opt/varve DESTDIR=$PWD/there "$ROOT/scripts/place" add >said
        grep '^bindir=' there/sbin/mount.varve; stat -c %a there/sbin/mount.varve
        """)
      #expect(
        said == """
          own mount upper there -o rw
          own mount upper there
          other
          bindir='/opt/varve/bin'
          755

          """)
    }

    @Test("What building needs is few packages, which are named to users who cannot install them")
    func packages() throws {
      // A machine without packages, on which nobody is root, with a compiler.
      let said = try output(
        """
        mkdir bin
        printf '#!/bin/sh\\nexit 1\\n' >bin/dpkg-query
        printf '#!/bin/sh\\necho 1000\\n' >bin/id
        printf '#!/bin/sh\\necho Swift version 6.2\\n' >bin/swift
        chmod 755 bin/*; PATH=$PWD/bin:$PATH
        "$ROOT/scripts/setup" build >said 2>&1 || echo $?
        sed -n 's/^ *\\(apt-get .*[^ ]\\) *$/\\1/p' said
        """)
      #expect(
        said == """
          1
          apt-get install --no-install-recommends gcc git libfuse3-dev libicu-dev libssl-dev libzstd-dev fuse3 make \
          pkg-config libcurl4 libncurses6 libsqlite3-0 libxml2

          """)
    }

    @Test(
      "A Swift that is too old is told before anything is installed", arguments: ["build", ""])
    func oldSwift(_ goal: String) throws {
      let said = try output(
        """
        mkdir bin
        printf '#!/bin/sh\\nexit 1\\n' >bin/dpkg-query
        printf '#!/bin/sh\\necho installing\\nexit 1\\n' >bin/apt-get
        printf '#!/bin/sh\\necho Swift version 5.9\\n' >bin/swift
        chmod 755 bin/*; PATH=$PWD/bin:$PATH
        "$ROOT/scripts/setup" \(goal) 2>&1 || echo $?
        """)
      #expect(said == "setup: Swift 6.2 or later is needed; found: Swift version 5.9\n1\n")
    }

    @Test("Root builds as the owner of the tree, once for installing and for the package") func owner() throws
    {
      let said = try output(
        """
        mkdir tree; chown 65534:65534 tree; cd tree
        for goal in install deb; do make -n -f "$ROOT/Makefile" $goal | grep -F 'swift build'; done |
          sed "s/runuser -u $(id -nu 65534) -- /AS-OWNER /; s/ -c release .*--scratch-path / /" | sort | uniq -c | tr -s ' '
        """)
      #expect(
        said == """
           2 AS-OWNER scripts/swift build .build/static --product varve
           2 AS-OWNER scripts/swift build .build/static --product varved

          """)
    }

    @Test(
      "The programs name the commit they were built from",
      .enabled(if: FileManager.default.fileExists(atPath: root + "/.git"), "needs the history"))
    func version() throws {
      for program in ["varve", "varved"] {
        let result = try Program.run(Program.built(program), ["--version"])
        #expect(
          result.output.contains(/^varved? [0-9.]+ \([0-9a-f]{12}\+?\)\n$/), "\(program): \(result.output)")
      }
    }
  }
}
