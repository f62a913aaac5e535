/*
 * Runs a real program and takes its time. What it prints goes to memory and not to /dev/null, because grep stops at
 * the first match there, and tar does not read at all.
 */

#define _GNU_SOURCE
#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t run_once(const char *directory, uid_t user, char **words, int output) {
  if (ftruncate(output, 0)) lv_fail("truncate", "output");
  uint64_t begun = lv_now();
  pid_t child = fork();
  if (child < 0) lv_fail("fork", words[0]);
  if (child == 0) {
    lv_become(user);
    if (chdir(directory)) lv_fail("enter", directory);
    if (dup2(output, 1) < 0) lv_fail("redirect", words[0]);
    execvp(words[0], words);
    lv_fail("run", words[0]);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  uint64_t time = lv_now() - begun;
  if (!WIFEXITED(status) || WEXITSTATUS(status)) {
    errno = WIFEXITED(status) ? 0 : EINTR;
    lv_fail("the program failed", words[0]);
  }
  return time;
}

void lv_command_run(int count, char **words) {
  const char *directory = words[0];
  long most = lv_number(words[2]);
  uint64_t least = (uint64_t)lv_number(words[3]) * 1000000u, time = 0, times = 0;
  uid_t user = (uid_t)lv_number(words[4]);
  int is_cold = lv_number(words[5]) != 0;
  char **program = words + 6;
  (void)count;
  int output = memfd_create("output", MFD_CLOEXEC);
  if (output < 0) lv_fail("memory", "output");
  do {
    if (is_cold) {
      lv_forget_caches();
      // The program itself must not come from the disk.
      char *version[] = {program[0], "--version", NULL};
      run_once("/", user, version, output);
    }
    time += run_once(directory, user, program, output);
    times++;
  } while (time < least && times < (uint64_t)most);
  lv_report(words[1], time, times);
}
