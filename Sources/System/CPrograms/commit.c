// Which state of the sources the programs were built from; `scripts/swift build` writes the header before it builds.

#include "CPrograms.h"

#if __has_include("commit.h")
#include "commit.h"
#else
#define LV_COMMIT ""
#endif

const char *lv_commit(void) { return LV_COMMIT; }
