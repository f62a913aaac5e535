// The sentences of chmod(1) of macOS about entries and forms, in the order of the page.

extension CommandTests.ChmodManualTests {
  static let words = [
    Transcript(
      "a user comes before a group of the same name; user: and group: say which", before: "file file1",
      """
      # chmod +a "both allow read" file1
      # chmod +a "group:both allow write" file1
      # chmod +a "user:both deny delete" file1
      # ls -le
      -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file1
       0: user:both deny delete
       1: group:both allow write
       2: user:both allow read
      # chmod +a "user:admin allow read" file1
      varve chmod: no user is called 'admin'; a number will do, such as user:1001
      [2]
      # chmod +a "group:guest allow read" file1
      varve chmod: no group is called 'guest'; a number will do, such as group:1001
      [2]
      # chmod +a "nobody-here allow read" file1
      varve chmod: 'nobody-here' is neither a user nor a group; a number will do, such as user:1001
      [2]
      """),
    Transcript(
      "the rights on every object, on directories and on files",
      before: "file file1; mkdir dir1",
      """
      # chmod +a "admin allow delete,readattr,writeattr,readextattr,writeextattr" file1 dir1
      # chmod +a "admin allow readsecurity,writesecurity,chown" file1 dir1
      # chmod +a "guest allow list,search,add_file,add_subdirectory,delete_child" dir1
      # chmod +a "guest allow read,write,append,execute" file1
      # ls -led dir1 | tail -n +2
       0: user:guest allow list,add_file,search,add_subdirectory,delete_child
       1: group:admin allow delete,readattr,writeattr,readextattr,writeextattr,readsecurity,writesecurity,chown
      # ls -le file1
      -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file1
       0: user:guest allow read,write,execute,append
       1: group:admin allow delete,readattr,writeattr,readextattr,writeextattr,readsecurity,writesecurity,chown
      """),
    Transcript(
      "read and list are one right, as are the other three pairs",
      before: "file file1; mkdir dir1",
      """
      # chmod +a "guest allow read,write,append,execute" dir1
      # chmod +a "guest allow list,search,add_file,add_subdirectory" file1
      # ls -led dir1 | tail -n +2
       0: user:guest allow list,add_file,search,add_subdirectory
      # ls -le file1 | tail -n +2
       0: user:guest allow read,write,execute,append
      """),
    Transcript(
      "the words of inheritance, and what a file and a directory made there get",
      before: "mkdir dir1",
      """
      # chmod +a "admin allow list,file_inherit" dir1
      # chmod +a "others allow list,directory_inherit,only_inherit" dir1
      # chmod +a "guest allow list,directory_inherit,limit_inherit" dir1
      # ls -led dir1 | tail -n +2
       0: user:guest allow list,directory_inherit,limit_inherit
       1: group:others allow list,directory_inherit,only_inherit
       2: group:admin allow list,file_inherit
      # mkdir dir1/sub; : > dir1/file1
      # ls -le dir1/file1 | tail -n +2
       0: group:admin inherited allow read
      # ls -led dir1/sub | tail -n +2
       0: user:guest inherited allow list
       1: group:others inherited allow list,directory_inherit
      """),
    Transcript(
      "what is not an entry is refused before a file is touched", before: "file file1",
      """
      # chmod +a "guest permit read" file1
      varve chmod: expected 'allow' or 'deny', found 'permit'
      [2]
      # chmod +a "guest allow reed" file1
      varve chmod: 'reed' is not a right and not an inheritance word; did you mean 'read'?
      [2]
      # chmod +a "admin inherited allow write-security" file1
      varve chmod: 'write-security' is not a right and not an inheritance word; did you mean 'writesecurity'?
      [2]
      # chmod +a "guest allow" file1
      varve chmod: no right is named after the verb, such as read or full
      [2]
      # chmod +a guest allow read file1
      varve chmod: 'allow' or 'deny' is missing after the name; put the entry in quotes, it is one word
      [2]
      # ls -le
      -rw-r--r--  1 juser  wheel  0 Apr 28  2006 file1
      """),
  ]

