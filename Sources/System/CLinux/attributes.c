// Extended attributes, three ways.

#include "internal.h"

#include <sys/xattr.h>

_Static_assert(LV_XATTR_CREATE == XATTR_CREATE && LV_XATTR_REPLACE == XATTR_REPLACE, "XATTR flags");

// Since Linux 6.13, the same number on every architecture; Debian 12 has no header for it.
#define LV_SYS_GETXATTRAT 464

struct lv_xattr_args {
  __attribute__((aligned(8))) uint64_t value;
  uint32_t size;
  uint32_t flags;
};

long lv_attribute_get(int fd, const char *attribute, void *value, size_t size) {
  return LV_RESULT(fgetxattr(fd, attribute, value, size));
}

long lv_attribute_set(int fd, const char *attribute, const void *value, size_t size, int flags) {
  return LV_RESULT(fsetxattr(fd, attribute, value, size, flags));
}

long lv_attribute_list(int fd, void *names, size_t size) {
  return LV_RESULT(flistxattr(fd, names, size));
}

long lv_attribute_remove(int fd, const char *attribute) {
  return LV_RESULT(fremovexattr(fd, attribute));
}

// The last part of the path is followed only when it is the magic link of the descriptor itself.
long lv_attribute_get_by_proc(int fd, const char *name, const char *attribute, void *value, size_t size) {
  char path[LV_PROC_PATH];
  long failure = lv_proc_path(path, fd, name);
  if (failure) return failure;
  return LV_RESULT((name ? lgetxattr : getxattr)(path, attribute, value, size));
}

long lv_attribute_set_by_proc(int fd, const char *attribute, const void *value, size_t size, int flags) {
  char path[LV_PROC_PATH];
  long failure = lv_proc_path(path, fd, NULL);
  return failure ? failure : LV_RESULT(setxattr(path, attribute, value, size, flags));
}

long lv_attribute_list_by_proc(int fd, void *names, size_t size) {
  char path[LV_PROC_PATH];
  long failure = lv_proc_path(path, fd, NULL);
  return failure ? failure : LV_RESULT(listxattr(path, names, size));
}

long lv_attribute_remove_by_proc(int fd, const char *attribute) {
  char path[LV_PROC_PATH];
  long failure = lv_proc_path(path, fd, NULL);
  return failure ? failure : LV_RESULT(removexattr(path, attribute));
}

long lv_attribute_get_at(int directory, const char *name, const char *attribute, void *value, size_t size) {
  struct lv_xattr_args arguments = {
      .value = (uint64_t)(uintptr_t)value,
      // Larger than the kernel's limit of 64 KiB in any case: do not let a huge size wrap to a small one.
      .size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size,
  };
  return LV_RESULT(syscall(
      LV_SYS_GETXATTRAT, directory, name, AT_SYMLINK_NOFOLLOW, attribute, &arguments, sizeof arguments));
}
