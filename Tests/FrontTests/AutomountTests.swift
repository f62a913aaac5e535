import Foundation
import MountSupport
import Testing

extension FrontTests {
  /// An automounter waits for the mount, and lets only its own process group walk to the mount point.
  @Suite("Mounting when somebody enters", .timeLimit(.minutes(2))) struct AutomountTests {
    static let kernelKnowsIt =
      (try? Text.read("/proc/filesystems"))?.contains("autofs") == true
      && FileManager.default.isExecutableFile(atPath: "/usr/bin/perl")

    /// Plays the automounter for one directory.
    private static let automounter = #"""
      use strict;
      use Fcntl;
      my ($upper, $dir) = @ARGV;
      $^F = 255;
      pipe(my $requests, my $kernel) or die "pipe: $!";
      setpgrp(0, 0);
      my $options = sprintf("fd=%d,pgrp=%d,minproto=5,maxproto=5,direct", fileno($kernel), $$);
      system("mount", "-t", "autofs", "-o", $options, "test", $dir) == 0 or die "no autofs";
      close($kernel);
      sysopen(my $trigger, $dir, O_RDONLY | O_DIRECTORY) or die "trigger: $!";
      my $visitor = fork();
      if ($visitor == 0) {
        setpgrp(0, 0);
        exec("cat", "$dir/file");
      }
      sysread($requests, my $packet, 512) or die "request: $!";
      my (undef, undef, $token) = unpack("l l L", $packet);
      my @mount = ("timeout", "--foreground", "-s", "KILL", "20", "mount", "-t", "fuse.varve", $upper, $dir);
      my $isMounted = system(@mount) == 0;
      # AUTOFS_IOC_READY, or AUTOFS_IOC_FAIL, after which nobody waits any more.
      ioctl($trigger, $isMounted ? 0x9360 : 0x9361, $token) or die "answer: $!";
      waitpid($visitor, 0);
      print $isMounted ? "mounted" : "not mounted", ", the visitor ended with ", $? >> 8, "\n";
      """#

    @Test(
      "A volume is mounted when somebody walks to it, and its mount does not wait for itself",
      .enabled(if: kernelKnowsIt, "needs autofs in the kernel, and perl"))
    func onDemand() throws {
      let world = try World()
      defer { world.remove() }
      try AutomountTests.automounter.write(
        toFile: "\(world.base)/automounter", atomically: true, encoding: .utf8)
      let output = try world.output(
        """
        echo hello >upper/file
        perl automounter "$BASE/upper" "$BASE/second"
        findmnt -no FSTYPE "$BASE/second" | tail -n 1
        umount "$BASE/second"
        umount "$BASE/second"
        """)
      #expect(output == "hello\nmounted, the visitor ended with 0\nfuse.varve\n")
    }
  }
}
