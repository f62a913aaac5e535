#define _GNU_SOURCE
#include "CMountSupport.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define RESULT(call) ({ long r_ = (call); r_ < 0 ? -(long)errno : r_; })

long lt_become(uint32_t user, uint32_t group, const uint32_t *groups, size_t count) {
  // The raw calls: glibc's own would change every thread of the process.
  long result = RESULT(syscall(SYS_setgroups, count, groups));
  if (result < 0) return result;
  result = RESULT(syscall(SYS_setresgid, group, group, group));
  if (result < 0) return result;
  return RESULT(syscall(SYS_setresuid, user, user, user));
}

long lt_keep_capabilities(uint64_t mask) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct sets[2] = {
      {.effective = (uint32_t)mask, .permitted = (uint32_t)mask},
      {.effective = (uint32_t)(mask >> 32), .permitted = (uint32_t)(mask >> 32)},
  };
  return RESULT(syscall(SYS_capset, &header, sets));
}

long lt_child_with_own_users(void) {
  int ready[2];
  if (pipe(ready) < 0) return -errno;
  pid_t child = fork();
  if (child == 0) {
    long result = RESULT(unshare(CLONE_NEWUSER));
    if (write(ready[1], &result, sizeof result) < 0) _exit(1);
    for (;;) pause();
  }
  close(ready[1]);
  long result = -EIO;
  if (child < 0 || read(ready[0], &result, sizeof result) != sizeof result) result = -EIO;
  close(ready[0]);
  return result < 0 ? result : child;
}

// An io_uring for one request at a time.
struct ring {
  int fd;
  char *queues;
  struct io_uring_sqe *request;
  struct io_uring_params params;
};

static long ring_open(struct ring *ring) {
  ring->fd = (int)RESULT(syscall(SYS_io_uring_setup, 1, &ring->params));
  if (ring->fd < 0) return ring->fd;
  size_t size = ring->params.cq_off.cqes + ring->params.cq_entries * sizeof(struct io_uring_cqe);
  ring->queues = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQ_RING);
  ring->request = mmap(
      0, sizeof *ring->request, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQES);
  return ring->queues == MAP_FAILED || ring->request == MAP_FAILED ? -ENOMEM : 0;
}

// IOSQE_ASYNC: a worker does it, not the caller.
static long ring_try(struct ring *ring, const char *path) {
  *ring->request = (struct io_uring_sqe){
      .opcode = IORING_OP_OPENAT,
      .flags = IOSQE_ASYNC,
      .fd = AT_FDCWD,
      .addr = (uintptr_t)path,
      .open_flags = O_RDONLY | O_CLOEXEC,
  };
  uint32_t *tail = (uint32_t *)(ring->queues + ring->params.sq_off.tail);
  ((uint32_t *)(ring->queues + ring->params.sq_off.array))[0] = 0;
  __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
  long result = RESULT(syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, 0, 0));
  if (result < 0) return result;
  uint32_t *head = (uint32_t *)(ring->queues + ring->params.cq_off.head);
  uint32_t mask = *(uint32_t *)(ring->queues + ring->params.cq_off.ring_mask);
  struct io_uring_cqe *answers = (struct io_uring_cqe *)(ring->queues + ring->params.cq_off.cqes);
  result = answers[*head & mask].res;
  __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
  if (result < 0) return result;
  close((int)result);
  return 0;
}

struct ring_attempt {
  long failure, first, second;
};

static struct ring_attempt ring_attempt(const char *path, uint32_t user, uint32_t group, uint32_t more) {
  struct ring_attempt attempt = {0};
  struct ring ring = {0};
  // CAP_SETGID alone stays with the user: it gives the group up.
  attempt.failure = RESULT(syscall(SYS_setgroups, 1, &more));
  if (attempt.failure >= 0) attempt.failure = RESULT(prctl(PR_SET_KEEPCAPS, 1));
  if (attempt.failure >= 0) attempt.failure = RESULT(syscall(SYS_setresgid, group, group, group));
  if (attempt.failure >= 0) attempt.failure = RESULT(syscall(SYS_setresuid, user, user, user));
  if (attempt.failure >= 0) attempt.failure = lt_keep_capabilities(1 << CAP_SETGID);
  if (attempt.failure >= 0) attempt.failure = ring_open(&ring);
  if (attempt.failure < 0) return attempt;
  attempt.first = ring_try(&ring, path);
  attempt.failure = RESULT(syscall(SYS_setgroups, 0, 0));
  attempt.second = ring_try(&ring, path);
  return attempt;
}

long lt_open_by_ring(
    const char *path, uint32_t user, uint32_t group, uint32_t more, long *first, long *second) {
  int answers[2];
  if (pipe(answers) < 0) return -errno;
  pid_t child = fork();
  if (child == 0) {
    struct ring_attempt attempt = ring_attempt(path, user, group, more);
    _exit(write(answers[1], &attempt, sizeof attempt) != sizeof attempt);
  }
  close(answers[1]);
  struct ring_attempt attempt = {.failure = -EIO};
  if (child > 0) {
    if (read(answers[0], &attempt, sizeof attempt) != sizeof attempt) attempt.failure = -EIO;
    waitpid(child, 0, 0);
  }
  close(answers[0]);
  *first = attempt.first;
  *second = attempt.second;
  return attempt.failure;
}

long lt_own_umask(uint32_t mask) {
  long result = RESULT(unshare(CLONE_FS));
  if (result < 0) return result;
  return umask(mask);
}

long lt_renameat2(int from, const char *name, int to, const char *new_name, unsigned flags) {
  return RESULT(syscall(SYS_renameat2, from, name, to, new_name, flags));
}

const int lt_o_path = O_PATH, lt_o_tmpfile = O_TMPFILE, lt_o_direct = O_DIRECT, lt_o_noatime = O_NOATIME;
const int lt_o_directory = O_DIRECTORY, lt_o_nofollow = O_NOFOLLOW;

long lt_call(long number, long a, long b, long c, long d, long e, long f) {
  return RESULT(syscall(number, a, b, c, d, e, f));
}

long lt_run_on_processor(int thread, int processor) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(processor, &only);
  return RESULT(sched_setaffinity(thread, sizeof only, &only));
}

long lt_hold_processor(int processor, int priority) {
  struct sched_param wanted = {.sched_priority = priority};
  long result = lt_run_on_processor(0, processor);
  return result < 0 ? result : RESULT(sched_setscheduler(0, SCHED_FIFO, &wanted));
}

long lt_birth(int directory, const char *name) {
  struct statx status = {0};
  long result = RESULT(statx(directory, name, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &status));
  if (result < 0) return result;
  if (!(status.stx_mask & STATX_BTIME)) return 0;
  return status.stx_btime.tv_sec * 1000000000L + status.stx_btime.tv_nsec;
}

long lt_handle(const char *path, void *handle) {
  struct file_handle *head = handle;
  int mount;
  head->handle_bytes = MAX_HANDLE_SZ;
  return RESULT(name_to_handle_at(AT_FDCWD, path, head, &mount, 0));
}

long lt_open_handle(int mount, void *handle, int flags) {
  return RESULT(open_by_handle_at(mount, handle, flags));
}
