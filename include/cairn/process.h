/* SPDX-License-Identifier: MIT
 *
 * process.h - the process's own profile: for programs that do not open one themselves.
 *
 * `cairn run ./program`, or CAIRN_OUT=FILE in its environment, says that a program is profiled. Its
 * profile is then opened by the first that asks for it, each thread gets a lane and a strand when
 * it first asks, which end with the thread, and the capture is closed when the process ends by
 * exit or by returning from main. Without CAIRN_OUT there is no profile, and nothing is left.
 *
 * Further variables say how: those that `cairn run` sets by its options, see cairn-run(1). %p in
 * CAIRN_OUT is the number of the process.
 *
 * A process that was started by a profiled one has the same CAIRN_OUT. While the file there is
 * being written by another process that runs, or if it has been since CAIRN_SINCE (nanoseconds of
 * CLOCK_REALTIME; `cairn run` says so when it begins), it takes x.PID.cairn beside x.cairn, as a
 * child of fork does. Of several that start at once one has the file, for each holds a lock (flock)
 * on the folder while it looks and makes its capture; it waits half a second for it at most, then
 * goes on without.
 *
 * Late events are harmless: what destructors and other threads do once the profile is closed is
 * not recorded. A thread that goes on while the process ends keeps what it has recorded; its time
 * since its last sample is not charged. exit() in a signal handler that interrupted Cairn's own
 * code leaves the capture as a kill would.
 */
#ifndef CAIRN_PROCESS_H
#define CAIRN_PROCESS_H

#include "cairn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The process's own profile, opened if need be; NULL if it is not profiled, if the capture cannot
 * be made, and once it is closed. Not to be closed by who asks. Thread: any. Not signal safe.
 * While another thread opens it, waits. */
CAIRN_API cairn_profile *cairn_process_profile(void);

/* What cairn_thread_strand reads: this thread's strand, NULL until it is there; and whether there
 * is none to come, in any thread. */
CAIRN_API extern __thread cairn_strand *cairn_priv_thread_strand
    __attribute__((tls_model("initial-exec")));
CAIRN_API extern int cairn_priv_process_off;
CAIRN_API cairn_strand *cairn_priv_thread_begin(void);

/* Between the two the calling thread has no strand, so that what it enters meanwhile (a signal's
 * handler, the program's own malloc, another handler of fork) neither waits for a lock that this
 * thread has nor counts where it must not. Pairs nest. Around what is locked; of handlers of
 * pthread_atfork the first thing before the fork, and the last one after it: then nothing is
 * recorded from the first of them to the last. Signal safe. */
CAIRN_API void cairn_priv_strand_aside(void);
CAIRN_API void cairn_priv_strand_back(void);

/* For what hosts need while the program runs: zeroed memory that is not its malloc's, in whose
 * midst they may be called; NULL if there is none. Thread: any. Signal safe. */
CAIRN_API void *cairn_priv_calloc(size_t count, size_t size);
CAIRN_API void cairn_priv_free(void *memory);

/* For hosts with threads of their own: such a thread says when it begins and when it ends. Whether
 * these are all that is left of the process, as each of the program's has ended by itself: whoever
 * sees that ends, too, so that the process does. Thread: any. Opens no file. */
CAIRN_API void cairn_priv_thread_is_ours(bool begins);
CAIRN_API bool cairn_priv_program_is_over(void);

/* This thread's own strand of that profile; NULL if there is none, which costs two predictable
 * branches. It is the only strand of a lane that is named like the thread; both are closed when
 * the thread ends, after the destructors of its thread-local objects and all but the last rounds
 * of those that pthread_key_create knows; from then on this is NULL. Not signal safe. */
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
