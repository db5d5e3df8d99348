/* SPDX-License-Identifier: MIT
 *
 * timed.h - internals of libcairn-time.
 *
 * Programs compiled with --profile=time contain no inserted code. A timer on each thread's CPU
 * clock interrupts the thread; the handler stores the address, and with --stack the callers'
 * addresses, in the thread's ring (a circular buffer). The charging thread empties the rings and
 * charges the samples. Functions, inlined ones too, are looked up in debug information when the
 * capture is read (src/symbols).
 */
#ifndef CRN_HOSTS_GCC_TIMED_H
#define CRN_HOSTS_GCC_TIMED_H

#include <signal.h>
#include <time.h>

#include <cairn/process.h>

#include "unwind/unwind.h"

/* Size of a ring in words; most addresses of a sample. */
enum { CRN_TIME_WORDS = 8192, CRN_TIME_DEEPEST = 250 };

/* A sampled thread. The handler increases `written`, the charging thread `read`. A sample is a word
 * with the number of addresses (16 bits) and of timer periods (above these), then the addresses,
 * innermost first. */
typedef struct crn_timed {
    struct crn_timed *next;
    crn_unwind_memory memory; /* bounds of its stack */
    timer_t timer;
    bool ended;             /* atomic: its ring gets nothing more */
    uint64_t written, read; /* numbers of words; atomic */
    uint64_t lost; /* timer periods for which the ring, or an alternate stack, had no space; written
                      by the handler */
    cairn_strand *strand; /* used by the charging thread; NULL before the first sample */
    char name[16];
    uint64_t words[CRN_TIME_WORDS];
} crn_timed;

/* Flag in the first word of a sample: the walk ended at an address that was not cached. */
#define CRN_TIME_CUT ((uint64_t)1 << 63)

/* ---- time_interrupt.c ------------------------------------------------------------------- */

/* The calling thread's crn_timed; NULL if the thread is not sampled. */
extern __thread crn_timed *crn_time_self __attribute__((tls_model("initial-exec")));

extern bool crn_time_stacks; /* samples contain the callers */

/* True while the charging thread sleeps for lack of samples: the next sample wakes it. Atomic. */
extern bool crn_time_sleeps;

/* The signal handler. */
void crn_time_interrupt(int number, siginfo_t *info, void *context);

/* ---- time_charge.c ---------------------------------------------------------------------- */

/* Charges all samples of a ring: `period` nanoseconds for each timer period. Returns true if there
 * were any samples. The caller holds the lock of time.c. */
bool crn_time_charge(cairn_profile *profile, crn_timed *timed, uint64_t period);

#endif
