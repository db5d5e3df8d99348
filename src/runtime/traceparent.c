/* SPDX-License-Identifier: MIT
 *
 * Writes and reads traceparent: docs/CAPTURE_FORMAT.md, "Across processes".
 */
#include <cairn/traceparent.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/span.h"

enum { UNKNOWN_VERSION = 0xff };

/* ---- requester ---- */

/* Writes a header also for an open span that is not recorded, so that its children in other
 * processes do not become root spans; if its tree is not sampled, they are not recorded either. */
bool cairn_traceparent_write(const cairn_strand *strand, char text[CAIRN_TRACEPARENT_SIZE])
{
    text[0] = 0;
    if (!strand || crn_lane_is_buried(crn_lane_of(strand)) || !crn_lane_of(strand)->profile->spans)
        return false;
    const cairn_profile *profile = crn_lane_of(strand)->profile;
    cairn_handoff handoff = cairn_handoff_take(strand);
    unsigned flags = CRN_TRACE_SAMPLED;
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

/* Parses `count` lower-case hexadecimal digits. Returns false for other characters, as the standard
 * requires. */
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

/* Returns true if the header ends at `rest`. Later versions may add fields behind another "-". */
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
    read.flags = version ? flags & CRN_TRACE_SAMPLED : flags;
    *handoff = read;
    return true;
}
