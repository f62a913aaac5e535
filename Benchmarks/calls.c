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
// calls load DIR FILE         reads names, and the status of each in FILE, until it is told to end; prints how long it waited at
//                             most for a directory and the first of its names, at most for a status, and for one status in the middle
// calls hold DIR COUNT MANY   opens COUNT listings of "DIR/many 1" to "DIR/many MANY" in turns, reads the first names of each,
//                             says so, and keeps them open until it is killed
// calls pace NAME COUNT       makes files, 1,000 a second, and removes them
// calls read FILE             reads a file by 1 MiB
//
// Prints nanoseconds; of `pace` those until the last file was made.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

static void look(FILE *file) {
  char line[4096];
  struct stat found;
  while (fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = 0;
    if (lstat(line, &found) < 0) fail(line);
  }
}

static long long names(const char *name, const char *list) {
  FILE *file = fopen(list, "r");
  if (!file || chdir(name) < 0) fail(list);
  long long start = now();
  look(file);
  return start;
}

static volatile sig_atomic_t is_over;

static void end(int signal) {
  (void)signal;
  is_over = 1;
}

static int by_length(const void *left, const void *right) {
  long long one = *(const long long *)left, other = *(const long long *)right;
  return (one > other) - (one < other);
}

// The waits for the status of each name, added to those before.
static long long *waits;
static size_t waited, room;

static void look_timed(FILE *file) {
  char line[4096];
  struct stat found;
  while (!is_over && fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = 0;
    long long start = now();
    int answer = lstat(line, &found);
    long long took = now() - start;
    if (is_over) return;
    if (answer < 0) fail(line);
    if (waited == room) {
      room = room ? 2 * room : 65536;
      if (!(waits = realloc(waits, room * sizeof *waits))) fail("memory");
    }
    waits[waited++] = took;
  }
}

static long long load(const char *name, const char *list) {
  FILE *file = fopen(list, "r");
  if (!file || chdir(name) < 0) fail(list);
  struct sigaction action = {.sa_handler = end, .sa_flags = SA_RESTART};
  sigaction(SIGTERM, &action, NULL);
  long long longest = 0;
  while (!is_over) {
    long long start = now();
    DIR *directory = opendir(".");
    if (!directory) fail(name);
    struct dirent *entry = readdir(directory);
    long long took = now() - start;
    // What was given up because the program ends is no wait.
    if (took > longest && !is_over) longest = took;
    while (entry && !is_over) entry = readdir(directory);
    closedir(directory);
    rewind(file);
    look_timed(file);
  }
  return longest;
}

static void hold(const char *place, long count, long many) {
  struct rlimit limit;
  char name[4096], page[4096];
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0) fail("limit");
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) < 0) fail("limit");
  for (long index = 0; index < count; index++) {
    snprintf(name, sizeof name, "%s/many %ld", place, index % many + 1);
    int directory = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0 || syscall(SYS_getdents64, directory, page, sizeof page) < 0) fail(name);
  }
  puts("ready");
  fflush(stdout);
  for (;;) pause();
}

static long long pace(const char *prefix, long count) {
  char name[4096];
  long long start = now(), took;
  for (long index = 0; index < count; index++) {
    long long early = start + index * 1000000LL - now();
    struct timespec pause = {.tv_nsec = early > 0 ? early : 0};
    if (early > 0) nanosleep(&pause, NULL);
    snprintf(name, sizeof name, "%s%ld", prefix, index);
    opened(name, O_WRONLY | O_CREAT | O_EXCL, "create");
  }
  took = now() - start;
  for (long index = 0; index < count; index++) {
    snprintf(name, sizeof name, "%s%ld", prefix, index);
    if (unlink(name) < 0) fail(name);
  }
  return took;
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
  } else if (count > 3 && !strcmp(work, "load")) {
    long long longest = load(words[2], words[3]);
    if (waited == 0) return 1;
    qsort(waits, waited, sizeof *waits, by_length);
    printf("%lld %lld %lld\n", longest, waits[waited - 1], waits[waited / 2]);
    return 0;
  } else if (count > 4 && !strcmp(work, "hold")) {
    hold(words[2], times, atol(words[4]));
  } else if (count > 3 && !strcmp(work, "pace")) {
    printf("%lld\n", pace(words[2], times));
    return 0;
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
