#define _GNU_SOURCE
#include "CPrograms.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

struct lv_semaphore {
  sem_t value;
};

struct lv_semaphore *lv_semaphore_create(unsigned count) {
  struct lv_semaphore *semaphore = malloc(sizeof *semaphore);
  if (semaphore && sem_init(&semaphore->value, 0, count) < 0) {
    free(semaphore);
    return NULL;
  }
  return semaphore;
}

void lv_semaphore_destroy(struct lv_semaphore *semaphore) {
  sem_destroy(&semaphore->value);
  free(semaphore);
}

void lv_semaphore_wait(struct lv_semaphore *semaphore) {
  while (sem_wait(&semaphore->value) < 0 && errno == EINTR) {
  }
}

void lv_semaphore_post(struct lv_semaphore *semaphore) { sem_post(&semaphore->value); }

long lv_processors(void) { return sysconf(_SC_NPROCESSORS_ONLN); }
