// Makes system calls fail on purpose. Linked into tests only, and loaded before the C library by a daemon under test.
#ifndef VARVE_CFAULTS_H
#define VARVE_CFAULTS_H
#include <stdint.h>

// Kinds of calls, to be combined.
#define LF_OPEN (1u << 0)       // of what is there
#define LF_MAKE (1u << 1)       // files, unnamed ones too, directories, nodes, symbolic links
#define LF_LOOK (1u << 2)       // statx, attributes read, names listed, links read
#define LF_READ (1u << 3)       // bytes
#define LF_WRITE (1u << 4)      // bytes, sizes and space
#define LF_ATTRIBUTE (1u << 5)  // set and removed
#define LF_MODE (1u << 6)
#define LF_OWNER (1u << 7)
#define LF_TIMES (1u << 8)
#define LF_NAME (1u << 9)       // renamed, linked, removed
#define LF_SYNC (1u << 10)
#define LF_LEASE (1u << 11)     // taken; no part of what is called all
#define LF_DATA_SYNC (1u << 12) // a sync, too, but one that need not take times and attributes along

/// Which calls fail: of the calls of these kinds the first `before` pass, the next `count` fail with `error`; 0 ends the
/// program there, and less than 0 waits until there are no kinds any more.
struct lf_plan {
  uint32_t kinds;
  int32_t error;
  int64_t before;
  int64_t count;
  /// How many failed.
  int64_t hits;
  /// Of the last call that passes, if it writes bytes, no more than so many are written; 0: all. It counts as a hit.
  int64_t part;
};

/// Puts a plan in force for the calling thread, and no other; NULL: none.
void lf_arm(struct lf_plan *plan);

/// Is told of each call of its thread that has changed or synced something, after it; `fd` is -1 where it goes by a name.
///
/// Of its own calls it is not told.
typedef void lf_observer(void *context, uint32_t kind, int fd);
void lf_observe(lf_observer *observer, void *context);

/// For other threads than the one whose calls fail: how many did, and whoever is held up goes on.
int64_t lf_hits(struct lf_plan *plan);
void lf_let_go(struct lf_plan *plan);

/// A plan for all threads of a daemon that is started with `VARVE_FAULTS=path`; NULL when `path` cannot be mapped.
struct lf_plan *lf_share(const char *path);
#endif