  static let forms = [
    Transcript(
      "+a keeps the canonical form: local deny, local allow, inherited deny, inherited allow",
      before: "file file1",
      """
      # chmod +ai "admin allow read" file1
      # chmod +ai "admin deny write" file1
      # chmod +a "guest allow read" file1
      # chmod +a "guest deny write" file1
      # chmod +a "others allow read" file1
      # chmod +a "others deny write" file1
      # chmod +a "others deny write" file1
      # ls -le
      -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file1
       0: group:others deny write
       1: user:guest deny write
       2: group:others allow read
       3: user:guest allow read
       4: group:admin inherited deny write
       5: group:admin inherited allow read
      # chmod -C file1
      """),
    Transcript(
      "+a# and +ai# build any order; -C finds it, and +a refuses it",
      before: "file file1; file file2; file file3; list file1 <<< 'guest deny read'",
      """
      # chmod +a# 0 "admin allow write" file1
      # chmod +ai# 0 "others deny write" file1
      # ls -le file1
      -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file1
       0: group:others inherited deny write
       1: group:admin allow write
       2: user:guest deny read
      # chmod -C file1 file2 file3
      varve chmod: file1: the access list is not in canonical order; 'varve acl sort' fixes that
      [1]
      # chmod -C file2 file3
      # chmod +a "backup deny read" file1 file2
      varve chmod: file1: the access list is not in canonical order; sort it first, or give a position with +a#
      [1]
      # ls -le file2
      -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file2
       0: user:backup deny read
      """),
    Transcript(
      "-a takes from all entries that match, and deletes those that match exactly, inherited or not",
      before: "file file1; file file2",
      """
      # chmod -E file1 <<< $'guest deny read\\nguest allow read\\nguest allow read,write'
      # chmod +ai "guest allow read,delete" file1
      # chmod -a "guest allow read" file1
      # ls -le file1
      -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file1
       0: user:guest deny read
       1: user:guest allow write
       2: user:guest inherited allow delete
      # chmod -a "guest allow write,delete" file1
      # ls -le file1
      -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file1
       0: user:guest deny read
      # chmod -a "admin deny read" file1
      varve chmod: file1: no entry has this name and this verb; ls -le shows the entries
      [1]
      # chmod -a "admin deny read" file2
      varve chmod: file2: there is no access list to change; +a begins one
      [1]
      """),
    Transcript(
      "-a# out of range is an error of this file; +a# ends the program",
      before: "file file1; file file2; file file3; list file1 <<< 'guest deny read'",
      """
      # chmod -a# 1 file1 file2
      varve chmod: file1: there is no entry 1 in a list of 1; entries are numbered from 0, as ls -le shows them
      varve chmod: file2: there is no access list to change; +a begins one
      [1]
      # chmod +a# 2 "admin allow read" file1 file2
      varve chmod: file1: there is no entry 2 in a list of 1; entries are numbered from 0, as ls -le shows them
      [1]
      # chmod +a# 0x1 "admin allow read" file1
      # chmod +a# 7 "admin allow read" file3
      # ls -le
      -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file1
       0: user:guest deny read
       1: group:admin allow read
      -rw-r--r--  1 juser  wheel  0 Apr 28  2006 file2
      -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file3
       0: group:admin allow read
      # chmod -a# x file1
      varve chmod: 'x' is not the number of an entry (0 to 128)
      [2]
      # chmod -a# 129 file1
      varve chmod: '129' is not the number of an entry (0 to 128)
      [2]
      """),
    Transcript(
      "=a# adds no entries, but where there are none",
      before: "file file1; file file2; list file1 <<< 'guest deny read'",
      """
      # chmod =a# 1 "admin allow read" file1
      varve chmod: file1: there is no entry 1 in a list of 1; entries are numbered from 0, as ls -le shows them
      [1]
      # chmod =a# 1 "admin allow read" file2
      varve chmod: file2: there was no access list; the entry became entry 0
      # ls -le
      -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file1
       0: user:guest deny read
      -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file2
       0: group:admin allow read
      # chmod =a "admin allow read" file1 2>&1 | head -1
      varve chmod: =a needs the number of an entry: =a# N ENTRY
      """),
    Transcript(
      "-E replaces the list if all of it is understood",
      before: "file file1; list file1 <<< 'both deny read'",
      """
      # chmod -E file1 <<< $'guest deny read\\nadmin allow writ'
      varve chmod: standard input: line 2: 'writ' is not a right and not an inheritance word; did you mean 'write'?
      [2]
      # ls -le
      -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file1
       0: user:both deny read
      # chmod -E file1 <<< $'admin allow write\\nguest deny read'
      # ls -le
      -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file1
       0: group:admin allow write
       1: user:guest deny read
      """),
    Transcript(
      "-i keeps inherited entries as the file's own, -I removes them, -N removes the list",
      before: "file file1; list file1 <<< $'guest deny read\\nadmin inherited allow write'; cp file1 file2; "
        + "file file2; list file2 <<< 'admin inherited allow write'",
      """
      # chmod -I file1 file2
      # ls -le
      -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file1
       0: user:guest deny read
      -rw-r--r--  1 juser  wheel  0 Apr 28  2006 file2
      # chmod +ai "admin allow write" file1
      # chmod -i file1
      # ls -le file1
      -rw-r--r--+ 1 juser  wheel  0 Apr 28  2006 file1
       0: user:guest deny read
       1: group:admin allow write
      # chmod -N file1 file2
      # ls -le
      -rw-r--r--  1 juser  wheel  0 Apr 28  2006 file1
      -rw-r--r--  1 juser  wheel  0 Apr 28  2006 file2
      # chmod -i file1
      varve chmod: file1: there is no access list to change; +a begins one
      [1]
      # chmod -I file1
      varve chmod: file1: there is no access list to change; +a begins one
      [1]
      # chmod -N -C file1 2>&1 | head -1
      varve chmod: -N and -C exclude each other
      """),
  ]
}
