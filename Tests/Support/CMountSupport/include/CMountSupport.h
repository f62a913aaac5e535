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
/// Takes all capabilities but these from the calling thread, and no other, for good.
long lt_keep_capabilities(uint64_t mask);
/// A child in a user namespace of its own, which does nothing until it is killed.
long lt_child_with_own_users(void);
/// Lets a child become `user` in `group` and one more, open `path` by a worker of an io_uring, give that
/// group up, and open `path` that way again: what came of the first try and of the second, each 0 or a negated errno.
long lt_open_by_ring(const char *path, uint32_t user, uint32_t group, uint32_t more, long *first, long *second);
long lt_renameat2(int from, const char *name, int to, const char *new_name, unsigned flags);

/// Extended attributes of `path` itself, links not followed.
long lt_set_attribute(const char *path, const char *name, const void *value, size_t size, int flags);
long lt_attribute(const char *path, const char *name, void *value, size_t size);
long lt_remove_attribute(const char *path, const char *name);
long lt_attribute_names(const char *path, char *names, size_t size);

/// What lsattr and chattr ask.
long lt_inode_flags(int fd, unsigned *word);
long lt_set_inode_flags(int fd, unsigned word);

/// How many files a process may have open.
long lt_limit_open_files(int pid, unsigned long soft, unsigned long hard);
/// Any system call, by the number of it in <sys/syscall.h>.
long lt_call(long number, long a, long b, long c, long d, long e, long f);
/// Keeps a thread on one processor; 0 is the calling thread.
long lt_run_on_processor(int thread, int processor);
/// The same for the calling thread, before every thread that has no real-time priority as high.
long lt_hold_processor(int processor, int priority);
/// The time of birth that statx tells, in nanoseconds, or 0 where it tells none.
long lt_birth(int directory, const char *name);
/// What the kernel's NFS server does: a file handle of `path` in `handle`, which has room for 136 bytes; and a file that is
/// opened by it, on the mount of `mount`.
long lt_handle(const char *path, void *handle);
long lt_open_handle(int mount, void *handle, int flags);
extern const int lt_o_path, lt_o_tmpfile, lt_o_direct, lt_o_noatime, lt_o_directory, lt_o_nofollow;
#endif
