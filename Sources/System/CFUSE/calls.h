// The few calls of the FUSE device that Swift cannot import or must not look at `errno` for.
//
// Each answers a value >= 0 or the negated error number, like the calls of CLinux.
#ifndef VARVE_CFUSE_CALLS_H
#define VARVE_CFUSE_CALLS_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/uio.h>
#include <unistd.h>
#include <linux/fuse.h>
#include "protocol.h"

static inline long lv_fuse_result(long result) { return result < 0 ? -(long)errno : result; }

static inline long lv_fuse_read(int device, void *_Nonnull into, size_t count) {
  return lv_fuse_result(read(device, into, count));
}

static inline long lv_fuse_write(int device, const void *_Nonnull from, size_t count) {
  return lv_fuse_result(write(device, from, count));
}

static inline long lv_fuse_writev(int device, const struct iovec *_Nonnull pieces, int count) {
  return lv_fuse_result(writev(device, pieces, count));
}

// Waits until the device has a request; for a descriptor that was made non-blocking.
static inline long lv_fuse_wait(int device) {
  struct pollfd wanted = {device, POLLIN, 0};
  return lv_fuse_result(poll(&wanted, 1, -1));
}

// Ties `device`, freshly opened, to the connection of `session`: one queue of its own per worker.
static inline long lv_fuse_clone(int device, int session) {
  uint32_t number = (uint32_t)session;
  return lv_fuse_result(ioctl(device, FUSE_DEV_IOC_CLONE, &number));
}

// Hands a file to the kernel, which answers the number it will know it by.
static inline long lv_fuse_open_backing(int device, int file) {
  struct lv_fuse_backing_map map = {.fd = file, .flags = 0, .padding = 0};
  return lv_fuse_result(ioctl(device, LV_FUSE_DEV_IOC_BACKING_OPEN, &map));
}

static inline long lv_fuse_close_backing(int device, int32_t number) {
  uint32_t closed = (uint32_t)number;
  return lv_fuse_result(ioctl(device, LV_FUSE_DEV_IOC_BACKING_CLOSE, &closed));
}

static inline long lv_fuse_unmount(const char *_Nonnull path, int lazily) {
  return lv_fuse_result(umount2(path, lazily ? MNT_DETACH : 0));
}

// Mounts on the working directory of the calling thread, by no path that could lead elsewhere.
static inline long lv_fuse_mount_here(
    const char *_Nonnull source, const char *_Nonnull type, unsigned long flags, const char *_Nonnull words) {
  return lv_fuse_result(mount(source, ".", type, flags, words));
}

static const unsigned long lv_mount_read_only = MS_RDONLY;
static const unsigned long lv_mount_no_setid = MS_NOSUID;
static const unsigned long lv_mount_no_devices = MS_NODEV;
static const unsigned long lv_mount_no_programs = MS_NOEXEC;
static const unsigned long lv_mount_no_access_times = MS_NOATIME;
static const unsigned long lv_mount_synchronous = MS_SYNCHRONOUS;
static const unsigned long lv_mount_names_synchronous = MS_DIRSYNC;

static inline long lv_fuse_open_device(void) { return lv_fuse_result(open("/dev/fuse", O_RDWR | O_CLOEXEC)); }

// Whether the connection has ended: nothing is mounted any more.
static inline int lv_fuse_is_over(int device) {
  struct pollfd state = {device, POLLIN, 0};
  return poll(&state, 1, 0) > 0 && (state.revents & POLLERR) != 0;
}

// Tells the calling hook of libfuse, which looks at `errno`, why a call failed.
static inline void lv_fuse_set_error(int number) { errno = number; }

// Bits of open(2) that differ between processors and stand behind _GNU_SOURCE; __FMODE_EXEC is the
// kernel's own: the file is opened to be run.
static const uint32_t lv_open_no_access_time = __O_NOATIME;
static const uint32_t lv_open_execute = 0x20;
static const uint32_t lv_open_unbuffered = __O_DIRECT;

#endif
