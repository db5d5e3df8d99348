/* SPDX-License-Identifier: MIT
 *
 * process.h - internals of the process's own profile.
 */
#ifndef CRN_RUNTIME_PROCESS_H
#define CRN_RUNTIME_PROCESS_H

#include <cairn/process.h>

#include "runtime/runtime.h"

/* Reads the options from the environment; `options` has the defaults. Ignores a variable with a bad
 * value, and sets `*wrong` to its name, otherwise to NULL. The options' strings belong to the
 * environment, except `*path`, which the caller frees. Returns false if no profile is requested. */
bool crn_process_options(cairn_options *options, char **path, const char **wrong);

/* Reads the command line, with spaces between the arguments, without quotes; cuts it to `size`. */
void crn_process_command(char *text, size_t size);

/* Locks the directory of CAIRN_OUT, to choose a path and make the capture, so that processes that
 * start at once see each other's captures. Returns -1 if that fails; the caller goes on without the
 * lock. */
int crn_place_lock(void);
void crn_place_unlock(int place);

/* State of a thread. busy: the thread gets no strand now, because it opens the profile or a strand,
 * or holds a lock of the runtime. over: it gets no strand any more, because its strand has ended or
 * there was no memory for one. ours: it is a thread of the runtime and gets no strand. creating: it
 * creates a thread of the runtime. */
typedef struct crn_own_thread {
    bool busy, over, ours, creating;
    cairn_strand *parked; /* the strand, while no period is recorded (period.c) */
} crn_own_thread;

extern __thread crn_own_thread crn_own __attribute__((tls_model("initial-exec")));

/* Sets the calling thread's strand. NULL takes the strand from the thread. */
void crn_thread_set_strand(cairn_strand *strand);

/* `refuse`: makes the calling thread one of the runtime's, which gets no strand. Otherwise undoes
 * that. */
void crn_process_refuse_strand(bool refuse);

/* Lock and unlock the list of threads of cairn_pthread_create, around a fork. The last function
 * unlocks and clears the list in the child. */
void crn_wrap_lock(void);
void crn_wrap_unlock(void);
void crn_wrap_forget(void);

/* Lock and unlock the lanes of asynchronous spans, around a fork. The last function makes the lock
 * anew in the child and forgets the lanes. */
void crn_async_lock(void);
void crn_async_unlock(void);
void crn_async_forget(void);

/* ---- process.c, for periods ---- */

/* Take and release the lock of the process's own profile. */
void crn_process_lock(void);
void crn_process_unlock(void);
/* Returns true if the process's profile has ended, or the process must not have one. Under the
 * lock. */
bool crn_process_has_ended(void);
/* Makes the profile that of the process; NULL: the process has none any more. Under the lock. */
void crn_process_show(cairn_profile *shown);
/* Opens a profile in memory, with the options of the environment. Returns NULL if that fails. Under
 * the lock. */
cairn_profile *crn_process_open_in_memory(void);

/* Like crn_process_options, for a profile in memory: chooses no path, and switches spans and their
 * histograms off. */
void crn_process_options_in_memory(cairn_options *options, const char **wrong);
/* Returns the path with %p replaced by the process's number; free it with crn_free. NULL without
 * memory. */
char *crn_process_named(const char *path);

/* Functions of period.c that process.c calls once the process has had a period. */
typedef struct crn_process_periods {
    void (*begin_child)(void); /* in a child of fork */
    void (*end_helper)(void);  /* at the process's end, without the lock */
    /* At the process's end, after end_helper, under the lock. Writes the capture of the current
     * period; returns false if no period is recorded. */
    bool (*end)(void);
} crn_process_periods;

/* Has process.c call these functions from now on. Under the lock. */
void crn_process_use_periods(const crn_process_periods *used);

/* Ends the capture at the end of the process. Frees nothing that other threads may still use. */
void crn_profile_end(cairn_profile *profile);
/* Returns false if the process ends in a signal handler that interrupted a holder of the locks. */
bool crn_profile_locks_are_free(cairn_profile *profile);

#endif
