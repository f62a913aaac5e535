/* Long paths and full directories. */

#define _GNU_SOURCE
#include "load.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void name_chain(char *path, long chain, long depth) {
  int length = snprintf(path, PATH_MAX, "chain-%04ld", chain);
  for (long i = 0; i < depth; i++) length += snprintf(path + length, PATH_MAX - (size_t)length, "/level-%02ld", i);
}

static uint64_t look_at_chains(long chains, long depth) {
  char path[PATH_MAX];
  struct stat status;
  uint64_t begun = lv_now();
  for (long i = 0; i < chains; i++) {
    name_chain(path, i, depth);
    if (stat(path, &status)) lv_fail("stat", path);
  }
  return lv_now() - begun;
}

// The chains are made once and stay: later rounds find them.
static void make_chains(long chains, long depth) {
  char path[PATH_MAX];
  for (long i = 0; i < chains; i++)
    for (long level = 0; level <= depth; level++) {
      name_chain(path, i, level);
      if (mkdir(path, 0755) && errno != EEXIST) lv_fail("mkdir", path);
    }
}

void lv_command_deep(char **words) {
  if (chdir(words[0])) lv_fail("enter", words[0]);
  const char *rows = words[1];
  long chains = lv_number(words[2]), depth = lv_number(words[3]);
  uint64_t least = (uint64_t)lv_number(words[4]) * 1000000u, time = 0, turns = 0;
  make_chains(chains, depth);
  if (lv_is_wanted(rows, "deep-cold")) {
    while (time < least && turns < 3) {
      lv_forget_caches();
      time += look_at_chains(chains, depth);
      turns++;
    }
    lv_report("deep-cold", time, turns * (uint64_t)chains);
  }
  if (lv_is_wanted(rows, "deep-hot")) {
    look_at_chains(chains, depth);
    for (time = turns = 0; time < least; turns++) time += look_at_chains(chains, depth);
    lv_report("deep-hot", time, turns * (uint64_t)chains);
  }
}

void lv_command_list(char **words) {
  uint64_t least = (uint64_t)lv_number(words[1]) * 1000000u, time = 0, entries = 0;
  while (time < least) {
    uint64_t begun = lv_now();
    DIR *directory = opendir(words[0]);
    if (!directory) lv_fail("opendir", words[0]);
    errno = 0;
    while (readdir(directory)) entries++;
    if (errno) lv_fail("readdir", words[0]);
    closedir(directory);
    time += lv_now() - begun;
  }
  lv_report("readdir", time, entries);
}

void lv_command_fill(char **words) {
  char name[LV_NAME_ROOM];
  if (chdir(words[0])) lv_fail("enter", words[0]);
  long count = lv_number(words[1]);
  for (long i = 0; i < count; i++) {
    snprintf(name, sizeof name, "entry-%06ld.txt", i);
    int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) lv_fail("create", name);
    close(fd);
  }
}
