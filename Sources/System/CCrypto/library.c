// Loading libcrypto and its secure heap, and everything it allocates put there.

#include "internal.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct lv_calls lv_lib;
EVP_CIPHER *lv_gcm_cipher;
EVP_MD *lv_sha256_digest;

static size_t heap_size;

// What libcrypto itself still finds when keys have taken all they can get.
#define LV_RESERVE (256 * 1024)
// Only the memory of scrypt is larger: up to 1 GiB, which nobody may lock, and which libcrypto wipes.
#define LV_LARGE (128 * 1024)
// The smallest piece of the heap.
#define LV_PIECE 32

static void *allocate(size_t size, const char *file, int line) {
  (void)file, (void)line;
  if (!size) return NULL;
  // The heap is made of ordinary memory: there is no other yet.
  if (size > LV_LARGE || !lv_lib.CRYPTO_secure_malloc_initialized()) return malloc(size);
  return lv_lib.CRYPTO_secure_malloc(size, NULL, 0);
}

static void release(void *memory, const char *file, int line) {
  (void)file, (void)line;
  if (!memory) return;
  if (lv_lib.CRYPTO_secure_allocated(memory)) {
    lv_lib.CRYPTO_secure_free(memory, NULL, 0);
  } else {
    free(memory);
  }
}

static void *reallocate(void *memory, size_t size, const char *file, int line) {
  if (!memory) return allocate(size, file, line);
  if (!size) {
    release(memory, file, line);
    return NULL;
  }
  if (!lv_lib.CRYPTO_secure_allocated(memory)) return realloc(memory, size);
  size_t present = lv_lib.CRYPTO_secure_actual_size(memory);
  if (size <= present) return memory;
  void *larger = allocate(size, file, line);
  if (!larger) return NULL;
  memcpy(larger, memory, present);
  release(memory, file, line);
  return larger;
}

#define LV_TEXT_OF(number) #number
#define LV_TEXT(number) LV_TEXT_OF(number)

// Finds the functions and takes over the library's memory; answers again what it answered first.
static enum lv_crypto load(void) {
  static enum lv_crypto result = LV_CRYPTO_MISSING;
  static int is_tried;
  if (is_tried) return result;
  // The version whose headers this was built with. Never unloaded: its threads' data are freed by code of its own.
  void *library = dlopen("libcrypto.so." LV_TEXT(OPENSSL_SHLIB_VERSION), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) return LV_CRYPTO_MISSING;
  is_tried = 1;
#define LV_FIND(name) \
  if (!(lv_lib.name = (__typeof__(lv_lib.name))dlsym(library, #name))) return LV_CRYPTO_MISSING;
  LV_CALLS(LV_FIND)
#undef LV_FIND
  result = LV_CRYPTO_IN_USE;
  if (!lv_lib.CRYPTO_set_mem_functions(allocate, reallocate, release)) return result;
  return result = LV_CRYPTO_DONE;
}

static enum lv_crypto make_heap(size_t size) {
  switch (lv_lib.CRYPTO_secure_malloc_init(size, LV_PIECE)) {
    case 1: return LV_CRYPTO_DONE;
    case 0: return LV_CRYPTO_NO_MEMORY;
    default:
      // There, but not locked, or not kept out of core files. It is empty, so it goes again.
      lv_lib.CRYPTO_secure_malloc_done();
      return LV_CRYPTO_NOT_LOCKED;
  }
}

enum lv_crypto lv_crypto_prepare(size_t least, size_t most) {
  if (lv_gcm_cipher && lv_sha256_digest) return LV_CRYPTO_DONE;
  enum lv_crypto result = load();
  if (result) return result;
  if (!heap_size) {
    size_t size = most;
    while ((result = make_heap(size)) && size > least) size /= 2;
    if (result) return result;
    heap_size = size;
  }
  // No configuration file decides here which code handles keys, and nothing is torn down at exit below running threads.
  uint64_t options = OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS;
  if (!lv_lib.OPENSSL_init_crypto(options, NULL)) return lv_failed(LV_CRYPTO_NO_MEMORY);
  if (!lv_gcm_cipher) lv_gcm_cipher = lv_lib.EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
  if (!lv_sha256_digest) lv_sha256_digest = lv_lib.EVP_MD_fetch(NULL, "SHA256", NULL);
  if (!lv_gcm_cipher || !lv_sha256_digest) return lv_failed(LV_CRYPTO_MISSING);
  return LV_CRYPTO_DONE;
}

uint64_t lv_lock_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0) return 0;
  return limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}

size_t lv_secure_size(void) { return heap_size ? heap_size - LV_RESERVE : 0; }

void *lv_secure_new(size_t size, size_t spare) {
  size_t room = lv_secure_size();
  if (!room || lv_lib.CRYPTO_secure_used() + size + spare > room) return NULL;
  return lv_lib.CRYPTO_secure_zalloc(size, NULL, 0);
}

void lv_secure_free(void *memory) { lv_lib.CRYPTO_secure_free(memory, NULL, 0); }

size_t lv_secure_used(void) { return heap_size ? lv_lib.CRYPTO_secure_used() : 0; }
