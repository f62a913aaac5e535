import MountSupport
import Testing

extension CommandTests {
  @Suite("varve compress", .timeLimit(.minutes(3))) struct CompressVerbTests {
    /// Two files that get shorter, one of two names; one that does not, and a short one.
    private static let tree = """
      mkdir vol; varve mount upper vol; mkdir -p vol/d/sub
      form() { for f in "$@"; do echo "$(getfattr --only-values -n system.varve.compression vol/$f | cut -d ' ' -f 1) $f"; done; }
      # Sizes as another libzstd would have them, too.
      any() { sed -E 's/ to (about )?[0-9.]+[BKM]/ to \\1SIZE/; s/\\([0-9]+ %\\)/(N %)/; s/(files|expanded), [0-9.]+K to SIZE;/\\1, SIZE to SIZE;/' | sort; }
      seq 100000 >vol/d/one; seq 50000 >vol/d/sub/two; head -c 100000 /dev/urandom >vol/d/random; echo short >vol/d/short
      ln vol/d/one vol/again; ln -s one vol/d/link; sum() { find vol -type f | sort | xargs sha256sum; }; sum >before

      """
    private static let plan =
      "as things stand now; earlier steps of the same run are not taken into account\n"

    @Test("A plan estimates, then files are compressed, and what is left alone is said") func tree() throws {
      let desk = try KeyDrawer()
      defer { desk.remove() }
      try desk.expect(
        Self.tree + """
          varve compress -R -n vol 2>&1 | any; form d/one
          sleep 60 <vol/d/sub/two & user=$!
          varve compress -R -v vol 2>&1 | sed "s,vol/again,vol/d/one,; s/$user/PID/" | any; kill $user; wait 2>/dev/null; form d/one d/sub/two
          varve compress -R -l 9 vol 2>&1 | any; form again d/sub/two d/random; sum | cmp - before
          varve compress -R -q vol; echo $?; varve compress vol/d/short vol/d/random 2>&1; echo $?
          varve decompress -R -n vol 2>&1 | any; varve decompress -R vol 2>&1 | any; form d/one d/sub/two
          sum | cmp - before; varve umount vol
          """,
        prints: """
          2 of 4 items would change
          varve compress: \(Self.plan)would compress 2 files, 857K to about SIZE (N %); 2 left alone: 1 shorter than 8 KiB, 1 would save too little
          none d/one
          varve compress: 1 file compressed, 575K to SIZE (N %); 3 left alone: 1 shorter than 8 KiB, 1 would save too little, 1 in use
          varve compress: 4 items, 1 changed, 3 left alone, 0 failed
          varve compress: vol/d/random: left alone: would get too little shorter: by less than 12 % or less than 4 KiB
          varve compress: vol/d/short: left alone: is shorter than 8 KiB
          varve compress: vol/d/sub/two: left alone: is in use (EBUSY): process PID (sleep) has it open; close it there, and run this again
          vol/d/one: compressed, 575K to SIZE
          zstd d/one
          none d/sub/two
          varve compress: 1 file compressed, 282K to SIZE (N %); 2 left alone: 1 shorter than 8 KiB, 1 would save too little; 1 compressed already
          zstd again
          zstd d/sub/two
          none d/random
          0
          varve compress: vol/d/short: left alone: is shorter than 8 KiB
          varve compress: vol/d/random: left alone: would get too little shorter: by less than 12 % or less than 4 KiB
          0
          2 of 4 items would change
          varve decompress: \(Self.plan)would expand 2 files, SIZE to SIZE; 2 not compressed
          varve decompress: 2 files expanded, SIZE to SIZE; 2 not compressed
          none d/one
          none d/sub/two

          """)
    }

    @Test("Who has a file open below the mount is named, and so is who has it mapped without a descriptor")
    func busy() throws {
      let desk = try KeyDrawer()
      defer { desk.remove() }
      try desk.expect(
        Self.tree + """
          varve unlock vol raw 2>/dev/null; library=$(ldd "$(command -v sleep)" | awk '$1 ~ /^libc[.]/ { print $3 }'); cp "$library" vol/d/library
          sleep 60 <upper/d/one & user=$!
          for verb in compress 'protect c'; do varve $verb vol/d/one 2>&1 | sed "s/$user/PID/"; done
          kill $user; wait 2>/dev/null; varve compress -q vol/d/one; form d/one
          LD_PRELOAD=$PWD/vol/d/library sleep 60 & user=$!
          until grep -q /d/library /proc/$user/maps; do sleep 0.05; done
          varve compress vol/d/library 2>&1 | sed "s/$user/PID/"; kill $user; wait 2>/dev/null
          varve compress -q vol/d/library; form d/library; varve umount vol
          """,
        prints: """
          varve compress: vol/d/one: left alone: is in use (EBUSY): process PID (sleep) has it open; close it there, and run this again
          varve protect: vol/d/one: is in use (EBUSY) and stays as it is: process PID (sleep) has it open; close it there, and run this again
          zstd d/one
          varve compress: vol/d/library: left alone: is in use (EBUSY): process PID (sleep) has it mapped; end it, and run this again
          zstd d/library

          """)
    }

    @Test("Files of a lower are left alone and said, and copies of them are compressed") func lower() throws {
      let desk = try KeyDrawer()
      defer { desk.remove() }
      try desk.expect(
        """
        mkdir -p vol low/d; for f in low/low low/d/other low/copied; do seq 100000 >$f; done; varve mount -o lower=low upper vol
        seq 100000 >vol/own; chmod 600 vol/copied
        form() { for f in "$@"; do echo "$(getfattr --only-values -n system.varve.compression vol/$f | cut -d ' ' -f 1) $f"; done; }
        any() { sed -E 's/, [0-9.]+[BKM] to (about )?[0-9.]+[BKM] \\([0-9]+ %\\)/, SIZE/; s/files [0-9.]+M to about.*;/files;/; s/, 1.1M to about [^;]*/, SIZE/' | sort; }
        varve compress -R -n vol 2>&1 | any | grep -o '2 left alone.*'; varve compress -R -v vol 2>&1 | any | grep left
        varve compress vol/low; echo $?
        form low d/other copied own; find upper -path upper/.varve -prune -o -type f -printf '%P\n' | sort; varve umount vol
        """,
        prints: """
          2 left alone: 2 in a lower layer
          varve compress: 2 files compressed, SIZE; 2 left alone: 2 in a lower layer
          varve compress: 4 items, 2 changed, 2 left alone, 0 failed
          varve compress: vol/d/other: left alone: is in a lower layer: compressing it saves no space
          varve compress: vol/low: left alone: is in a lower layer: compressing it saves no space
          varve compress: vol/low: left alone: is in a lower layer: compressing it saves no space
          0
          none low
          none d/other
          zstd copied
          zstd own
          copied
          own

          """)
    }

    @Test("What cannot be compressed is refused with a sentence, and a script is told of each file")
    func refusals() throws {
      let desk = try KeyDrawer()
      defer { desk.remove() }
      try desk.expect(
        Self.tree + """
          varve compress vol/d vol/d/link upper/d/one vol/none 2>&1; echo $?; varve compress -l 20 vol/d/one 2>&1 | head -1
          varve chflags uchg vol/d/one; varve compress vol/d/one 2>&1; echo $?; varve compress -n vol/d/one 2>&1; echo $?
          varve chflags nouchg vol/d/one; varve compress --json -R vol 2>&1 | grep -o '"result": "[a-z ]*"' | sort | uniq -c
          varve remount -o ro vol; varve decompress vol/d/one 2>&1; echo $?; varve umount vol
          """,
        prints: """
          varve compress: vol/d: is a directory; -R goes through the files in it
          varve compress: vol/d/link: is a symbolic link, which is not followed here; name what it leads to
          varve compress: upper/d/one: not on a Varve volume, or the volume does not keep this (ENOTSUP); 'varve status' lists the volumes
          varve compress: vol/none: No such file or directory (ENOENT)
          1
          varve compress: '20' is not a level; they go from 1 to 19
          varve compress: vol/d/one: is locked by uchg; clear it first: varve chflags nouchg vol/d/one (EPERM)
          1
          varve compress: vol/d/one: is locked by uchg; clear it first: varve chflags nouchg vol/d/one (EPERM)
          0 of 1 item would change, 1 would be refused
          varve compress: \(Self.plan)1
                2 "result": "compressed"
                2 "result": "left alone"
          varve decompress: vol/d/one: the volume, or this mount of it, is read-only (EROFS); 'varve remount -o rw' at its mount point may change that
          1

          """)
    }

    @Test("Damage to compressed files is found, by their tables and with --data in all content")
    func damage() throws {
      let desk = try KeyDrawer()
      defer { desk.remove() }
      try desk.expect(
        Self.tree + """
          one() { sed 's,/again:,/d/one:,' | sort; }
          varve compress -R -q vol; varve check --data vol; echo $?; varve umount vol; varve check --data upper; echo $?
          printf '\\x55' | dd of=upper/d/one bs=1 seek=30000 conv=notrunc status=none
          truncate -s -1 upper/d/sub/two
          varve check upper 2>&1; echo $?; varve check --data upper 2>&1 | one | sed 's/[0-9,]* bytes/N bytes/; s/at [0-9]*/at N/'
          varve mount upper vol; varve check vol; echo $?; varve check --data vol | one; cat vol/d/sub/two 2>&1 | tail -1
          : >vol/d/sub/two; varve decompress vol/d/one 2>&1; varve umount vol
          """,
        prints: """
          0
          0
          BASE/upper/d/sub/two: content: nothing of it can be read: the table of its compressed content is damaged (magic)
          1
          BASE/upper/d/one: content: N bytes of it cannot be read, the first at N
          BASE/upper/d/sub/two: content: nothing of it can be read: the table of its compressed content is damaged (magic)
          vol/d/sub/two: content: its compressed content is damaged; 'varve check --data' of the upper directory tells where
          1
          vol/d/one: content: its compressed content is damaged; 'varve check --data' of the upper directory tells where
          vol/d/sub/two: content: its compressed content is damaged; 'varve check --data' of the upper directory tells where
          cat: vol/d/sub/two: Input/output error
          varve decompress: vol/d/one: Input/output error (EIO): it is damaged, or the disk fails; the log of its daemon says more

          """)
    }
  }
}
