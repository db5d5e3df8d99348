/* SPDX-License-Identifier: MIT
 *
 * Selects the *watched* spans, whose begins and ends a run reports. A span's latency lasts until
 * everything that it caused is done. Spans nested in it on its lane are done when it ends. So it
 * suffices to watch spans that may end after their parents, and their measured ancestors. Of a
 * measured span without watched descendants a run needs only the duration.
 */
#include "base/memory.h"
#include "replay/program.h"

/* Limit on steps up to a watched ancestor: after as many steps, an ancestor is watched as well. */
enum { FARTHEST = 64 };

static void watch(crn_replay *replay, uint32_t span)
{
    replay->watched[span / 64] |= (uint64_t)1 << span % 64;
}

/* Watches the ancestors whose latency the span may extend, up to the first watched one. */
static void watch_above(crn_replay *replay, uint32_t span)
{
    const crn_span *spans = replay->trace->spans;
    uint32_t steps = 0;
    for (uint32_t at = spans[span].parent; at != CRN_SPAN_NONE; at = spans[at].parent) {
        if (crn_is_watched(replay, at))
            return;
        if (!crn_is_meant(replay, at) && ++steps < FARTHEST)
            continue;
        watch(replay, at);
        steps = 0;
    }
}

/* Returns true if a span can end after its parent. `job`: first span of the lane's last movable job
 * so far, CRN_NONE: no such job. */
static bool may_end_later(const crn_replay *replay, uint32_t span, uint32_t job)
{
    const crn_span *its = &replay->trace->spans[span];
    if (its->parent == CRN_SPAN_NONE)
        return false;
    const crn_span *parent = &replay->trace->spans[its->parent];
    return its->handed_off || parent->lane != its->lane || its->end > parent->end ||
           crn_replay_is_before(replay, span, its->parent) ||
           (job != CRN_NONE && crn_replay_is_before(replay, its->parent, job));
}

static void watch_lane(crn_replay *replay, uint32_t lane)
{
    uint32_t job = CRN_NONE;
    for (uint32_t at = replay->lane_first[lane]; at < replay->lane_first[lane + 1]; at++) {
        uint32_t span = crn_replay_at(replay, at), number = crn_replay_job_of(replay, span);
        if (number != CRN_NONE && replay->jobs[number].movable)
            job = span;
        if (!may_end_later(replay, span, job))
            continue;
        watch_above(replay, span);
        watch(replay, span);
    }
}

static void number_watched(crn_replay *replay)
{
    uint32_t words = replay->trace->span_count / 64 + 1;
    replay->watched_first = crn_calloc(words, sizeof *replay->watched_first);
    for (uint32_t word = 0; word < words; word++) {
        replay->watched_first[word] = replay->watched_count;
        replay->watched_count += (uint32_t)__builtin_popcountll(replay->watched[word]);
    }
}

static void find_above(crn_replay *replay)
{
    const crn_trace *trace = replay->trace;
    replay->above = crn_calloc(replay->watched_count + (size_t)1, sizeof *replay->above);
    for (uint32_t s = 0, place = 0; s < trace->span_count; s++) {
        if (!crn_is_watched(replay, s))
            continue;
        uint32_t at = trace->spans[s].parent;
        while (at != CRN_SPAN_NONE && !crn_is_watched(replay, at))
            at = trace->spans[at].parent;
        replay->above[place++] = at == CRN_SPAN_NONE ? CRN_NONE : crn_watched_place(replay, at);
    }
}

void crn_plan_watched(crn_replay *replay)
{
    const crn_trace *trace = replay->trace;
    replay->watched = crn_calloc(trace->span_count / 64 + (size_t)1, sizeof *replay->watched);
    for (uint32_t s = 0; s < trace->span_count && replay->every; s++)
        watch(replay, s);
    for (uint32_t lane = 0; lane < trace->lane_count && !replay->every; lane++)
        watch_lane(replay, lane);
    for (uint32_t i = 0; i < replay->copy_count; i++) {
        watch_above(replay, replay->copies[i].parent);
        watch(replay, replay->copies[i].parent);
    }
    number_watched(replay);
    find_above(replay);
}
