// Identity of the calling thread, limits of the process, clocks, words for error numbers.

#include "internal.h"

#include <linux/capability.h>
#include <linux/securebits.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

// The raw calls: they change the calling thread only, which is the point. They answer the former value and no
// error; an id that nobody can have asks without changing.
static uint32_t lv_file_user(uint32_t user) { return (uint32_t)syscall(SYS_setfsuid, user); }

static uint32_t lv_file_group(uint32_t group) { return (uint32_t)syscall(SYS_setfsgid, group); }

// What the calling thread is, once it has become a user.
static __thread struct {
  uint32_t user, group;
  int is_known;
} lv_identity;

long lv_become(uint32_t user, uint32_t group) {
  if (lv_identity.is_known && lv_identity.user == user && lv_identity.group == group) return 0;
  uint32_t former_group = lv_file_group(group);
  uint32_t former_user = lv_file_user(user);
  if (user != UINT32_MAX && group != UINT32_MAX && lv_file_user(UINT32_MAX) == user &&
      lv_file_group(UINT32_MAX) == group) {
    lv_identity.user = user;
    lv_identity.group = group;
    lv_identity.is_known = 1;
    return 0;
  }
  lv_file_user(former_user);
  lv_file_group(former_group);
  return -EPERM;
}

long lv_keep_capabilities(void) {
  long bits = LV_RESULT(prctl(PR_GET_SECUREBITS));
  if (bits < 0) return bits;
  return LV_RESULT(prctl(PR_SET_SECUREBITS, (unsigned long)bits | SECBIT_NO_SETUID_FIXUP));
}

long lv_keeps_capabilities(void) {
  long bits = LV_RESULT(prctl(PR_GET_SECUREBITS));
  return bits < 0 ? bits : (bits & SECBIT_NO_SETUID_FIXUP) != 0;
}

static long lv_give_up_capability(uint32_t capability) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
  long result = LV_RESULT(syscall(SYS_capget, &header, sets));
  if (result < 0) return result;
  uint32_t bit = (uint32_t)1 << (capability % 32);
  sets[capability / 32].effective &= ~bit;
  sets[capability / 32].permitted &= ~bit;
  sets[capability / 32].inheritable &= ~bit;
  return LV_RESULT(syscall(SYS_capset, &header, sets));
}

long lv_give_up_resource_override(void) { return lv_give_up_capability(CAP_SYS_RESOURCE); }

long lv_raise_open_files(uint64_t *soft) {
  struct rlimit limit;
  long result = LV_RESULT(getrlimit(RLIMIT_NOFILE, &limit));
  if (result < 0) return result;
  limit.rlim_cur = limit.rlim_max;
  result = LV_RESULT(setrlimit(RLIMIT_NOFILE, &limit));
  if (result < 0) return result;
  *soft = limit.rlim_cur;
  return 0;
}

long lv_forbid_cores(void) {
  // The hard limit, too: nobody raises it again.
  struct rlimit limit = {0, 0};
  return LV_RESULT(setrlimit(RLIMIT_CORE, &limit));
}

void lv_map_large_memory(size_t least, size_t spare) {
  // Any value set by hand also ends what the C library does else: each large piece that is freed raises both.
  (void)mallopt(M_MMAP_THRESHOLD, (int)least);
  (void)mallopt(M_TRIM_THRESHOLD, (int)spare);
}

void lv_return_free_memory(void) { (void)malloc_trim(0); }

long lv_clock(enum lv_clock_kind kind, struct lv_time *out) {
  struct timespec now = {0};
  clockid_t clock = kind == lv_time_of_day ? CLOCK_REALTIME : kind == lv_since_boot ? CLOCK_BOOTTIME : CLOCK_MONOTONIC;
  long result = LV_RESULT(clock_gettime(clock, &now));
  *out = (struct lv_time){.seconds = now.tv_sec, .nanoseconds = now.tv_nsec};
  return result;
}

