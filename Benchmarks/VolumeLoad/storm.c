/*
 * Storms: several clients, each a process with a directory of its own, do the same small thing to every one of their
 * files. The clients start each pass together; its time is from the first start to the last end.
 */

#define _GNU_SOURCE
#include "load.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum pass {
  CREATE,
  WRITE,
  READ,
  CHMOD,
  STAT, DROP,
  RENAME,
  UNLINK,
  LEAVE,
};

// Lies in memory that the clients share with their parent.
struct storm {
  pthread_barrier_t start, end;
  volatile enum pass pass;
  volatile uint64_t turn;
  uint64_t begun[LV_MOST_CLIENTS], ended[LV_MOST_CLIENTS];
  long clients, files;
};

static const char small[100] = "a hundred bytes, as a setting or a lock file would hold";

static void name_file(char *name, long number, int is_renamed) {
  snprintf(name, LV_NAME_ROOM, is_renamed ? "renamed-%06ld" : "file-%06ld.txt", number);
}

static void touch(int directory, const char *name, enum pass pass, uint64_t turn) {
  struct stat status;
  char bytes[4096];
  int fd;
  switch (pass) {
  case CREATE:
    fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) lv_fail("create", name);
    close(fd);
    break;
  case WRITE:
    fd = openat(directory, name, O_WRONLY | O_CLOEXEC);
    if (fd < 0) lv_fail("open for writing", name);
    if (write(fd, small, sizeof small) != sizeof small) lv_fail("write", name);
    if (close(fd)) lv_fail("close", name);
    break;
  case READ:
    fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) lv_fail("open", name);
    if (read(fd, bytes, sizeof bytes) != sizeof small) lv_fail("read", name);
    close(fd);
    break;
  case CHMOD:
    if (fchmodat(directory, name, turn % 2 ? 0600 : 0644, 0)) lv_fail("chmod", name);
    break;
  case STAT:
    if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW)) lv_fail("stat", name);
    break;
  case DROP:
    fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) lv_fail("open", name);
    lv_drop_pages(fd);
    close(fd);
    break;
  default:
    if (unlinkat(directory, name, 0)) lv_fail("unlink", name);
  }
}

static void pass_over(const struct storm *storm, int directory, enum pass pass, uint64_t turn) {
  char name[LV_NAME_ROOM], other[LV_NAME_ROOM];
  for (long i = 0; i < storm->files; i++) {
    name_file(name, i, pass == RENAME && turn % 2);
    if (pass != RENAME) {
      touch(directory, name, pass, turn);
      continue;
    }
    name_file(other, i, turn % 2 == 0);
    if (renameat(directory, name, directory, other)) lv_fail("rename", name);
  }
}

static _Noreturn void be_client(struct storm *storm, long number, const char *path, uid_t user) {
  char own[LV_NAME_ROOM];
  lv_become(user);
  // Nobody would open the barrier any more. After the change of user, which takes this wish away.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (chdir(path)) lv_fail("enter", path);
  snprintf(own, sizeof own, "client-%ld", number);
  if (mkdir(own, 0755)) lv_fail("mkdir", own);
  int directory = open(own, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) lv_fail("open", own);
  for (;;) {
    pthread_barrier_wait(&storm->start);
    enum pass pass = storm->pass;
    if (pass == LEAVE) break;
    storm->begun[number] = lv_now();
    pass_over(storm, directory, pass, storm->turn);
    storm->ended[number] = lv_now();
    pthread_barrier_wait(&storm->end);
  }
  close(directory);
  if (rmdir(own)) lv_fail("rmdir", own);
  _exit(0);
}

static uint64_t run_pass(struct storm *storm, enum pass pass, uint64_t turn) {
  storm->pass = pass;
  storm->turn = turn;
  pthread_barrier_wait(&storm->start);
  pthread_barrier_wait(&storm->end);
  uint64_t first = storm->begun[0], last = storm->ended[0];
  for (long i = 1; i < storm->clients; i++) {
    if (storm->begun[i] < first) first = storm->begun[i];
    if (storm->ended[i] > last) last = storm->ended[i];
  }
  return last - first;
}

