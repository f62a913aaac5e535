// What Benchmarks/layers.py measures, so that no interpreter is measured with it. Files are NAME0, NAME1 and so on.
//
// layer_calls stat NAME COUNT       the status of each
// layer_calls missing NAME COUNT    the status of each, where there is none
// layer_calls open NAME COUNT       opens, reads 4 KiB of and closes each
// layer_calls append NAME COUNT     opens, writes 100 bytes at the end of and closes each
// layer_calls chmod NAME COUNT      gives each another mode
// layer_calls rename NAME COUNT     gives each another name, NAME0.new
// layer_calls create NAME COUNT     makes each
// layer_calls unlink NAME COUNT     removes each
// layer_calls mkdir NAME COUNT      makes directories
// layer_calls list DIR 1            reads names
// layer_calls read FILE 1           reads a file by 1 MiB
//
// Prints nanoseconds.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static void opened(const char *name, int flags, const char *work) {
  char block[4096];
  int file = open(name, flags | O_CLOEXEC, 0644);
  if (file < 0) fail(name);
  if (*work == 'o' && read(file, block, sizeof block) < 0) fail(name);
  memset(block, 'x', 100);
  if (*work == 'a' && write(file, block, 100) != 100) fail(name);
  close(file);
}

static void list(const char *name) {
  DIR *directory = opendir(name);
  if (!directory) fail(name);
  while (readdir(directory)) {
  }
  closedir(directory);
}

static void read_all(const char *name) {
  size_t size = 1 << 20;
  char *block = malloc(size);
  int file = open(name, O_RDONLY | O_CLOEXEC);
  if (!block || file < 0) fail(name);
  ssize_t count;
  while ((count = read(file, block, size)) > 0) {
  }
  if (count < 0) fail(name);
  close(file);
  free(block);
}

int main(int count, char **words) {
  if (count != 4) return 2;
  const char *work = words[1];
  long times = atol(words[3]);
  char name[4096], other[4096 + 8];
  struct stat found;
  long long start = now();
  for (long index = 0; index < times; index++) {
    snprintf(name, sizeof name, "%s%ld", words[2], index);
    if (!strcmp(work, "stat")) {
      if (lstat(name, &found) < 0) fail(name);
    } else if (!strcmp(work, "missing")) {
      if (lstat(name, &found) == 0 || errno != ENOENT) fail(name);
    } else if (!strcmp(work, "open")) {
      opened(name, O_RDONLY, work);
    } else if (!strcmp(work, "append")) {
      opened(name, O_WRONLY | O_APPEND, work);
    } else if (!strcmp(work, "create")) {
      opened(name, O_WRONLY | O_CREAT | O_EXCL, work);
    } else if (!strcmp(work, "chmod")) {
      if (chmod(name, 0640) < 0) fail(name);
    } else if (!strcmp(work, "rename")) {
      snprintf(other, sizeof other, "%s.new", name);
      if (rename(name, other) < 0) fail(name);
    } else if (!strcmp(work, "unlink")) {
      if (unlink(name) < 0) fail(name);
    } else if (!strcmp(work, "mkdir")) {
      if (mkdir(name, 0755) < 0) fail(name);
    } else if (!strcmp(work, "list")) {
      list(words[2]);
    } else if (!strcmp(work, "read")) {
      read_all(words[2]);
    } else {
      return 2;
    }
  }
  printf("%lld\n", now() - start);
  return 0;
}
