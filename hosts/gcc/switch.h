/* SPDX-License-Identifier: MIT
 *
 * switch.h - recording that a signal switches on and off while the program runs (--standby).
 */
#ifndef CRN_HOSTS_GCC_SWITCH_H
#define CRN_HOSTS_GCC_SWITCH_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* The number of the present period, odd while recording is on; 0 in processes that were never
 * switched. Atomic. A thread's number is in crn_site_held. */
extern uint32_t crn_switch_period __attribute__((visibility("hidden")));

/* Gives the calling thread, whose number differs, its strand for the present period, or takes it
 * away. Opens the profile in the first thread. */
void crn_switch_follow(void);

/* Returns true if the signal is the one that switches. Then replaces our action in `*before`, which
 * the program asked for, by the default. `before` may be NULL. */
bool crn_switch_hides(int number, struct sigaction *before);

/* Notes that the program has installed an action of its own for that signal, which it keeps. */
void crn_switch_take(void);

#endif
