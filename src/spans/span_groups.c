/* SPDX-License-Identifier: MIT */
#include "spans/span_groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/span.h>

#include "base/memory.h"
#include "base/order.h"

typedef enum value_kind { NUMBER, TEXT, ID, NOTHING } value_kind;

/* A span and the value by which it is grouped. */
typedef struct datum {
    uint32_t block, span;
    value_kind kind;
    double number;
    uint32_t id;
    const char *text;
} datum;

/* Consecutive data of one block with the same value. */
typedef struct run {
    uint32_t first, last; /* indices of data */
    uint32_t values;
    uint64_t total;
} run;

typedef struct grouping {
    const crn_spans *spans;
    crn_group_by by;
    uint32_t most;
    datum *data;
    uint32_t count;
    run *runs;
    uint32_t run_count, run_room;
    uint32_t *group; /* by span: index of its group + 1; 0: no group */
    crn_span_groups made;
    uint32_t room;
} grouping;

/* ---- values ---- */

/* Finds a span's first attribute named `name`. Returns false if it has no such attribute. */
static bool attribute_of(const crn_trace *trace, uint32_t span, const char *name, datum *datum)
{
    uint32_t count;
    const crn_attribute *attribute = crn_trace_attributes(trace, span, &count);
    while (count && strcmp(trace->keys[attribute->key], name) != 0) {
        count--;
        attribute++;
    }
    if (!count)
        return false;
    if (attribute->kind == CRN_ATTRIBUTE_TEXT) {
        datum->kind = TEXT;
        datum->text = attribute->value.text;
        return true;
    }
    datum->kind = NUMBER;
    datum->number = attribute->kind == CRN_ATTRIBUTE_INTEGER ? (double)attribute->value.integer
                                                             : attribute->value.number;
    if (!isnan(datum->number))
        return true;
    datum->kind = TEXT; /* NaN is neither equal to nor less than any number: it cannot be sorted */
    datum->text = "NaN";
    return true;
}

static void set_iteration(datum *datum, int64_t iteration)
{
    if (iteration == CAIRN_ITERATION_NONE)
        return;
    datum->kind = NUMBER;
    datum->number = (double)iteration;
}

static datum value_of(const grouping *grouping, uint32_t s, const char *attribute)
{
    const crn_spans *spans = grouping->spans;
    const crn_span *span = &spans->trace->spans[s];
    datum datum = {.block = crn_span_block(spans, s), .span = s, .kind = NOTHING};
    bool has_parent = span->parent != CRN_SPAN_NONE;
    switch (grouping->by) {
    case CRN_GROUP_BY_ITERATION:
        set_iteration(&datum, span->iteration);
        break;
    case CRN_GROUP_BY_PARENT_ITERATION:
        if (has_parent)
            set_iteration(&datum, spans->trace->spans[span->parent].iteration);
        break;
    case CRN_GROUP_BY_PARENT:
        datum.kind = has_parent ? ID : NOTHING;
        datum.id = has_parent ? crn_span_block(spans, span->parent) : 0;
        break;
    case CRN_GROUP_BY_PATH:
        datum.kind = has_parent ? ID : NOTHING;
        datum.id = grouping->made.paths.of[s];
        break;
    case CRN_GROUP_BY_LANE:
        datum.kind = ID;
        datum.id = span->lane;
        break;
    default:
        attribute_of(spans->trace, s, attribute, &datum);
        break;
    }
    return datum;
}

static int compare_values(const datum *a, const datum *b)
{
    int order = CRN_ORDER(a->block, b->block) ?: CRN_ORDER(a->kind, b->kind);
    if (order)
        return order;
    if (a->kind == NUMBER)
        return CRN_ORDER(a->number, b->number);
    if (a->kind == TEXT)
        return a->text == b->text ? 0 : strcmp(a->text, b->text);
    return CRN_ORDER(a->id, b->id);
}

static int compare_data(const void *left, const void *right)
{
    const datum *a = left, *b = right;
    return compare_values(a, b) ?: CRN_ORDER(a->span, b->span);
}

static void gather(grouping *grouping, const uint8_t *kept, const char *attribute)
{
    const crn_spans *spans = grouping->spans;
    uint32_t count = spans->trace->span_count;
    grouping->data = crn_calloc(count + (size_t)1, sizeof *grouping->data);
    for (uint32_t s = 0; s < count; s++)
        if (crn_span_is_chosen(spans, s) && (!kept || kept[crn_span_block(spans, s)]))
            grouping->data[grouping->count++] = value_of(grouping, s, attribute);
    qsort(grouping->data, grouping->count, sizeof *grouping->data, compare_data);
}

