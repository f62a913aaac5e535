// libzstd as the project uses it: independent frames with their size and a checksum, made and expanded whole.

#ifndef CZSTANDARD_H
#define CZSTANDARD_H

#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// Loads libzstd, unless it is there; whether it is there then. What follows is called only if it is.
int lv_zstd_prepare(void);

// What makes frames at one level; NULL if there is no memory, or no such level.
void *_Nullable lv_zstd_compressor(int level);
void lv_zstd_end_compressor(void *compressor);

// Makes one frame. Answers how long it is; 0 if it could not be made or does not fit.
size_t lv_zstd_compress(void *compressor, const void *raw, size_t count, void *into, size_t capacity);

// What expands frames; NULL if there is no memory.
void *_Nullable lv_zstd_expander(void);
void lv_zstd_end_expander(void *expander);

// Expands what has to be one frame, and nothing else, of exactly `raw_count` bytes; whether it was that. Its checksum is
// compared.
int lv_zstd_expand(void *expander, const void *stored, size_t count, void *raw, size_t raw_count);

#pragma clang assume_nonnull end

#endif
