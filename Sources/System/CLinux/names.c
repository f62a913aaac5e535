// What directories hold: making, removing, renaming, linking and changing entries.

#include "internal.h"

#include <sys/sysmacros.h>

// With an empty path the call acts on what the descriptor refers to.
#define LV_OR_OBJECT(name) ((name) ? (name) : "")
#define LV_OBJECT (AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)
#define LV_SYS_FCHMODAT2 452

_Static_assert(LV_RENAME_NOREPLACE == RENAME_NOREPLACE, "RENAME_NOREPLACE");
_Static_assert(LV_RENAME_EXCHANGE == RENAME_EXCHANGE, "RENAME_EXCHANGE");
_Static_assert(LV_RENAME_WHITEOUT == RENAME_WHITEOUT, "RENAME_WHITEOUT");
_Static_assert(LV_TIME_NOW == UTIME_NOW && LV_TIME_OMIT == UTIME_OMIT, "UTIME_NOW, UTIME_OMIT");

long lv_make_directory(int directory, const char *name, uint32_t mode) {
  return LV_RESULT(mkdirat(directory, name, (mode_t)mode));
}

long lv_make_node(int directory, const char *name, uint32_t mode, uint32_t major, uint32_t minor) {
  return LV_RESULT(mknodat(directory, name, (mode_t)mode, makedev(major, minor)));
}

long lv_make_symbolic_link(int directory, const char *name, const char *target) {
  return LV_RESULT(symlinkat(target, directory, name));
}

long lv_remove(int directory, const char *name, int is_directory) {
  return LV_RESULT(unlinkat(directory, name, is_directory ? AT_REMOVEDIR : 0));
}

long lv_rename(int from, const char *name, int to, const char *new_name, unsigned flags) {
  return LV_RESULT(renameat2(from, name, to, new_name, flags));
}

long lv_link_object(int fd, int to, const char *new_name) {
  return LV_RESULT(linkat(fd, "", to, new_name, AT_EMPTY_PATH));
}

long lv_link_object_by_proc(int fd, int to, const char *new_name) {
  char path[LV_PROC_PATH];
  long failure = lv_proc_path(path, fd, NULL);
  return failure ? failure : LV_RESULT(linkat(AT_FDCWD, path, to, new_name, AT_SYMLINK_FOLLOW));
}

long lv_read_link(int fd, const char *name, void *into, size_t count) {
  return LV_RESULT(readlinkat(fd, LV_OR_OBJECT(name), into, count));
}

long lv_change_owner(int fd, const char *name, uint32_t user, uint32_t group) {
  return LV_RESULT(fchownat(fd, LV_OR_OBJECT(name), user, group, LV_OBJECT));
}

long lv_change_mode(int fd, const char *name, uint32_t mode) {
  return LV_RESULT(syscall(LV_SYS_FCHMODAT2, fd, LV_OR_OBJECT(name), mode, LV_OBJECT));
}

long lv_change_mode_by_proc(int fd, uint32_t mode) {
  char path[LV_PROC_PATH];
  long failure = lv_proc_path(path, fd, NULL);
  return failure ? failure : LV_RESULT(fchmodat(AT_FDCWD, path, (mode_t)mode, 0));
}

long lv_change_times(int fd, const char *name, struct lv_time access, struct lv_time modification) {
  struct timespec times[2] = {
      {.tv_sec = access.seconds, .tv_nsec = access.nanoseconds},
      {.tv_sec = modification.seconds, .tv_nsec = modification.nanoseconds},
  };
  return LV_RESULT(utimensat(fd, LV_OR_OBJECT(name), times, LV_OBJECT));
}

long lv_change_times_by_proc(int fd, struct lv_time access, struct lv_time modification) {
  char path[LV_PROC_PATH];
  long failure = lv_proc_path(path, fd, NULL);
  struct timespec times[2] = {
      {.tv_sec = access.seconds, .tv_nsec = access.nanoseconds},
      {.tv_sec = modification.seconds, .tv_nsec = modification.nanoseconds},
  };
  return failure ? failure : LV_RESULT(utimensat(AT_FDCWD, path, times, 0));
}
