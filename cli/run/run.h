/* SPDX-License-Identifier: MIT
 *
 * run.h - `cairn run` for native programs: cli/commands/run.c has the options.
 */
#ifndef CRN_CLI_RUN_RUN_H
#define CRN_CLI_RUN_RUN_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "cli/common/command.h"

typedef struct crn_run {
    char **program;     /* the program's arguments; the first is the name that it sees */
    const char *path;   /* the file to execute */
    const char *output; /* path of the capture */
    bool quiet;
    bool attached;       /* samples a process that runs already */
    bool alloc;          /* preload libcairn-alloc */
    bool locks;          /* preload libcairn-locks */
    const char *sampled; /* capture for samples of time; NULL: does not sample */
    bool stacks;         /* samples programs that use libcairn, too */
    const char *outside; /* why it samples from outside; "": the user asked for it; NULL: preloads
                            libcairn-sample */
    uint64_t period_ns;  /* sampling period of the sampler from outside */
    const char *alloc_mean; /* bytes between samples, or "exact"; NULL: the default */
    const crn_list *labels; /* KEY=VALUE, stored in the capture */
    const char *recording;  /* a given option that only programs with libcairn obey; NULL: none */
} crn_run;

/* Runs the program and waits for its end. Prints a message if it left no capture. With `alloc` or
 * `sampled`, replaces addresses in the capture by functions. Returns the program's exit status, or
 * CRN_EXIT_BAD if it could not be run. If a signal ended the program, raises the same signal. */
int crn_run_native(const crn_run *run);

/* Samples a running process until it ends, until `for_ns` have passed (0: no limit), or until the
 * user stops it. Returns an exit status. */
int crn_run_attach(const crn_run *run, int process, uint64_t period_ns, uint64_t for_ns);

/* Reports a usage error for a label that is not KEY=VALUE. */
void crn_run_check_label(struct argp_state *state, const char *label);

/* Sets run->outside, why to sample from outside, if no library can be preloaded into the program at
 * `path`. If it cannot be profiled at all, prints the reason and returns false. */
bool crn_run_choose_sampler(crn_run *run, const char *path);

/* Returns true if the program at `path` contains libcairn or its name: it profiles itself. */
bool crn_run_uses_cairn(const char *path);

/* Returns true if libcairn-locks can be preloaded into the program at `path`; otherwise prints the
 * reason. */
bool crn_run_may_record_locks(const char *path);

/* Returns the interpreter in the #! line of the file at `path`. Returns NULL without such a line,
 * if a host stands in for the interpreter, or if a file that is named like a host's script (.lua)
 * is not executable. Free it with crn_free. */
char *crn_run_script_interpreter(const char *path);

/* Prepares the run of a script so that its interpreter is profiled: replaces env in the #! line by
 * the interpreter that env would start, and sets run->outside as crn_run_choose_sampler does.
 * `count` is the length of run->program. On an error prints the reason and returns false. */
bool crn_run_script(crn_run *run, int count);

/* Sets the environment variable by which libcairn in a native program reads an option, "exact" or
 * "NAME=VALUE": see cairn/process.h. */
void crn_run_set(const char *option);

/* Returns the labels, one a line. Free it with crn_free. */
char *crn_run_labels(const crn_list *labels);

/* Sets LD_PRELOAD and the variables that the run's library reads. If the library is not found,
 * prints a message and returns false. */
bool crn_run_preload(const crn_run *run);

/* Makes the capture readable on other machines: replaces addresses by functions, in place, and adds
 * notes about the run. `status` is waitpid's. Prints errors, and on a terminal the next command. */
void crn_run_finish(const crn_run *run, int status, unsigned long long elapsed_ns);

/* Lists the captures that other processes of the run have written after `since` (CLOCK_REALTIME):
 * x.PID.cairn beside x.cairn, or all files of a name with %p. Free it with
 * crn_run_captures_free. */
crn_list crn_run_captures_beside(const crn_run *run, const struct timespec *since);
void crn_run_captures_free(crn_list *captures);

/* Merges the sampled captures of all processes into run->sampled, each below a block for its
 * program, and deletes the merged files. A single capture stays as it is. Returns false if there
 * are none. Prints errors. */
bool crn_run_merge(const crn_run *run, const struct timespec *since);

/* Actions of the signals by which a user ends a command: SIGINT, SIGTERM and SIGHUP. */
typedef struct crn_run_end_signals {
    struct sigaction actions[3];
} crn_run_end_signals;

/* Has these signals call `handler`, and stores their actions so far in `before`, which
 * crn_run_catch_no_end restores. */
void crn_run_catch_end(void (*handler)(int number), crn_run_end_signals *before);
void crn_run_catch_no_end(const crn_run_end_signals *before);

/* Returns true if the name contains %p, the pid: each process has its own file. */
bool crn_run_is_pattern(const char *output);

/* Finds an executable file on PATH. Returns false if there is none. */
bool crn_run_find_on_path(const char *name, char found[PATH_MAX]);

/* Returns the host for a script's suffix; for an unknown suffix, the first host found. NULL without
 * any host. */
const char *crn_run_host(const char *script);

/* Returns the script's suffix, such as ".lua", if a host has that name; else NULL. */
const char *crn_run_suffix(const char *script);

/* Returns true if a host stands in for the program: an interpreter of its language and version,
 * "lua5.4"; or without a version, "lua", unless that links to another version. */
bool crn_run_is_interpreter(const char *program);

/* Called about the program's process. */
typedef struct crn_run_watch {
    void *data;
    /* Called before the process executes the program; false: it exits instead. */
    bool (*begin)(void *data, int process);
    /* Called after the process has ended. */
    void (*end)(void *data);
} crn_run_watch;

/* Runs the program and waits for it. Like a shell, leaves signals from the terminal to the program
 * and passes on those sent to this process. `watch` may be NULL. Sets `*status` as waitpid does,
 * also if a signal ends the process before it executes the program. Returns 0, an errno if the
 * program could not be run, or -1 if `watch` refused. */
int crn_run_wait(const crn_run *run, const crn_run_watch *watch, int *status);

/* Runs the program like crn_run_wait, and samples it from outside into run->sampled. If it cannot
 * be sampled, prints the reason. */
int crn_run_wait_outside(const crn_run *run, int *status);

#endif
