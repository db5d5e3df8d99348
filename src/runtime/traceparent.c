/* SPDX-License-Identifier: MIT
 *
 * Ids of spans outside of their process: docs/CAPTURE_FORMAT.md, "Across processes".
 */
#include <cairn/traceparent.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "runtime/span.h"

enum { SAMPLED = 1, UNKNOWN_VERSION = 0xff };

/* ---- the process's own ids ---- */

/* A substitute if the system has no randomness yet: differs between processes. */
static uint64_t make_do(uint64_t n)
{
    uint64_t z = crn_clock_monotonic() ^ crn_clock_realtime() << 20 ^ (uint64_t)getpid() << 40 ^
                 (uint64_t)(uintptr_t)&z ^ n * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

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

/* ---- requester ---- */

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
        handoff->flags = SAMPLED;
}

/* If an open span is not recorded, its remote children must learn that. */
bool cairn_traceparent_write(const cairn_strand *strand, char text[CAIRN_TRACEPARENT_SIZE])
{
    text[0] = 0;
    if (!strand || crn_lane_is_buried(crn_lane_of(strand)) || !crn_lane_of(strand)->profile->spans)
        return false;
    const cairn_profile *profile = crn_lane_of(strand)->profile;
    cairn_handoff handoff = cairn_handoff_take(strand);
    unsigned flags = SAMPLED;
    uint64_t id = handoff.remote ? handoff.remote : handoff.span ^ profile->span_key;
    if (handoff.span == CAIRN_SPAN_SKIPPED) {
        id = profile->span_key;
        flags = 0;
    } else if (handoff.remote && handoff.trace[0] | handoff.trace[1]) {
        flags = (unsigned)handoff.flags;
    } else if (!handoff.span && !handoff.remote) {
        return false;
    }
    bool own = !(handoff.trace[0] | handoff.trace[1]);
    const uint64_t *trace = own ? profile->trace_id : handoff.trace;
    snprintf(text, CAIRN_TRACEPARENT_SIZE, "00-%016" PRIx64 "%016" PRIx64 "-%016" PRIx64 "-%02x",
             trace[0], trace[1], id, flags & 0xff);
    return true;
}

/* ---- server ---- */

/* Parses `count` lower-case hexadecimal digits, as the standard requires. Returns false
 * otherwise. */
static bool read_digits(const char *text, int count, uint64_t *number)
{
    *number = 0;
    for (int i = 0; i < count; i++) {
        char c = text[i];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                : 16;
        if (digit == 16)
            return false;
        *number = *number << 4 | digit;
    }
    return true;
}

/* Later versions may add fields behind a further "-". */
static bool ends_right(const char *rest, uint64_t version)
{
    return *rest == 0 || (version && *rest == '-');
}

bool cairn_traceparent_read(const char *text, cairn_handoff *handoff)
{
    enum { TRACE = 3, SPAN = 36, FLAGS = 53, END = 55 };
    uint64_t version, flags;
    cairn_handoff read = {.span = 0};
    *handoff = read;
    if (!text || strnlen(text, END) < END || text[TRACE - 1] != '-' || text[SPAN - 1] != '-' ||
        text[FLAGS - 1] != '-' || !read_digits(text, 2, &version) || version == UNKNOWN_VERSION ||
        !read_digits(text + TRACE, 16, &read.trace[0]) ||
        !read_digits(text + TRACE + 16, 16, &read.trace[1]) ||
        !read_digits(text + SPAN, 16, &read.remote) || !read_digits(text + FLAGS, 2, &flags) ||
        !ends_right(text + END, version) || !(read.trace[0] | read.trace[1]) || !read.remote)
        return false;
    read.flags = version ? flags & SAMPLED : flags;
    *handoff = read;
    return true;
}
