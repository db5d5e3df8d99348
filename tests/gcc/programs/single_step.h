/* SPDX-License-Identifier: MIT
 *
 * single_step.h - runs a SIGTRAP handler after each instruction between begin_steps and end_steps.
 */
#include <signal.h>

#include "flags.h"
#include "noipa.h"

enum { STEP_FLAG = 0x100, WARM = 3, TIMES = 8 };

static volatile int seen, trapped, warming;

KEPT int trap_leaf(int n)
{
    trapped = n;
    return n + 1;
}

/* The first rounds raise the signal at a few places only, until all contexts of the handler
 * exist. */
static inline void begin_steps(void)
{
    if (warming)
        raise(SIGTRAP);
    else
        WRITE_FLAGS(READ_FLAGS() | STEP_FLAG);
}

static inline void end_steps(void)
{
    if (warming)
        raise(SIGTRAP);
    else
        WRITE_FLAGS(READ_FLAGS() & ~(unsigned long long)STEP_FLAG);
}
