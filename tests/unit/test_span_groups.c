/* SPDX-License-Identifier: MIT
 *
 * test_span_groups.c - grouping of spans: every span is in exactly one group, the right one.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/span.h>

#include "base/memory.h"
#include "spans/spans.h"
#include "support/cases.h"
#include "support/random.h"

enum { SPANS = 120, BLOCKS = 4, LENGTH = 1000, ROUNDS = 1500, WAYS = 6 };

typedef struct random_trace {
    crn_trace trace;
    crn_span spans[SPANS];
    crn_attribute attributes[SPANS];
    const char *keys[2], *lanes[3];
} random_trace;

static const char *const texts[] = {"red",  "green",   "blue",   "",
                                    "cyan", "magenta", "yellow", "black"};

/* Numbers of all sizes. */
static double any_number(random_source *random)
{
    switch (random_below(random, 8)) {
    case 0:
        return -(double)random_below(random, 100);
    case 1:
        return random_below(random, 1000000) / 1000.0;
    case 2:
        return ldexp(1, (int)random_below(random, 2000) - 1000);
    case 3:
        return random_chance(random, 1, 8) ? INFINITY : NAN;
    default:
        return random_below(random, 60);
    }
}

static void make_trace(random_trace *made, random_source *random)
{
    crn_trace *trace = &made->trace;
    bool tame = random_chance(random, 1, 2);
    *trace = (crn_trace){.spans = made->spans,
                         .attributes = made->attributes,
                         .keys = made->keys,
                         .key_count = 2,
                         .lanes = made->lanes,
                         .lane_count = 3,
                         .length = LENGTH,
                         .span_count = random_below(random, SPANS + 1)};
    made->keys[0] = "other";
    made->keys[1] = "value";
    made->lanes[0] = made->lanes[1] = made->lanes[2] = "";
    for (uint32_t s = 0; s < trace->span_count; s++) {
        uint64_t start = random_below(random, LENGTH);
        made->spans[s] = (crn_span){
            .start = start,
            .end = start + random_below(random, (uint32_t)(LENGTH - start)),
            .block = random_below(random, BLOCKS + 1),
            .lane = random_below(random, 3),
            .open = random_chance(random, 1, 20),
            .parent = s && random_chance(random, 3, 4) ? random_below(random, s) : CRN_SPAN_NONE,
            .iteration = random_chance(random, 1, 5)   ? CAIRN_ITERATION_NONE
                         : random_chance(random, 1, 9) ? (int64_t)random_next(random)
                                                       : random_below(random, 200)};
        if (random_chance(random, 1, 5))
            continue;
        crn_attribute *attribute = &made->attributes[trace->attribute_count++];
        *attribute = (crn_attribute){.span = s, .key = 1};
        if (random_chance(random, 1, 2)) {
            attribute->kind = CRN_ATTRIBUTE_TEXT;
            attribute->value.text = texts[random_below(random, COUNT(texts))];
        } else {
            attribute->kind = CRN_ATTRIBUTE_NUMBER;
            attribute->value.number = tame ? random_below(random, 90) : any_number(random);
        }
    }
}

static const crn_attribute *attribute_of(const crn_trace *trace, uint32_t span)
{
    for (uint32_t a = 0; a < trace->attribute_count; a++)
        if (trace->attributes[a].span == span)
            return &trace->attributes[a];
    return NULL;
}

/* Up to the root, block by block. */
static bool is_path(const crn_spans *spans, const crn_span_groups *groups, uint32_t node,
                    uint32_t span)
{
    uint32_t at = spans->trace->spans[span].parent;
    for (; node && at != CRN_SPAN_NONE; at = spans->trace->spans[at].parent) {
        if (groups->paths.nodes[node].block != crn_span_block(spans, at))
            return false;
        node = groups->paths.nodes[node].parent;
    }
    return !node && at == CRN_SPAN_NONE;
}

static bool is_in(const crn_span_group *group, double number)
{
    return number >= group->least && number <= group->most;
}

/* Returns true if the span belongs in the group; OTHER has all spans that no other group has. */
static bool is_meant(const crn_spans *spans, const crn_span_groups *groups,
                     const crn_span_group *group, crn_group_by by, uint32_t s)
{
    const crn_span *span = &spans->trace->spans[s];
    bool has_parent = span->parent != CRN_SPAN_NONE;
    int64_t iteration = by == CRN_GROUP_BY_ITERATION ? span->iteration
                        : has_parent                 ? spans->trace->spans[span->parent].iteration
                                                     : CAIRN_ITERATION_NONE;
    const crn_attribute *attribute = attribute_of(spans->trace, s);
    if (crn_span_block(spans, s) != group->block)
        return false;
    switch (by) {
    case CRN_GROUP_BY_ITERATION:
    case CRN_GROUP_BY_PARENT_ITERATION:
        return iteration == CAIRN_ITERATION_NONE
                   ? group->kind == CRN_GROUP_NONE
                   : group->kind == CRN_GROUP_NUMBERS && is_in(group, (double)iteration);
    case CRN_GROUP_BY_PARENT:
        return has_parent ? group->kind == CRN_GROUP_BLOCK &&
                                group->id == crn_span_block(spans, span->parent)
                          : group->kind == CRN_GROUP_NONE;
    case CRN_GROUP_BY_PATH:
        return has_parent ? group->kind == CRN_GROUP_PATH && is_path(spans, groups, group->id, s)
                          : group->kind == CRN_GROUP_NONE;
    case CRN_GROUP_BY_LANE:
        return group->kind == CRN_GROUP_LANE && group->id == span->lane;
    default:
        break;
    }
    if (!attribute)
        return group->kind == CRN_GROUP_NONE;
    if (attribute->kind == CRN_ATTRIBUTE_TEXT)
        return group->kind == CRN_GROUP_TEXT && strcmp(group->text, attribute->value.text) == 0;
    if (isnan(attribute->value.number))
        return group->kind == CRN_GROUP_TEXT && strcmp(group->text, "NaN") == 0;
    return group->kind == CRN_GROUP_NUMBERS && is_in(group, attribute->value.number);
}

