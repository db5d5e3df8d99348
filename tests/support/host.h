/* SPDX-License-Identifier: MIT
 *
 * host.h - a test program as a host, which hides the runtime's handler of SIGBUS. Only captures of
 * hosts are packed.
 */
#ifndef TESTS_SUPPORT_HOST_H
#define TESTS_SUPPORT_HOST_H

#include <stdbool.h>

/* From then on sigaction is a host's. Set it before a profile is opened. */
extern bool test_has_host;

#endif
