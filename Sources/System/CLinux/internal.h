// What the .c files share. Not visible to Swift.

#ifndef CLINUX_INTERNAL_H
#define CLINUX_INTERNAL_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "CLinux.h"

// The value of a call, or its error number negated.
#define LV_RESULT(call) ({ long lv_value = (long)(call); lv_value < 0 ? -(long)errno : lv_value; })

// "/proc/self/fd/2147483647/" and a name of 255 bytes fit with room to spare.
#define LV_PROC_PATH 320

// Writes the /proc path of `fd`, or of `name` in it; answers 0 or -ENAMETOOLONG.
static inline long lv_proc_path(char path[LV_PROC_PATH], int fd, const char *name) {
  int length = name ? snprintf(path, LV_PROC_PATH, "/proc/self/fd/%d/%s", fd, name)
                    : snprintf(path, LV_PROC_PATH, "/proc/self/fd/%d", fd);
  return length < 0 || length >= LV_PROC_PATH ? -ENAMETOOLONG : 0;
}

#endif
