#define _GNU_SOURCE
#include "CPrograms.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

// What would end or stop the program while its terminal shows nothing of what is typed.
static const int watched[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGALRM, SIGTSTP, SIGTTIN, SIGTTOU};
#define LV_WATCHED (sizeof watched / sizeof *watched)

static volatile sig_atomic_t caught;

static void catch_signal(int signal_number) { caught = signal_number; }

static void watch(struct sigaction former[LV_WATCHED]) {
  caught = 0;
  for (size_t i = 0; i < LV_WATCHED; i++) {
    sigaction(watched[i], NULL, &former[i]);
    // No SA_RESTART: what waits for the terminal has to end.
    struct sigaction action = {.sa_handler = catch_signal};
    if (former[i].sa_handler != SIG_IGN) sigaction(watched[i], &action, NULL);
  }
}

static void unwatch(const struct sigaction former[LV_WATCHED]) {
  for (size_t i = 0; i < LV_WATCHED; i++) sigaction(watched[i], &former[i], NULL);
}

// A prompt that cannot be written is no reason not to listen.
static void say(int terminal, const char *text) {
  if (write(terminal, text, strlen(text)) < 0) return;
}

// Waits for a line. The signals are blocked but for the time of waiting, so none is missed between two calls.
static long hear(int terminal, void *into, size_t count, const sigset_t *unblocked) {
  while (!caught) {
    struct pollfd wanted = {.fd = terminal, .events = POLLIN};
    int ready = ppoll(&wanted, 1, NULL, unblocked);
    if (ready < 0 && errno != EINTR) return -errno;
    if (ready <= 0) continue;
    ssize_t heard = read(terminal, into, count);
    return heard < 0 ? -(long)errno : heard;
  }
  return 0;
}

static long ask(int terminal, const char *prompt, void *into, size_t count) {
  struct termios shown;
  if (tcgetattr(terminal, &shown) < 0) return -errno;
  struct termios hidden = shown;
  hidden.c_lflag &= ~(tcflag_t)(ECHO | ECHOE | ECHOK | ECHONL);
  hidden.c_lflag |= ICANON | ISIG;
  hidden.c_iflag |= ICRNL;
  // In the background this is answered by SIGTTOU, so it comes before signals are blocked.
  while (tcsetattr(terminal, TCSAFLUSH, &hidden) < 0) {
    if (errno != EINTR) return -errno;
    if (caught) return 0;
  }
  sigset_t signals, former;
  sigemptyset(&signals);
  for (size_t i = 0; i < LV_WATCHED; i++) sigaddset(&signals, watched[i]);
  sigprocmask(SIG_BLOCK, &signals, &former);
  say(terminal, prompt);
  long result = hear(terminal, into, count, &former);
  // What was typed of a line that is not wanted any more, or was too long, must not become a command of the shell.
  tcsetattr(terminal, TCSAFLUSH, &shown);
  say(terminal, "\n");
  sigprocmask(SIG_SETMASK, &former, NULL);
  return result;
}

long lv_read_hidden(int terminal, const char *prompt, void *into, size_t count) {
  for (;;) {
    struct sigaction former[LV_WATCHED];
    watch(former);
    long result = ask(terminal, prompt, into, count);
    unwatch(former);
    int signal_number = caught;
    if (!signal_number) return result;
    explicit_bzero(into, count);
    // Not by the handlers of others: that of the Swift run time for SIGQUIT prints what is in registers.
    if (signal_number != SIGTSTP && signal_number != SIGTTIN && signal_number != SIGTTOU)
      lv_end_by_signal(signal_number);
    // After a stop (Ctrl-Z) the question is asked again.
    raise(signal_number);
  }
}
