#define _GNU_SOURCE
#include "CPrograms.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

// The strings that lie in `words`, as exec wants them; the caller frees the array.
static char **pointers(const char *words, size_t count) {
  char **result = calloc(count + 1, sizeof *result);
  if (!result) return NULL;
  for (size_t i = 0; i < count; i++) {
    result[i] = (char *)words;
    words += strlen(words) + 1;
  }
  return result;
}

static int add_stream(posix_spawn_file_actions_t *actions, int from, int to, int flags) {
  if (from < 0) return posix_spawn_file_actions_addopen(actions, to, "/dev/null", flags, 0);
  // With equal numbers this takes close-on-exec away, which is what is wanted.
  return posix_spawn_file_actions_adddup2(actions, from, to);
}

static int add_streams(posix_spawn_file_actions_t *actions, struct lv_streams streams) {
  int failure = 0;
  // First, because 3 and 4 may be the others' numbers; ours are above them (see lv_pipe).
  if (streams.extra >= 0) failure = posix_spawn_file_actions_adddup2(actions, streams.extra, 3);
  if (!failure && streams.second >= 0) failure = posix_spawn_file_actions_adddup2(actions, streams.second, 4);
  if (!failure) failure = add_stream(actions, streams.input, 0, O_RDONLY);
  if (!failure) failure = add_stream(actions, streams.output, 1, O_WRONLY);
  if (!failure) failure = add_stream(actions, streams.error, 2, O_WRONLY);
  // A daemon that keeps a caller's descriptor keeps its locks and its pipes, for years.
  int first_free = streams.second >= 0 ? 5 : streams.extra >= 0 ? 4 : 3;
  if (!failure) failure = posix_spawn_file_actions_addclosefrom_np(actions, first_free);
  return failure;
}

static int set_attributes(posix_spawnattr_t *attributes, int in_new_session) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  if (in_new_session) flags |= POSIX_SPAWN_SETSID;
  int failure = posix_spawnattr_setsigmask(attributes, &none);
  if (!failure) failure = posix_spawnattr_setsigdefault(attributes, &all);
  if (!failure) failure = posix_spawnattr_setflags(attributes, (short)flags);
  return failure;
}

long lv_spawn(const char *program, const char *words, size_t count, struct lv_streams streams,
              int in_new_session) {
  char **arguments = pointers(words, count);
  if (!arguments) return -ENOMEM;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int failure = posix_spawn_file_actions_init(&actions);
  if (!failure) {
    failure = posix_spawnattr_init(&attributes);
    if (!failure) {
      pid_t process = 0;
      failure = add_streams(&actions, streams);
      if (!failure) failure = set_attributes(&attributes, in_new_session);
      if (!failure) failure = posix_spawn(&process, program, &actions, &attributes, arguments, environ);
      posix_spawnattr_destroy(&attributes);
      if (!failure) {
        posix_spawn_file_actions_destroy(&actions);
        free(arguments);
        return process;
      }
    }
    posix_spawn_file_actions_destroy(&actions);
  }
  free(arguments);
  return -failure;
}

long lv_execute(const char *program, const char *words, size_t count) {
  char **arguments = pointers(words, count);
  if (!arguments) return -ENOMEM;
  // What this program ignores must not stay ignored.
  signal(SIGPIPE, SIG_DFL);
  execv(program, arguments);
  long failure = -errno;
  free(arguments);
  return failure;
}

long lv_keep_for_next(int fd) { return fcntl(fd, F_SETFD, 0) < 0 ? -errno : 0; }

long lv_close_for_next(int fd) { return fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ? -errno : 0; }

long lv_wait(int process) {
  int status = 0;
  if (waitpid(process, &status, 0) < 0) return -errno;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int broken_pipes_were_ignored;

void lv_prepare_streams(void) {
  broken_pipes_were_ignored = signal(SIGPIPE, SIG_IGN) == SIG_IGN;
  // The next file would get the number, and what is printed would go into it. Opened the wrong way round, it fails.
  for (int fd = 0; fd <= 2; fd++) {
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0) exit(1);
  }
}

int lv_broken_pipes_were_ignored(void) { return broken_pipes_were_ignored; }

void lv_end_by_broken_pipe(void) { lv_end_by_signal(SIGPIPE); }

void lv_exit(int status) { exit(status); }
