// What command-line programs need from Linux beside files: processes, mounts, streams, local time.
//
// Every function answers a value >= 0, or the negated error number, and repeats no interrupted call.
//
// For the tool and the start of the daemon; nothing here is called while a request is served.

#ifndef CPROGRAMS_H
#define CPROGRAMS_H

#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// The commit this was built from, with a + where the sources differed from it; empty if it is not known.
const char *lv_commit(void);

// The descriptors of a new process; -1 is /dev/null. `extra` appears as number 3, and `second` beside it as 4,
// or not at all if -1.
struct lv_streams {
  int input, output, error, extra, second;
};

struct lv_calendar {
  int32_t year, month, day, hour, minute, second;
};

// `words` holds `count` C strings, one after the other; the first is the program's name for itself.
long lv_spawn(const char *program, const char *words, size_t count, struct lv_streams streams,
              int in_new_session);
long lv_execute(const char *program, const char *words, size_t count);
// Keeps a descriptor open for the program that this one becomes.
long lv_keep_for_next(int fd);
// The opposite: closes one that was inherited.
long lv_close_for_next(int fd);
// The exit status, or 128 and the signal.
long lv_wait(int process);

long lv_pipe(int *reading, int *writing);
long lv_read(int fd, void *into, size_t count);
long lv_open_any(int directory, const char *path, int flags);
long lv_memory_file(const char *name);
long lv_real_path(const char *path, void *into, size_t count);
#define LV_MOUNT_READ_ONLY 1
#define LV_MOUNT_NO_SETID 2
#define LV_MOUNT_NO_DEVICES 4
#define LV_MOUNT_NO_PROGRAMS 8
#define LV_MOUNT_SYNCHRONOUS 16
#define LV_MOUNT_NAMES_SYNCHRONOUS 128
#define LV_MOUNT_NO_LINKS 256
#define LV_MOUNT_NO_ATIME 1024
#define LV_MOUNT_NO_DIRECTORY_ATIME 2048
#define LV_MOUNT_RELATIVE_ATIME (1 << 21)
#define LV_MOUNT_STRICT_ATIME (1 << 24)
// All flags of a mount anew: of the file system as a whole, or of this one mount of it.
long lv_remount(const char *path, unsigned flags, int whole);
// Shows a directory at another path, too.
long lv_bind(const char *directory, const char *path);
// Asks the file system nothing.
long lv_known_device(int fd, uint32_t *major, uint32_t *minor);
// The mode as the kernel remembers it; the file system is asked nothing.
long lv_known_mode(int fd);
long lv_unmount(const char *path, int is_lazy);
long lv_is_executable(const char *path);
long lv_is_terminal(int fd);
// How many letters a line of the terminal has; 0 if that is not known.
long lv_columns(int fd);
uint32_t lv_umask(void);
// A pipe nobody reads fails instead of ending the program, and a stream that is closed takes no other file's place.
void lv_prepare_streams(void);
// Whether the program that started this one had broken pipes ignored already.
int lv_broken_pipes_were_ignored(void);
void lv_end_by_broken_pipe(void) __attribute__((noreturn));
void lv_exit(int status) __attribute__((noreturn));

// apart.c: a process that may never come back, which asks and answers by one pipe. 0 in that process, with its end
// of the pipe; else its number, with the other end. It has no other descriptor and no terminal.
long lv_fork_apart(int *end, int leaves_group);
void lv_answer_apart(int end, int32_t error, const uint8_t *bytes, size_t count) __attribute__((noreturn));
// ETIMEDOUT when nothing came; 0 when it has said all.
long lv_hear_apart(int end, int milliseconds, void *into, size_t count);
// Called in that process: it is this user's from now on, who cannot look into it (ptrace(2)), as long as fs.suid_dumpable is not 1.
long lv_become_apart(uint32_t user, uint32_t group);
// Takes note of its end if it has ended.
void lv_bury(int process);

// interruption.c: being told to stop, and stopping.
void lv_watch_interruption(void);
// The signal that asked for it; 0: none.
int lv_interruption(void);
void lv_end_by_signal(int signal_number) __attribute__((noreturn));
// Whether the keys that interrupt are for this program, or for a child it waits for.
void lv_leave_interruption_to_child(int is_left);

// terminal.c: what is typed without being shown.
// Prompts, and reads a line or its first `count` bytes, from a terminal that shows nothing of it. It is as it was when
// this returns, and before a signal ends or stops the program.
long lv_read_hidden(int terminal, const char *prompt, void *into, size_t count);

// writing.c: files a tool writes for its user.
// Creates a file, or opens a regular one that nobody else has locked, for reading and for writing at its end, and
// locks it; EBADMSG for anything but a regular file, EAGAIN if it is locked.
long lv_open_alone(const char *path, int may_exist);
// Makes a file with a new name from a template that ends in XXXXXX and `suffix_length` more bytes.
long lv_make_temporary(char *path, int suffix_length);
long lv_remove_file(const char *path);

long lv_local_time(int64_t seconds, struct lv_calendar *out);

#pragma clang assume_nonnull end

#endif
