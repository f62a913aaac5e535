#define _GNU_SOURCE
#include "CPrograms.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static volatile sig_atomic_t interruption;

static void note(int signal_number) { interruption = signal_number; }

void lv_watch_interruption(void) {
  static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
    struct sigaction old;
    // What nohup or a shell's background job ignores stays ignored.
    if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN) continue;
    // The second time it ends the program at once. Calls are restarted: they see the number soon enough.
    struct sigaction action = {.sa_handler = note, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigaction(signals[i], &action, NULL);
  }
}

int lv_interruption(void) { return interruption; }

void lv_end_by_signal(int signal_number) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal_number);
  signal(signal_number, SIG_DFL);
  sigprocmask(SIG_UNBLOCK, &set, NULL);
  raise(signal_number);
  _exit(128 + signal_number);
}

void lv_leave_interruption_to_child(int is_left) {
  static const int signals[] = {SIGINT, SIGQUIT};
  // What they did before, an ignored signal among it; one thread at a time waits for a child.
  static struct sigaction former[sizeof signals / sizeof *signals];
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    if (is_left) sigaction(signals[i], &ignore, &former[i]);
    else sigaction(signals[i], &former[i], NULL);
  }
}
