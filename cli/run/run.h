/* SPDX-License-Identifier: MIT
 *
 * run.h - `cairn run` for native programs: cli/commands/run.c has the options.
 */
#ifndef CRN_CLI_RUN_RUN_H
#define CRN_CLI_RUN_RUN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "cli/common/command.h"

typedef struct crn_run {
    char **program;     /* arguments, including its name as it sees it */
    const char *path;   /* the file to execute */
    const char *output; /* the capture */
    bool quiet;
    bool attached;          /* to a process that ran already */
    bool alloc;             /* preload libcairn-alloc */
    bool locks;             /* preload libcairn-locks */
    const char *sampled;    /* sample time into this capture; or NULL */
    bool stacks;            /* also of programs that use libcairn */
    const char *outside;    /* why it is sampled from outside; NULL: preload libcairn-sample */
    uint64_t period_ns;     /* of the sampler from outside */
    const char *alloc_mean; /* bytes between samples, or "exact"; NULL: the default */
    const crn_list *labels; /* KEY=VALUE, for the capture */
} crn_run;

/* Runs the program and waits for its end. Prints a message if it left no capture. With
 * `alloc` or `sampled` replaces addresses in the capture by functions. Returns the program's exit
 * status, or CRN_EXIT_BAD if it could not be run. If a signal ended the program, raises the same
 * signal. */
int crn_run_native(const crn_run *run);

/* Samples a process that runs already until it ends, for_ns are over (0: no limit) or the user
 * stops it. Returns an exit status. */
int crn_run_attach(const crn_run *run, int process, uint64_t period_ns, uint64_t for_ns);

/* Refuses a label that is not KEY=VALUE. */
void crn_run_check_label(struct argp_state *state, const char *label);

/* Chooses the sampler from outside if a library cannot be preloaded into the program at `path`:
 * sets run->outside. If it cannot be profiled at all, prints the reason and returns false. */
bool crn_run_choose_sampler(crn_run *run, const char *path);

/* Returns true if the program at `path` contains libcairn or names it, and so profiles itself. */
bool crn_run_uses_cairn(const char *path);

/* Returns true if libcairn-locks can be preloaded into the program at `path`; otherwise prints the
 * reason. */
bool crn_run_may_record_locks(const char *path);

/* Returns the interpreter that the #! of the file at `path` names, if it is not a host's, such as
 * Lua's. Otherwise NULL. Free it with crn_free. */
char *crn_run_script_interpreter(const char *path);

/* Changes the run of a script with `count` arguments into a run of its interpreter, which is then
 * profiled. If that is impossible, prints the reason and returns false. */
bool crn_run_script(crn_run *run, int count);

/* Sets the environment variable of an option, "exact" or "NAME=VALUE", for the libcairn of a native
 * program: see cairn/process.h. */
void crn_run_set(const char *option);

/* Returns the labels, one a line. Free it with free. */
char *crn_run_labels(const crn_list *labels);

/* Sets the environment that preloads the run's library. If the library is not found, prints a
 * message and returns false. */
bool crn_run_preload(const crn_run *run);

/* Makes the capture readable on other machines: replaces addresses by functions, in the same file,
 * and adds notes about the run. Prints errors. */
void crn_run_finish(const crn_run *run, int status, unsigned long long elapsed_ns);

/* Lists the captures that other processes of the run have written since then (CLOCK_REALTIME):
 * x.PID.cairn beside x.cairn, or all files of a name with %p. Free it with
 * crn_run_captures_free. */
crn_list crn_run_captures_beside(const crn_run *run, const struct timespec *since);
void crn_run_captures_free(crn_list *captures);

/* Merges the sampled captures of all processes into run->sampled, below a block for each program,
 * and deletes the others. Returns false if there are none. Prints errors. */
bool crn_run_merge(const crn_run *run, const struct timespec *since);

/* Returns true if the name contains %p, the process number, so that each process has its own
 * file. */
bool crn_run_is_pattern(const char *output);

/* Returns the path's part behind the last slash. */
const char *crn_run_base(const char *path);

/* Finds an executable file in the folders of PATH. */
bool crn_run_find_on_path(const char *name, char found[PATH_MAX]);

/* Returns the host that runs a script: that of its suffix, any other script's the first one found.
 * NULL if there is none. */
const char *crn_run_host(const char *script);

/* Returns the script's suffix, ".lua", if there is a host of that name; else NULL. */
const char *crn_run_suffix(const char *script);

/* Returns true if a host stands in for the program: an interpreter of the host's language and
 * version, "lua5.4", or without a version, "lua", unless that is a link to another version. */
bool crn_run_is_interpreter(const char *program);

/* Told about the program's process. */
typedef struct crn_run_watch {
    void *data;
    /* Before it executes the program. If this returns false, it does not. */
    bool (*begin)(void *data, int process);
    /* After it has ended. */
    void (*end)(void *data);
} crn_run_watch;

/* Runs the program and waits for it, like a shell: signals from the terminal reach the program
 * directly, and signals to this process are passed on. `watch` may be NULL. `*status` is that of
 * waitpid. Returns 0, an errno if the program could not be run, or -1 if the watch did not let it.
 */
int crn_run_wait(const crn_run *run, const crn_run_watch *watch, int *status);

/* Runs the program and samples it from outside, into run->sampled. Like crn_run_wait; prints the
 * reason if it cannot be sampled. */
int crn_run_wait_outside(const crn_run *run, int *status);

#endif
