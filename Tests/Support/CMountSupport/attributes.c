#define _GNU_SOURCE
#include "CMountSupport.h"

#include <errno.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/xattr.h>

#define RESULT(call) ({ long r_ = (call); r_ < 0 ? -(long)errno : r_; })

long lt_set_attribute(const char *path, const char *name, const void *value, size_t size, int flags) {
  return RESULT(lsetxattr(path, name, value, size, flags));
}

long lt_attribute(const char *path, const char *name, void *value, size_t size) {
  return RESULT(lgetxattr(path, name, value, size));
}

long lt_remove_attribute(const char *path, const char *name) {
  return RESULT(lremovexattr(path, name));
}

long lt_attribute_names(const char *path, char *names, size_t size) {
  return RESULT(llistxattr(path, names, size));
}

long lt_inode_flags(int fd, unsigned *word) { return RESULT(ioctl(fd, FS_IOC_GETFLAGS, word)); }

long lt_set_inode_flags(int fd, unsigned word) { return RESULT(ioctl(fd, FS_IOC_SETFLAGS, &word)); }

long lt_limit_open_files(int pid, unsigned long soft, unsigned long hard) {
  struct rlimit limit = {.rlim_cur = soft, .rlim_max = hard};
  return RESULT(prlimit(pid, RLIMIT_NOFILE, &limit, 0));
}
