// The Linux calls that Swift cannot import: GNU extensions, variadic calls and system calls
// younger than the C library.
//
// Every function answers a value >= 0, or the negated error number. Nothing here reads or keeps
// `errno`: between a call and a look at `errno` Swift may release an object, and that may change it.
// Nothing here repeats an interrupted call; `retrying` in LinuxFiles does that for all of them.
//
// For LinuxFiles, which gives each of these a typed error: a call here costs what the system call costs.

#ifndef CLINUX_H
#define CLINUX_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#pragma clang assume_nonnull begin

// GNU values that the Swift view of <fcntl.h> lacks. The .c files assert each against its header.
#define LV_O_PATH 010000000
#define LV_O_NOATIME 01000000
// Differs between processors.
static const int LV_O_DIRECT = __O_DIRECT;
#define LV_O_TMPFILE_BIT 020000000
#define LV_AT_EMPTY_PATH 0x1000
#define LV_AT_SYMLINK_NOFOLLOW 0x100
#define LV_SEEK_DATA 3
#define LV_SEEK_HOLE 4
#define LV_RENAME_NOREPLACE 1u
#define LV_RENAME_EXCHANGE 2u
#define LV_RENAME_WHITEOUT 4u
#define LV_FALLOC_KEEP_SIZE 0x01
#define LV_FALLOC_PUNCH_HOLE 0x02
#define LV_FALLOC_ZERO_RANGE 0x10
#define LV_XATTR_CREATE 1
#define LV_XATTR_REPLACE 2

// What statx answers, in one flat record.
struct lv_status {
  uint64_t inode, size, blocks;
  uint32_t device_major, device_minor, special_major, special_minor;
  uint32_t mode, links, user, group, block_size;
  int64_t access_seconds, modification_seconds, change_seconds, birth_seconds;
  uint32_t access_nanoseconds, modification_nanoseconds, change_nanoseconds, birth_nanoseconds;
  // `is_settled`: at the moment of asking, the change time lay further back than a tick of any clock, so that every
  // later change must show another one.
  int32_t has_birth, is_mount_root, is_settled;
  // As chattr(1) sets them; 0 where the file system does not tell.
  int32_t is_immutable, is_append_only;
};

struct lv_file_system {
  uint64_t block_size, fragment_size, blocks, free_blocks, available_blocks, files, free_files;
  uint64_t name_max, magic;
  // What the file system calls itself; on some the number of its device.
  uint64_t identifier;
  int32_t is_read_only;
};

// `seconds` and `nanoseconds`, or one of the two special values of utimensat in `nanoseconds`.
struct lv_time {
  int64_t seconds, nanoseconds;
};
#define LV_TIME_NOW 0x3fffffff
#define LV_TIME_OMIT 0x3ffffffe

