/* SPDX-License-Identifier: MIT
 *
 * Linked into each program and shared object compiled with --zero: registers its sites, so that
 * the report can list those that never ran.
 */
#include "site.h"

extern crn_packed_site __start_cairn_sites[] __attribute__((weak, visibility("hidden")));
extern crn_packed_site __stop_cairn_sites[] __attribute__((weak, visibility("hidden")));

__attribute__((constructor)) static void add_sites(void)
{
    if (!cairn_priv_process_off)
        cairn_priv_sites_add(__start_cairn_sites, __stop_cairn_sites);
}
