/* SPDX-License-Identifier: MIT
 *
 * Chooses spans: some iterations of a block with all below them on any lane; or the spans in a
 * range of time, cut at its ends; or both.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "view.h"

void crn_view_choice_clear(crn_view_choice *choice)
{
    crn_free(choice->key);
    crn_free(choice->kept);
    crn_spans_free(choice->spans);
    crn_trace_free(choice->trace);
    crn_free(choice->origins);
    crn_free(choice->by_lane);
    *choice = (crn_view_choice){0};
}

/* Parses an integer; `otherwise` if it is missing or empty. On an error prints a message and
 * returns false. */
static bool integer_of(const crn_view_query *query, const char *key, int64_t otherwise,
                       int64_t least, int64_t *number)
{
    const char *text = crn_view_text(query, key);
    char *end;
    *number = otherwise;
    if (!text || !*text)
        return true;
    errno = 0;
    if (*text == '-' || (*text >= '0' && *text <= '9')) {
        *number = strtoll(text, &end, 10);
        if (end != text && !*end && !errno && *number >= least)
            return true;
    }
    crn_cli_fail("\"%.40s\" is not a valid %s; write a whole number", text, key);
    return false;
}

static bool read_choice(const crn_view_file *file, const crn_view_query *query,
                        crn_iteration_choice *wanted)
{
    int64_t block, shortest, longest;
    if (!integer_of(query, "of", 0, 0, &block) ||
        !integer_of(query, "first", INT64_MIN, INT64_MIN, &wanted->first) ||
        !integer_of(query, "last", INT64_MAX, INT64_MIN, &wanted->last) ||
        !integer_of(query, "shortest", 0, 0, &shortest) ||
        !integer_of(query, "longest", INT64_MAX, 0, &longest))
        return false;
    if (block >= file->plain->block_count) {
        crn_cli_fail("there is no block %" PRId64, block);
        return false;
    }
    wanted->block = (uint32_t)block;
    wanted->shortest = (uint64_t)shortest;
    wanted->longest = (uint64_t)longest;
    return true;
}

/* Counts the chosen spans by lane, and finds their range of time with a margin. */
static void measure(crn_view_choice *choice)
{
    enum { MARGIN = 50 }; /* a fiftieth of the range */
    const crn_trace *trace = choice->trace;
    uint64_t from = UINT64_MAX, to = 0;
    choice->by_lane = crn_calloc((size_t)trace->lane_count + 1, sizeof *choice->by_lane);
    for (uint32_t s = 0; s < trace->span_count; s++) {
        const crn_span *span = &trace->spans[s];
        choice->by_lane[span->lane]++;
        from = span->start < from ? span->start : from;
        to = span->end > to ? span->end : to;
    }
    if (!trace->span_count) {
        from = 0;
        to = trace->length;
    }
    uint64_t margin = (to - from) / MARGIN;
    choice->from = from > margin ? from - margin : 0;
    choice->to = (to + margin < trace->length ? to + margin : trace->length) + 1;
}

/* Parses "since" and "until" (ns). On an error prints a message and returns false. */
static bool read_range(const crn_view_file *file, const crn_view_query *query, uint64_t *since,
                       uint64_t *until)
{
    if (!crn_view_number(query, "since", 0, INT64_MAX, since) ||
        !crn_view_number(query, "until", file->trace->length + 1, INT64_MAX, until))
        return false;
    if (*since < *until)
        return true;
    crn_cli_fail("the range of time is empty: it ends at %" PRIu64 " and begins at %" PRIu64,
                 *until, *since);
    return false;
}

static bool has_item(const crn_view_query *query, const char *key)
{
    const char *text = crn_view_text(query, key);
    return text && *text;
}

/* Returns, by span, 1 if it is chosen. */
static uint8_t *choose(const crn_view_file *file, const crn_iteration_choice *wanted,
                       uint64_t since, uint64_t until)
{
    const crn_trace *trace = file->trace;
    uint8_t *kept = wanted ? crn_iterations_choose(file->spans, wanted)
                           : crn_calloc((size_t)trace->span_count + 1, 1);
    for (uint32_t s = 0; s < trace->span_count; s++)
        kept[s] =
            (!wanted || kept[s]) && trace->spans[s].start < until && trace->spans[s].end > since;
    return kept;
}

/* Cuts spans at the ends of the range. Their processor time becomes unknown, as it cannot be
 * divided. */
static void cut_off(crn_trace *trace, uint64_t since, uint64_t until)
{
    for (uint32_t s = 0; s < trace->span_count; s++) {
        crn_span *span = &trace->spans[s];
        if (span->start >= since && span->end <= until)
            continue;
        span->start = span->start > since ? span->start : since;
        span->end = span->end < until ? span->end : until;
        if (trace->cpu)
            trace->cpu[s] = UINT64_MAX;
    }
}

bool crn_view_choice_of(crn_view_file *file, const crn_view_query *query,
                        const crn_view_choice **found)
{
    bool iterations = has_item(query, "of");
    bool range = has_item(query, "since") || has_item(query, "until");
    crn_iteration_choice wanted = {0};
    uint64_t since, until;
    char key[240];
    *found = NULL;
    if (!iterations && !range)
        return true;
    if ((iterations && !read_choice(file, query, &wanted)) ||
        !read_range(file, query, &since, &until))
        return false;
    snprintf(key, sizeof key,
             "%u %d %u %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
             file->generation, iterations, wanted.block, wanted.first, wanted.last, wanted.shortest,
             wanted.longest, since, until);
    crn_view_choice *choice = &file->choice;
    *found = choice;
    if (choice->key && strcmp(choice->key, key) == 0)
        return true;
    crn_view_choice_clear(choice);
    choice->key = crn_strdup(key);
    choice->kept = choose(file, iterations ? &wanted : NULL, since, until);
    choice->trace = crn_trace_keep(file->trace, choice->kept, &choice->origins);
    if (range)
        cut_off(choice->trace, since, until);
    choice->spans = crn_spans_make(choice->trace, file->plain->block_count);
    measure(choice);
    return true;
}

bool crn_view_window_of(const crn_view_file *file, const crn_view_choice *choice,
                        const crn_view_query *query, uint32_t pixels, uint32_t most,
                        crn_view_window *window)
{
    uint64_t given, begin = choice ? choice->from : 0;
    uint64_t end = choice ? choice->to : file->trace->length + 1;
    if (!crn_view_number(query, "from", begin, INT64_MAX, &window->from) ||
        !crn_view_number(query, "to", end, INT64_MAX, &window->to) ||
        !crn_view_number(query, "pixels", pixels, most, &given))
        return false;
    if (window->to <= window->from)
        window->to = window->from + 1;
    window->pixels = given ? (uint32_t)given : 1;
    return true;
}
