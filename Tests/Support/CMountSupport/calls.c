#define _GNU_SOURCE
#include "CMountSupport.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RESULT(call) ({ long r_ = (call); r_ < 0 ? -(long)errno : r_; })

long lt_become(uint32_t user, uint32_t group, const uint32_t *groups, size_t count) {
  // The raw calls: glibc's own would change every thread of the process.
  long result = RESULT(syscall(SYS_setgroups, count, groups));
  if (result < 0) return result;
  result = RESULT(syscall(SYS_setresgid, group, group, group));
  if (result < 0) return result;
  return RESULT(syscall(SYS_setresuid, user, user, user));
}

long lt_own_umask(uint32_t mask) {
  long result = RESULT(unshare(CLONE_FS));
  if (result < 0) return result;
  return umask(mask);
}

long lt_renameat2(int from, const char *name, int to, const char *new_name, unsigned flags) {
  return RESULT(syscall(SYS_renameat2, from, name, to, new_name, flags));
}

const int lt_o_path = O_PATH, lt_o_tmpfile = O_TMPFILE, lt_o_direct = O_DIRECT, lt_o_noatime = O_NOATIME;
const int lt_o_directory = O_DIRECTORY, lt_o_nofollow = O_NOFOLLOW;

long lt_call(long number, long a, long b, long c, long d, long e, long f) {
  return RESULT(syscall(number, a, b, c, d, e, f));
}

long lt_run_on_processor(int processor) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(processor, &only);
  return RESULT(sched_setaffinity(0, sizeof only, &only));
}

long lt_hold_processor(int processor, int priority) {
  struct sched_param wanted = {.sched_priority = priority};
  long result = lt_run_on_processor(processor);
  return result < 0 ? result : RESULT(sched_setscheduler(0, SCHED_FIFO, &wanted));
}

long lt_birth(int directory, const char *name) {
  struct statx status = {0};
  long result = RESULT(statx(directory, name, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &status));
  if (result < 0) return result;
  if (!(status.stx_mask & STATX_BTIME)) return 0;
  return status.stx_btime.tv_sec * 1000000000L + status.stx_btime.tv_nsec;
}