// A client that fails leaves the others waiting at the barrier.
static void end_at_failure(int signal) {
  (void)signal;
  int status = 0;
  while (waitpid(-1, &status, WNOHANG) > 0) {
    if (status) {
      kill(0, SIGTERM);
      _exit(1);
    }
  }
}

// The work of a pass that can be done again and again: an even number of times, so that all is as it was.
static void repeat(struct storm *storm, const char *rows, const char *row, enum pass pass, uint64_t least) {
  if (!lv_is_wanted(rows, row)) return;
  uint64_t time = 0, turns = 0;
  while (time < least || turns % 2) {
    if (pass == READ && lv_is_cold) run_pass(storm, DROP, 0);
    time += run_pass(storm, pass, ++turns + 1);
  }
  lv_report(row, time, turns * (uint64_t)(storm->clients * storm->files));
}

static void run_storm(struct storm *storm, const char *rows, uint64_t least) {
  const uint64_t all = (uint64_t)(storm->clients * storm->files);
  const int wants_both = lv_is_wanted(rows, "create") || lv_is_wanted(rows, "unlink");
  uint64_t creating = 0, unlinking = 0, turns = 0;
  // Created and removed by turns; the last files stay for the other passes.
  for (;;) {
    creating += run_pass(storm, CREATE, turns++);
    if (!wants_both || creating >= least || turns == 50) break;
    unlinking += run_pass(storm, UNLINK, 0);
  }
  // The files get their bytes, and the kernel has seen each of them once.
  run_pass(storm, WRITE, 0);
  repeat(storm, rows, "small-write", WRITE, least);
  repeat(storm, rows, "open-read-close", READ, least);
  repeat(storm, rows, "chmod", CHMOD, least);
  if (lv_is_wanted(rows, "stat-hot")) {
    run_pass(storm, STAT, 0);
    repeat(storm, rows, "stat-hot", STAT, least);
  }
  repeat(storm, rows, "rename", RENAME, least);
  if (lv_is_wanted(rows, "stat-cold")) {
    uint64_t time = 0, passes = 0;
    while (time < least && passes < 3) {
      lv_forget_caches();
      time += run_pass(storm, STAT, 0);
      passes++;
    }
    lv_report("stat-cold", time, passes * all);
  }
  unlinking += run_pass(storm, UNLINK, 0);
  if (lv_is_wanted(rows, "create")) lv_report("create", creating, turns * all);
  if (lv_is_wanted(rows, "unlink")) lv_report("unlink", unlinking, turns * all);
  storm->pass = LEAVE;
  pthread_barrier_wait(&storm->start);
}

void lv_command_storm(char **words) {
  struct storm *storm = mmap(NULL, sizeof *storm, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (storm == MAP_FAILED) lv_fail("mmap", "shared memory");
  storm->clients = lv_number(words[2]);
  if (storm->clients < 1 || storm->clients > LV_MOST_CLIENTS) lv_fail("clients", words[2]);
  storm->files = lv_number(words[3]) / storm->clients;
  pthread_barrierattr_t shared;
  pthread_barrierattr_init(&shared);
  pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&storm->start, &shared, (unsigned)storm->clients + 1);
  pthread_barrier_init(&storm->end, &shared, (unsigned)storm->clients + 1);
  // A group of its own, so that a failure ends the clients and nobody else.
  setpgid(0, 0);
  signal(SIGCHLD, end_at_failure);
  for (long i = 0; i < storm->clients; i++) {
    pid_t child = fork();
    if (child < 0) lv_fail("fork", "client");
    if (child == 0) {
      signal(SIGCHLD, SIG_DFL);
      be_client(storm, i, words[0], (uid_t)lv_number(words[5]));
    }
  }
  run_storm(storm, words[1], (uint64_t)lv_number(words[4]) * 1000000u);
  while (waitpid(-1, NULL, 0) > 0) continue;
}
