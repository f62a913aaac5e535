// Calls the model test makes and Swift's Glibc does not know: each prefixed `lm_`, each answering a value or a
// negated errno.
#ifndef VARVE_CMODELSUPPORT_H
#define VARVE_CMODELSUPPORT_H
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// Opens a file of `directory` that has no name.
long lm_open_unnamed(const char *directory, int flags, uint32_t mode);
/// Gives an open file a name.
long lm_link_open(int descriptor, const char *path);

/// Reads and writes memory of this process: EFAULT, or less than `count`, where a program would get SIGBUS.
long lm_read_memory(const void *from, void *into, size_t count);
long lm_write_memory(void *into, const void *from, size_t count);

#define LM_NOW -1
#define LM_OMIT -2
/// Sets times in seconds, or `LM_NOW` or `LM_OMIT`.
long lm_set_times(const char *path, int64_t access, int64_t modification);
#endif
