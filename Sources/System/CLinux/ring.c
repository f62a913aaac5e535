// io_uring with one command under way at a time: send it, wait for its result, send the next.
//
// That is all the FUSE door wants of io_uring, and it needs no library: of the two queues only the first
// place is ever used.

#include "internal.h"

#include <linux/io_uring.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

// Commands are as long as those of SQE128: the second half is more room for what the driver reads.
struct lv_ring_place {
  struct io_uring_sqe head;
  uint8_t rest[64];
};

struct lv_ring {
  int number;
  void *queues;
  size_t queues_size;
  struct lv_ring_place *place;
  unsigned *sent_head, *sent_tail, *done_head, *done_tail, done_mask;
  struct io_uring_cqe *done;
};

static long lv_ring_enter(const struct lv_ring *ring, unsigned send, unsigned wait) {
  return LV_RESULT(syscall(
      SYS_io_uring_enter, ring->number, send, wait, wait ? IORING_ENTER_GETEVENTS : 0, NULL, _NSIG / 8));
}

static void *lv_ring_map(const struct lv_ring *ring, size_t size, off_t what) {
  return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring->number, what);
}

long lv_ring_create(struct lv_ring **out) {
  // DEFER_TASKRUN: the kernel prepares a request when its thread waits for one, which it always does,
  // instead of interrupting it. Such a ring belongs to the thread that starts it, hence R_DISABLED.
  struct io_uring_params wanted = {
      .flags = IORING_SETUP_SQE128 | IORING_SETUP_R_DISABLED | IORING_SETUP_SINGLE_ISSUER
               | IORING_SETUP_DEFER_TASKRUN};
  struct lv_ring *ring = calloc(1, sizeof *ring);
  if (!ring) return -ENOMEM;
  long number = LV_RESULT(syscall(SYS_io_uring_setup, 1, &wanted));
  if (number < 0) {
    free(ring);
    return number;
  }
  ring->number = (int)number;
  size_t sent = wanted.sq_off.array + wanted.sq_entries * sizeof(unsigned);
  size_t done = wanted.cq_off.cqes + wanted.cq_entries * sizeof(struct io_uring_cqe);
  ring->queues_size = sent > done ? sent : done;
  ring->queues = lv_ring_map(ring, ring->queues_size, IORING_OFF_SQ_RING);
  ring->place = lv_ring_map(ring, sizeof *ring->place, IORING_OFF_SQES);
  if (ring->queues == MAP_FAILED || ring->place == MAP_FAILED) {
    lv_ring_destroy(ring);
    return -ENOMEM;
  }
  char *start = ring->queues;
  ring->sent_head = (unsigned *)(start + wanted.sq_off.head);
  ring->sent_tail = (unsigned *)(start + wanted.sq_off.tail);
  // The only place there is.
  *(unsigned *)(start + wanted.sq_off.array) = 0;
  ring->done_head = (unsigned *)(start + wanted.cq_off.head);
  ring->done_tail = (unsigned *)(start + wanted.cq_off.tail);
  ring->done_mask = *(unsigned *)(start + wanted.cq_off.ring_mask);
  ring->done = (struct io_uring_cqe *)(start + wanted.cq_off.cqes);
  *out = ring;
  return 0;
}

void lv_ring_destroy(struct lv_ring *ring) {
  if (ring->queues && ring->queues != MAP_FAILED) munmap(ring->queues, ring->queues_size);
  if (ring->place && ring->place != MAP_FAILED) munmap(ring->place, sizeof *ring->place);
  close(ring->number);
  free(ring);
}

long lv_ring_start(struct lv_ring *ring) {
  return LV_RESULT(syscall(SYS_io_uring_register, ring->number, IORING_REGISTER_ENABLE_RINGS, NULL, 0));
}

void lv_ring_prepare(
    struct lv_ring *ring, int device, uint32_t operation, const void *buffers, uint32_t buffer_count,
    const void *words, size_t words_size) {
  struct lv_ring_place *place = ring->place;
  memset(place, 0, sizeof *place);
  place->head.opcode = IORING_OP_URING_CMD;
  place->head.fd = device;
  place->head.cmd_op = operation;
  place->head.addr = (uint64_t)(uintptr_t)buffers;
  place->head.len = buffer_count;
  size_t start = offsetof(struct io_uring_sqe, cmd), room = sizeof *place - start;
  memcpy((char *)place + start, words, words_size < room ? words_size : room);
  // The kernel reads the place when it has seen the tail.
  __atomic_store_n(ring->sent_tail, *ring->sent_tail + 1, __ATOMIC_RELEASE);
}

// After an interrupted call the kernel may have taken the command or not: its own count tells.
static unsigned lv_ring_unsent(const struct lv_ring *ring) {
  return *ring->sent_tail - __atomic_load_n(ring->sent_head, __ATOMIC_ACQUIRE);
}

long lv_ring_send(struct lv_ring *ring) { return lv_ring_enter(ring, lv_ring_unsent(ring), 0); }

long lv_ring_wait(struct lv_ring *ring, int32_t *result) {
  for (;;) {
    unsigned head = *ring->done_head;
    if (head != __atomic_load_n(ring->done_tail, __ATOMIC_ACQUIRE)) {
      *result = ring->done[head & ring->done_mask].res;
      __atomic_store_n(ring->done_head, head + 1, __ATOMIC_RELEASE);
      return 0;
    }
    long answer = lv_ring_enter(ring, lv_ring_unsent(ring), 1);
    if (answer >= 0 || answer == -EINTR) continue;
    // For lack of memory, or because the kernel is behind. Only here can the command still be sent: who asked
    // for it would prepare another one.
    if (answer != -EAGAIN && answer != -EBUSY) return answer;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
}
