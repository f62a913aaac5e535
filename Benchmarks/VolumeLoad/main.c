/*
 * The load on one volume: the hot loops of VolumeBenchmark, as a program of its own. It can be run by hand, also
 * under strace or perf:
 *
 *   VolumeLoad [cold] ...                                 pages of a file are dropped before it is read
 *   VolumeLoad data  DIR ROWS BYTES MILLISECONDS          one file: sequential, random, fsync
 *   VolumeLoad storm DIR ROWS CLIENTS FILES MILLISECONDS USER   many small operations
 *   VolumeLoad deep  DIR ROWS CHAINS DEPTH MILLISECONDS   stat of long paths
 *   VolumeLoad list  DIR MILLISECONDS                     the names of one directory
 *   VolumeLoad fill  DIR FILES                            makes empty files
 *   VolumeLoad run   DIR ROW TIMES MILLISECONDS USER COLD PROGRAM...   runs a program, its output kept in memory
 *
 * It answers with lines `ROW NANOSECONDS WORK`. ROWS are names with commas between them, or `all`. A piece of work
 * that can be repeated is repeated until MILLISECONDS have been measured.
 */

#define _GNU_SOURCE
#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void lv_fail(const char *what, const char *where) {
  fprintf(stderr, "VolumeLoad: %s: %s: %s\n", what, where, strerror(errno));
  _exit(1);
}

uint64_t lv_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

long lv_number(const char *word) {
  char *end = NULL;
  errno = 0;
  long number = strtol(word, &end, 10);
  if (errno || end == word || *end || number < 0) {
    errno = EINVAL;
    lv_fail("a number", word);
  }
  return number;
}

void lv_report(const char *row, uint64_t nanoseconds, uint64_t work) {
  printf("%s %llu %llu\n", row, (unsigned long long)nanoseconds, (unsigned long long)work);
  fflush(stdout);
}

int lv_is_wanted(const char *rows, const char *row) {
  if (!strcmp(rows, "all")) return 1;
  size_t length = strlen(row);
  for (const char *at = rows; (at = strstr(at, row)); at += length) {
    int begins = at == rows || at[-1] == ',';
    int ends = at[length] == ',' || at[length] == '\0';
    if (begins && ends) return 1;
  }
  return 0;
}

void lv_forget_caches(void) {
  // What is not written back cannot be forgotten.
  sync();
  int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
  if (fd < 0) lv_fail("open", "drop_caches");
  if (write(fd, "3", 1) != 1) lv_fail("write", "drop_caches");
  close(fd);
}

int lv_is_cold;

void lv_drop_pages(int fd) {
  if (lv_is_cold) posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

void lv_become(uid_t user) {
  if (user == geteuid()) return;
  if (setgroups(0, NULL) || setresgid(user, user, user) || setresuid(user, user, user)) lv_fail("become", "user");
}

uint64_t lv_next_random(uint64_t *state) {
  uint64_t x = *state;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return *state = x;
}

int main(int count, char **words) {
  if (count > 1 && !strcmp(words[1], "cold")) {
    lv_is_cold = 1;
    count--;
    words++;
  }
  const char *command = count > 1 ? words[1] : "";
  // A file system that does not answer must not hold up the other contenders for ever.
  alarm(300);
  umask(022);
  if (count == 6 && !strcmp(command, "data")) {
    lv_command_data(words + 2);
  } else if (count == 8 && !strcmp(command, "storm")) {
    lv_command_storm(words + 2);
  } else if (count == 7 && !strcmp(command, "deep")) {
    lv_command_deep(words + 2);
  } else if (count == 4 && !strcmp(command, "list")) {
    lv_command_list(words + 2);
  } else if (count == 4 && !strcmp(command, "fill")) {
    lv_command_fill(words + 2);
  } else if (count >= 9 && !strcmp(command, "run")) {
    lv_command_run(count - 2, words + 2);
  } else {
    fputs("usage: VolumeLoad [cold] data|storm|deep|list|fill|run ...; see main.c\n", stderr);
    return 2;
  }
  return 0;
}
