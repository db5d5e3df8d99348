/* SPDX-License-Identifier: MIT
 *
 * end.c - ends a profile.
 */
#include "host.h"

void crn_host_stop(crn_host *host)
{
    if (host->stopped)
        return;
    crn_sampler_close(host);
    crn_ledger_close(host);
    crn_count_settle(host, host->running);
    host->stopped = true;
    crn_host_leave();
    cairn_profile_disable(host->profile);
    crn_host_note(host, "elapsed_ns", "%llu",
                  (unsigned long long)(crn_now_ns() - host->started_ns));
    crn_cost_note(host);
    cairn_profile_close(host->profile);
    host->profile = NULL;
    crn_blocks_close(host);
}
