/* SPDX-License-Identifier: MIT
 *
 * process.h - the process's own profile, for programs that do not open one themselves.
 *
 * `cairn run ./program`, or CAIRN_OUT=FILE in its environment, requests a profile. It is opened by
 * the first call that needs it. Each thread gets a lane and a strand when it first asks, which end
 * with the thread. The capture is closed when the process ends by exit or by returning from main.
 * Without CAIRN_OUT there is no profile and no file.
 *
 * Further variables, which `cairn run` sets from its options, are described in cairn-run(1). %p in
 * CAIRN_OUT is the process id.
 *
 * Child processes inherit CAIRN_OUT. If the file is being written by another running process, or
 * was written since CAIRN_SINCE (ns of CLOCK_REALTIME, set by `cairn run`), the process uses
 * x.PID.cairn beside x.cairn, as a child of fork does. Processes that start at once serialise on a
 * lock (flock) on the directory while they choose; a process waits at most half a second for it.
 *
 * Late events are harmless: what destructors and other threads do after the profile is closed is
 * not recorded. A thread that runs while the process ends keeps what it has recorded, but its time
 * since its last sample is lost. exit() in a signal handler that interrupted Cairn leaves the
 * capture as a kill would.
 */
#ifndef CAIRN_PROCESS_H
#define CAIRN_PROCESS_H

#include "cairn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the process's own profile, opening it if needed; NULL if the process is not profiled, the
 * capture cannot be made, or it is closed already. Do not close it. Waits while another thread
 * opens it. Thread: any. Not signal safe. */
CAIRN_API cairn_profile *cairn_process_profile(void);

/* Read by cairn_thread_strand: this thread's strand, NULL until it exists; and a flag that no
 * thread will get one. */
CAIRN_API extern __thread cairn_strand *cairn_priv_thread_strand
    __attribute__((tls_model("initial-exec")));
CAIRN_API extern int cairn_priv_process_off;
CAIRN_API cairn_strand *cairn_priv_thread_begin(void);

/* Between the two calls the calling thread has no strand, so that a signal handler, an own malloc
 * or another fork handler neither waits for a lock that this thread holds nor is counted. Pairs
 * nest. Use them around locked sections; in pthread_atfork handlers, first before the fork and last
 * after it. Signal safe. */
CAIRN_API void cairn_priv_strand_aside(void);
CAIRN_API void cairn_priv_strand_back(void);

/* A child process that was made without the handlers of fork (_Fork, clone, system calls) records
 * nothing. Hosts that see it begin call cairn_priv_process_begin_unseen in the child; those that do
 * not notice it at their next slow event: cairn_priv_process_is_unseen then returns true. Signal
 * safe. */
CAIRN_API void cairn_priv_process_begin_unseen(void);
CAIRN_API extern const uint32_t *cairn_priv_process_seen;

CAIRN_PRIV_INLINE bool cairn_priv_process_is_unseen(void)
{
    return !*cairn_priv_process_seen;
}

/* Returns zeroed memory that is not malloc's, for hosts that may be called inside of malloc; NULL
 * if there is none. Thread: any. Signal safe. */
CAIRN_API void *cairn_priv_calloc(size_t count, size_t size);
CAIRN_API void cairn_priv_free(void *memory);

/* Threads of the runtime and its hosts: they have no strand, and do not keep the process alive.
 *
 * The creator calls cairn_priv_thread_creates(true) before pthread_create and (false) after it,
 * with all signals blocked. In between cairn_priv_thread_is_creating returns true in that thread:
 * an interposed pthread_create must then pass the call on unchanged. The new thread reports its
 * begin and end with cairn_priv_thread_is_ours.
 *
 * cairn_priv_program_is_over returns true if only such threads remain because all of the program's
 * have ended: the caller must then end, too. Thread: any. Opens no file. */
CAIRN_API void cairn_priv_thread_creates(bool begins);
CAIRN_API bool cairn_priv_thread_is_creating(void);
CAIRN_API void cairn_priv_thread_is_ours(bool begins);
CAIRN_API bool cairn_priv_program_is_over(void);

/* Returns this thread's own strand in that profile, NULL without one, which costs two predictable
 * branches. It is the only strand of a lane named like the thread. Both are closed when the thread
 * ends, after the destructors of thread-local objects and all but the last rounds of
 * pthread_key_create destructors; afterwards this returns NULL. Not signal safe. */
CAIRN_PRIV_INLINE cairn_strand *cairn_thread_strand(void)
{
    cairn_strand *strand = cairn_priv_thread_strand;
    if (__builtin_expect(strand != NULL, 1) ||
        __builtin_expect(CAIRN_PRIV_READ(cairn_priv_process_off), 1))
        return strand;
    return cairn_priv_thread_begin();
}

#ifdef __cplusplus
}
#endif

#endif
