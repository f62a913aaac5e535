// libcrypto as the project uses it: loaded when the first key is needed, with all its memory in the secure heap.
//
// Functions with an `enum lv_crypto` answer LV_CRYPTO_DONE or why not; after anything else their output is zeros.
// What needs libcrypto needs `lv_crypto_prepare` to have succeeded before.
//
// For volumes with keys alone: a daemon without one never loads the library.

#ifndef CCRYPTO_H
#define CCRYPTO_H

#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

enum lv_crypto {
  LV_CRYPTO_DONE = 0,
  // The library is not installed, or has not what is needed.
  LV_CRYPTO_MISSING,
  // Something else in this process used the library first, so its memory cannot be had.
  LV_CRYPTO_IN_USE,
  // RLIMIT_MEMLOCK is too low.
  LV_CRYPTO_NOT_LOCKED,
  LV_CRYPTO_NO_MEMORY,
  // A tag does not fit, or a public key gives no shared secret.
  LV_CRYPTO_REFUSED,
};

struct lv_bytes {
  const void *_Nullable start;
  size_t count;
};

// Loads the library and locks as much as this process may, from `least` to `most` bytes, powers of two. Again after
// success: does nothing. Not from two threads at once.
enum lv_crypto lv_crypto_prepare(size_t least, size_t most);
// What this process may lock in memory, in bytes; UINT64_MAX: as much as it likes.
uint64_t lv_lock_limit(void);

// Zeros, or NULL when there is no room for that and `spare` bytes more. After `lv_crypto_prepare`.
void *_Nullable lv_secure_new(size_t size, size_t spare);
// How much there is, but for what is left to libcrypto; 0 before there is a heap.
size_t lv_secure_size(void);
void lv_secure_free(void *memory);
// How much of the secure heap is in use.
size_t lv_secure_used(void);

void lv_wipe(void *memory, size_t count);
// 0, or the negated error number.
int lv_random(void *into, size_t count);
// In a time that does not tell where they differ.
int lv_equal(const void *_Nullable left, const void *_Nullable right, size_t count);

enum lv_crypto lv_sha256(struct lv_bytes bytes, void *digest);
// The code of two parts, one after the other.
enum lv_crypto lv_hmac(struct lv_bytes key, struct lv_bytes first, struct lv_bytes second, void *code);
enum lv_crypto lv_x25519_public(const void *scalar, void *point);
enum lv_crypto lv_x25519_shared(const void *scalar, const void *point, void *secret);
// LV_CRYPTO_REFUSED: bounds, or more memory than `memory` bytes, or than there is.
enum lv_crypto lv_scrypt(struct lv_bytes passphrase, struct lv_bytes salt, uint64_t n, uint32_t r, uint32_t p,
                         uint64_t memory, void *key);

// Contexts of AES-256-GCM. `into` and `from` are equal or do not overlap; two parts of associated data.
void *_Nullable lv_gcm_new(void);
void lv_gcm_free(void *context);
enum lv_crypto lv_gcm_key(void *context, const void *key);
enum lv_crypto lv_gcm_encrypt(void *context, const void *nonce, struct lv_bytes first, struct lv_bytes second,
                              const void *_Nullable from, void *_Nullable into, size_t count, void *tag);
enum lv_crypto lv_gcm_decrypt(void *context, const void *nonce, struct lv_bytes first, struct lv_bytes second,
                              const void *_Nullable from, void *_Nullable into, size_t count, const void *tag);

// Reads exactly `count` bytes, and then the end, from a pipe. 0 or the negated error number: EINVAL for what is no pipe,
// EBADMSG for more or fewer bytes, ETIMEDOUT.
int lv_read_secret(int fd, void *into, size_t count, int milliseconds);
// Writes all to a pipe.
int lv_write_secret(int fd, const void *from, size_t count);

#pragma clang assume_nonnull end

#endif
