// Stands in front of the C library's file calls and lets chosen ones fail.
//
// Every call that CLinux makes is one of the functions below: it calls the C library by name, and what that does not
// know by `syscall`. So nothing in the product has to know of tests, and costs nothing there: the test program has
// these functions linked in, as the counter of allocations is, and a daemon gets them by LD_PRELOAD. A condition at
// compile time would take a second build of everything, since tests mount with the very programs that are built
// beside them; a test of a variable at each call would be in the product for good.

#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "faults.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define LF_SYS_FCHMODAT2 452
#define LF_SYS_SETXATTRAT 463

typedef long call_function(long, ...);

static _Thread_local struct lf_plan *own;
static struct lf_plan *shared;
static _Thread_local lf_observer *observer;
static _Thread_local void *observing;
/// How much of the write under way is written; 0: all.
static _Thread_local size_t limit;

static call_function *real(void) {
  static call_function *known;
  call_function *found = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (!found) {
    found = (call_function *)dlsym(RTLD_NEXT, "syscall");
    __atomic_store_n(&known, found, __ATOMIC_RELAXED);
  }
  return found;
}

static int is_hit(struct lf_plan *plan, uint32_t kind) {
  if (!plan || !(__atomic_load_n(&plan->kinds, __ATOMIC_ACQUIRE) & kind)) return 0;
  int64_t before = __atomic_fetch_sub(&plan->before, 1, __ATOMIC_RELAXED);
  if (before == 1 && plan->part) {
    limit = (size_t)plan->part;
    __atomic_fetch_add(&plan->hits, 1, __ATOMIC_RELAXED);
  }
  if (before > 0) return 0;
  if (__atomic_fetch_sub(&plan->count, 1, __ATOMIC_RELAXED) <= 0) return 0;
  __atomic_fetch_add(&plan->hits, 1, __ATOMIC_RELAXED);
  // No error at all: the program ends here, as if somebody had killed it.
  if (!plan->error) kill(getpid(), SIGKILL);
  // Held up until it is let go.
  if (plan->error < 0) {
    while (__atomic_load_n(&plan->kinds, __ATOMIC_ACQUIRE)) usleep(200);
    return 0;
  }
  errno = plan->error;
  return 1;
}

static int fails(uint32_t kind) { return kind && (is_hit(own, kind) || is_hit(shared, kind)); }

void lf_arm(struct lf_plan *plan) { own = plan; }

void lf_observe(lf_observer *next, void *context) {
  observer = next;
  observing = context;
}

/// Tells of a call that has been made.
static long told(uint32_t kind, int fd, long result) {
  lf_observer *told = observer;
  if (!told || result < 0 || !(kind & ~(LF_OPEN | LF_LOOK | LF_READ | LF_LEASE))) return result;
  int number = errno;
  observer = NULL;
  told(observing, kind, fd);
  observer = told;
  errno = number;
  return result;
}

int64_t lf_hits(struct lf_plan *plan) { return __atomic_load_n(&plan->hits, __ATOMIC_ACQUIRE); }

void lf_let_go(struct lf_plan *plan) { __atomic_store_n(&plan->kinds, 0, __ATOMIC_RELEASE); }

