// What the kernel's FUSE protocol has learnt since the 7.38 of Debian 12's <linux/fuse.h>.
//
// Numbers and layouts are the kernel's and can never change; each piece names the minor version that
// brought it. Everything is only used after the kernel has offered it or sent it.
#ifndef VARVE_CFUSE_PROTOCOL_H
#define VARVE_CFUSE_PROTOCOL_H

#include <stdint.h>

// 7.39: statx
#define LV_FUSE_STATX 52

struct lv_fuse_statx_in {
  uint32_t getattr_flags;
  uint32_t reserved;
  uint64_t fh;
  uint32_t sx_flags;
  uint32_t sx_mask;
};

struct lv_fuse_sx_time {
  int64_t seconds;
  uint32_t nanoseconds;
  int32_t reserved;
};

struct lv_fuse_statx {
  uint32_t mask;
  uint32_t blksize;
  uint64_t attributes;
  uint32_t nlink;
  uint32_t uid;
  uint32_t gid;
  uint16_t mode;
  uint16_t spare0;
  uint64_t ino;
  uint64_t size;
  uint64_t blocks;
  uint64_t attributes_mask;
  struct lv_fuse_sx_time atime;
  struct lv_fuse_sx_time btime;
  struct lv_fuse_sx_time ctime;
  struct lv_fuse_sx_time mtime;
  uint32_t rdev_major;
  uint32_t rdev_minor;
  uint32_t dev_major;
  uint32_t dev_minor;
  uint64_t spare2[14];
};

struct lv_fuse_statx_out {
  uint64_t attr_valid;
  uint32_t attr_valid_nsec;
  uint32_t flags;
  uint64_t spare[2];
  struct lv_fuse_statx stat;
};

// <linux/stat.h>, which cannot be included next to <sys/stat.h>
#define LV_STATX_BASIC_STATS 0x7ffu
#define LV_STATX_BTIME 0x800u

// 7.40: passthrough. `max_stack_depth` follows flags2 in the INIT reply; the last word of fuse_open_out is
// the number that BACKING_OPEN answered.
#define LV_FUSE_PASSTHROUGH (1ull << 37)
#define LV_FOPEN_PASSTHROUGH (1u << 7)

struct lv_fuse_backing_map {
  int32_t fd;
  uint32_t flags;
  uint64_t padding;
};

#define LV_FUSE_DEV_IOC_BACKING_OPEN 0x4010e501u
#define LV_FUSE_DEV_IOC_BACKING_CLOSE 0x4004e502u

// 7.44: all names become stale at once; a notification without a body.
#define LV_FUSE_NOTIFY_INC_EPOCH 8
#define LV_FUSE_EPOCH_MINOR 44

// 7.45: copy_file_range with a 64-bit answer
#define LV_FUSE_COPY_FILE_RANGE_64 53

struct lv_fuse_copy_file_range_out {
  uint64_t bytes_copied;
};

// The setxattr request without SETXATTR_EXT (7.33), which nobody here asks for.
struct lv_fuse_setxattr_in {
  uint32_t size;
  uint32_t flags;
};

// What FUSE_IOCTL carries for lsattr, chattr and the generic attribute calls: <linux/fs.h>.
#define LV_FS_IOC_GETFLAGS 0x80086601u
#define LV_FS_IOC_SETFLAGS 0x40086602u
#define LV_FS_IOC_GETVERSION 0x80087601u
#define LV_FS_IOC_FSGETXATTR 0x801c581fu
#define LV_FS_IOC_FSSETXATTR 0x401c5820u

struct lv_fsxattr {
  uint32_t xflags;
  uint32_t extent_size;
  uint32_t extents;
  uint32_t project;
  uint32_t cow_extent_size;
  uint32_t padding[2];
};

_Static_assert(sizeof(struct lv_fuse_statx_in) == 24, "kernel layout");
_Static_assert(sizeof(struct lv_fuse_statx) == 256, "kernel layout");
_Static_assert(sizeof(struct lv_fuse_statx_out) == 288, "kernel layout");
_Static_assert(sizeof(struct lv_fuse_backing_map) == 16, "kernel layout");
_Static_assert(sizeof(struct lv_fsxattr) == 28, "kernel layout");

#endif
