/* SPDX-License-Identifier: MIT
 *
 * process.h - internals of the process's own profile.
 */
#ifndef CRN_RUNTIME_PROCESS_H
#define CRN_RUNTIME_PROCESS_H

#include <cairn/process.h>

#include "runtime/runtime.h"

/* Reads the options from the environment; `options` has the defaults. If a variable cannot be
 * parsed it is ignored, and `*wrong` is its name, otherwise NULL. The options' strings belong to
 * the environment, except `*path`, which must be freed. Returns false if no profile is
 * requested. */
bool crn_process_options(cairn_options *options, char **path, const char **wrong);

/* Locks the directory while a path is chosen and the capture is made, so that processes which start
 * at once with the same CAIRN_OUT see each other's captures. Returns -1 if that fails; it works
 * without the lock, too. */
int crn_place_lock(void);
void crn_place_unlock(int place);

/* State of a thread. busy: it is opening the profile or a strand; an own malloc may ask for the
 * strand meanwhile. over: its strand has ended. ours: a thread of the runtime, without a strand.
 * creating: it is creating such a thread. */
typedef struct crn_own_thread {
    bool busy, over, ours, creating;
} crn_own_thread;

extern __thread crn_own_thread crn_own __attribute__((tls_model("initial-exec")));

/* Gives the calling thread its strand; NULL takes it away for good. */
void crn_thread_set_strand(cairn_strand *strand);

/* Makes the calling thread one of the runtime's, which gets no strand, or not one again. */
void crn_process_refuse_strand(bool refuse);

/* Held during a fork: the list of threads to be joined. The second function releases it in the
 * child, which has only one thread and clears the list. */
void crn_wrap_lock(void);
void crn_wrap_unlock(void);
void crn_wrap_forget(void);

/* Held during a fork: the lanes of asynchronous spans. The last function releases it in the child,
 * which begins without such lanes. */
void crn_async_lock(void);
void crn_async_unlock(void);
void crn_async_forget(void);

/* Ends the capture; leaves everything in place that threads may still use. */
void crn_profile_end(cairn_profile *profile);

#endif
