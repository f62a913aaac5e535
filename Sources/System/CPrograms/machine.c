#define _GNU_SOURCE
#include "CPrograms.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static long answer(long result) { return result < 0 ? -errno : result; }

// Pipes lie above the numbers a new process gets, so that none is overwritten on the way.
static long lifted(int fd) {
  int higher = fcntl(fd, F_DUPFD_CLOEXEC, 10);
  long result = answer(higher);
  close(fd);
  return result;
}

long lv_pipe(int *reading, int *writing) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return -errno;
  long first = lifted(ends[0]);
  long second = lifted(ends[1]);
  if (first >= 0 && second >= 0) {
    *reading = (int)first;
    *writing = (int)second;
    return 0;
  }
  if (first >= 0) close((int)first);
  if (second >= 0) close((int)second);
  return first < 0 ? first : second;
}

long lv_memory_file(const char *name) {
  int fd = memfd_create(name, MFD_CLOEXEC);
  return fd < 0 ? -errno : lifted(fd);
}

long lv_read(int fd, void *into, size_t count) { return answer(read(fd, into, count)); }

long lv_open_any(int directory, const char *path, int flags) {
  return answer(openat(directory, path, flags | O_CLOEXEC | O_NOCTTY));
}

long lv_real_path(const char *path, void *into, size_t count) {
  char *found = realpath(path, NULL);
  if (!found) return -errno;
  size_t length = strlen(found);
  long result = length <= count ? (long)length : -ENAMETOOLONG;
  if (result >= 0) memcpy(into, found, length);
  free(found);
  return result;
}

long lv_unmount(const char *path, int is_lazy) {
  return answer(umount2(path, UMOUNT_NOFOLLOW | (is_lazy ? MNT_DETACH : 0)));
}

_Static_assert(LV_MOUNT_READ_ONLY == MS_RDONLY && LV_MOUNT_NO_SETID == MS_NOSUID, "as in the header");
_Static_assert(LV_MOUNT_NO_DEVICES == MS_NODEV && LV_MOUNT_NO_PROGRAMS == MS_NOEXEC, "as in the header");
_Static_assert(LV_MOUNT_SYNCHRONOUS == MS_SYNCHRONOUS && LV_MOUNT_NO_ATIME == MS_NOATIME, "as in the header");
_Static_assert(LV_MOUNT_NO_DIRECTORY_ATIME == MS_NODIRATIME && LV_MOUNT_RELATIVE_ATIME == MS_RELATIME, "");
_Static_assert(LV_MOUNT_NAMES_SYNCHRONOUS == MS_DIRSYNC && LV_MOUNT_STRICT_ATIME == MS_STRICTATIME, "");

long lv_remount(const char *path, unsigned flags, int whole) {
  return answer(mount(NULL, path, NULL, MS_REMOUNT | (whole ? 0 : MS_BIND) | flags, NULL));
}

long lv_bind(const char *directory, const char *path) {
  return answer(mount(directory, path, NULL, MS_BIND, NULL));
}

long lv_known_device(int fd, uint32_t *major, uint32_t *minor) {
  struct statx found;
  long result = answer(statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, 0, &found));
  if (result < 0) return result;
  *major = found.stx_dev_major;
  *minor = found.stx_dev_minor;
  return 0;
}

long lv_known_mode(int fd) {
  struct statx found;
  long result = answer(statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_TYPE, &found));
  return result < 0 ? result : found.stx_mode;
}

long lv_is_executable(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

long lv_is_terminal(int fd) { return isatty(fd); }

long lv_columns(int fd) {
  struct winsize size;
  return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

uint32_t lv_umask(void) {
  mode_t mask = umask(077);
  umask(mask);
  return mask;
}

long lv_local_time(int64_t seconds, struct lv_calendar *out) {
  time_t moment = seconds;
  struct tm parts;
  if (!localtime_r(&moment, &parts)) return -errno;
  out->year = parts.tm_year + 1900;
  out->month = parts.tm_mon + 1;
  out->day = parts.tm_mday;
  out->hour = parts.tm_hour;
  out->minute = parts.tm_min;
  out->second = parts.tm_sec;
  return 0;
}
