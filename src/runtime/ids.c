/* SPDX-License-Identifier: MIT
 *
 * Trace id, and ids of spans for other processes: docs/CAPTURE_FORMAT.md, "Across processes".
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/random.h"
#include "runtime/span.h"

/* Returns a number that probably differs between processes, for when the system has no random
 * numbers yet. */
static uint64_t make_do(uint64_t n)
{
    uint64_t z = crn_clock_monotonic() ^ crn_clock_realtime() << 20 ^ (uint64_t)getpid() << 40 ^
                 (uint64_t)(uintptr_t)&z ^ n * 0x9e3779b97f4a7c15u;
    return crn_random_mix(z);
}

/* Returns a random number other than 0. `n` differs between the calls of one process. */
static uint64_t draw(uint64_t n)
{
    uint64_t number = 0;
    int saved = errno;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number || !number)
        number = make_do(n) | 1;
    errno = saved;
    return number;
}

static void note_key(cairn_profile *profile)
{
    char text[17];
    profile->span_key = draw(3);
    snprintf(text, sizeof text, "%016" PRIx64, profile->span_key);
    crn_profile_add_note(profile, "span_key", text);
}

void crn_ids_begin(cairn_profile *profile)
{
    char text[33];
    profile->trace_id[0] = draw(1);
    profile->trace_id[1] = draw(2);
    snprintf(text, sizeof text, "%016" PRIx64 "%016" PRIx64, profile->trace_id[0],
             profile->trace_id[1]);
    crn_profile_add_note(profile, "trace_id", text);
    note_key(profile);
}

void crn_ids_begin_child(cairn_profile *profile)
{
    note_key(profile);
}

bool crn_trace_make_own(const cairn_profile *profile, uint64_t trace[2])
{
    if (trace[0] | trace[1])
        return false;
    trace[0] = profile->trace_id[0];
    trace[1] = profile->trace_id[1];
    return true;
}

void crn_handoff_name_trace(const cairn_strand *strand, cairn_handoff *handoff)
{
    const crn_adoption *within =
        strand->adoption_count ? &strand->adoptions[strand->adoption_count - 1] : NULL;
    if (within) {
        handoff->trace[0] = within->trace[0];
        handoff->trace[1] = within->trace[1];
        handoff->flags = within->flags;
    }
    if (within && !handoff->span)
        handoff->remote = within->remote;
    uint64_t forked = crn_spans_forked(strand);
    if (!forked)
        return;
    handoff->remote = forked;
    if (crn_trace_make_own(crn_lane_of(strand)->profile, handoff->trace))
        handoff->flags = CRN_TRACE_SAMPLED;
}