/* ---- runs of one value ---- */

static void add_run(grouping *grouping, run run)
{
    CRN_GROW(grouping->runs, grouping->run_count, grouping->run_room);
    grouping->runs[grouping->run_count++] = run;
}

static uint64_t total_of(const grouping *grouping, uint32_t first, uint32_t last)
{
    uint64_t total = 0;
    for (uint32_t d = first; d < last; d++)
        total += crn_span_duration(grouping->spans, grouping->data[d].span);
    return total;
}

static void find_runs(grouping *grouping)
{
    for (uint32_t first = 0, last; first < grouping->count; first = last) {
        for (last = first + 1; last < grouping->count; last++)
            if (compare_values(&grouping->data[first], &grouping->data[last]) != 0)
                break;
        add_run(grouping, (run){first, last, 1, total_of(grouping, first, last)});
    }
}

/* ---- groups ---- */

/* Adds a group. Returns its number, from 1. */
static uint32_t add_group(grouping *grouping, crn_span_group group)
{
    crn_span_groups *made = &grouping->made;
    CRN_GROW(made->groups, made->count, grouping->room);
    made->groups[made->count++] = group;
    return made->count;
}

static void put_run(grouping *grouping, const run *run, uint32_t group)
{
    for (uint32_t d = run->first; d < run->last; d++)
        grouping->group[grouping->data[d].span] = group;
    grouping->made.groups[group - 1].values++;
}

static crn_span_group group_of(const grouping *grouping, const datum *datum)
{
    static const crn_group_kind ids[] = {[CRN_GROUP_BY_PARENT] = CRN_GROUP_BLOCK,
                                         [CRN_GROUP_BY_PATH] = CRN_GROUP_PATH,
                                         [CRN_GROUP_BY_LANE] = CRN_GROUP_LANE};
    crn_group_kind kind = datum->kind == NUMBER    ? CRN_GROUP_NUMBERS
                          : datum->kind == TEXT    ? CRN_GROUP_TEXT
                          : datum->kind == NOTHING ? CRN_GROUP_NONE
                                                   : ids[grouping->by];
    return (crn_span_group){.block = datum->block,
                            .kind = kind,
                            .low = datum->number,
                            .high = datum->number,
                            .least = datum->number,
                            .most = datum->number,
                            .text = datum->text,
                            .id = datum->id};
}

/* Rounds the width up to 1, 2 or 5 times a power of 10. */
static double nice_width(double width)
{
    double power = pow(10, floor(log10(width)));
    while (power < width * 0.999999) {
        static const double steps[] = {2, 2.5, 2};
        for (int i = 0; i < 3 && power < width * 0.999999; i++)
            power *= steps[i];
    }
    return power;
}

static bool are_whole(const grouping *grouping, const run *runs, uint32_t count)
{
    for (uint32_t r = 0; r < count; r++) {
        double number = grouping->data[runs[r].first].number;
        if (number != floor(number) || fabs(number) > 0x1p53)
            return false;
    }
    return true;
}

/* Ranges of numbers: they begin at multiples of a width, or at powers of a base if equal widths
 * would put over 90 % of the spans into one range. */
typedef struct ranges {
    double width, base; /* exactly one of the two is not 0 */
    bool whole;
} ranges;

static double range_of(const ranges *ranges, double number)
{
    if (ranges->width > 0)
        return floor(number / ranges->width) * ranges->width;
    if (number <= 0)
        return 0;
    double low = pow(ranges->base, floor(log(number) / log(ranges->base)));
    /* by rounding, log can be off by one power */
    return low * ranges->base <= number ? low * ranges->base
           : low > number               ? low / ranges->base
                                        : low;
}

static double range_end(const ranges *ranges, double low)
{
    return ranges->width > 0 ? low + ranges->width
           : low > 0         ? low * ranges->base
           : ranges->whole   ? 1
                             : 0;
}

static bool is_crowded(const grouping *grouping, const run *runs, uint32_t count,
                       const ranges *ranges)
{
    uint64_t most = 0, all = 0, here = 0;
    double last = NAN;
    for (uint32_t r = 0; r < count; r++) {
        double low = range_of(ranges, grouping->data[runs[r].first].number);
        here = (low == last ? here : 0) + runs[r].last - runs[r].first;
        last = low;
        most = most < here ? here : most;
        all += runs[r].last - runs[r].first;
    }
    return most * 10 > all * 9;
}

