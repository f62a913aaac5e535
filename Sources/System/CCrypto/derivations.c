// What keys are made with: SHA-256, HMAC, X25519, scrypt.

#include "internal.h"

#include <limits.h>
#include <string.h>

#define LV_DIGEST 32

enum lv_crypto lv_sha256(struct lv_bytes bytes, void *into) {
  EVP_MD_CTX *context = lv_lib.EVP_MD_CTX_new();
  int is_done = context && lv_lib.EVP_DigestInit_ex2(context, lv_sha256_digest, NULL) &&
                (!bytes.count || lv_lib.EVP_DigestUpdate(context, bytes.start, bytes.count)) &&
                lv_lib.EVP_DigestFinal_ex(context, into, NULL);
  lv_lib.EVP_MD_CTX_free(context);
  lv_wipe_stack();
  if (is_done) return LV_CRYPTO_DONE;
  memset(into, 0, LV_DIGEST);
  return lv_failed(LV_CRYPTO_NO_MEMORY);
}

static int put(HMAC_CTX *context, struct lv_bytes part) {
  return !part.count || lv_lib.HMAC_Update(context, part.start, part.count);
}

enum lv_crypto lv_hmac(struct lv_bytes key, struct lv_bytes first, struct lv_bytes second, void *code) {
  // A key without bytes is none only where its address says so, too.
  const void *start = key.start ? key.start : "";
  HMAC_CTX *context = lv_lib.HMAC_CTX_new();
  int is_done = context && key.count <= INT_MAX &&
                lv_lib.HMAC_Init_ex(context, start, (int)key.count, lv_sha256_digest, NULL) && put(context, first) &&
                put(context, second) && lv_lib.HMAC_Final(context, code, NULL);
  lv_lib.HMAC_CTX_free(context);
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
