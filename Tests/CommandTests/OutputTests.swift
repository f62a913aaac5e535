import MountSupport
import Testing

extension CommandTests {
  @Suite("What ls, status, why and access print") struct OutputTests {
    private static let tree = #"""
      mkdir d; : > d/plan; printf x > d/data; ln -s plan d/link; mkfifo d/pipe
      varve chmod +a "user:7001 deny delete" d/plan; varve chmod +a "group:bin inherited allow read" d/plan
      touch -d 2023-01-02T03:04 d/plan; varve chflags uchg,hidden d/plan; varve chflags nodump d/data; setfattr -n user.note -v hello d/data
      touch -hd 2023-01-02T03:04 d/data d/link d/pipe
      touch -hd 2023-01-02T03:05 d
      """#

    @Test("ls prints names, one a line, in the order asked for") func names() throws {
      let desk = try Desk("", Self.tree)
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        varve ls d
        varve ls -a1 d | head -3
        varve ls -rS d | head -2
        varve ls -i d/data | grep -c '^[0-9]* d/data$'
        varve ls -1R .
        varve ls d/gone d/plan; echo $?
        """#,
        prints: #"""
          data
          link
          pipe
          plan
          .
          ..
          data
          plan
          pipe
          1
          .:
          d

          ./d:
          data
          link
          pipe
          plan
          varve ls: d/gone: No such file or directory (ENOENT)
          d/plan
          1

          """#)
      try desk.end()
    }

    @Test("The long form has flags, attributes and entries below the line") func longForm() throws {
      let desk = try Desk("", Self.tree)
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        varve ls -l d | tail -n +2
        varve ls -lOe@n d/data d/link d/pipe d/plan
        varve ls -lhT d/data
        varve ls -leO@ d/link/ d/gone; echo $?
        """#,
        prints: #"""
          -rw-r--r--@ 1 root  root  1 Jan  2  2023 data
          lrwxrwxrwx  1 root  root  4 Jan  2  2023 link -> plan
          prw-r--r--  1 root  root  0 Jan  2  2023 pipe
          -rw-r--r--@ 1 root  root  0 Jan  2  2023 plan
          -rw-r--r--@ 1 0  0  nodump      1 Jan  2  2023 d/data
          	user.note	5
          lrwxrwxrwx  1 0  0  -           4 Jan  2  2023 d/link -> plan
          prw-r--r--  1 0  0  -           0 Jan  2  2023 d/pipe
          -rw-r--r--@ 1 0  0  uchg,hidden 0 Jan  2  2023 d/plan
          	user.com.apple.FinderInfo	32
           0: user:7001 deny delete
           1: group:2 inherited allow read
          -rw-r--r--@ 1 root  root  1B Jan  2 03:04:00 2023 d/data
          varve ls: d/link/: Not a directory (ENOTDIR)
          varve ls: d/gone: No such file or directory (ENOENT)
          1

          """#)
      try desk.end()
    }

    @Test("ls prints JSON") func listJSON() throws {
      let desk = try Desk("", Self.tree)
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        varve ls --json d/data d/plan | sed 's/"inode": [0-9]*/"inode": N/; s/"blocks": [0-9]*/"blocks": N/'
        varve ls --json -l d/link | grep -e '"kind"' -e target; varve ls --json d/gone; echo $?
        """#,
        prints: #"""
          [
            {
              "name": "d/data",
              "kind": "regular",
              "mode": "0644",
              "inode": N,
              "links": 1,
              "user": 0,
              "group": 0,
              "size": 1,
              "blocks": N,
              "modified": "1672628640.000000000",
              "flags": [
                "nodump"
              ],
              "acl": [],
              "xattrs": [
                {
                  "name": "user.note",
                  "size": 5
                }
              ]
            },
            {
              "name": "d/plan",
              "kind": "regular",
              "mode": "0644",
              "inode": N,
              "links": 1,
              "user": 0,
              "group": 0,
              "size": 0,
              "blocks": N,
              "modified": "1672628640.000000000",
              "flags": [
                "uchg",
                "hidden"
              ],
              "acl": [
                "user:7001 deny delete",
                "group:bin inherited allow read"
              ],
              "xattrs": [
                {
                  "name": "user.com.apple.FinderInfo",
                  "size": 32
                }
              ]
            }
          ]
              "kind": "symbolicLink",
              "target": "plan"
          varve ls: d/gone: No such file or directory (ENOENT)
          []
          1

