/* SPDX-License-Identifier: MIT
 *
 * Linked into each program and shared object that is compiled with --zero: says which sites are in
 * it, so that what never ran is known.
 */
#include "site.h"

extern crn_packed_site __start_cairn_sites[] __attribute__((weak, visibility("hidden")));
extern crn_packed_site __stop_cairn_sites[] __attribute__((weak, visibility("hidden")));

__attribute__((constructor)) static void add_sites(void)
{
    if (!cairn_priv_process_off)
        cairn_priv_sites_add(__start_cairn_sites, __stop_cairn_sites);
}
