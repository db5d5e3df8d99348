/* SPDX-License-Identifier: MIT
 *
 * switch.h - processes whose recording a signal switches on and off (cairn cc --standby).
 */
#ifndef CRN_CLI_RUN_SWITCH_H
#define CRN_CLI_RUN_SWITCH_H

#include "run.h"

/* Returns true if the process can be switched. Otherwise stores why not in `why`; leaves `why`
 * empty for a program without a switch, of which the user does not expect it. */
bool crn_run_can_switch(int process, char *why, size_t size);

/* Switches the process on, and off after `for_ns` (0: when the process ends), or when the user
 * presses Ctrl-C, and moves its capture to run->output. Prints errors. Returns an exit status. */
int crn_run_switch(const crn_run *run, int process, uint64_t for_ns);

#endif
