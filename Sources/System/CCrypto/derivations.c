// What keys are made with: SHA-256, HMAC, X25519, scrypt.

#include "internal.h"

#include <string.h>

#define LV_BLOCK 64
#define LV_DIGEST 32

static int add(EVP_MD_CTX *context, struct lv_bytes part) {
  return !part.count || lv_lib.EVP_DigestUpdate(context, part.start, part.count);
}

static int digest(EVP_MD_CTX *context, struct lv_bytes first, struct lv_bytes second, struct lv_bytes third,
                  void *into) {
  return lv_lib.EVP_DigestInit_ex2(context, lv_sha256_digest, NULL) && add(context, first) && add(context, second) &&
         add(context, third) && lv_lib.EVP_DigestFinal_ex(context, into, NULL);
}

static const struct lv_bytes nothing = {NULL, 0};

enum lv_crypto lv_sha256(struct lv_bytes bytes, void *into) {
  EVP_MD_CTX *context = lv_lib.EVP_MD_CTX_new();
  int is_done = context && digest(context, bytes, nothing, nothing, into);
  lv_lib.EVP_MD_CTX_free(context);
  lv_wipe_stack();
  if (is_done) return LV_CRYPTO_DONE;
  memset(into, 0, LV_DIGEST);
  return lv_failed(LV_CRYPTO_NO_MEMORY);
}

static void mask(unsigned char *block, unsigned char with) {
  for (size_t index = 0; index < LV_BLOCK; index++) block[index] ^= with;
}

// HMAC of RFC 2104 by hand: libcrypto looks its own up by name at every use. `block` is in the secure heap.
static int hmac(EVP_MD_CTX *context, unsigned char *block, struct lv_bytes key, struct lv_bytes first,
                struct lv_bytes second, void *code) {
  struct lv_bytes pad = {block, LV_BLOCK};
  struct lv_bytes inner = {block + LV_BLOCK, LV_DIGEST};
  if (key.count > LV_BLOCK) {
    if (!digest(context, key, nothing, nothing, block)) return 0;
  } else if (key.count) {
    memcpy(block, key.start, key.count);
  }
  mask(block, 0x36);
  if (!digest(context, pad, first, second, block + LV_BLOCK)) return 0;
  mask(block, 0x36 ^ 0x5C);
  return digest(context, pad, inner, nothing, code);
}

enum lv_crypto lv_hmac(struct lv_bytes key, struct lv_bytes first, struct lv_bytes second, void *code) {
  EVP_MD_CTX *context = lv_lib.EVP_MD_CTX_new();
  unsigned char *block = lv_lib.CRYPTO_secure_zalloc(LV_BLOCK + LV_DIGEST, NULL, 0);
  int is_done = context && block && hmac(context, block, key, first, second, code);
  lv_lib.CRYPTO_secure_free(block, NULL, 0);
  lv_lib.EVP_MD_CTX_free(context);
  lv_wipe_stack();
  if (is_done) return LV_CRYPTO_DONE;
  memset(code, 0, LV_DIGEST);
  return lv_failed(LV_CRYPTO_NO_MEMORY);
}

enum lv_crypto lv_x25519_public(const void *scalar, void *point) {
  size_t size = LV_DIGEST;
  EVP_PKEY *key = lv_lib.EVP_PKEY_new_raw_private_key_ex(NULL, "X25519", NULL, scalar, LV_DIGEST);
  int is_done = key && lv_lib.EVP_PKEY_get_raw_public_key(key, point, &size) && size == LV_DIGEST;
  lv_lib.EVP_PKEY_free(key);
  lv_wipe_stack();
  if (is_done) return LV_CRYPTO_DONE;
  memset(point, 0, LV_DIGEST);
  return lv_failed(LV_CRYPTO_NO_MEMORY);
}

enum lv_crypto lv_x25519_shared(const void *scalar, const void *point, void *secret) {
  enum lv_crypto result = LV_CRYPTO_NO_MEMORY;
  size_t size = LV_DIGEST;
  EVP_PKEY *own = lv_lib.EVP_PKEY_new_raw_private_key_ex(NULL, "X25519", NULL, scalar, LV_DIGEST);
  EVP_PKEY *peer = lv_lib.EVP_PKEY_new_raw_public_key_ex(NULL, "X25519", NULL, point, LV_DIGEST);
  EVP_PKEY_CTX *context = own && peer ? lv_lib.EVP_PKEY_CTX_new_from_pkey(NULL, own, NULL) : NULL;
  if (context && lv_lib.EVP_PKEY_derive_init(context) > 0 && lv_lib.EVP_PKEY_derive_set_peer(context, peer) > 0) {
    // Fails for a secret of zeros, which a hostile public key can bring about.
    result = lv_lib.EVP_PKEY_derive(context, secret, &size) > 0 && size == LV_DIGEST ? LV_CRYPTO_DONE
                                                                                     : LV_CRYPTO_REFUSED;
  }
  lv_lib.EVP_PKEY_CTX_free(context);
  lv_lib.EVP_PKEY_free(peer);
  lv_lib.EVP_PKEY_free(own);
  lv_wipe_stack();
  static const unsigned char zeros[LV_DIGEST];
  if (!result && lv_equal(secret, zeros, LV_DIGEST)) result = LV_CRYPTO_REFUSED;
  if (!result) return LV_CRYPTO_DONE;
  explicit_bzero(secret, LV_DIGEST);
  return lv_failed(result);
}

enum lv_crypto lv_scrypt(struct lv_bytes passphrase, struct lv_bytes salt, uint64_t n, uint32_t r, uint32_t p,
                         uint64_t memory, void *key) {
  int is_done = lv_lib.EVP_PBE_scrypt_ex(passphrase.start, passphrase.count, salt.start, salt.count, n, r, p, memory,
                                         key, LV_DIGEST, NULL, NULL);
  lv_wipe_stack();
  if (is_done > 0) return LV_CRYPTO_DONE;
  explicit_bzero(key, LV_DIGEST);
  return lv_failed(LV_CRYPTO_REFUSED);
}