// files.c: descriptors and what they hold. A null `name` means the object of `fd` itself, also when
// `fd` is O_PATH; here and in names.c.
long lv_close(int fd);
long lv_duplicate(int fd, int lowest);
long lv_open(int directory, const char *name, int flags, uint32_t mode);
long lv_open_beneath(int directory, const char *path, int flags);
long lv_reopen(int fd, int flags);
long lv_status(int fd, const char *_Nullable name, struct lv_status *out);
// Without the time of birth, for which a FUSE file system is asked each time.
long lv_known_status(int fd, const char *_Nullable name, struct lv_status *out);
// What the file handle of an object says, in 64 bits; EOPNOTSUPP where there are none.
long lv_handle_mark(int fd, const char *_Nullable name, uint64_t *mark);
// 1 or 0, by what the kernel knows: a FUSE file system that is mounted there is asked nothing.
long lv_is_mount_root(int fd);
long lv_file_system(int fd, struct lv_file_system *out);
long lv_pread(int fd, void *_Nullable into, size_t count, int64_t offset);
long lv_pwritev(int fd, const struct iovec *pieces, int count, int64_t offset);
// Writes behind the last byte, as one step (RWF_APPEND, Linux 4.16).
long lv_append(int fd, const void *_Nullable from, size_t count);
long lv_pwrite(int fd, const void *_Nullable from, size_t count, int64_t offset);
long lv_seek(int fd, int64_t offset, int whence);
long lv_truncate(int fd, int64_t size);
long lv_allocate(int fd, int mode, int64_t offset, int64_t length);
long lv_copy_range(int from, int64_t from_offset, int to, int64_t to_offset, size_t count);
// Begins to write dirty pages of a range to the disk, and waits for it or not. No promise is made by it.
long lv_write_back(int fd, int64_t offset, int64_t length, int waits);
long lv_sync_file_system(int fd);
long lv_sync(int fd, int data_only);
long lv_list(int directory, void *into, size_t count);
long lv_lock_whole(int fd, int exclusive);
// 1 if another open file has such an exclusive lock; nothing is locked.
long lv_is_locked(int fd, int shared);
// A lease for writing (F_SETLEASE) that nobody is told of when it is broken; -EAGAIN while anybody else has the file open
// or mapped.
long lv_lease_alone(int fd);
// Whether names can be made in a directory, as far as the kernel can tell.
long lv_is_changeable(int directory);
// flock(2), without waiting.
long lv_lock_open(int fd, int exclusive);
long lv_generation(int fd, uint32_t *out);
// The 16 bytes by which a file system calls itself (Linux 6.9); ENOTTY, ENODATA where there are none.
long lv_file_system_uuid(int fd, uint8_t *out);
// The tree below `directory`, without what is mounted inside, as a mount of its own that nobody can write through and
// that moves no access times (Linux 5.12); root alone.
long lv_clone_sealed(int directory);
// Shares the blocks of a whole file (FICLONE).
long lv_clone_file(int from, int to);
// The number by which FUSE knows an object that is on a mount of FUSE; the kernel tells it without asking the daemon.
long lv_fuse_node(int fd, uint64_t *node);

// names.c: what directories hold.
long lv_make_directory(int directory, const char *name, uint32_t mode);
long lv_make_node(int directory, const char *name, uint32_t mode, uint32_t major, uint32_t minor);
long lv_make_symbolic_link(int directory, const char *name, const char *target);
long lv_remove(int directory, const char *name, int is_directory);
long lv_rename(int from, const char *name, int to, const char *new_name, unsigned flags);
long lv_link_object(int fd, int to, const char *new_name);
long lv_link_object_by_proc(int fd, int to, const char *new_name);
long lv_read_link(int fd, const char *_Nullable name, void *into, size_t count);
long lv_change_owner(int fd, const char *_Nullable name, uint32_t user, uint32_t group);
long lv_change_mode(int fd, const char *_Nullable name, uint32_t mode);
long lv_change_mode_by_proc(int fd, uint32_t mode);
long lv_change_times(int fd, const char *_Nullable name, struct lv_time access, struct lv_time modification);
long lv_change_times_by_proc(int fd, struct lv_time access, struct lv_time modification);

// attributes.c: extended attributes. Three ways to name the object: an ordinary descriptor, the
// descriptor's path in /proc (`name` null: the object itself, also when the descriptor is O_PATH;
// `name` given: the entry of that directory, links not followed), and getxattrat.
long lv_attribute_get(int fd, const char *attribute, void *_Nullable value, size_t size);
long lv_attribute_set(int fd, const char *attribute, const void *_Nullable value, size_t size, int flags);
long lv_attribute_list(int fd, void *_Nullable names, size_t size);
long lv_attribute_remove(int fd, const char *attribute);
long lv_attribute_get_by_proc(
    int fd, const char *_Nullable name, const char *attribute, void *_Nullable value, size_t size);
long lv_attribute_set_by_proc(
    int fd, const char *attribute, const void *_Nullable value, size_t size, int flags);
long lv_attribute_list_by_proc(int fd, void *_Nullable names, size_t size);
long lv_attribute_remove_by_proc(int fd, const char *attribute);
long lv_attribute_get_at(
    int directory, const char *name, const char *attribute, void *_Nullable value, size_t size);

// files.c: waits until something is mounted or unmounted, by an open /proc/PID/mountinfo.
long lv_wait_for_mounts(int mount_table);