static ranges choose_ranges(const grouping *grouping, const run *runs, uint32_t count)
{
    double low = grouping->data[runs[0].first].number;
    double high = grouping->data[runs[count - 1].first].number;
    ranges ranges = {.whole = are_whole(grouping, runs, count)};
    double wanted = grouping->most > 1 ? grouping->most - 1 : 1;
    ranges.width = nice_width(fmax((high / 2 - low / 2) / wanted * 2, 1e-300));
    if (ranges.whole && ranges.width < 1)
        ranges.width = 1;
    if (low >= 0 && is_crowded(grouping, runs, count, &ranges)) {
        double least = low > 0 ? low : 1;
        ranges.width = 0;
        ranges.base = log2(high / least) < wanted - 1    ? 2
                      : log10(high / least) < wanted - 1 ? 10
                                                         : 1000;
    }
    return ranges;
}

/* Makes a group for each number, or for each range if there are too many numbers. */
static void group_numbers(grouping *grouping, run *runs, uint32_t count)
{
    double from = grouping->data[runs[0].first].number;
    double to = grouping->data[runs[count - 1].first].number;
    bool each = count <= grouping->most || !isfinite(from) || !isfinite(to);
    ranges ranges = {0};
    if (!each)
        ranges = choose_ranges(grouping, runs, count);
    double last = NAN;
    uint32_t group = 0, groups = 0;
    for (uint32_t r = 0; r < count; r++) {
        const datum *datum = &grouping->data[runs[r].first];
        double low = each ? datum->number : range_of(&ranges, datum->number);
        bool full = groups >= grouping->most + 1; /* the limit on groups is reached */
        if (!group || (low != last && !full)) {
            crn_span_group made = group_of(grouping, datum);
            made.low = low;
            if (!each) {
                double end = range_end(&ranges, low);
                made.open_end = !ranges.whole;
                made.high = ranges.whole ? end - 1 : end;
            }
            if (full)
                made.kind = CRN_GROUP_OTHER;
            group = add_group(grouping, made);
            groups++;
        }
        last = low;
        put_run(grouping, &runs[r], group);
        grouping->made.groups[group - 1].most = datum->number;
    }
}

static int compare_totals(const void *left, const void *right)
{
    const run *a = left, *b = right;
    return CRN_ORDER(b->total, a->total) ?: CRN_ORDER(a->first, b->first);
}

/* Makes a group for each value with a large total, and one for all other values. */
static void group_values(grouping *grouping, run *runs, uint32_t count)
{
    uint32_t other = 0;
    qsort(runs, count, sizeof *runs, compare_totals);
    for (uint32_t r = 0; r < count; r++) {
        const datum *datum = &grouping->data[runs[r].first];
        crn_span_group group = group_of(grouping, datum);
        bool shown = r < grouping->most || count == grouping->most + 1;
        if (!shown && !other) {
            group.kind = CRN_GROUP_OTHER;
            other = add_group(grouping, group);
        }
        put_run(grouping, &runs[r], shown ? add_group(grouping, group) : other);
    }
}

/* Makes the groups of one block, kind by kind. Blocks without any value are left out. */
static void group_block(grouping *grouping, run *runs, uint32_t count)
{
    uint32_t first = 0;
    while (first < count && grouping->data[runs[first].first].kind != NOTHING) {
        value_kind kind = grouping->data[runs[first].first].kind;
        uint32_t last = first + 1;
        while (last < count && grouping->data[runs[last].first].kind == kind)
            last++;
        if (kind == NUMBER)
            group_numbers(grouping, runs + first, last - first);
        else
            group_values(grouping, runs + first, last - first);
        first = last;
    }
    if (first && first < count) {
        crn_span_group none = group_of(grouping, &grouping->data[runs[first].first]);
        put_run(grouping, &runs[first], add_group(grouping, none));
    }
}

/* ---- figures of the groups ---- */

/* Computes the groups' figures as those of blocks, from a copy of the spans whose blocks are the
 * group numbers. */
