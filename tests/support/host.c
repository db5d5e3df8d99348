/* SPDX-License-Identifier: MIT */
#include "support/host.h"

#include <signal.h>

#include <cairn/host.h>

bool test_has_host;

int __sigaction(int number, const struct sigaction *action, struct sigaction *before);

/* Replaces libc's function. */
__attribute__((visibility("default"))) int sigaction(int number, const struct sigaction *action,
                                                     struct sigaction *before)
{
    return test_has_host && number == SIGBUS ? cairn_priv_bus_action(action, before)
                                             : __sigaction(number, action, before);
}
