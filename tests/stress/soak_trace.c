/* SPDX-License-Identifier: MIT
 *
 * soak_trace.c - the spans of the capture, as the reading process sees them. Each span's iteration
 * is its number, which gives its block, and an attribute has the number of its parent.
 */
#include <inttypes.h>
#include <string.h>

#include "spans/spans.h"
#include "stress/soak.h"

typedef struct counted {
    uint64_t spans, open, hash;
    uint64_t unnamed; /* spans without the attribute */
    uint64_t orphans; /* spans without the parent that the attribute names */
} counted;

/* Returns the number of the span's parent, and NULL if the trace lacks the attribute. */
static const int64_t *parent_of(const crn_trace *trace, uint32_t span)
{
    uint32_t count;
    const crn_attribute *attributes = crn_trace_attributes(trace, span, &count);
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(trace->keys[attributes[i].key], SOAK_PARENT) == 0)
            return &attributes[i].value.integer;
    return NULL;
}

static bool span_is_sound(const crn_trace *trace, uint32_t which, counted *sum, difference *found)
{
    const crn_span *span = &trace->spans[which];
    uint64_t number = (uint64_t)span->iteration;
    const int64_t *said = parent_of(trace, which);
    int64_t parent = span->parent != CRN_SPAN_NONE ? trace->spans[span->parent].iteration : 0;
    sum->spans++;
    sum->open += span->open;
    sum->hash += soak_span_hash(number);
    sum->unnamed += !said;
    sum->orphans += said && *said && !parent;
    bool good = number >> SOAK_NUMBER_BITS && span->block == soak_block_of(number) &&
                (!said || !parent || *said == parent);
    if (!good)
        difference_set(found, "span %" PRIx64 " of block %u: parent %" PRIx64 ", not %" PRIx64,
                       number, span->block, (uint64_t)parent, said ? (uint64_t)*said : 0);
    return good;
}

static bool is_equal(const char *what, uint64_t is, uint64_t expected, difference *found)
{
    if (is != expected)
        difference_set(found, "%s: %" PRIu64 ", but %" PRIu64 " went in", what, is, expected);
    return is == expected;
}

/* The first spans are kept: all that were not dropped are there. */
static bool has_all(const crn_trace *trace, const counted *sum, const soak_figures *figures,
                    difference *found)
{
    if (!is_equal("open spans", sum->open, figures->open_spans, found) ||
        !is_equal("sum of span numbers", sum->hash, figures->span_hash, found))
        return false;
    if (sum->unnamed + sum->orphans <= trace->details_dropped)
        return true;
    difference_set(found,
                   "%" PRIu64 " spans have no attribute, %" PRIu64 " no parent; %" PRIu64
                   " details were dropped",
                   sum->unnamed, sum->orphans, trace->details_dropped);
    return false;
}

bool soak_trace_holds(const char *path, const soak_figures *figures, bool last, difference *found)
{
    crn_error error = {0};
    crn_trace *trace = crn_trace_load(path, &error);
    if (!trace) {
        difference_set(found, "%.400s", error.message);
        return false;
    }
    counted sum = {0};
    bool good = true;
    for (uint32_t i = 0; good && i < trace->span_count; i++)
        good = span_is_sound(trace, i, &sum, found);
    if (figures && good)
        good = is_equal("spans", sum.spans + trace->recycled, figures->spans, found) &&
               is_equal("dropped spans", trace->dropped, figures->spans_dropped, found) &&
               (last || has_all(trace, &sum, figures, found));
    crn_trace_free(trace);
    return good;
}
