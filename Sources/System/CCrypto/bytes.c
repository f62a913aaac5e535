// Bytes that are secret on their way in and out.

#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void lv_wipe(void *memory, size_t count) { explicit_bzero(memory, count); }

__attribute__((noinline)) void lv_wipe_stack(void) {
  char space[4096];
  explicit_bzero(space, sizeof space);
}

int lv_random(void *into, size_t count) {
  size_t done = 0;
  while (done < count) {
    ssize_t taken = getrandom((char *)into + done, count - done, 0);
    if (taken > 0) {
      done += (size_t)taken;
    } else if (errno != EINTR) {
      explicit_bzero(into, count);
      return -errno;
    }
  }
  return 0;
}

int lv_equal(const void *left, const void *right, size_t count) {
  // As libcrypto does it, which need not be loaded for this.
  const volatile unsigned char *one = left, *other = right;
  unsigned char difference = 0;
  for (size_t index = 0; index < count; index++) difference |= one[index] ^ other[index];
  return difference == 0;
}

static long long now_in_milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

// Asks no file system, which might never answer: the sender of the descriptor chose it.
static int is_pipe(int fd) {
  struct statx status;
  int flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
  return statx(fd, "", flags, STATX_TYPE, &status) == 0 && S_ISFIFO(status.stx_mode);
}

static int read_until(int fd, char *into, size_t count, long long deadline) {
  size_t done = 0;
  for (;;) {
    long long left = deadline - now_in_milliseconds();
    struct pollfd waiting = {.fd = fd, .events = POLLIN};
    int ready = poll(&waiting, 1, left > 0 ? (int)left : 0);
    if (ready < 0 && errno != EINTR) return -errno;
    if (ready == 0) return -ETIMEDOUT;
    if (ready < 0) continue;
    // One byte more than belongs there is taken to see that it is there.
    char more = 0;
    ssize_t taken = done < count ? read(fd, into + done, count - done) : read(fd, &more, 1);
    if (taken < 0 && errno != EINTR && errno != EAGAIN) return -errno;
    if (taken == 0) return done == count ? 0 : -EBADMSG;
    if (taken > 0 && done == count) return -EBADMSG;
    if (taken > 0) done += (size_t)taken;
  }
}

int lv_read_secret(int fd, void *into, size_t count, int milliseconds) {
  if (!is_pipe(fd)) return -EINVAL;
  int result = read_until(fd, into, count, now_in_milliseconds() + milliseconds);
  if (result < 0) explicit_bzero(into, count);
  return result;
}

int lv_write_secret(int fd, const void *from, size_t count) {
  // Less than PIPE_BUF: all or nothing.
  for (;;) {
    ssize_t taken = write(fd, from, count);
    if (taken >= 0) return (size_t)taken == count ? 0 : -EIO;
    if (errno != EINTR) return -errno;
  }
}
