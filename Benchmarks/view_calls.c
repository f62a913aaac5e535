// What Benchmarks/views.sh measures, so that no shell and no `ls` is measured with it.
//
// view_calls native DIR        reads names, status and two attributes of each, and sorts nothing
// view_calls list DIR          reads names
// view_calls status DIR        reads names, and the status of each
// view_calls names DIR FILE    the status of each name in FILE, one a line
// view_calls create DIR COUNT  makes files, 1,000 a second, and removes them
// view_calls load DIR FILE     reads names and the status of each in FILE, until it is killed
//
// Prints nanoseconds; of `create` those until the last file was made.
#define _GNU_SOURCE
#include <dirent.h>
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

static void look(FILE *file) {
  char value[4096];
  struct stat found;
  while (fgets(value, sizeof value, file)) {
    value[strcspn(value, "\n")] = 0;
    (void)!lstat(value, &found);
  }
}

static void load(const char *path) {
  FILE *file = fopen(path, "r");
  if (!file) fail(path);
  for (;;) {
    DIR *directory = opendir(".");
    if (!directory) fail("opendir");
    while (readdir(directory)) {
    }
    closedir(directory);
    rewind(file);
    look(file);
  }
}

static long long create(int count) {
  char name[64];
  long long start = now(), took;
  for (int number = 0; number < count; number++) {
    long long early = start + number * 1000000LL - now();
    struct timespec pause = {.tv_nsec = early > 0 ? early : 0};
    if (early > 0) nanosleep(&pause, NULL);
    snprintf(name, sizeof name, "made %d.txt", number);
    int file = open(name, O_CREAT | O_EXCL | O_WRONLY, 0644);
    if (file < 0) fail(name);
    close(file);
  }
  took = now() - start;
  for (int number = 0; number < count; number++) {
    snprintf(name, sizeof name, "made %d.txt", number);
    if (unlink(name) < 0) fail(name);
  }
  return took;
}

int main(int count, char **words) {
  if (count < 3) return 2;
  int native = !strcmp(words[1], "native"), names = !strcmp(words[1], "names");
  int status = native || !strcmp(words[1], "status");
  char value[4096];
  struct stat found;
  long long start = now();
  if (chdir(words[2]) < 0) fail(words[2]);
  if (!strcmp(words[1], "create") && count > 3) {
    printf("%lld\n", create(atoi(words[3])));
    return 0;
  }
  if (!strcmp(words[1], "load") && count > 3) load(words[3]);
  if (names) {
    FILE *file = count > 3 ? fopen(words[3], "r") : NULL;
    if (!file) fail("FILE");
    start = now();
    while (fgets(value, sizeof value, file)) {
      value[strcspn(value, "\n")] = 0;
      if (lstat(value, &found) < 0) fail(value);
    }
  } else {
    DIR *directory = opendir(".");
    if (!directory) fail(words[2]);
    struct dirent *entry;
    while ((entry = readdir(directory))) {
      if (status && lstat(entry->d_name, &found) < 0) fail(entry->d_name);
      if (native) {
        (void)!lgetxattr(entry->d_name, "trusted.varve.m", value, sizeof value);
        (void)!lgetxattr(entry->d_name, "user.com.apple.FinderInfo", value, sizeof value);
      }
    }
    closedir(directory);
  }
  printf("%lld\n", now() - start);
  return 0;
}
