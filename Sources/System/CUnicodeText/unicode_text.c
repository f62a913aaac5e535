// Collation and normalisation by ICU. Text is brought to UTF-16 first: that is its own form, and four times as fast as
// its iterators over UTF-8.
//
// ICU is loaded when the first text asks for it: linked, it takes 3 MB of every process that may never need it.

#include "CUnicodeText.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unicode/ucol.h>
#include <unicode/uloc.h>
#include <unicode/unorm2.h>
#include <unicode/ustring.h>
#include <unicode/utf8.h>

// More units than a name can have; longer texts take memory.
#define LV_UNITS 1024

#define LV_COLLATION(X) \
  X(ucol_open) X(ucol_close) X(ucol_clone) X(ucol_setAttribute) X(ucol_getSortKey)
#define LV_TEXT(X) \
  X(uloc_forLanguageTag) X(unorm2_getNFCInstance) X(unorm2_isNormalized) X(unorm2_normalize) X(u_strToUTF8)

static struct {
#define LV_MEMBER(name) __typeof__(&name) LV_PASTE(call_, name);
#define LV_PASTE(a, b) LV_PASTED(a, b)
#define LV_PASTED(a, b) a##b
  LV_COLLATION(LV_MEMBER)
  LV_TEXT(LV_MEMBER)
#undef LV_MEMBER
} icu;

#define LV_CALL(name) icu.LV_PASTE(call_, name)

static pthread_once_t loaded_once = PTHREAD_ONCE_INIT;
static int is_loaded;

// The headers give each function the number of their version, which the libraries have in their names, too.
static void load(void) {
#define LV_NAME(text) LV_QUOTED(text)
#define LV_QUOTED(text) #text
  void *text = dlopen("libicuuc.so." U_ICU_VERSION_SHORT, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  void *collation = dlopen("libicui18n.so." U_ICU_VERSION_SHORT, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!text || !collation) return;
#define LV_FIND(name) \
  if (!(LV_CALL(name) = (__typeof__(&name))dlsym(library, LV_NAME(name)))) return;
  void *library = collation;
  LV_COLLATION(LV_FIND)
  library = text;
  LV_TEXT(LV_FIND)
#undef LV_FIND
  is_loaded = 1;
}

static int is_prepared(void) {
  pthread_once(&loaded_once, load);
  return is_loaded;
}

_Bool lv_has_icu(void) { return is_prepared(); }

void *lv_collator_open(const char *tag) {
  if (!is_prepared()) return NULL;
  char locale[ULOC_FULLNAME_CAPACITY] = "";
  UErrorCode status = U_ZERO_ERROR;
  LV_CALL(uloc_forLanguageTag)(tag, locale, sizeof locale, NULL, &status);
  if (U_FAILURE(status) || status == U_STRING_NOT_TERMINATED_WARNING) locale[0] = 0;
  status = U_ZERO_ERROR;
  // An empty name would mean the language of the process.
  UCollator *collator = LV_CALL(ucol_open)(locale[0] ? locale : "root", &status);
  if (U_FAILURE(status)) return NULL;
  // Each is set, because languages differ in what they start from: Thai takes no account of punctuation.
  LV_CALL(ucol_setAttribute)(collator, UCOL_NUMERIC_COLLATION, UCOL_ON, &status);
  LV_CALL(ucol_setAttribute)(collator, UCOL_ALTERNATE_HANDLING, UCOL_NON_IGNORABLE, &status);
  LV_CALL(ucol_setAttribute)(collator, UCOL_STRENGTH, UCOL_SECONDARY, &status);
  LV_CALL(ucol_setAttribute)(collator, UCOL_NORMALIZATION_MODE, UCOL_ON, &status);
  LV_CALL(ucol_setAttribute)(collator, UCOL_CASE_LEVEL, UCOL_OFF, &status);
  if (U_SUCCESS(status)) return collator;
  LV_CALL(ucol_close)(collator);
  return NULL;
}

void *lv_collator_clone(const void *collator) {
  UErrorCode status = U_ZERO_ERROR;
  UCollator *clone = LV_CALL(ucol_clone)(collator, &status);
  return U_SUCCESS(status) ? clone : NULL;
}

void lv_collator_close(void *collator) { LV_CALL(ucol_close)(collator); }

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
  int32_t size = LV_CALL(ucol_getSortKey)(collator, units, length, key, capacity);
  if (units != some) free(units);
  return size;
}

// NFC of text that is not yet known to need it.
static int32_t normalise(const UChar *units, int32_t length, uint8_t *into, int32_t capacity) {
  UErrorCode status = U_ZERO_ERROR;
  const UNormalizer2 *nfc = LV_CALL(unorm2_getNFCInstance)(&status);
  if (U_FAILURE(status)) return -1;
  if (LV_CALL(unorm2_isNormalized)(nfc, units, length, &status) && U_SUCCESS(status)) return 0;
  // Three units for one is the worst that NFC does.
  int32_t room = length * 3, size = 0;
  UChar some[LV_UNITS];
  UChar *result = room <= LV_UNITS ? some : malloc((size_t)room * sizeof *result);
  if (!result) return -1;
  status = U_ZERO_ERROR;
  int32_t made = LV_CALL(unorm2_normalize)(nfc, units, length, result, room, &status);
  LV_CALL(u_strToUTF8)((char *)into, capacity, &size, result, made, &status);
  if (result != some) free(result);
  return U_SUCCESS(status) && size <= capacity ? size : -1;
}

int32_t lv_nfc(const uint8_t *text, int32_t count, uint8_t *into, int32_t capacity) {
  if (!is_prepared()) return -1;
  UChar some[LV_UNITS];
  UChar *units = count <= LV_UNITS ? some : malloc((size_t)count * sizeof *units);
  if (!units) return -1;
  int32_t length = to_utf16(text, count, units, 0);
  int32_t size = length < 0 ? -1 : normalise(units, length, into, capacity);
  if (units != some) free(units);
  return size;
}
