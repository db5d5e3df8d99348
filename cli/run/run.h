/* SPDX-License-Identifier: MIT
 *
 * run.h - `cairn run` for programs of machine code: cli/commands/run.c has the options.
 */
#ifndef CRN_CLI_RUN_RUN_H
#define CRN_CLI_RUN_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "cli/common/command.h"

typedef struct crn_run {
    char **program;     /* with its arguments, as it is to see them */
    const char *path;   /* what is executed */
    const char *output; /* the capture */
    bool quiet;
    bool alloc;             /* with libcairn-alloc */
    const char *alloc_mean; /* bytes between samples, or "exact"; NULL: the usual */
    const crn_list *labels; /* KEY=VALUE, for the capture */
} crn_run;

/* Runs the program to its end, and says so if it left no capture. With `alloc`, addresses
 * in the capture become functions. Returns the program's exit status, or ends as it did if
 * a signal ended it; CRN_EXIT_BAD if it could not be run. */
int crn_run_native(const crn_run *run);

/* Why allocations of what is at `path` cannot be profiled: false, after saying so. */
bool crn_run_can_alloc(const char *path);

/* Whether what is at `path` is a script that names an interpreter other than Lua's. */
bool crn_run_is_script(const char *path);

/* Changes the run of a script, of `count` words, into one whose interpreter is profiled. False,
 * after saying why, where that cannot be. */
bool crn_run_script(crn_run *run, int count);

/* Sets the environment variable of an option, "exact" or "NAME=VALUE", for the libcairn of a native
 * program: see cairn/process.h. */
void crn_run_set(const char *option);

/* Returns the labels, a line each; free it. */
char *crn_run_labels(const crn_list *labels);

/* Sets what libcairn-alloc goes by in the environment; false, after saying so, where it
 * cannot be found. */
bool crn_run_set_alloc(const crn_run *run);

/* Makes the capture that was left readable on other machines: functions in place of
 * addresses, in the same file, and what is known of the run. Says what goes wrong. */
void crn_run_finish_alloc(const crn_run *run, int status, unsigned long long elapsed_ns);

/* How many processes of the run have left captures of their own since then (CLOCK_REALTIME):
 * x.PID.cairn beside x.cairn, or all that a name with %p stands for. */
size_t crn_run_captures_beside(const crn_run *run, const struct timespec *since);

/* Whether each process has its own file there: %p is its number. */
bool crn_run_is_pattern(const char *output);

/* Returns the host that runs a script: that of its suffix, any other script's the first one found.
 * NULL if there is none. */
const char *crn_run_host(const char *script);

/* Returns the script's suffix, ".lua", if there is a host of that name; else NULL. */
const char *crn_run_suffix(const char *script);

/* Returns true if the program is a host's interpreter: the host's name and a version, "lua5.4". */
bool crn_run_is_interpreter(const char *program);

/* Runs it and waits, as a shell would: what the terminal sends reaches the program by
 * itself, what is sent to this process is passed on. `*status` is as of waitpid. Returns
 * an errno if it could not be run, else 0. */
int crn_run_wait(const crn_run *run, int *status);

#endif
