// ICU as the project uses it: a collator, sort keys, and NFC. All text is UTF-8 on the way in and out.

#ifndef CUNICODETEXT_H
#define CUNICODETEXT_H

#include <stdint.h>

#pragma clang assume_nonnull begin

// ICU is loaded by the first call that needs it.

// Whether ICU is there, in the version whose headers this was compiled with.
_Bool lv_has_icu(void);

// A collator with the rules of one language, in the order that views have; NULL if there is no ICU, no memory, or no data.
// `tag` is a language tag; empty, or of a language without rules of its own: the root order.
void *_Nullable lv_collator_open(const char *tag);
void *_Nullable lv_collator_clone(const void *collator);
void lv_collator_close(void *collator);

// Writes the sort key of a text, which ends in a zero byte that stands nowhere else in it. Bytes that are not UTF-8 count
// as U+FFFD. Answers how long the key is, also when it does not fit; 0: there is none.
int32_t lv_sort_key(const void *collator, const uint8_t *text, int32_t count, uint8_t *key, int32_t capacity);

// Brings a text to NFC. Answers how long it is then; 0: it is in NFC already, and nothing was written; below 0: it is not
// UTF-8, ICU is not there, or it does not fit into `capacity`, for which three times `count` is always enough.
int32_t lv_nfc(const uint8_t *text, int32_t count, uint8_t *into, int32_t capacity);

#pragma clang assume_nonnull end

#endif
