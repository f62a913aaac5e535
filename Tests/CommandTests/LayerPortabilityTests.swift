import Glibc
import MountSupport
import Testing

extension CommandTests {
  /// The commands of "Upper directories of layers" in docs/portability.md, as they are written there.
  @Suite("Upper directories of layers elsewhere") struct LayerPortabilityTests {
    /// A volume `upper` over `lower` and `base` with a history; the scripts run beside them, and `look` tells a tree.
    private func stage(_ script: String) throws {
      let base = try TemporaryDirectory.make()
      defer {
        for mount in ["mnt", "kernel"] { umount2("\(base)/\(mount)", CInt(MNT_DETACH)) }
        TemporaryDirectory.remove(base)
      }
      let varve = Program.built("varve")
      let prelude = """
        set -e
        varve() { '\(varve)' "$@"; }
        look() { (cd "$1"; find . -path ./.varve -prune -o -printf '%P %y %m %l %s\\n' | sed 's/ [0-9]*$//' | sort
          find . -path ./.varve -prune -o -type f -print | sort | xargs -r sha1sum); }
        numbers() { (cd "$1"; find . -path ./.varve -prune -o -printf '%P %i\\n' | sort); }
        mkdir -p lower/d/e base/d upper mnt kernel work; for i in 1 2 3; do echo $i > lower/d/e/$i; echo $i > base/d/$i; done
        history() { rm $1/d/1; mv $1/d $1/moved; mkdir $1/d; echo new > $1/d/new; echo more >> $1/moved/e/2; rm $1/moved/e/3; }

        """
      let result = try Program.run(
        "/bin/bash", ["-c", prelude + script], in: base, environment: ["LC_ALL": "C", "HOME": base])
      if result.exit != 0 { throw TestFailure("exit \(result.exit) of:\n\(script)\n\(result.output)") }
    }

    @Test(
      "An upper directory is moved as the document says, and has its numbers again",
      .enabled(if: Programs.has("rsync")))
    func moved() throws {
      try stage(
        """
        varve mount -o lower=lower:base upper mnt; history mnt; varve chflags uchg mnt/moved/e/2; look mnt > before
        numbers mnt | grep moved/e/ > copied; varve umount mnt
        mkdir new; rsync -aHAX upper/ new/
        varve check --repair -y --lower lower:base new
        varve mount -o lower=lower:base new mnt; look mnt | diff before -; numbers mnt | grep moved/e/ | diff copied -
        varve ls -lO mnt/moved/e/2 | grep -q uchg; varve umount mnt
        """)
    }

    @Test(
      "An upper directory of overlayfs is taken over as the document says",
      .enabled(if: Machine.knows(fileSystem: "overlay"), "the kernel of this machine has no overlayfs"))
    func takenOver() throws {
      try stage(
        """
        mount -t overlay -o redirect_dir=on,metacopy=off,lowerdir=lower:base,upperdir=upper,workdir=work overlay kernel
        history kernel; look kernel > before; umount kernel
        varve check --lower lower:base upper 2>&1 | grep -q 'there is no .varve; mount an upper directory of overlayfs'
        varve mount -o lower=lower:base upper mnt; look mnt | diff before -; echo again >> mnt/moved/2; varve umount mnt
        varve check --lower lower:base upper
        """)
    }

    @Test(
      "An upper directory is given to overlayfs as the document says",
      .enabled(if: Machine.knows(fileSystem: "overlay"), "the kernel of this machine has no overlayfs"))
    func given() throws {
      try stage(
        """
        varve mount -o lower=lower:base upper mnt; history mnt; mkdir mnt/shut; varve chflags opaque mnt/moved/e
        look mnt > before; varve umount mnt
        varve mount -o lower=lower:base upper mnt; varve find -flags opaque mnt | sed "s|^mnt|upper|" > flagged; varve umount mnt
        while read -r directory; do setfattr -n trusted.overlay.opaque -v y "$directory"; done < flagged
        varve check --repair -y -q --lower lower:base upper
        mv upper/.varve kept
        mount -t overlay -o redirect_dir=on,index=off,metacopy=off,lowerdir=lower:base,upperdir=upper,workdir=work overlay kernel
        look kernel 2>&1 | diff before -; echo by-the-kernel > kernel/moved/file; rm kernel/moved/2; look kernel > after; umount kernel
        mv kept upper/.varve
        varve mount -o lower=lower:base upper mnt; look mnt | diff after -; varve umount mnt
        """)
    }
  }
}