long lv_wait_ring(void *semaphore, uint64_t end) {
  struct timespec deadline = {.tv_sec = (time_t)(end / 1000000000), .tv_nsec = (long)(end % 1000000000)};
  return LV_RESULT(sem_clockwait(semaphore, CLOCK_MONOTONIC, &deadline));
}

long lv_thread_id(void) { return LV_RESULT(gettid()); }

static __thread uint64_t lv_note;

void lv_leave_note(uint64_t note) { lv_note = note; }

uint64_t lv_take_note(void) {
  uint64_t note = lv_note;
  lv_note = 0;
  return note;
}

long lv_open_thread_status(int thread) {
  char path[40];
  // Directly, not through /proc/PROCESS/task: the kernel answers for any thread here, it only hides
  // those that do not lead their process from listings.
  snprintf(path, sizeof path, "/proc/%d/status", thread);
  return LV_RESULT(open(path, O_RDONLY | O_CLOEXEC));
}

long lv_open_thread_figures(int process, int thread) {
  char path[64];
  // Not /proc/THREAD/stat: there the kernel adds up what all threads of the process have used.
  snprintf(path, sizeof path, "/proc/%d/task/%d/stat", process, thread);
  return LV_RESULT(open(path, O_RDONLY | O_CLOEXEC));
}

// Reads a small file of /proc as a whole.
static long lv_read_once(const char *path, char *into, size_t count) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -errno;
  long length = LV_RESULT(read(file, into, count));
  close(file);
  return length;
}

long lv_is_blocked(int thread) {
  char path[40], place[64];
  snprintf(path, sizeof path, "/proc/%d/wchan", thread);
  long length = lv_read_once(path, place, sizeof place);
  // "0": it is on the way to a processor or from one, or may not be looked at.
  return length < 0 ? length : length > 0 && place[0] != '0';
}

long lv_mount_number(int process, int fd) {
  char path[64], text[256];
  snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", process, fd);
  long count = lv_read_once(path, text, sizeof text - 1);
  if (count < 0) return count;
  text[count] = 0;
  const char *line = strstr(text, "\nmnt_id:");
  return line ? strtol(line + 8, NULL, 10) : -ENODATA;
}

static struct stat lv_own_users;
static int lv_own_users_error;

static void lv_find_own_users(void) {
  lv_own_users_error = stat("/proc/self/ns/user", &lv_own_users) < 0 ? errno : 0;
}

long lv_shares_users(int thread) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, lv_find_own_users);
  // A kernel without user namespaces has one.
  if (lv_own_users_error == ENOENT) return 1;
  if (lv_own_users_error) return -lv_own_users_error;
  char path[40];
  struct stat users;
  snprintf(path, sizeof path, "/proc/%d/ns/user", thread);
  if (stat(path, &users) == 0) return users.st_dev == lv_own_users.st_dev && users.st_ino == lv_own_users.st_ino;
  if (errno != EACCES && errno != EPERM) return -errno;
  // An ordinary user may not look there, but at the numbers it stands for. Only root can make a namespace that has all
  // the numbers of ours.
  char ours[4096], theirs[4096];
  snprintf(path, sizeof path, "/proc/%d/uid_map", thread);
  long count = lv_read_once("/proc/self/uid_map", ours, sizeof ours);
  long other = lv_read_once(path, theirs, sizeof theirs);
  if (count < 0 || other < 0) return count < 0 ? count : other;
  return count == other && memcmp(ours, theirs, (size_t)count) == 0;
}

long lv_name_thread(const char *name) { return -(long)pthread_setname_np(pthread_self(), name); }

long lv_usable_processors(void) {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  // Fails on machines with more processors than fit in there.
  if (sched_getaffinity(0, sizeof usable, &usable) < 0) return sysconf(_SC_NPROCESSORS_ONLN);
  return CPU_COUNT(&usable);
}

int lv_error_number(void) { return errno; }

const char *lv_error_name(int number) { return strerrorname_np(number); }

const char *lv_error_text(int number) { return strerrordesc_np(number); }
