// What chmod(1) of macOS documents about access lists: each example of the page, and each of its sentences.
//
// The page numbers entries from 1, prints an "owner:" line and leaves "user:" and "group:" out; `ls -le` of macOS
// does none of this, and neither does ours. Positions in commands are one less than on the page for that reason.

import MountSupport
import Testing

extension CommandTests {
  @Suite("chmod(1), access lists") struct ChmodManualTests {
    @Test("Every example of the page", arguments: examples)
    func example(_ session: Transcript) throws { try session.check() }

    @Test("Every sentence of the page", arguments: words + forms + options)
    func sentence(_ session: Transcript) throws { try session.check() }

    static let examples = [
      Transcript(
        "+a: a new entry, another in front of it, and two combined", before: "file file1",
        """
        # ls -le
        -rw-r--r--  1 juser  wheel  0 Apr 28  2006 file1
        # chmod +a "admin allow write" file1
        # ls -le
        -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file1
         0: group:admin allow write
        # chmod +a "guest deny read" file1
        # ls -le
        -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file1
         0: user:guest deny read
         1: group:admin allow write
        # chmod +a "admin allow delete" file1
        # ls -le
        -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file1
         0: user:guest deny read
         1: group:admin allow write,delete
        # chmod +a "User 1:allow:read" file1
        # ls -le
        -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file1
         0: user:guest deny read
         1: user:User 1:allow read
         2: group:admin allow write,delete
        """),
      // The page's list has two generations of inheritance. chmod of macOS tells no generations apart and
      // refuses it, as we do; with a position the page's result comes about.
      Transcript(
        "+ai: on a list of two generations a position is asked for", before: "file file1",
        """
        # chmod -E file1 <<< $'guest deny read\\nadmin allow write,delete'
        # chmod +ai# 2 "juser deny delete" file1
        # chmod +ai# 3 "admin allow delete" file1
        # chmod +ai# 4 "backup deny read" file1
        # chmod +ai# 5 "admin allow writesecurity" file1
        # ls -le
        -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file1
         0: user:guest deny read
         1: group:admin allow write,delete
         2: user:juser inherited deny delete
         3: group:admin inherited allow delete
         4: user:backup inherited deny read
         5: group:admin inherited allow writesecurity
        # chmod +ai "others allow read" file1
        varve chmod: file1: the access list is not in canonical order; sort it first, or give a position with +a#
        [1]
        # chmod +ai# 3 "others allow read" file1
        # ls -le
        -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file1
         0: user:guest deny read
         1: group:admin allow write,delete
         2: user:juser inherited deny delete
         3: group:others inherited allow read
         4: group:admin inherited allow delete
         5: user:backup inherited deny read
         6: group:admin inherited allow writesecurity
        """),
      Transcript(
        "+ai: the top of the inherited allow entries", before: "file file1",
        """
        # chmod -E file1 <<< $'guest deny read\\nadmin allow write,delete\\njuser inherited deny delete'
        # chmod +ai "admin allow delete" file1
        # chmod +ai "others allow read" file1
        # ls -le
        -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file1
         0: user:guest deny read
         1: group:admin allow write,delete
         2: user:juser inherited deny delete
         3: group:others inherited allow read
         4: group:admin inherited allow delete
        """),
      Transcript(
        "+a#: a position", before: "file file1; list file1 <<< $'guest deny read\\nadmin allow write'",
        """
        # ls -le
        -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file1
         0: user:guest deny read
         1: group:admin allow write
        # chmod +a# 1 "others deny read" file1
        # ls -le
        -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file1
         0: user:guest deny read
         1: group:others deny read
         2: group:admin allow write
        """),
      Transcript(
        "-a# and -a: an entry by its number, and a right",
        before: "file file1; list file1 <<< $'guest deny read\\nadmin allow write,delete'",
        """
        # ls -le
        -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file1
         0: user:guest deny read
         1: group:admin allow write,delete
        # chmod -a# 0 file1
        # ls -le
        -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file1
         0: group:admin allow write,delete
        # chmod -a "admin allow write" file1
        # ls -le
        -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file1
         0: group:admin allow delete
        """),
      Transcript(
        "a name with blanks ends at a colon", before: "file file1",
        """
        # chmod +a "User 1:allow:read" file1
        # ls -le
        -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file1
         0: user:User 1:allow read
        # chmod -a "User 1:allow:read" file1
        # ls -le
        -rw-r--r--  1 juser  wheel  0 Apr 28  2006 file1
        """),
      Transcript(
        "=a#: an entry is rewritten", before: "file file1; list file1 <<< 'admin allow delete'",
        """
        # ls -le
        -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file1
         0: group:admin allow delete
        # chmod =a# 0 "admin allow write,chown" file1
        # ls -le
        -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file1
         0: group:admin allow write,chown
        """),
    ]
  }
}