          """#)
      try desk.end()
    }

    @Test("status names a volume and what is in force on it") func status() throws {
      let desk = try Desk("", Self.tree)
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        varve status | grep "$BASE" | sed 's/(.*)/(OPTIONS)/'
        numbers() { sed -E 's/[0-9a-f]{8}-[-0-9a-f]{27}/UUID/; s/(pid|nodes|handles|residentBytes|threads)("?): +[0-9]+/\1\2: N/'; }
        varve status -v . | numbers | sed '/^  kernel/,$d'; varve status -v d/data | sed -n '/^  kernel/,$s/:.*/:/p' | grep '^  [a-z]'
        varve status --json . | numbers | sed '/"kernel"/,$d'
        varve status --json | tr -d ' \n' | grep -o "{[^{}]*$BASE/m[^{}]*}" | sed 's/"options":"[^"]*"/"options":"..."/'
        varve status . | grep -cE '^  (nodes|handles|residentBytes|requests):'; varve status . | grep -cE '^  (kernel|threads):'
        varve status /proc; echo $?
        """#,
        prints: #"""
          BASE/upper on BASE/mount (OPTIONS)
          BASE/upper on BASE/mount
            version:       0.1.0
            pid: N
            uuid:          UUID
            records:       trusted
            recordsExist:  yes
            readOnly:      no
            acl:           yes
            noowners:      no
            securelevel:   0
            suiddir:       no
            noexec:        no
            cache:         shared
            groups:        process
            chattr:        system
            debug:         no
            lock:          held, by the kernel of this machine
            threads: N
            options:       none
            nodes: N
            handles: N
            residentBytes: N
            kernel:
            requests:
          {
            "version": "0.1.0",
            "pid": N,
            "uuid": "UUID",
            "records": "trusted",
            "recordsExist": true,
            "readOnly": false,
            "acl": true,
            "noowners": false,
            "securelevel": 0,
            "suiddir": false,
            "noexec": false,
            "cache": "shared",
            "groups": "process",
            "chattr": "system",
            "debug": false,
            "lock": "held, by the kernel of this machine",
            "threads": N,
            "options": [],
            "nodes": N,
            "handles": N,
            "residentBytes": N,
          {"source":"BASE/upper","mountPoint":"BASE/mount","options":"...","state":"serving"}
          0
          2
          varve status: /proc: not on a Varve volume; 'varve status' lists the volumes
          1

          """#)
      try desk.end()
    }

    @Test("why and access print JSON") func explanations() throws {
      let desk = try Desk("", Self.tree)
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        varve why --json --as 7001:7001 delete d/plan; echo $?
        varve access --json --as 1001:2001 read d/data | tr -d ' \n'; echo
        varve access --as 1001:2001 read,write,delete d/data d; echo $?
        """#,
        prints: #"""
          {
            "outcome": "denied",
            "operation": "delete",
            "path": "d/plan",
            "user": 7001,
            "group": 7001,
            "groups": [
              7001
            ],
            "directory": false,
            "error": "EPERM",
            "steps": [
              {
                "path": "",
                "asked": "search",
                "allowed": true,
                "reason": "mode",
                "because": "by its mode (other r-x)"
              },
              {
                "path": "d",
                "asked": "search",
                "allowed": true,
                "reason": "mode",
                "because": "by its mode (other r-x)"
              },
              {
                "path": "d/plan",
                "asked": "delete",
                "allowed": false,
                "error": "EPERM",
                "reason": "flag",
                "because": "by its flag uchg"
              }
            ]
          }
          1
          [{"path":"d/data","operations":[{"outcome":"allowed","operation":"read","path":"d/data","user":1001,"group":2001,"groups":[2001],"directory":false,"steps":[{"path":"","asked":"search","allowed":true,"reason":"mode","because":"byitsmode(otherr-x)"},{"path":"d","asked":"search","allowed":true,"reason":"mode","because":"byitsmode(otherr-x)"},{"path":"d/data","asked":"read","allowed":true,"reason":"mode","because":"byitsmode(otherr--)"}]}]}]
          d/data:
          read        yes  by its mode (other r--)
          write       no   by its mode (other r--)
          delete      no   d: delete_child by its mode (other r-x)

          d:
          read        yes  by its mode (other r-x)
          write       no   by its mode (other r-x)
          delete      no   BASE/mount: delete_child by its mode (other r-x)
          1

          """#)
      try desk.end()
    }

    @Test("What was denied is told as a line and as JSON") func denials() throws {
      let desk = try Desk("", Self.tree)
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        varve chmod 600 d/plan
        varve why --last 1 | sed -E 's/^[-0-9T:.Z]+ /TIME /'
        varve why --last --json 1 | sed -E 's/("time": )".*"/\1"TIME"/; s/("thread": )[0-9]+/\1N/'
        """#,
        prints: #"""
          varve chmod: d/plan: is locked by uchg; clear it first: varve chflags nouchg d/plan (EPERM)
          TIME root: chmod BASE/mount/d/plan denied by its flag uchg (EPERM)
          [
            {
              "mountPoint": "BASE/mount",
              "time": "TIME",
              "user": 0,
              "userName": "root",
              "group": 0,
              "thread": N,
              "operation": "chmod",
              "path": "d/plan",
              "error": "EPERM",
              "about": "item",
              "reason": "flag",
              "because": "by its flag uchg"
            }
          ]

          """#)
      try desk.end()
    }

    @Test("Acts on many items print JSON, and what restores them") func acts() throws {
      let desk = try Desk("", Self.tree)
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        varve acl strip -n -v --json d/plan 2> /dev/null
        varve acl set --json -e "everyone allow read" d/data d/gone 2> "$BASE/complaints"; echo $?
        varve chflags 0 d/plan; varve acl sort -v d/plan d/data; varve acl dump d/plan > "$BASE/dump"; cat "$BASE/dump"
        varve acl strip -q d/plan; varve acl restore -v --json "$BASE/dump"; echo $?
        """#,
        prints: #"""
          {"changes": [
            {"path": "d/plan", "before": [{"who": "user:7001", "id": 7001, "type": "deny", "inherited": false, "rights": ["delete"], "inheritance": []}, {"who": "group:bin", "id": 2, "type": "allow", "inherited": true, "rights": ["read"], "inheritance": []}], "after": null, "refused": {"error": "EPERM", "because": "by its flag uchg"}}
          ], "dryRun": true, "items": 1, "changed": 0, "unchanged": 0, "leftAlone": 0, "failed": 1, "interrupted": false}
          {"changes": [
            {"path": "d/gone", "error": "No such file or directory (ENOENT)"}
          ], "dryRun": false, "items": 2, "changed": 1, "unchanged": 0, "leftAlone": 0, "failed": 1, "interrupted": false}
          1
          varve acl sort: 2 items, 0 changed, 0 failed
          varve-acl 1
          root BASE/mount/d/plan
          file 2 - .
          	user:7001 deny delete
          	group:2 inherited allow read
          end
          {"changes": [
            {"path": "BASE/mount/d/plan", "before": {"acl": null}, "after": {"acl": [{"who": "user:7001", "id": 7001, "type": "deny", "inherited": false, "rights": ["delete"], "inheritance": []}, {"who": "group:bin", "id": 2, "type": "allow", "inherited": true, "rights": ["read"], "inheritance": []}]}}
          ], "dryRun": false, "items": 1, "changed": 1, "unchanged": 0, "leftAlone": 0, "failed": 0, "interrupted": false}
          0

          """#)
      try desk.end()
    }
  }
}
