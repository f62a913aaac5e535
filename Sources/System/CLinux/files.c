// Descriptors and what they hold.

#include "internal.h"

#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>

_Static_assert(LV_O_PATH == O_PATH, "O_PATH");
_Static_assert(LV_O_NOATIME == O_NOATIME, "O_NOATIME");
_Static_assert((LV_O_TMPFILE_BIT | O_DIRECTORY) == O_TMPFILE, "O_TMPFILE");
_Static_assert(LV_AT_EMPTY_PATH == AT_EMPTY_PATH, "AT_EMPTY_PATH");
_Static_assert(LV_AT_SYMLINK_NOFOLLOW == AT_SYMLINK_NOFOLLOW, "AT_SYMLINK_NOFOLLOW");
_Static_assert(LV_SEEK_DATA == SEEK_DATA && LV_SEEK_HOLE == SEEK_HOLE, "SEEK_DATA, SEEK_HOLE");
_Static_assert(LV_FALLOC_KEEP_SIZE == FALLOC_FL_KEEP_SIZE, "FALLOC_FL_KEEP_SIZE");
_Static_assert(LV_FALLOC_PUNCH_HOLE == FALLOC_FL_PUNCH_HOLE, "FALLOC_FL_PUNCH_HOLE");
_Static_assert(LV_FALLOC_ZERO_RANGE == FALLOC_FL_ZERO_RANGE, "FALLOC_FL_ZERO_RANGE");

long lv_close(int fd) { return LV_RESULT(close(fd)); }

#ifndef AT_HANDLE_FID
#define AT_HANDLE_FID 0x200
#endif

union handle {
  struct file_handle head;
  char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
};

static long read_handle(int fd, const char *name, union handle *handle, int flags) {
  int mount;
  handle->head.handle_bytes = MAX_HANDLE_SZ;
  return LV_RESULT(name_to_handle_at(fd, name, &handle->head, &mount, flags));
}

long lv_fuse_node(int fd, uint64_t *node) {
  union handle handle;
  long failure = read_handle(fd, "", &handle, AT_EMPTY_PATH | AT_HANDLE_FID);
  // Before Linux 6.5 the flag is unknown, and not needed where file handles are offered.
  if (failure == -EINVAL) failure = read_handle(fd, "", &handle, AT_EMPTY_PATH);
  if (failure < 0) return failure;
  // FILEID_INO64_GEN: the upper and the lower half of the number, and a generation, which is 0.
  uint32_t words[3];
  if (handle.head.handle_type != 0x81 || handle.head.handle_bytes != sizeof words) return -ENODATA;
  memcpy(words, handle.head.f_handle, sizeof words);
  *node = (uint64_t)words[0] << 32 | words[1];
  return words[2] == 0 ? 0 : -ESTALE;
}

long lv_handle_mark(int fd, const char *name, uint64_t *mark) {
  union handle handle;
  long failure = read_handle(fd, name ? name : "", &handle, name ? 0 : AT_EMPTY_PATH);
  if (failure < 0) return failure;
  // FNV-1a: the same on every mount, and nobody chooses what is in a handle.
  uint64_t hash = 0xcbf29ce484222325u ^ (uint32_t)handle.head.handle_type;
  for (unsigned i = 0; i < handle.head.handle_bytes; i++) hash = (hash ^ handle.head.f_handle[i]) * 0x100000001b3u;
  *mark = hash;
  return 0;
}

long lv_duplicate(int fd, int lowest) { return LV_RESULT(fcntl(fd, F_DUPFD_CLOEXEC, lowest)); }

long lv_open(int directory, const char *name, int flags, uint32_t mode) {
  return LV_RESULT(openat(directory, name, flags, (mode_t)mode));
}

long lv_open_beneath(int directory, const char *path, int flags) {
  struct open_how how = {
      .flags = (uint64_t)(unsigned)flags,
      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
  };
  return LV_RESULT(syscall(SYS_openat2, directory, path, &how, sizeof how));
}

long lv_reopen(int fd, int flags) {
  char path[LV_PROC_PATH];
  long failure = lv_proc_path(path, fd, NULL);
  return failure ? failure : LV_RESULT(open(path, flags));
}

// Longer than a tick of any kernel (10 ms at 100 Hz).
#define LV_SETTLED_NANOSECONDS 20000000

