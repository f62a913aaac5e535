// Collation and normalisation by ICU. Text is brought to UTF-16 first: that is its own form, and four times as fast as
// its iterators over UTF-8.

#include "CUnicodeText.h"

#include <stdlib.h>
#include <unicode/ucol.h>
#include <unicode/uloc.h>
#include <unicode/unorm2.h>
#include <unicode/ustring.h>
#include <unicode/utf8.h>

// More units than a name can have; longer texts take memory.
#define LV_UNITS 1024

void *lv_collator_open(const char *tag) {
  char locale[ULOC_FULLNAME_CAPACITY] = "";
  UErrorCode status = U_ZERO_ERROR;
  uloc_forLanguageTag(tag, locale, sizeof locale, NULL, &status);
  if (U_FAILURE(status) || status == U_STRING_NOT_TERMINATED_WARNING) locale[0] = 0;
  status = U_ZERO_ERROR;
  // An empty name would mean the language of the process.
  UCollator *collator = ucol_open(locale[0] ? locale : "root", &status);
  if (U_FAILURE(status)) return NULL;
  // Each is set, because languages differ in what they start from: Thai takes no account of punctuation.
  ucol_setAttribute(collator, UCOL_NUMERIC_COLLATION, UCOL_ON, &status);
  ucol_setAttribute(collator, UCOL_ALTERNATE_HANDLING, UCOL_NON_IGNORABLE, &status);
  ucol_setAttribute(collator, UCOL_STRENGTH, UCOL_SECONDARY, &status);
  ucol_setAttribute(collator, UCOL_NORMALIZATION_MODE, UCOL_ON, &status);
  ucol_setAttribute(collator, UCOL_CASE_LEVEL, UCOL_OFF, &status);
  if (U_SUCCESS(status)) return collator;
  ucol_close(collator);
  return NULL;
}

void *lv_collator_clone(const void *collator) {
  UErrorCode status = U_ZERO_ERROR;
  UCollator *clone = ucol_clone(collator, &status);
  return U_SUCCESS(status) ? clone : NULL;
}

void lv_collator_close(void *collator) { ucol_close(collator); }

// Fills `units`, which has room for `count` of them. Below 0: not UTF-8, unless that is `lenient`.
static int32_t to_utf16(const uint8_t *text, int32_t count, UChar *units, int lenient) {
  int32_t index = 0, written = 0;
  while (index < count) {
    UChar32 character;
    U8_NEXT(text, index, count, character);
    if (character < 0) {
      if (!lenient) return -1;
      character = 0xFFFD;
    }
    U16_APPEND_UNSAFE(units, written, character);
  }
  return written;
}

int32_t lv_sort_key(const void *collator, const uint8_t *text, int32_t count, uint8_t *key, int32_t capacity) {
  UChar some[LV_UNITS];
  UChar *units = count <= LV_UNITS ? some : malloc((size_t)count * sizeof *units);
  if (!units) return 0;
  int32_t length = to_utf16(text, count, units, 1);
  int32_t size = ucol_getSortKey(collator, units, length, key, capacity);
  if (units != some) free(units);
  return size;
}

// NFC of text that is not yet known to need it.
static int32_t normalise(const UChar *units, int32_t length, uint8_t *into, int32_t capacity) {
  UErrorCode status = U_ZERO_ERROR;
  const UNormalizer2 *nfc = unorm2_getNFCInstance(&status);
  if (U_FAILURE(status)) return -1;
  if (unorm2_isNormalized(nfc, units, length, &status) && U_SUCCESS(status)) return 0;
  // Three units for one is the worst that NFC does.
  int32_t room = length * 3, size = 0;
  UChar some[LV_UNITS];
  UChar *result = room <= LV_UNITS ? some : malloc((size_t)room * sizeof *result);
  if (!result) return -1;
  status = U_ZERO_ERROR;
  int32_t made = unorm2_normalize(nfc, units, length, result, room, &status);
  u_strToUTF8((char *)into, capacity, &size, result, made, &status);
  if (result != some) free(result);
  return U_SUCCESS(status) && size <= capacity ? size : -1;
}

int32_t lv_nfc(const uint8_t *text, int32_t count, uint8_t *into, int32_t capacity) {
  UChar some[LV_UNITS];
  UChar *units = count <= LV_UNITS ? some : malloc((size_t)count * sizeof *units);
  if (!units) return -1;
  int32_t length = to_utf16(text, count, units, 0);
  int32_t size = length < 0 ? -1 : normalise(units, length, into, capacity);
  if (units != some) free(units);
  return size;
}
