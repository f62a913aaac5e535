// AES-256-GCM with contexts that are used again and again: no call here allocates but `lv_gcm_new`.

#include "internal.h"

#include <limits.h>
#include <string.h>

#define LV_TAG 16

void *lv_gcm_new(void) {
  EVP_CIPHER_CTX *context = lv_lib.EVP_CIPHER_CTX_new();
  if (!context) return lv_failed(LV_CRYPTO_NO_MEMORY), NULL;
  if (!lv_lib.EVP_CipherInit_ex2(context, lv_gcm_cipher, NULL, NULL, 1, NULL)) {
    lv_lib.EVP_CIPHER_CTX_free(context);
    return lv_failed(LV_CRYPTO_NO_MEMORY), NULL;
  }
  return context;
}

void lv_gcm_free(void *context) { lv_lib.EVP_CIPHER_CTX_free(context); }

enum lv_crypto lv_gcm_key(void *context, const void *key) {
  int is_done = lv_lib.EVP_CipherInit_ex2(context, NULL, key, NULL, -1, NULL);
  lv_wipe_stack();
  return is_done ? LV_CRYPTO_DONE : lv_failed(LV_CRYPTO_REFUSED);
}

// The nonce, then what is authenticated, then what is encrypted or decrypted.
static int begin(EVP_CIPHER_CTX *context, int encrypts, const void *nonce, struct lv_bytes first,
                 struct lv_bytes second, const void *from, void *into, size_t count) {
  int written = 0;
  if (first.count > INT_MAX || second.count > INT_MAX || count > INT_MAX) return 0;
  if (!lv_lib.EVP_CipherInit_ex2(context, NULL, NULL, nonce, encrypts, NULL)) return 0;
  if (first.count && !lv_lib.EVP_CipherUpdate(context, NULL, &written, first.start, (int)first.count)) return 0;
  if (second.count && !lv_lib.EVP_CipherUpdate(context, NULL, &written, second.start, (int)second.count)) {
    return 0;
  }
  return !count || lv_lib.EVP_CipherUpdate(context, into, &written, from, (int)count);
}

enum lv_crypto lv_gcm_encrypt(void *context, const void *nonce, struct lv_bytes first, struct lv_bytes second,
                              const void *from, void *into, size_t count, void *tag) {
  unsigned char none[LV_TAG];
  int written = 0;
  if (begin(context, 1, nonce, first, second, from, into, count) &&
      lv_lib.EVP_CipherFinal_ex(context, none, &written) &&
      lv_lib.EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, LV_TAG, tag) > 0) {
    return LV_CRYPTO_DONE;
  }
  if (count) memset(into, 0, count);
  memset(tag, 0, LV_TAG);
  return lv_failed(LV_CRYPTO_REFUSED);
}

enum lv_crypto lv_gcm_decrypt(void *context, const void *nonce, struct lv_bytes first, struct lv_bytes second,
                              const void *from, void *into, size_t count, const void *tag) {
  unsigned char none[LV_TAG];
  unsigned char expected[LV_TAG];
  int written = 0;
  memcpy(expected, tag, LV_TAG);
  if (begin(context, 0, nonce, first, second, from, into, count) &&
      lv_lib.EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, LV_TAG, expected) > 0 &&
      lv_lib.EVP_CipherFinal_ex(context, none, &written)) {
    return LV_CRYPTO_DONE;
  }
  if (count) explicit_bzero(into, count);
  return lv_failed(LV_CRYPTO_REFUSED);
}
