/* SPDX-License-Identifier: MIT
 *
 * Decides whether threads of a profile are hidden from the C library (plat/hidden_thread.h).
 */
#include "plat/hidden_thread.h"
#include "runtime/runtime.h"

bool crn_profile_may_hide(const cairn_profile *profile, crn_hiding what)
{
    return profile->hides >= what && profile->cpu == CAIRN_CPU_OFF && !profile->has_off_core &&
           cairn_priv_bus_is_caught() && crn_hidden_thread_is_useful();
}
