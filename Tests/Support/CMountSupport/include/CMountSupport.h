// Calls that tests make and Swift cannot: each prefixed `lt_`, each answering a value or a negated errno.
#ifndef VARVE_CMOUNTSUPPORT_H
#define VARVE_CMOUNTSUPPORT_H
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>

/// Makes the calling thread, and no other, this user for good.
long lt_become(uint32_t user, uint32_t group, const uint32_t *groups, size_t count);
/// Gives the calling thread a umask and a working directory of its own.
long lt_own_umask(uint32_t mask);
long lt_renameat2(int from, const char *name, int to, const char *new_name, unsigned flags);
/// Any system call, by the number of it in <sys/syscall.h>.
long lt_call(long number, long a, long b, long c, long d, long e, long f);
/// The time of birth that statx tells, in nanoseconds, or 0 where it tells none.
long lt_birth(int directory, const char *name);
extern const int lt_o_path, lt_o_tmpfile, lt_o_direct, lt_o_noatime, lt_o_directory, lt_o_nofollow;
#endif
