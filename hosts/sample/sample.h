/* SPDX-License-Identifier: MIT
 *
 * sample.h - declarations that the parts of libcairn-sample share. docs/SAMPLING.md explains the
 * whole.
 *
 * A thread of the library, the collector, makes a timer on the processor clock of each of the
 * program's threads. The handler of the timer's signal unwinds the thread's stack in place and
 * writes it to a ring of that thread. The collector turns the stacks into contexts. For wall time
 * it looks at each thread now and then. /proc tells where a sleeping thread is, without disturbing
 * it.
 *
 * The signal handler takes no lock and allocates nothing. Functions that run in the program's
 * threads keep errno.
 */
#ifndef CRN_SAMPLE_SAMPLE_H
#define CRN_SAMPLE_SAMPLE_H

#include <cairn/process.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "unwind/unwind.h"

/* Marks a function of libc that this library interposes. */
#define EXPORT __attribute__((visibility("default")))

enum {
    CRN_RING_WORDS = 1 << 16, /* 8-byte words of a thread's ring; a power of two */
    CRN_FRAMES_MOST = 4096,   /* frames of a stack; a longer one is incomplete */
    CRN_NAME_SIZE = 16        /* bytes of a thread's name, with its NUL */
};

/* A stack in a ring: these words, then the addresses of the frames, the youngest first. */
typedef struct crn_sample_head {
    uint64_t frames; /* number of frames << 1 | complete */
    uint64_t at;     /* CLOCK_MONOTONIC, ns */
    uint64_t cpu;    /* the thread's processor clock, ns */
    uint64_t spent;  /* time in the handler, ns */
} crn_sample_head;

enum { CRN_HEAD_WORDS = sizeof(crn_sample_head) / sizeof(uint64_t) };

/* The part of a thread that rounds read while the thread sleeps. One array has those of all
 * threads, in few pages: on some virtual machines the first access to a page after a while takes 10
 * µs. */
typedef struct crn_sampled_turn {
    uint64_t next;    /* when to look at the thread again, ns of CLOCK_MONOTONIC */
    uint64_t written; /* words written to its ring so far, by the handler; atomic */
    uint64_t read;    /* words read from its ring so far, by the collector; atomic */
    uint64_t looked;  /* CLOCK_MONOTONIC of the last look, ns */
    uint64_t cpu;     /* the processor clock at the last look, ns */
    uint64_t since;   /* when it was first found asleep, ns */
    uint64_t owed;    /* wall time up to the last look that is not charged yet, ns */
    clockid_t clock;  /* its processor clock */
    bool blocked;     /* it slept at the last look, where its path says */
} crn_sampled_turn;

/* An entry for a thread of the program. It is never freed: a later thread uses it again. */
typedef struct crn_sampled {
    crn_sampled_turn *turn;
    pid_t tid;  /* 0: free */
    bool seen;  /* found by the last scan */
    bool own;   /* a thread of libcairn's, which is not sampled */
    bool named; /* the name was read a second time: see thread_name_again */
    bool has_timer;
    int timer; /* the kernel's number of the timer */
    char name[CRN_NAME_SIZE];
    cairn_lane *lane;
    cairn_strand *strand;

    /* Used by the collector alone. */
    uint64_t charged;      /* the processor clock up to which time has been charged, ns */
    uint64_t ready;        /* the kernel's sum of time without a core, at the last look, ns;
                              UINT64_MAX: not known */
    int ready_file;        /* /proc/self/task/TID/schedstat, while the thread runs; -1: not open */
    int call_file;         /* /proc/self/task/TID/syscall, likewise */
    size_t length;         /* of `path` */
    cairn_block *path;     /* its last path, outermost block first; CRN_FRAMES_MOST + 2 blocks */
    cairn_context context; /* of `path`; 0: not found yet */

    /* Written by the handler. The collector reads the ring, sets `lost` to 0 when it has counted
     * it, and clears `bounds_known` for a new thread. */
    uint64_t lost; /* samples that found no room in the ring, or on an alternate stack; atomic */
    uint64_t *ring;
    bool bounds_known; /* `memory` has the bounds of the thread's stack */
    crn_unwind_memory memory;
    char copy[CRN_UNWIND_PAGE];
} crn_sampled;

