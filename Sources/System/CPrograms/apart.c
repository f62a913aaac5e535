#define _GNU_SOURCE
#include "CPrograms.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

long lv_fork_apart(int *end, int leaves_group) {
  // Above 3, whatever of the first numbers is closed.
  int reading, writing;
  long failure = lv_pipe(&reading, &writing);
  if (failure < 0) return failure;
  pid_t child = fork();
  if (child < 0) {
    int error = errno;
    close(reading);
    close(writing);
    return -(long)error;
  }
  if (child > 0) {
    close(writing);
    *end = reading;
    return child;
  }
  // A process that waits for the end of our output, or for our terminal or locks, must not wait for this process.
  if (leaves_group) setsid();
  dup2(writing, 3);
  close_range(4, ~0U, 0);
  int null = open("/dev/null", O_RDWR);
  for (int number = 0; number < 3; number++) {
    if (null >= 0) dup2(null, number);
    else close(number);
  }
  if (null >= 0) close(null);
  *end = 3;
  return 0;
}

void lv_answer_apart(int end, int32_t error, const uint8_t *bytes, size_t count) {
  // Fails when nobody waits any more.
  int failed = write(end, &error, sizeof error) < 0;
  while (!failed && count > 0) {
    ssize_t written = write(end, bytes, count);
    if (written < 0 && errno != EINTR) break;
    if (written > 0) {
      bytes += written;
      count -= (size_t)written;
    }
  }
  _exit(0);
}

long lv_hear_apart(int end, int milliseconds, void *into, size_t count) {
  struct pollfd wanted = {end, POLLIN, 0};
  int ready = poll(&wanted, 1, milliseconds);
  if (ready == 0) return -ETIMEDOUT;
  ssize_t heard = ready < 0 ? -1 : read(end, into, count);
  return heard < 0 ? -(long)errno : heard;
}

long lv_become_apart(uint32_t user, uint32_t group) {
  if (setgroups(0, NULL) < 0 || setresgid(group, group, group) < 0 || setresuid(user, user, user) < 0) return -errno;
  return 0;
}

void lv_bury(int process) { waitpid(process, NULL, WNOHANG); }