static void assert_groups(const crn_spans *spans, const crn_span_groups *groups, crn_group_by by,
                          uint32_t most)
{
    for (uint32_t b = 0; b < BLOCKS; b++) {
        uint32_t of_block = 0, shown = 0, grouped = 0, meant = 0, other = 0;
        for (uint32_t s = 0; s < spans->trace->span_count; s++)
            of_block += crn_span_block(spans, s) == b;
        for (uint32_t g = 0; g < groups->count; g++) {
            const crn_span_group *group = &groups->groups[g];
            if (group->block != b)
                continue;
            uint32_t count = 0;
            uint64_t total = 0;
            if (group->kind == CRN_GROUP_NUMBERS && isfinite(group->least + group->most)) {
                /* Up to the rounding of the range's ends. */
                double slack = 1e-9 * fmax(fabs(group->least), fabs(group->most));
                assert_true(group->low <= group->least + slack);
                assert_true(group->high >= group->most - slack);
            }
            shown++;
            grouped += group->row.count;
            for (uint32_t s = 0; s < spans->trace->span_count; s++) {
                bool its = is_meant(spans, groups, group, by, s);
                count += its;
                total += its ? crn_span_duration(spans, s) : 0;
            }
            if (group->kind == CRN_GROUP_OTHER) {
                other += group->row.count;
                continue;
            }
            meant += count;
            assert_int_equal(group->row.count, count);
            assert_int_equal(group->row.total, total);
            assert_true(count > 0);
        }
        /* Numbers and texts of one attribute are bounded each, and there are others and none. */
        assert_true(shown <= 2 * (most + 2) + 3);
        if (shown)
            assert_int_equal(grouped, of_block);
        if (shown)
            assert_int_equal(meant + other, of_block);
    }
}

static void each_span_is_in_its_group(void **state)
{
    (void)state;
    random_source random = {31};
    random_trace *made = crn_calloc(1, sizeof *made);
    uint32_t seen[CRN_GROUP_NONE + 1] = {0}, ranges = 0;
    for (int round = 0; round < ROUNDS; round++) {
        make_trace(made, &random);
        uint32_t most = BLOCKS + random_below(&random, 12);
        crn_group_by by = (crn_group_by)(round % WAYS);
        crn_spans *spans = crn_spans_make(&made->trace, BLOCKS);
        crn_span_groups groups =
            crn_span_groups_make(spans, NULL, by, "value", most, CRN_SPANS_BY_TOTAL);
        assert_int_equal(groups.hidden_blocks, 0);
        assert_groups(spans, &groups, by, most);
        for (uint32_t g = 0; g < groups.count; g++) {
            seen[groups.groups[g].kind]++;
            ranges += groups.groups[g].kind == CRN_GROUP_NUMBERS && groups.groups[g].values > 1;
        }
        crn_span_groups_free(&groups);
        crn_spans_free(spans);
    }
    for (int k = 0; k <= CRN_GROUP_NONE; k++)
        assert_true(seen[k] > 0);
    assert_true(ranges > 100);
    crn_free(made);
}

static void few_blocks_are_shown(void **state)
{
    (void)state;
    random_source random = {2};
    random_trace *made = crn_calloc(1, sizeof *made);
    do
        make_trace(made, &random);
    while (made->trace.span_count < SPANS / 2);
    crn_spans *spans = crn_spans_make(&made->trace, BLOCKS);
    uint8_t kept[BLOCKS] = {0, 1, 0, 0};
    crn_span_groups groups =
        crn_span_groups_make(spans, NULL, CRN_GROUP_BY_LANE, "", 2, CRN_SPANS_BY_TOTAL);
    assert_int_equal(groups.hidden_blocks, BLOCKS - 2);
    crn_span_groups_free(&groups);
    groups = crn_span_groups_make(spans, kept, CRN_GROUP_BY_LANE, "", 9, CRN_SPANS_BY_COUNT);
    for (uint32_t g = 0; g < groups.count; g++) {
        assert_int_equal(groups.groups[g].block, 1);
        assert_true(!g || groups.groups[g - 1].row.count >= groups.groups[g].row.count);
    }
    assert_true(groups.count > 1);
    crn_span_groups_free(&groups);
    crn_spans_free(spans);
    crn_free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_span_is_in_its_group),
        cmocka_unit_test(few_blocks_are_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