/* ---- state.c ---- */

extern int crn_sample_signal; /* number of the timers' signal; atomic; 0: none */

/* Signals that the program has blocked, or waited for, in a set of a few: bit N - 1 is signal N;
 * atomic. */
extern uint64_t crn_sample_named;
bool crn_sample_signal_is_named(int number);

/* libc's pthread_sigmask. */
int crn_sample_mask(int how, const sigset_t *set, sigset_t *old);

/* True if a filter (seccomp) may forbid the calling thread system calls: it should make none. */
extern __thread bool crn_sample_filtered __attribute__((tls_model("initial-exec")));

/* libc's function syscall; crn_sample_find_call sets it. */
extern long (*crn_sample_real_call)(long number, long, long, long, long, long, long);
void crn_sample_find_call(void);

/* Ends the process by the system call exit_group, without a function that is interposed here. */
_Noreturn void crn_sample_leave(int status);

/* Reads a clock in ns; 0 if that fails. Signal safe. */
uint64_t crn_sample_clock(clockid_t clock);

/* ---- profile.c ---- */

/* Opens the process's profile at `path`. It takes libcairn's options from the environment, which is
 * restored at once, because such options are for programs that use libcairn. NULL on failure. */
cairn_profile *crn_sample_profile_open(const char *path);

/* ---- itself.c ---- */

/* Returns true if the program contains libcairn, and so profiles itself. */
bool crn_sample_profiles_itself(void);

/* ---- exec.c ---- */

/* Returns true if a program before this one was sampled in the process, and called exec. Each
 * sampled program writes the process's id over the value of CAIRN_SAMPLE_PROCESS, in place, for the
 * next one to compare. */
bool crn_sample_follows_exec(void);

/* ---- handler.c: in the program's threads ---- */

/* Installs the handler for a signal. False if that fails. */
bool crn_sample_handle(int number);
/* Returns true if the action is that handler. */
bool crn_sample_handles(const struct sigaction *action);

/* ---- signals.c: the program must not meet our signal ---- */

/* Chooses a signal that the program does not use, other than the present one, and installs the
 * handler for it. Returns 0 if there is none. */
int crn_sample_signal_choose(void);
/* Called when the program sets the action of a signal. Gives the sampler's signal up if the program
 * installs a handler for it. Returns true if the call is to be ignored: the program resets,
 * ignores or holds the sampler's signal, as programs do with all signals. */
bool crn_sample_signal_is_kept(int number, __sighandler_t handler);

/* ---- masks.c: sets of signals ---- */

/* Blocks the timers' signal in the calling thread alone (SIG_BLOCK), or unblocks it (SIG_UNBLOCK).
 * Sets `before`, unless it is NULL, to the signals that were blocked. */
void crn_sample_signal_block(int how, sigset_t *before);

/* ---- hidden.c ---- */

/* Returns true if the collector may be hidden from the C library (src/plat/hidden_thread.h). To be
 * called at the process's begin. */
bool crn_sample_may_hide(void);

/* ---- start.c ---- */

/* Ends the collector's thread, so that the program's threads are alone. Returns true if it did;
 * crn_sample_go_on then starts a new one, with the rights of the calling thread. Signals are
 * blocked in between, as a handler may make such a change, too; `mask` keeps the mask before. Other
 * threads that make such a change wait, at most two seconds. */
bool crn_sample_pause(sigset_t *mask);
void crn_sample_go_on(bool paused, const sigset_t *mask);
/* Replaces a hidden collector by one that the C library knows, for good. */
void crn_sample_show(void);
/* Called before code is unloaded and after it. Lets the collector look up the code of the samples
 * so far, then lets it make no rounds meanwhile, for CRN_UNLOAD_NS at most. Returns false, and is
 * not to be ended, if there is no collector. */
