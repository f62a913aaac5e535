// The functions of libcrypto, found when it is loaded. Not visible to Swift.
//
// The programs are not linked with it: that alone takes 1.4 MB of memory and 1 ms at every start, also where no file is
// encrypted.

#ifndef CCRYPTO_INTERNAL_H
#define CCRYPTO_INTERNAL_H

#define _GNU_SOURCE
// HMAC_CTX has no successor but EVP_MAC, which looks its digest up by name at every use.
#define OPENSSL_API_COMPAT 0x10100000L
#define OPENSSL_NO_DEPRECATED
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "CCrypto.h"

#define LV_CALLS(CALL)             \
  CALL(CRYPTO_set_mem_functions)   \
  CALL(CRYPTO_secure_malloc_init)  \
  CALL(CRYPTO_secure_malloc_done)  \
  CALL(CRYPTO_secure_malloc_initialized) \
  CALL(CRYPTO_secure_zalloc)       \
  CALL(CRYPTO_secure_malloc)       \
  CALL(CRYPTO_secure_free)         \
  CALL(CRYPTO_secure_allocated)    \
  CALL(CRYPTO_secure_actual_size)  \
  CALL(CRYPTO_secure_used)         \
  CALL(OPENSSL_init_crypto)        \
  CALL(ERR_clear_error)            \
  CALL(EVP_CIPHER_fetch)           \
  CALL(EVP_CIPHER_CTX_new)         \
  CALL(EVP_CIPHER_CTX_free)        \
  CALL(EVP_CIPHER_CTX_ctrl)        \
  CALL(EVP_CipherInit_ex2)         \
  CALL(EVP_CipherUpdate)           \
  CALL(EVP_CipherFinal_ex)         \
  CALL(EVP_MD_fetch)               \
  CALL(EVP_MD_CTX_new)             \
  CALL(EVP_MD_CTX_free)            \
  CALL(EVP_DigestInit_ex2)         \
  CALL(EVP_DigestUpdate)           \
  CALL(EVP_DigestFinal_ex)         \
  CALL(HMAC_CTX_new)               \
  CALL(HMAC_CTX_free)              \
  CALL(HMAC_Init_ex)               \
  CALL(HMAC_Update)                \
  CALL(HMAC_Final)                 \
  CALL(EVP_PKEY_new_raw_private_key_ex) \
  CALL(EVP_PKEY_new_raw_public_key_ex)  \
  CALL(EVP_PKEY_get_raw_public_key) \
  CALL(EVP_PKEY_free)              \
  CALL(EVP_PKEY_CTX_new_from_pkey) \
  CALL(EVP_PKEY_CTX_free)          \
  CALL(EVP_PKEY_derive_init)       \
  CALL(EVP_PKEY_derive_set_peer)   \
  CALL(EVP_PKEY_derive)            \
  CALL(EVP_PBE_scrypt_ex)

struct lv_calls {
#define LV_FIELD(name) __typeof__(&name) name;
  LV_CALLS(LV_FIELD)
#undef LV_FIELD
};

// Written once by `lv_crypto_prepare`, before anything else here is called.
extern struct lv_calls lv_lib;
extern EVP_CIPHER *lv_gcm_cipher;
extern EVP_MD *lv_sha256_digest;

// What a call that had not enough memory, or was refused, noted for a caller that does not exist.
static inline enum lv_crypto lv_failed(enum lv_crypto reason) {
  lv_lib.ERR_clear_error();
  return reason;
}

// Overwrites what a call may have left on the stack: libcrypto wipes its variables, its assembler not all it spills.
void lv_wipe_stack(void);

#endif
