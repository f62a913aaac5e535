// What a daemon needs of its process: a log, and signals taken by one thread.

#include "internal.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <syslog.h>

long lv_write(int fd, const void *from, size_t count) { return LV_RESULT(write(fd, from, count)); }

static void name_ourselves(void) { openlog("varved", LOG_PID, LOG_DAEMON); }

void lv_system_log(int priority, const char *text) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, name_ourselves);
  syslog(LOG_DAEMON | priority, "%s", text);
}

long lv_catch_errors(int *kept) {
  int caught = memfd_create("varved caught", MFD_CLOEXEC);
  if (caught < 0) return -errno;
  *kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  if (*kept < 0 || dup2(caught, STDERR_FILENO) < 0) {
    int error = errno;
    if (*kept >= 0) close(*kept);
    close(caught);
    return -error;
  }
  return caught;
}

void lv_stop_catching_errors(int kept) {
  dup2(kept, STDERR_FILENO);
  close(kept);
}

long lv_new_session(void) { return LV_RESULT(setsid()); }

long lv_visit_mount_namespace(int fd) {
  // The kernel moves nobody who shares root and working directory with others.
  if (unshare(CLONE_FS) < 0) return -errno;
  return LV_RESULT(setns(fd, CLONE_NEWNS));
}

long lv_stand_in(int directory) { return LV_RESULT(fchdir(directory)); }

long lv_standing_place(char *into, size_t count) {
  // Not the library's: that one would search for the way where the kernel knows none.
  long length = LV_RESULT(syscall(SYS_getcwd, into, count));
  if (length < 0) return length;
  return into[0] == '/' ? length - 1 : -ENOENT;
}

static void stop_signals(sigset_t *set) {
  sigemptyset(set);
  sigaddset(set, SIGTERM);
  sigaddset(set, SIGINT);
  sigaddset(set, SIGHUP);
}

void lv_block_stop_signals(void) {
  sigset_t set;
  stop_signals(&set);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  // A reader of the ready pipe that went away is an error of the write, not the end of the daemon.
  signal(SIGPIPE, SIG_IGN);
}

int lv_is_stop_signal_pending(void) {
  sigset_t set, pending;
  stop_signals(&set);
  sigpending(&pending);
  sigandset(&set, &set, &pending);
  return !sigisemptyset(&set);
}

void lv_wait_stop_signal(void) {
  sigset_t set;
  stop_signals(&set);
  int number;
  sigwait(&set, &number);
}
