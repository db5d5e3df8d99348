/* SPDX-License-Identifier: MIT
 *
 * --standby: a switch, one byte, in each program and shared object, which its functions test before
 * they enter and leave. The switch is off without a profile: a function then executes two
 * instructions for an enter and two for a leave.
 */
#include <errno.h>

#include "runtime.h"

void cairn_priv_switch_set(bool *own)
{
    int saved = errno;
    *own = cairn_process_profile() != NULL;
    errno = saved;
}
