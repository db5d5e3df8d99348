/* SPDX-License-Identifier: MIT
 *
 * switches.h - the context switches and wake-ups of a thread of this process, as the kernel records
 * them (perf_event_open). The thread itself need not do anything.
 */
#ifndef CRN_PLAT_SWITCHES_H
#define CRN_PLAT_SWITCHES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct crn_switches crn_switches;

typedef enum crn_switch_kind {
    CRN_SWITCH_WAITS, /* the thread gave up its core to wait */
    CRN_SWITCH_READY, /* the thread was preempted */
    CRN_SWITCH_IN,    /* the thread got a core */
    CRN_SWITCH_WOKE,  /* the thread, or an interrupt on its core, woke another thread */
    CRN_SWITCH_LOST   /* the kernel had no space: some switches are missing */
} crn_switch_kind;

typedef struct crn_switch {
    crn_switch_kind kind;
    uint64_t at; /* CLOCK_MONOTONIC, ns; meaningless for CRN_SWITCH_LOST */
    pid_t woken; /* for CRN_SWITCH_WOKE: the thread that was woken */
    bool itself; /* for CRN_SWITCH_WOKE: the thread woke `woken` itself, not an interrupt */
} crn_switch;

/* Has the kernel record the switches of a thread from now on. Returns NULL where that is not
 * possible or not allowed. Opens and closes a file; keeps none open. */
crn_switches *crn_switches_open(pid_t thread);

/* Likewise records the wake-ups of other threads by the thread. Needs a mounted tracefs and the
 * right to use tracepoints. */
crn_switches *crn_switches_open_wakes(pid_t thread);

void crn_switches_close(crn_switches *switches);

/* Returns true if the ring buffer may have no space for another record. Then switches since the
 * last record may be missing. */
bool crn_switches_are_full(const crn_switches *switches);

/* Returns how far the kernel has written. Whoever reads wake-ups after this call finds the wake-up
 * of each switch before this end: the kernel records a wake-up first. */
uint64_t crn_switches_end(const crn_switches *switches);

/* Takes the next switch before `end`. Returns false if no switch is left to read. One caller at a
 * time. */
bool crn_switches_next(crn_switches *switches, uint64_t end, crn_switch *next);

#endif
