// What a daemon needs of its process: a log, and signals taken by one thread.

#include "internal.h"

#include <pthread.h>
#include <signal.h>
#include <syslog.h>

long lv_write(int fd, const void *from, size_t count) { return LV_RESULT(write(fd, from, count)); }

void lv_system_log(int priority, const char *text) { syslog(LOG_DAEMON | priority, "%s", text); }

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

void lv_wait_stop_signal(void) {
  sigset_t set;
  stop_signals(&set);
  int number;
  sigwait(&set, &number);
}