// process.c: identity, limits, clocks and the words for error numbers.
// Makes the calling thread create files as `user` and `group` from now on; -EPERM and no change if it may not.
long lv_become(uint32_t user, uint32_t group);
long lv_keep_capabilities(void);
long lv_keeps_capabilities(void);
// Takes CAP_SYS_RESOURCE from the calling thread for good; threads that it starts later do not have it either.
long lv_give_up_resource_override(void);
long lv_raise_open_files(uint64_t *soft);
long lv_forbid_cores(void);
// Memory for at least so many bytes is mapped by itself, and unmapped when it is freed; at most so many free bytes are
// kept at the end of each arena.
void lv_map_large_memory(size_t least, size_t spare);
// Gives free pages of all arenas back.
void lv_return_free_memory(void);
enum lv_clock_kind { lv_awake, lv_time_of_day, lv_since_boot };
long lv_clock(enum lv_clock_kind kind, struct lv_time *out);
// Waits for a sem_t until that time of CLOCK_MONOTONIC, in nanoseconds; -ETIMEDOUT.
long lv_wait_ring(void *_Nonnull semaphore, uint64_t end);
long lv_thread_id(void);
long lv_write(int fd, const void *_Nullable from, size_t count);
void lv_system_log(int priority, const char *text);
long lv_new_session(void);
// Lets standard error lead into a file in memory, which is answered; `kept` is for the way back.
long lv_catch_errors(int *kept);
void lv_stop_catching_errors(int kept);
// Takes the calling thread, and no other, to another mount namespace; it cannot come back.
long lv_visit_mount_namespace(int fd);
// For a thread whose working directory is its own: goes to a directory, and tells the path of where it is.
long lv_stand_in(int directory);
long lv_standing_place(char *into, size_t count);
void lv_block_stop_signals(void);
int lv_is_stop_signal_pending(void);
void lv_wait_stop_signal(void);
// A word of the calling thread: set, and taken back, which leaves 0.
void lv_leave_note(uint64_t note);
uint64_t lv_take_note(void);
long lv_open_thread_status(int thread);
// The numbers of one thread, as in proc_pid_stat(5); `process` may be any thread of its process.
long lv_open_thread_figures(int process, int thread);
// 1 or 0: whether a thread has left its processor and is not about to get one.
long lv_is_blocked(int thread);
// 1 or 0: whether a thread is in the user namespace of this process, where alone its capabilities count.
long lv_shares_users(int thread);
// The number of the mount that a descriptor of a process is on; no file system is asked.
long lv_mount_number(int process, int fd);
long lv_name_thread(const char *name);
long lv_usable_processors(void);
int lv_error_number(void);
const char *_Nullable lv_error_name(int number);
const char *_Nullable lv_error_text(int number);

// stripes.c: an array of read-write locks, each on its own cache line.
struct lv_stripes;
struct lv_stripes *_Nullable lv_stripes_create(size_t count);
void lv_stripes_destroy(struct lv_stripes *stripes);
long lv_stripes_lock(struct lv_stripes *stripes, size_t index, int exclusive);
// For one alone; -EBUSY where anybody has it.
long lv_stripes_lock_if_free(struct lv_stripes *stripes, size_t index);
void lv_stripes_unlock(struct lv_stripes *stripes, size_t index);

// sockets.c: stream sockets that stand under a name in a directory. Those that listen or were accepted never block.
long lv_socket_listen(int directory, const char *name, uint32_t mode);
long lv_socket_accept(int fd);
long lv_socket_connect(int directory, const char *name, uint32_t patience_seconds);
long lv_socket_peer(int fd, uint32_t *user, uint32_t *group, int32_t *process);
// -ERANGE when there are more than `count`.
// A descriptor of the process that connected (Linux 6.5), which is readable once that has ended.
long lv_socket_peer_process(int fd);
long lv_socket_peer_groups(int fd, uint32_t *groups, size_t count);
// 0 when nothing came in time; less than 0 milliseconds: no limit.
long lv_socket_wait(int fd, int for_writing, int milliseconds);
long lv_socket_receive(int fd, void *into, size_t count);
// What has come, but nothing behind the end of a line.
long lv_socket_receive_line(int fd, void *into, size_t count);
// How many bytes have come and were not received.
long lv_socket_waiting(int fd);
long lv_socket_send(int fd, const void *from, size_t count);
// One datagram to the socket at `path`; a name that begins with @ is an abstract one.
long lv_datagram(const char *path, size_t length, const void *from, size_t count);

#pragma clang assume_nonnull end

#endif
