// An array of read-write locks.

#include "internal.h"

#include <pthread.h>
#include <stdlib.h>

// One lock per cache line, so that neighbours do not slow each other down.
struct lv_stripe {
  _Alignas(64) pthread_rwlock_t lock;
};

struct lv_stripes {
  size_t count;
  struct lv_stripe *locks;
};

struct lv_stripes *lv_stripes_create(size_t count) {
  struct lv_stripes *stripes = malloc(sizeof *stripes);
  void *memory = NULL;
  if (!stripes || posix_memalign(&memory, 64, count * sizeof(struct lv_stripe)) != 0) {
    free(stripes);
    return NULL;
  }
  stripes->count = count;
  stripes->locks = memory;
  pthread_rwlockattr_t attributes;
  pthread_rwlockattr_init(&attributes);
  // The default lets readers pass waiting writers for ever: one busy directory would never
  // get a new entry. The price: a thread must not take a lock for reading twice.
  pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  for (size_t index = 0; index < count; index++)
    pthread_rwlock_init(&stripes->locks[index].lock, &attributes);
  pthread_rwlockattr_destroy(&attributes);
  return stripes;
}

void lv_stripes_destroy(struct lv_stripes *stripes) {
  for (size_t index = 0; index < stripes->count; index++)
    pthread_rwlock_destroy(&stripes->locks[index].lock);
  free(stripes->locks);
  free(stripes);
}

long lv_stripes_lock(struct lv_stripes *stripes, size_t index, int exclusive) {
  if (index >= stripes->count) return -EINVAL;
  pthread_rwlock_t *lock = &stripes->locks[index].lock;
  return -(long)(exclusive ? pthread_rwlock_wrlock(lock) : pthread_rwlock_rdlock(lock));
}

long lv_stripes_lock_if_free(struct lv_stripes *stripes, size_t index) {
  if (index >= stripes->count) return -EINVAL;
  return -(long)pthread_rwlock_trywrlock(&stripes->locks[index].lock);
}

void lv_stripes_unlock(struct lv_stripes *stripes, size_t index) {
  if (index < stripes->count) pthread_rwlock_unlock(&stripes->locks[index].lock);
}
