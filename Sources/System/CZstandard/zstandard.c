// Frames of zstd, by libzstd. It is loaded when the first frame is made or expanded: most volumes have no compressed file.

#include "CZstandard.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <zstd.h>

#define LV_FUNCTIONS(X) \
  X(ZSTD_createCCtx) X(ZSTD_freeCCtx) X(ZSTD_CCtx_setParameter) X(ZSTD_compress2) X(ZSTD_createDCtx) \
  X(ZSTD_freeDCtx) X(ZSTD_decompressDCtx) X(ZSTD_findFrameCompressedSize) X(ZSTD_getFrameContentSize) X(ZSTD_isError)

static struct {
#define LV_MEMBER(name) __typeof__(&name) call_##name;
  LV_FUNCTIONS(LV_MEMBER)
#undef LV_MEMBER
} zstd;

#define LV_CALL(name) zstd.call_##name

static pthread_once_t loaded_once = PTHREAD_ONCE_INIT;
static int is_loaded;

static void load(void) {
  void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) return;
#define LV_FIND(name) \
  if (!(LV_CALL(name) = (__typeof__(&name))dlsym(library, #name))) return;
  LV_FUNCTIONS(LV_FIND)
#undef LV_FIND
  is_loaded = 1;
}

int lv_zstd_prepare(void) {
  pthread_once(&loaded_once, load);
  return is_loaded;
}

void *lv_zstd_compressor(int level) {
  ZSTD_CCtx *context = LV_CALL(ZSTD_createCCtx)();
  if (!context) return NULL;
  // The size is in each frame by default; said all the same, as readers rely on it.
  if (!LV_CALL(ZSTD_isError)(LV_CALL(ZSTD_CCtx_setParameter)(context, ZSTD_c_compressionLevel, level)) &&
      !LV_CALL(ZSTD_isError)(LV_CALL(ZSTD_CCtx_setParameter)(context, ZSTD_c_contentSizeFlag, 1)) &&
      !LV_CALL(ZSTD_isError)(LV_CALL(ZSTD_CCtx_setParameter)(context, ZSTD_c_checksumFlag, 1)))
    return context;
  LV_CALL(ZSTD_freeCCtx)(context);
  return NULL;
}

void lv_zstd_end_compressor(void *compressor) { LV_CALL(ZSTD_freeCCtx)(compressor); }

size_t lv_zstd_compress(void *compressor, const void *raw, size_t count, void *into, size_t capacity) {
  size_t made = LV_CALL(ZSTD_compress2)(compressor, into, capacity, raw, count);
  return LV_CALL(ZSTD_isError)(made) ? 0 : made;
}

void *lv_zstd_expander(void) { return LV_CALL(ZSTD_createDCtx)(); }

void lv_zstd_end_expander(void *expander) { LV_CALL(ZSTD_freeDCtx)(expander); }

int lv_zstd_expand(void *expander, const void *stored, size_t count, void *raw, size_t raw_count) {
  // Debian's library also takes the forms of zstd from before 0.8, and continues with whatever follows a frame. Only
  // one frame of today's form is let through to it.
  static const unsigned char magic[4] = {0x28, 0xB5, 0x2F, 0xFD};
  if (count < sizeof magic || memcmp(stored, magic, sizeof magic) != 0) return 0;
  if (LV_CALL(ZSTD_getFrameContentSize)(stored, count) != raw_count) return 0;
  if (LV_CALL(ZSTD_findFrameCompressedSize)(stored, count) != count) return 0;
  size_t made = LV_CALL(ZSTD_decompressDCtx)(expander, raw, raw_count, stored, count);
  return !LV_CALL(ZSTD_isError)(made) && made == raw_count;
}