static int lv_is_settled(struct statx_timestamp change, struct timespec now) {
  int64_t seconds = now.tv_sec - change.tv_sec;
  if (seconds < 0 || seconds > 1) return seconds > 1;
  // A file system that keeps whole seconds: the second has to be over.
  if (change.tv_nsec == 0) return 0;
  return seconds * 1000000000 + now.tv_nsec - (int64_t)change.tv_nsec > LV_SETTLED_NANOSECONDS;
}

static long look(int fd, const char *name, unsigned mask, struct lv_status *out) {
  struct statx found;
  // The clock that change times are taken from; asked first, so that nothing can change in between unseen.
  struct timespec now = {0};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  int flags = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_STATX_SYNC_AS_STAT;
  long result = LV_RESULT(statx(fd, name ? name : "", flags, mask, &found));
  if (result < 0) return result;
  *out = (struct lv_status){
      .inode = found.stx_ino,
      .size = found.stx_size,
      .blocks = found.stx_blocks,
      .device_major = found.stx_dev_major,
      .device_minor = found.stx_dev_minor,
      .special_major = found.stx_rdev_major,
      .special_minor = found.stx_rdev_minor,
      .mode = found.stx_mode,
      .links = found.stx_nlink,
      .user = found.stx_uid,
      .group = found.stx_gid,
      .block_size = found.stx_blksize,
      .access_seconds = found.stx_atime.tv_sec,
      .modification_seconds = found.stx_mtime.tv_sec,
      .change_seconds = found.stx_ctime.tv_sec,
      .birth_seconds = found.stx_btime.tv_sec,
      .access_nanoseconds = found.stx_atime.tv_nsec,
      .modification_nanoseconds = found.stx_mtime.tv_nsec,
      .change_nanoseconds = found.stx_ctime.tv_nsec,
      .birth_nanoseconds = found.stx_btime.tv_nsec,
      .has_birth = (found.stx_mask & STATX_BTIME) != 0,
      .is_settled = lv_is_settled(found.stx_ctime, now),
      .is_mount_root = (found.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0,
      .is_immutable = (found.stx_attributes & STATX_ATTR_IMMUTABLE) != 0,
      .is_append_only = (found.stx_attributes & STATX_ATTR_APPEND) != 0,
  };
  return 0;
}

long lv_status(int fd, const char *name, struct lv_status *out) {
  return look(fd, name, STATX_BASIC_STATS | STATX_BTIME, out);
}

long lv_known_status(int fd, const char *name, struct lv_status *out) {
  return look(fd, name, STATX_BASIC_STATS, out);
}

long lv_is_mount_root(int fd) {
  struct statx found;
  int flags = AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
  long result = LV_RESULT(statx(fd, "", flags, 0, &found));
  return result < 0 ? result : (found.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

long lv_file_system(int fd, struct lv_file_system *out) {
  struct statfs found;
  long result = LV_RESULT(fstatfs(fd, &found));
  if (result < 0) return result;
  *out = (struct lv_file_system){
      .block_size = (uint64_t)found.f_bsize,
      .fragment_size = (uint64_t)(found.f_frsize ? found.f_frsize : found.f_bsize),
      .blocks = found.f_blocks,
      .free_blocks = found.f_bfree,
      .available_blocks = found.f_bavail,
      .files = found.f_files,
      .free_files = found.f_ffree,
      .name_max = (uint64_t)found.f_namelen,
      // f_type is signed and 64 bits wide here; magics are 32-bit numbers (btrfs has the top bit set).
      .magic = (uint32_t)found.f_type,
      .identifier = (uint64_t)(uint32_t)found.f_fsid.__val[0] << 32 | (uint32_t)found.f_fsid.__val[1],
      .is_read_only = (found.f_flags & ST_RDONLY) != 0,
  };
  return 0;
}

long lv_file_system_uuid(int fd, uint8_t *out) {
  // FS_IOC_GETFSUUID; headers before Linux 6.9 do not have it.
  struct {
    uint8_t length;
    uint8_t bytes[16];
  } found = {0};
  long result = LV_RESULT(ioctl(fd, _IOR(0x15, 0, found), &found));
  if (result < 0) return result;
  if (found.length != sizeof found.bytes) return -ENODATA;
  memcpy(out, found.bytes, sizeof found.bytes);
  return 0;
}

long lv_clone_sealed(int directory) {
  long tree = LV_RESULT(syscall(SYS_open_tree, directory, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  if (tree < 0) return tree;
  struct {
    uint64_t set, clear, propagation, user_namespace;
  } flags = {
      .set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOATIME,
      .clear = MOUNT_ATTR__ATIME,
  };
  long failure = LV_RESULT(syscall(SYS_mount_setattr, (int)tree, "", AT_EMPTY_PATH, &flags, sizeof flags));
  if (failure >= 0) return tree;
  close((int)tree);
  return failure;
}

long lv_clone_file(int from, int to) { return LV_RESULT(ioctl(to, FICLONE, from)); }

long lv_pread(int fd, void *into, size_t count, int64_t offset) {
  return LV_RESULT(pread(fd, into, count, offset));
}

long lv_pwrite(int fd, const void *from, size_t count, int64_t offset) {
  return LV_RESULT(pwrite(fd, from, count, offset));
}

long lv_pwritev(int fd, const struct iovec *pieces, int count, int64_t offset) {
  return LV_RESULT(pwritev(fd, pieces, count, offset));
}

long lv_append(int fd, const void *from, size_t count) {
  struct iovec piece = {(void *)from, count};
  return LV_RESULT(pwritev2(fd, &piece, 1, 0, RWF_APPEND));
}

long lv_seek(int fd, int64_t offset, int whence) { return LV_RESULT(lseek(fd, offset, whence)); }

long lv_truncate(int fd, int64_t size) { return LV_RESULT(ftruncate(fd, size)); }

long lv_allocate(int fd, int mode, int64_t offset, int64_t length) {
  return LV_RESULT(fallocate(fd, mode, offset, length));
}

long lv_copy_range(int from, int64_t from_offset, int to, int64_t to_offset, size_t count) {
  off_t read_at = from_offset, write_at = to_offset;
  return LV_RESULT(copy_file_range(from, &read_at, to, &write_at, count, 0));
}

long lv_write_back(int fd, int64_t offset, int64_t length, int waits) {
  unsigned flags = SYNC_FILE_RANGE_WRITE;
  if (waits) flags |= SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WAIT_AFTER;
  return LV_RESULT(sync_file_range(fd, offset, length, flags));
}

long lv_sync_file_system(int fd) { return LV_RESULT(syncfs(fd)); }

long lv_sync(int fd, int data_only) { return LV_RESULT(data_only ? fdatasync(fd) : fsync(fd)); }

long lv_list(int directory, void *into, size_t count) {
  return LV_RESULT(syscall(SYS_getdents64, directory, into, count));
}

static long lv_whole(int fd, short type) {
  // l_len 0 reaches to the end of the file, wherever that will be; l_pid must be 0 for these locks.
  struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0, .l_pid = 0};
  return LV_RESULT(fcntl(fd, F_OFD_SETLK, &lock));
}

long lv_lock_whole(int fd, int exclusive) { return lv_whole(fd, exclusive ? F_WRLCK : F_RDLCK); }

long lv_is_locked(int fd, int shared) {
  // A lock for reading is in the way of none but those for writing.
  struct flock lock = {.l_type = shared ? F_WRLCK : F_RDLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0, .l_pid = 0};
  long result = LV_RESULT(fcntl(fd, F_OFD_GETLK, &lock));
  return result < 0 ? result : lock.l_type != F_UNLCK;
}

long lv_lock_open(int fd, int exclusive) {
  return LV_RESULT(flock(fd, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB));
}

long lv_lease_alone(int fd) {
  // A process that opens the file while it is leased makes the kernel send a signal, by default SIGIO, which ends a process
  // that does not expect it. Nobody is to be told; between the calls it would be SIGURG, which is ignored.
  if (fcntl(fd, F_SETSIG, SIGURG) < 0) return -(long)errno;
  long result = LV_RESULT(fcntl(fd, F_SETLEASE, F_WRLCK));
  return result < 0 ? result : LV_RESULT(fcntl(fd, F_SETOWN, 0));
}

long lv_is_changeable(int directory) {
  return LV_RESULT(faccessat(directory, ".", W_OK | X_OK, AT_EACCESS));
}

long lv_generation(int fd, uint32_t *out) {
  // The call is declared with a long but file systems store 4 bytes; zero the rest ourselves.
  union {
    long declared;
    uint32_t stored;
  } version = {0};
  long result = LV_RESULT(ioctl(fd, FS_IOC_GETVERSION, &version));
  *out = version.stored;
  return result;
}

long lv_wait_for_mounts(int mount_table) {
  // POLLERR is reported whether it is asked for or not; POLLIN would be there all the time.
  struct pollfd question = {mount_table, POLLPRI, 0};
  return LV_RESULT(poll(&question, 1, -1));
}
