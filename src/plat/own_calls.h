/* SPDX-License-Identifier: MIT
 *
 * own_calls.h - finds functions of the C library in whose place the program, or a library that it
 * loads, has others. Those may need more than a hidden thread has (hidden_thread.h).
 */
#ifndef CRN_PLAT_OWN_CALLS_H
#define CRN_PLAT_OWN_CALLS_H

#include <stdbool.h>
#include <stddef.h>

/* Returns true if the C library's own functions are called by these names. `place`: RTLD_DEFAULT;
 * RTLD_NEXT: after this library, which defines the names itself. Not in static programs. */
bool crn_calls_c_library(void *place, const char *const names[], size_t count);

#endif
