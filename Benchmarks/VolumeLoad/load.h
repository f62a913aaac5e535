#ifndef LV_LOAD_H
#define LV_LOAD_H

/* What the parts of the load share. Every failure ends the program: a number that is not right is worse than none. */

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum { LV_MOST_CLIENTS = 16, LV_NAME_ROOM = 32 };

/* Ends the program with a sentence. */
_Noreturn void lv_fail(const char *what, const char *where);

/* Nanoseconds since some moment. */
uint64_t lv_now(void);

/* A number of the command line. */
long lv_number(const char *word);

/* One line of the answer: how long `work` pieces of work took. */
void lv_report(const char *row, uint64_t nanoseconds, uint64_t work);

/* Whether `row` is among the words, with commas between them; "all" stands for each. */
int lv_is_wanted(const char *rows, const char *row);

/* Writes everything back and makes the kernel forget names, attributes and pages. */
void lv_forget_caches(void);
/* Whether the pages that the kernel keeps of a file are dropped before it is read. */
extern int lv_is_cold;
/* Drops them, if so; what lies below the file system keeps its own. */
void lv_drop_pages(int fd);

/* Becomes another user, for good. */
void lv_become(uid_t user);

/* Random numbers that are the same in every run: xorshift. */
uint64_t lv_next_random(uint64_t *state);

/* The commands. */
void lv_command_data(char **words);
void lv_command_storm(char **words);
void lv_command_deep(char **words);
void lv_command_list(char **words);
void lv_command_fill(char **words);
void lv_command_run(int count, char **words);

#endif
