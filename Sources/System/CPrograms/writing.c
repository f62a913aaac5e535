#define _GNU_SOURCE
#include "CPrograms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

// Refuses what is no regular file, and what another program has locked.
static long claim(int fd) {
  struct stat status;
  if (fstat(fd, &status) < 0) return -errno;
  if (!S_ISREG(status.st_mode)) return -EBADMSG;
  return flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
}

long lv_open_alone(const char *path, int may_exist) {
  // A link is never followed: root writes what it reads here to other files. No fifo makes it wait.
  int flags = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
  int fd = -1;
  errno = ENOENT;
  if (may_exist) fd = open(path, flags);
  if (fd < 0 && errno == ENOENT) fd = open(path, flags | O_CREAT | O_EXCL, 0600);
  if (fd < 0) return -errno;
  long result = claim(fd);
  if (result < 0) {
    close(fd);
    return result;
  }
  return fd;
}

long lv_make_temporary(char *path, int suffix_length) {
  int fd = mkostemps(path, suffix_length, O_CLOEXEC);
  return fd < 0 ? -errno : fd;
}

long lv_remove_file(const char *path) { return unlink(path) < 0 ? -errno : 0; }
