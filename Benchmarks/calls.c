// What Benchmarks/layers.py and Benchmarks/views.sh measure, so that no interpreter, shell or `ls` is measured with it.
// Files are NAME0, NAME1 and so on.
//
// calls stat NAME COUNT       the status of each
// calls missing NAME COUNT    the status of each, where there is none
// calls open NAME COUNT       opens, reads 4 KiB of and closes each
// calls append NAME COUNT     opens, writes 100 bytes at the end of and closes each
// calls chmod NAME COUNT      gives each another mode
// calls rename NAME COUNT     gives each another name, NAME0.new
// calls create NAME COUNT     makes each
// calls unlink NAME COUNT     removes each
// calls mkdir NAME COUNT      makes directories
// calls list DIR              reads names
// calls status DIR            reads names, and the status of each
// calls native DIR            reads names, status and two attributes of each, and sorts nothing
// calls names DIR FILE        the status of each name in FILE, one a line
// calls read FILE             reads a file by 1 MiB
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
#include <sys/xattr.h>
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

static void list(const char *name, const char *work) {
  char value[4096];
  struct stat found;
  if (chdir(name) < 0) fail(name);
  DIR *directory = opendir(".");
  if (!directory) fail(name);
  struct dirent *entry;
  while ((entry = readdir(directory))) {
    if (*work != 'l' && lstat(entry->d_name, &found) < 0) fail(entry->d_name);
    if (*work == 'n') {
      (void)!lgetxattr(entry->d_name, "trusted.varve.m", value, sizeof value);
      (void)!lgetxattr(entry->d_name, "user.com.apple.FinderInfo", value, sizeof value);
    }
  }
  closedir(directory);
}

static long long names(const char *name, const char *list) {
  char line[4096];
  struct stat found;
  FILE *file = fopen(list, "r");
  if (!file || chdir(name) < 0) fail(list);
  long long start = now();
  while (fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = 0;
    if (lstat(line, &found) < 0) fail(line);
  }
  return start;
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
  if (count < 3) return 2;
  const char *work = words[1];
  long times = count > 3 ? atol(words[3]) : 1;
  char name[4096], other[4096 + 8];
  struct stat found;
  long long start = now();
  if (count > 3 && !strcmp(work, "names")) {
    start = names(words[2], words[3]);
    times = 0;
  }
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
    } else if (!strcmp(work, "list") || !strcmp(work, "status") || !strcmp(work, "native")) {
      list(words[2], work);
    } else if (!strcmp(work, "read")) {
      read_all(words[2]);
    } else {
      return 2;
    }
  }
  printf("%lld\n", now() - start);
  return 0;
}
