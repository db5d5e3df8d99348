/* SPDX-License-Identifier: MIT
 *
 * timed.h - what the parts of libcairn-time share.
 *
 * A program of this kind has no instructions of ours on its path. A timer on each thread's own
 * processor time interrupts it; the handler writes down where it was, and with --stack where its
 * callers were, in a ring that is the thread's. A thread of ours empties the rings and charges what
 * it finds. What function an address is in, and what was inlined there, is the compiler's own
 * knowledge, in the debug information: it is looked up when the capture is read (src/symbols).
 */
#ifndef CRN_HOSTS_GCC_TIMED_H
#define CRN_HOSTS_GCC_TIMED_H

#include <signal.h>
#include <time.h>

#include <cairn/process.h>

#include "unwind/unwind.h"

enum { CRN_TIME_WORDS = 8192, CRN_TIME_DEEPEST = 250 };

/* A thread. The handler writes `written`, our thread `read`; both only go up. A sample is a word
 * with the number of its addresses and of timer periods, then the addresses, innermost first. */
typedef struct crn_timed {
    struct crn_timed *next;
    crn_unwind_memory memory; /* of its stack */
    timer_t timer;
    bool has_timer;
    bool ended;             /* atomic: its ring gets nothing more */
    uint64_t written, read; /* atomic */
    uint64_t lost;          /* periods that there was no room for; the handler's */
    cairn_strand *strand;   /* our thread's */
    char name[16];
    uint64_t words[CRN_TIME_WORDS];
} crn_timed;

/* In the word that begins a sample: the walk ended where nothing is known yet. */
#define CRN_TIME_CUT ((uint64_t)1 << 63)

extern bool crn_time_stacks; /* with callers */

/* The handler of the timer's signal. */
void crn_time_interrupt(int number, siginfo_t *info, void *context);

/* The calling thread's, NULL if it is not sampled. */
crn_timed *crn_time_self(void);

/* ---- time_charge.c: in our thread ------------------------------------------------------- */

/* Charges all samples of a thread's ring, `period` nanoseconds each. */
void crn_time_charge(cairn_profile *profile, crn_timed *timed, uint64_t period);

#endif
