/* SPDX-License-Identifier: MIT
 *
 * Switches the program's own recording on and off, and waits until that has happened. Its captures
 * are x.PID.1.cairn and so on (CAIRN_SWITCH=USR2 CAIRN_SWITCH_OUT=x.cairn).
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define UNSEEN __attribute__((no_instrument_function)) static inline

extern volatile unsigned cairn_priv_switch_3 __attribute__((visibility("hidden")));
static int periods;

UNSEEN void switch_on(void)
{
    raise(SIGUSR2);
    while (!cairn_priv_switch_3)
        usleep(100);
}

/* Something must be called since switch_on. */
UNSEEN void switch_off(void)
{
    char path[64];
    raise(SIGUSR2);
    snprintf(path, sizeof path, "x.%d.%d.cairn", (int)getpid(), ++periods);
    while (access(path, F_OK) != 0)
        usleep(100);
}