struct lf_plan *lf_share(const char *path) {
  int fd = (int)real()(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return NULL;
  struct lf_plan *plan = MAP_FAILED;
  if (real()(SYS_ftruncate, fd, sizeof *plan) == 0)
    plan = mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return plan == MAP_FAILED ? NULL : plan;
}

__attribute__((constructor)) static void start(void) {
  const char *path = getenv("VARVE_FAULTS");
  // Not the programs that start the daemon.
  if (path && strcmp(program_invocation_short_name, "varved") == 0) shared = lf_share(path);
  real();
}

#define PASS_ON(fd, kind, ...) (fails(kind) ? -1 : told(kind, fd, real()(__VA_ARGS__)))
#define PASS(kind, ...) PASS_ON(-1, kind, __VA_ARGS__)

static uint32_t opening(int flags) {
  return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? LF_MAKE : LF_OPEN;
}

long syscall(long number, ...) {
  va_list list;
  long a[6];
  va_start(list, number);
  for (int index = 0; index < 6; index++) a[index] = va_arg(list, long);
  va_end(list);
  uint32_t kind = 0;
  switch (number) {
    case SYS_openat2: kind = LF_OPEN; break;
    case SYS_getdents64: kind = LF_LOOK; break;
    case LF_SYS_FCHMODAT2: kind = LF_MODE; break;
    case LF_SYS_SETXATTRAT: case LF_SYS_SETXATTRAT + 3: kind = LF_ATTRIBUTE; break;
    case LF_SYS_SETXATTRAT + 1: case LF_SYS_SETXATTRAT + 2: kind = LF_LOOK; break;
  }
  return PASS(kind, number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#define MODE_OF(flags)                                       \
  mode_t mode = 0;                                           \
  if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) { \
    va_list list;                                            \
    va_start(list, flags);                                   \
    mode = va_arg(list, mode_t);                             \
    va_end(list);                                            \
  }

int open(const char *path, int flags, ...) {
  MODE_OF(flags)
  return (int)PASS(opening(flags), SYS_openat, AT_FDCWD, path, flags, mode);
}

int openat(int directory, const char *path, int flags, ...) {
  MODE_OF(flags)
  return (int)PASS(opening(flags), SYS_openat, directory, path, flags, mode);
}

int mkdirat(int directory, const char *path, mode_t mode) {
  return (int)PASS(LF_MAKE, SYS_mkdirat, directory, path, mode);
}
int mknodat(int directory, const char *path, mode_t mode, dev_t device) {
  return (int)PASS(LF_MAKE, SYS_mknodat, directory, path, mode, (unsigned)device);
}
int symlinkat(const char *target, int directory, const char *path) {
  return (int)PASS(LF_MAKE, SYS_symlinkat, target, directory, path);
}

int statx(int fd, const char *restrict path, int flags, unsigned mask, struct statx *restrict out) {
  return (int)PASS(LF_LOOK, SYS_statx, fd, path, flags, mask, out);
}
ssize_t readlinkat(int fd, const char *restrict path, char *restrict into, size_t count) {
  return PASS(LF_LOOK, SYS_readlinkat, fd, path, into, count);
}
ssize_t fgetxattr(int fd, const char *name, void *value, size_t size) {
  return PASS(LF_LOOK, SYS_fgetxattr, fd, name, value, size);
}
ssize_t getxattr(const char *path, const char *name, void *value, size_t size) {
  return PASS(LF_LOOK, SYS_getxattr, path, name, value, size);
}
ssize_t lgetxattr(const char *path, const char *name, void *value, size_t size) {
  return PASS(LF_LOOK, SYS_lgetxattr, path, name, value, size);
}
ssize_t flistxattr(int fd, char *names, size_t size) { return PASS(LF_LOOK, SYS_flistxattr, fd, names, size); }
ssize_t listxattr(const char *path, char *names, size_t size) {
  return PASS(LF_LOOK, SYS_listxattr, path, names, size);
}
ssize_t llistxattr(const char *path, char *names, size_t size) {
  return PASS(LF_LOOK, SYS_llistxattr, path, names, size);
}

int fsetxattr(int fd, const char *name, const void *value, size_t size, int flags) {
  return (int)PASS(LF_ATTRIBUTE, SYS_fsetxattr, fd, name, value, size, flags);
}
int setxattr(const char *path, const char *name, const void *value, size_t size, int flags) {
  return (int)PASS(LF_ATTRIBUTE, SYS_setxattr, path, name, value, size, flags);
}
int lsetxattr(const char *path, const char *name, const void *value, size_t size, int flags) {
  return (int)PASS(LF_ATTRIBUTE, SYS_lsetxattr, path, name, value, size, flags);
}
int fremovexattr(int fd, const char *name) { return (int)PASS(LF_ATTRIBUTE, SYS_fremovexattr, fd, name); }
int removexattr(const char *path, const char *name) {
  return (int)PASS(LF_ATTRIBUTE, SYS_removexattr, path, name);
}
int lremovexattr(const char *path, const char *name) {
  return (int)PASS(LF_ATTRIBUTE, SYS_lremovexattr, path, name);
}

int fchmodat(int fd, const char *path, mode_t mode, int flags) {
  // The older call has no flags; CLinux passes none.
  return (int)(flags ? PASS(LF_MODE, LF_SYS_FCHMODAT2, fd, path, mode, flags)
                     : PASS(LF_MODE, SYS_fchmodat, fd, path, mode));
}
int fchownat(int fd, const char *path, uid_t user, gid_t group, int flags) {
  return (int)PASS(LF_OWNER, SYS_fchownat, fd, path, user, group, flags);
}
int utimensat(int fd, const char *path, const struct timespec times[2], int flags) {
  return (int)PASS(LF_TIMES, SYS_utimensat, fd, path, times, flags);
}

int renameat2(int from, const char *path, int to, const char *target, unsigned flags) {
  return (int)PASS(LF_NAME, SYS_renameat2, from, path, to, target, flags);
}
int linkat(int from, const char *path, int to, const char *target, int flags) {
  return (int)PASS(LF_NAME, SYS_linkat, from, path, to, target, flags);
}
int unlinkat(int fd, const char *path, int flags) { return (int)PASS(LF_NAME, SYS_unlinkat, fd, path, flags); }

ssize_t pread(int fd, void *into, size_t count, off_t offset) {
  return PASS(LF_READ, SYS_pread64, fd, into, count, offset);
}
ssize_t pwrite(int fd, const void *from, size_t count, off_t offset) {
  limit = 0;
  if (fails(LF_WRITE)) return -1;
  if (limit && limit < count) count = limit;
  return told(LF_WRITE, fd, real()(SYS_pwrite64, fd, from, count, offset));
}
ssize_t pwritev(int fd, const struct iovec *pieces, int count, off_t offset) {
  return pwritev2(fd, pieces, count, offset, 0);
}
ssize_t pwritev2(int fd, const struct iovec *pieces, int count, off_t offset, int flags) {
  struct iovec some[8];
  limit = 0;
  if (fails(LF_WRITE)) return -1;
  if (limit && count <= 8) {
    for (int index = 0; index < count; index++) {
      some[index] = pieces[index];
      if (some[index].iov_len > limit) some[index].iov_len = limit;
      limit -= some[index].iov_len;
    }
    pieces = some;
  }
  return told(LF_WRITE, fd, real()(SYS_pwritev2, fd, pieces, (long)count, offset, 0L, (long)flags));
}
int ftruncate(int fd, off_t size) { return (int)PASS_ON(fd, LF_WRITE, SYS_ftruncate, fd, size); }
int fallocate(int fd, int mode, off_t offset, off_t length) {
  return (int)PASS_ON(fd, LF_WRITE, SYS_fallocate, fd, mode, offset, length);
}
ssize_t copy_file_range(int from, off_t *read_at, int to, off_t *write_at, size_t count, unsigned flags) {
  return PASS_ON(to, LF_WRITE, SYS_copy_file_range, from, read_at, to, write_at, count, (long)flags);
}
int fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  long argument = va_arg(list, long);
  va_end(list);
  uint32_t kind = command == F_SETLEASE && argument == F_WRLCK ? LF_LEASE : 0;
  return (int)PASS(kind, SYS_fcntl, fd, command, argument);
}

int fsync(int fd) { return (int)PASS_ON(fd, LF_SYNC, SYS_fsync, fd); }
int fdatasync(int fd) { return (int)PASS_ON(fd, LF_SYNC | LF_DATA_SYNC, SYS_fdatasync, fd); }
int syncfs(int fd) { return (int)PASS_ON(fd, LF_SYNC, SYS_syncfs, fd); }
