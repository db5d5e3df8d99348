/* SPDX-License-Identifier: MIT
 *
 * Spans that are open at a fork: they are the parent's. Spans that the child begins inside of such
 * a span are recorded as the span's remote children.
 */
#include "base/memory.h"
#include "runtime/off_core.h"
#include "runtime/sample_moments.h"
#include "runtime/span.h"

/* Makes space for the ids of `count` entries; keeps ids of a grandparent's spans. */
static bool has_room(cairn_strand *strand, size_t count)
{
    if (count <= strand->forked_room)
        return true;
    uint64_t *forked = crn_try_realloc(strand->forked, count, sizeof *forked);
    if (!forked)
        return false;
    strand->forked = forked;
    strand->forked_room = count;
    return true;
}

/* Marks recorded open spans as spans of an ancestor process. Spans that are not recorded, for any
 * reason, stay so. */
static void leave_spans(const cairn_lane *lane, cairn_strand *strand)
{
    size_t count = strand->open_spans ? (size_t)(strand->hot.open - strand->open_spans) : 0;
    bool room = count > 1 && has_room(strand, count);
    for (size_t at = 1; at < count; at++) {
        uint32_t *span = &strand->open_spans[at].span;
        if (!crn_open_is_recorded(*span))
            continue;
        uint64_t id = crn_spans_name(lane, *span) ^ lane->profile->span_key;
        *span = room && id ? CRN_OPEN_FORKED : CRN_SPAN_GONE;
        if (room)
            strand->forked[at] = id;
    }
}

/* Replaces the spans in adoptions by their ids, as for spans of another process: the work stays
 * adopted. */
static void leave_adoptions(const cairn_profile *profile, cairn_strand *strand)
{
    for (uint32_t i = 0; i < strand->adoption_count; i++) {
        crn_adoption *adoption = &strand->adoptions[i];
        if (!adoption->span || adoption->span == CAIRN_SPAN_SKIPPED ||
            crn_span_is_gone(adoption->span))
            continue;
        if (crn_trace_make_own(profile, adoption->trace))
            adoption->flags = CRN_TRACE_SAMPLED;
        adoption->remote = adoption->span ^ profile->span_key;
        adoption->span = 0;
    }
}

static void forget_figures(cairn_strand *strand)
{
    size_t count = strand->open_spans ? (size_t)(strand->hot.open - strand->open_spans) : 0;
    for (size_t at = 0; strand->timings && at < count; at++)
        strand->timings[at] = (crn_timing){0};
    strand->split_count = 0;
}

void crn_spans_forget(cairn_lane *lane)
{
    for (cairn_strand *strand = lane->strands; strand; strand = strand->next) {
        leave_spans(lane, strand);
        leave_adoptions(lane->profile, strand);
        forget_figures(strand);
    }
    crn_spans_close(lane);
    crn_off_core_forget(lane);
    crn_sample_moments_free(lane);
}
