#define _GNU_SOURCE
#include "CModelSupport.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define RESULT(call) ({ long r_ = (call); r_ < 0 ? -(long)errno : r_; })

long lm_open_unnamed(const char *directory, int flags, uint32_t mode) {
  return RESULT(open(directory, flags | O_TMPFILE | O_CLOEXEC, mode));
}

long lm_link_open(int descriptor, const char *path) {
  char self[64];
  snprintf(self, sizeof self, "/proc/self/fd/%d", descriptor);
  return RESULT(linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW));
}

long lm_read_memory(const void *from, void *into, size_t count) {
  struct iovec here = {into, count}, there = {(void *)from, count};
  return RESULT(process_vm_readv(getpid(), &here, 1, &there, 1, 0));
}

long lm_write_memory(void *into, const void *from, size_t count) {
  struct iovec here = {(void *)from, count}, there = {into, count};
  return RESULT(process_vm_writev(getpid(), &here, 1, &there, 1, 0));
}

static struct timespec as_time(int64_t seconds) {
  if (seconds == LM_NOW) return (struct timespec){0, UTIME_NOW};
  if (seconds == LM_OMIT) return (struct timespec){0, UTIME_OMIT};
  return (struct timespec){seconds, 0};
}

long lm_set_times(const char *path, int64_t access, int64_t modification) {
  struct timespec times[2] = {as_time(access), as_time(modification)};
  return RESULT(utimensat(AT_FDCWD, path, times, 0));
}