static void find_figures(grouping *grouping, crn_span_sort sort)
{
    const crn_spans *spans = grouping->spans;
    uint32_t count = spans->trace->span_count;
    crn_trace trace = *spans->trace;
    crn_spans as_groups = *spans;
    uint8_t *chosen = crn_calloc(count + (size_t)1, 1);
    trace.spans = crn_copied(spans->trace->spans, count, sizeof *trace.spans);
    for (uint32_t s = 0; s < count; s++) {
        trace.spans[s].block = grouping->group[s];
        chosen[s] = grouping->group[s] > 0;
    }
    as_groups.trace = &trace;
    as_groups.block_count = grouping->made.count + 1;
    as_groups.chosen = chosen;
    crn_span_table table = crn_span_table_make(&as_groups, NULL, sort);
    for (uint32_t r = 0; r < table.count; r++) {
        crn_span_group *group = &grouping->made.groups[table.rows[r].block - 1];
        group->row = table.rows[r];
        group->row.block = group->block;
        group->id = group->kind == CRN_GROUP_OTHER ? 0 : group->id;
        group->rank = r;
    }
    grouping->made.self = table.self;
    memcpy(grouping->made.edges, table.edges, sizeof table.edges);
    crn_span_table_free(&table);
    crn_free(trace.spans);
    crn_free(chosen);
}

/* ---- order of the groups ---- */

typedef struct place {
    uint64_t total; /* of the group's block */
    uint32_t block, last, rank, group;
} place;

static int compare_places(const void *left, const void *right)
{
    const place *a = left, *b = right;
    return CRN_ORDER(b->total, a->total)
               ?: CRN_ORDER(a->block, b->block)
               ?: CRN_ORDER(a->last, b->last)
               ?: CRN_ORDER(a->rank, b->rank);
}

static void order(grouping *grouping)
{
    crn_span_groups *made = &grouping->made;
    uint32_t blocks = grouping->spans->block_count ? grouping->spans->block_count : 1, seen = 0;
    uint64_t *totals = crn_calloc(blocks, sizeof *totals);
    place *places = crn_calloc(made->count + (size_t)1, sizeof *places);
    crn_span_group *groups = crn_calloc(made->count + (size_t)1, sizeof *groups);
    for (uint32_t g = 0; g < made->count; g++)
        totals[made->groups[g].block] += made->groups[g].row.total;
    for (uint32_t g = 0; g < made->count; g++) {
        const crn_span_group *group = &made->groups[g];
        uint32_t last = group->kind == CRN_GROUP_OTHER || group->kind == CRN_GROUP_NONE
                            ? (uint32_t)group->kind
                            : 0;
        uint32_t rank = group->kind == CRN_GROUP_NUMBERS ? g : made->count + group->rank;
        places[g] = (place){totals[group->block], group->block, last, rank, g};
    }
    qsort(places, made->count, sizeof *places, compare_places);
    uint32_t kept = 0;
    for (uint32_t g = 0; g < made->count; g++) {
        seen += !g || places[g].block != places[g - 1].block;
        if (seen <= grouping->most)
            groups[kept++] = made->groups[places[g].group];
    }
    made->hidden_blocks = seen > grouping->most ? seen - grouping->most : 0;
    made->count = kept;
    crn_free(made->groups);
    crn_free(totals);
    crn_free(places);
    made->groups = groups;
}

crn_span_groups crn_span_groups_make(const crn_spans *spans, const uint8_t *kept, crn_group_by by,
                                     const char *attribute, uint32_t most, crn_span_sort sort)
{
    grouping grouping = {.spans = spans, .by = by, .most = most ? most : 1};
    grouping.group = crn_calloc(spans->trace->span_count + (size_t)1, sizeof *grouping.group);
    if (by == CRN_GROUP_BY_PATH)
        grouping.made.paths = crn_span_paths_make(spans);
    gather(&grouping, kept, attribute);
    find_runs(&grouping);
    for (uint32_t first = 0, last; first < grouping.run_count; first = last) {
        uint32_t block = grouping.data[grouping.runs[first].first].block;
        for (last = first; last < grouping.run_count; last++)
            if (grouping.data[grouping.runs[last].first].block != block)
                break;
        group_block(&grouping, grouping.runs + first, last - first);
    }
    find_figures(&grouping, sort);
    order(&grouping);
    crn_free(grouping.data);
    crn_free(grouping.runs);
    crn_free(grouping.group);
    return grouping.made;
}

void crn_span_groups_free(crn_span_groups *groups)
{
    crn_free(groups->groups);
    crn_span_paths_free(&groups->paths);
    *groups = (crn_span_groups){0};
}
