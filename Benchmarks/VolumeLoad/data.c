/* The bytes of one file: from front to back, in random places, and down to the disk. */

#define _GNU_SOURCE
#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 1 << 20, PAGE = 4096, PLACES = 16384, SYNCS = 32 };

static char *block;

static int open_file(const char *path, int flags) {
  int fd = open(path, flags | O_CLOEXEC, 0644);
  if (fd < 0) lv_fail("open", path);
  return fd;
}

// The file is made anew each time: opening and closing belong to it, taking the old one away does not.
static void write_in_order(const char *path, const char *rows, off_t size, uint64_t least) {
  uint64_t time = 0, bytes = 0;
  do {
    unlink(path);
    uint64_t begun = lv_now();
    int fd = open_file(path, O_WRONLY | O_CREAT | O_EXCL);
    for (off_t at = 0; at < size; at += BLOCK)
      if (write(fd, block, BLOCK) != BLOCK) lv_fail("write", path);
    if (close(fd)) lv_fail("close", path);
    time += lv_now() - begun;
    bytes += (uint64_t)size;
  } while (time < least && lv_is_wanted(rows, "sequential-write"));
  if (lv_is_wanted(rows, "sequential-write")) lv_report("sequential-write", time, bytes);
}

static void drop_pages(const char *path) {
  int fd = open_file(path, O_RDONLY);
  lv_drop_pages(fd);
  close(fd);
}

static void read_in_order(const char *path, const char *rows, off_t size, uint64_t least) {
  if (!lv_is_wanted(rows, "sequential-read")) return;
  uint64_t time = 0, bytes = 0;
  while (time < least) {
    drop_pages(path);
    uint64_t begun = lv_now();
    int fd = open_file(path, O_RDONLY);
    for (off_t at = 0; at < size; at += BLOCK)
      if (read(fd, block, BLOCK) != BLOCK) lv_fail("read", path);
    close(fd);
    time += lv_now() - begun;
    bytes += (uint64_t)size;
  }
  lv_report("sequential-read", time, bytes);
}

// Each page is met at most once by one handle, so that what is measured is never the same page over and over.
static off_t *shuffled_pages(off_t size) {
  size_t count = (size_t)(size / PAGE);
  off_t *pages = malloc(count * sizeof *pages);
  if (!pages) lv_fail("allocate", "places");
  uint64_t state = 0x9e3779b97f4a7c15u;
  for (size_t i = 0; i < count; i++) {
    size_t j = (size_t)(lv_next_random(&state) % (i + 1));
    pages[i] = pages[j];
    pages[j] = (off_t)i * PAGE;
  }
  return pages;
}

static void random_places(const char *path, const char *rows, const char *row, const off_t *pages, off_t size,
                          int writes, uint64_t least) {
  if (!lv_is_wanted(rows, row)) return;
  size_t count = (size_t)(size / PAGE) < PLACES ? (size_t)(size / PAGE) : PLACES;
  uint64_t time = 0, done = 0;
  while (time < least) {
    drop_pages(path);
    int fd = open_file(path, writes ? O_WRONLY : O_RDONLY);
    uint64_t begun = lv_now();
    for (size_t i = 0; i < count; i++) {
      ssize_t moved = writes ? pwrite(fd, block, PAGE, pages[i]) : pread(fd, block, PAGE, pages[i]);
      if (moved != PAGE) lv_fail(row, path);
    }
    time += lv_now() - begun;
    done += count;
    if (close(fd)) lv_fail("close", path);
  }
  lv_report(row, time, done);
}

// Reads and writes in turns through one handle: what is remembered of a file between its requests shows here.
static void mixed_places(const char *path, const char *rows, const off_t *pages, off_t size, uint64_t least) {
  if (!lv_is_wanted(rows, "random-mixed")) return;
  size_t count = (size_t)(size / PAGE) < PLACES ? (size_t)(size / PAGE) : PLACES;
  uint64_t time = 0, done = 0;
  while (time < least) {
    drop_pages(path);
    int fd = open_file(path, O_RDWR);
    uint64_t begun = lv_now();
    for (size_t i = 0; i < count; i++) {
      ssize_t moved = i % 2 ? pwrite(fd, block, PAGE, pages[i]) : pread(fd, block, PAGE, pages[i]);
      if (moved != PAGE) lv_fail("random-mixed", path);
    }
    time += lv_now() - begun;
    done += count;
    if (close(fd)) lv_fail("close", path);
  }
  lv_report("random-mixed", time, done);
}

static void write_down(const char *path, const char *rows, uint64_t least) {
  if (!lv_is_wanted(rows, "fsync")) return;
  uint64_t time = 0, done = 0;
  int fd = open_file(path, O_WRONLY);
  // What earlier rows left to be written must not count here.
  if (fsync(fd)) lv_fail("fsync", path);
  while (time < least) {
    uint64_t begun = lv_now();
    for (int i = 0; i < SYNCS; i++) {
      if (pwrite(fd, block, PAGE, (off_t)i * PAGE) != PAGE) lv_fail("write", path);
      if (fsync(fd)) lv_fail("fsync", path);
    }
    time += lv_now() - begun;
    done += SYNCS;
  }
  close(fd);
  lv_report("fsync", time, done);
}

void lv_command_data(char **words) {
  const char *path = "data.bin", *rows = words[1];
  if (chdir(words[0])) lv_fail("enter", words[0]);
  off_t size = lv_number(words[2]) / BLOCK * BLOCK;
  uint64_t least = (uint64_t)lv_number(words[3]) * 1000000u;
  block = aligned_alloc(PAGE, BLOCK);
  if (!block) lv_fail("allocate", "block");
  memset(block, 'v', BLOCK);
  off_t *pages = shuffled_pages(size);
  write_in_order(path, rows, size, least);
  read_in_order(path, rows, size, least);
  random_places(path, rows, "random-read", pages, size, 0, least);
  random_places(path, rows, "random-write", pages, size, 1, least);
  mixed_places(path, rows, pages, size, least);
  write_down(path, rows, least);
  if (unlink(path)) lv_fail("unlink", path);
  free(pages);
  free(block);
}