bool crn_sample_unload_begin(void);
void crn_sample_unload_end(void);
/* Ends sampling and completes the capture, while the process goes on. */
void crn_sample_end_early(void);

/* The thread that is ending the collector; 0: none. It now runs in this library, so its time since
 * the last look is charged to where it was at that look. */
extern pid_t crn_sample_ending_thread;

/* Processor time of the first thread, in ns, that it used for an earlier program, before exec. */
extern uint64_t crn_sample_used_before;

/* ---- threads.c: the program's threads ---- */

/* Prepares for a new collector. `period_ns`: of processor time between two samples of a thread;
 * `files_are_own`: the collector has a table of descriptors of its own. */
void crn_sample_threads_begin(uint64_t period_ns, bool files_are_own);
/* Returns why threads have no timers, and so no samples of processor time; NULL if they have. */
const char *crn_sample_threads_lack_timers(void);
/* Reads /proc/self/task/TID/`name` into `text`, ended by NUL; `text` is empty if that fails. `file`
 * is the thread's ready_file or call_file. It stays open if the collector has a table of
 * descriptors of its own that is less than half full. */
void crn_sample_thread_read(const crn_sampled *thread, const char *name, int *file, char *text,
                            size_t size);
/* Closes the thread's files. */
void crn_sample_thread_close(crn_sampled *thread);
/* Finds new and ended threads: makes their lanes and timers, and closes those of ended ones after
 * calling `finish`. */
void crn_sample_threads_scan(cairn_profile *profile, void (*finish)(crn_sampled *thread));
/* Returns true if all threads of the program have ended: the collector alone keeps the process.
 * Sets `status` to the first thread's exit status, which only the system call exit makes other than
 * 0. */
bool crn_sample_threads_are_gone(int *status);
/* Calls `look`, with the present time, for threads that were sampled, and for those whose turn it
 * is and for which `sleeps_on` returns false. */
void crn_sample_threads_look(bool (*sleeps_on)(crn_sampled_turn *turn, uint64_t now),
                             void (*look)(crn_sampled *thread, uint64_t now));
/* Returns true if a ring has samples that are not charged yet. */
bool crn_sample_threads_have_samples(void);
/* Calls `each` for all threads of the program, with the present time. */
void crn_sample_threads_each(void (*each)(crn_sampled *thread, uint64_t now));
/* Deletes all timers; in a child of fork, where there are none, only forgets the threads. */
void crn_sample_threads_end(bool child);
/* Makes `number` the timers' signal (0: none), as the program wants the present one for itself, and
 * makes the timers anew. To be called by a thread of the program, also in a handler. */
void crn_sample_signal_change(int number);

/* ---- collect.c: stacks become contexts ---- */

/* Turns the stacks in a thread's ring into charges of processor time. */
void crn_sample_drain(crn_sampled *thread);
/* Drains the thread's ring, and charges wall time since the last look to where the thread was and
 * is. The next look is at the next round, or after an eighth of its sleep if it sleeps on. */
void crn_sample_look(crn_sampled *thread, uint64_t now);
/* Looks at a thread that slept at the last look. If it has slept on, this look's time is owed.
 * Returns false if it has not, or if what is owed is as long as its sleep before, so that readers
 * of a live capture see it. */
bool crn_sample_sleeps_on(crn_sampled_turn *turn, uint64_t now);
/* Charges what is owed and not drained of a thread that has ended. */
void crn_sample_finish(crn_sampled *thread);
/* Charges processor time since the last sample to the thread's last path. */
void crn_sample_settle(crn_sampled *thread, uint64_t now);
/* Notes what is sampled, at the begin of a capture. */
void crn_sample_describe(cairn_profile *profile, uint64_t period_ns);
/* Notes how much was sampled, and its cost, at the end. */
void crn_sample_note(cairn_profile *profile);
/* Returns true if a thread has used processor time since this was last called. */
bool crn_sample_was_busy(void);
/* Forgets all counts, in a child of fork. */
void crn_sample_forget(void);

#endif
