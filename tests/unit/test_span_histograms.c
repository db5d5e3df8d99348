/* SPDX-License-Identifier: MIT
 *
 * test_span_histograms.c - histograms of durations, compared with the spans themselves.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/span.h>

#include "base/memory.h"
#include "base/order.h"
#include "profile/profile.h"
#include "spans/spans.h"
#include "support/cases.h"
#include "support/profiles.h"
#include "support/random.h"
#include "support/recorded.h"
#include "support/scratch.h"

enum { BLOCKS = 5, SPANS = 3000, THREADS = 3 };

static cairn_options options_for(const char *path)
{
    cairn_options options = span_options(path);
    options.span_histograms = true;
    return options;
}

static crn_spreads *spreads_of(const char *path)
{
    crn_error error = {0};
    crn_spreads *spreads = crn_spreads_load(path, &error);
    if (!spreads)
        print_error("%s\n", error.message);
    assert_non_null(spreads);
    return spreads;
}

/* Returns a duration between some cycles and some 100 microseconds; each power of two is equally
 * likely. */
static void compute(random_source *random)
{
    for (uint32_t i = random_below(random, 1u << random_below(random, 16)); i; i--)
        __asm__ volatile("");
}

typedef struct worker {
    cairn_profile *profile;
    cairn_key size, name;
    uint64_t seed;
    pthread_t thread;
} worker;

static const char *const names[] = {"red", "green", "blue"};

static void nest(worker *worker, cairn_strand *strand, random_source *random, int depth)
{
    uint32_t value = random_below(random, 3);
    cairn_span_begin(strand, 1 + random_below(random, BLOCKS), depth);
    cairn_span_integer(strand, worker->size, (int64_t)value - 1);
    compute(random);
    while (depth < 4 && random_chance(random, 1, 3))
        nest(worker, strand, random, depth + 1);
    cairn_span_text(strand, worker->name, names[value]);
    cairn_span_end(strand);
}

static void *work(void *data)
{
    worker *worker = data;
    random_source random = {worker->seed};
    cairn_lane *lane = cairn_lane_open(worker->profile, "worker");
    cairn_strand *strand = cairn_strand_open(lane);
    for (int i = 0; i < SPANS; i++)
        nest(worker, strand, &random, 0);
    cairn_lane_close(lane);
    return NULL;
}

static void record(const cairn_options *options, uint64_t seed)
{
    setup s = setup_open(options, BLOCKS);
    worker workers[THREADS];
    cairn_key size = cairn_key_add(s.profile, "size"), name = cairn_key_add(s.profile, "name");
    cairn_key_split(s.profile, size, 10);
    cairn_key_split(s.profile, name, 2);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){s.profile, size, name, seed * 10 + (uint64_t)i, 0};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    setup_close(&s);
}

/* ---- reference: computed from the spans ---- */

static bool is_in(const crn_trace *trace, const crn_spread *spread, uint32_t span)
{
    uint32_t count;
    const crn_attribute *attribute = crn_trace_attributes(trace, span, &count);
    if (trace->spans[span].block != spread->block)
        return false;
    if (spread->kind == CRN_HISTOGRAM_BLOCK)
        return true;
    for (; count; count--, attribute++)
        if (attribute->key == spread->key &&
            ((attribute->kind == CRN_ATTRIBUTE_TEXT && spread->kind == CRN_HISTOGRAM_TEXT &&
              strcmp(attribute->value.text, spread->text) == 0) ||
             (attribute->kind == CRN_ATTRIBUTE_INTEGER && spread->kind == CRN_HISTOGRAM_INTEGER &&
              (uint64_t)attribute->value.integer == spread->value)))
            return true;
    return false;
}

static void assert_near(uint64_t found, uint64_t exact, double error)
{
    double off = found > exact ? (double)(found - exact) : (double)(exact - found);
    if (off > (double)exact * error + 2)
        fail_msg("%llu is not %llu", (unsigned long long)found, (unsigned long long)exact);
}

static void check_spread(const crn_spans *spans, const crn_spread *spread)
{
    const crn_trace *trace = spans->trace;
    uint64_t *times = crn_calloc(trace->span_count + 1, sizeof *times), total = 0, self = 0;
    uint32_t count = 0;
    for (uint32_t s = 0; s < trace->span_count; s++)
        if (is_in(trace, spread, s)) {
            times[count++] = crn_span_duration(spans, s);
            total += crn_span_duration(spans, s);
            self += crn_span_self(spans, s);
        }
    assert_int_equal(spread->count, count);
    qsort(times, count, sizeof *times, crn_order_uint64);
    assert_near(spread->min, times[0], 0);
    assert_near(spread->max, times[count - 1], 0);
    assert_true(llabs((long long)(spread->total - total)) <= (long long)count + 1);
    assert_true(llabs((long long)(spread->self - self)) <= 4 * (long long)count + 1);
    for (double share = 0; share <= 1; share += 1.0 / 64) {
        double rank = (double)count * share;
        uint32_t at = rank > (uint32_t)rank ? (uint32_t)rank : (uint32_t)rank - (rank >= 1);
        assert_near(crn_spread_at(spread, share), times[at], CRN_SPREAD_ERROR);
    }
    crn_free(times);
}

static void histograms_agree_with_the_spans(void **state)
{
    (void)state;
    static const cairn_wall walls[] = {CAIRN_WALL_OFF, CAIRN_WALL_EXACT};
    for (int i = 0; i < 2; i++) {
        char path[SCRATCH_PATH];
        cairn_options options = options_for(scratch_path(path, "both.cairn"));
        options.wall = walls[i];
        record(&options, 1);
        crn_trace *trace = recorded_trace(path);
        crn_spans *spans = crn_spans_make(trace, BLOCKS + 1);
        crn_spreads *spreads = spreads_of(path);
        assert_int_equal(spreads->dropped, 0);
        uint32_t by_block = 0, by_size = 0, texts = 0;
        uint64_t others = 0, count = 0;
        for (uint32_t s = 0; s < spreads->count; s++) {
            const crn_spread *spread = &spreads->all[s];
            by_block += spread->kind == CRN_HISTOGRAM_BLOCK;
            by_size += spread->kind == CRN_HISTOGRAM_INTEGER;
            texts += spread->kind == CRN_HISTOGRAM_TEXT;
            count += spread->kind == CRN_HISTOGRAM_BLOCK ? spread->count : 0;
            others += spread->kind == CRN_HISTOGRAM_OTHER ? spread->count : 0;
            if (spread->kind != CRN_HISTOGRAM_OTHER && spread->kind != CRN_HISTOGRAM_TEXT &&
                !trace->dropped && !trace->details_dropped)
                check_spread(spans, spread);
        }
        assert_int_equal(by_block, BLOCKS);
        assert_int_equal(by_size, 3 * BLOCKS);
        assert_int_equal(count, trace->span_count + trace->dropped);
        assert_true(texts >= 2 * BLOCKS && others > 0); /* which two differs by lane */
        crn_spreads_free(spreads);
        crn_spans_free(spans);
        crn_trace_free(trace);
    }
}

static void they_need_no_spans(void **state)
{
    (void)state;
    char path[SCRATCH_PATH], without[SCRATCH_PATH];
    cairn_options options = options_for(scratch_path(path, "with.cairn"));
    record(&options, 2);
    options = options_for(scratch_path(without, "without.cairn"));
    options.spans = false;
    record(&options, 2);
    crn_spreads *with = spreads_of(path), *alone = spreads_of(without);
    crn_trace *trace = recorded_trace(without);
    assert_int_equal(trace->span_count, 0);
    for (uint32_t s = 0; s < with->count; s++) {
        const crn_spread *spread = &with->all[s];
        uint64_t count = 0;
        for (uint32_t a = 0; a < alone->count; a++)
            if (alone->all[a].kind == spread->kind && alone->all[a].block == spread->block &&
                alone->all[a].value == spread->value)
                count += alone->all[a].count;
        if (spread->kind <= CRN_HISTOGRAM_INTEGER) /* which texts have one differs by lane */
            assert_int_equal(spread->count, count);
    }
    crn_trace_free(trace);
    crn_spreads_free(with);
    crn_spreads_free(alone);
}

static void they_add_up(void **state)
{
    (void)state;
    char path[2][SCRATCH_PATH];
    crn_spreads *parts[2];
    uint32_t blocks[BLOCKS + 1], keys[2] = {0, 1};
    for (uint32_t b = 0; b <= BLOCKS; b++)
        blocks[b] = b;
    for (int i = 0; i < 2; i++) {
        cairn_options options = options_for(scratch_path(path[i], i ? "one.cairn" : "two.cairn"));
        record(&options, 3 + (uint64_t)i);
        parts[i] = spreads_of(path[i]);
    }
    crn_spreads *sum = spreads_of(path[0]);
    crn_spreads_add(sum, parts[1], blocks, keys);
    for (uint32_t s = 0; s < sum->count; s++) {
        const crn_spread *spread = &sum->all[s];
        uint64_t count = 0, bars = 0, total = 0;
        for (int i = 0; i < 2; i++)
            for (uint32_t p = 0; p < parts[i]->count; p++) {
                const crn_spread *part = &parts[i]->all[p];
                if (part->kind != spread->kind || part->block != spread->block ||
                    part->key != spread->key || part->value != spread->value ||
                    (part->text && strcmp(part->text, spread->text) != 0))
                    continue;
                count += part->count;
                total += part->total;
                assert_true(spread->min <= part->min && spread->max >= part->max);
            }
        for (uint32_t b = 0; b < spread->bar_count; b++) {
            bars += spread->bars[b].count;
            assert_true(b == 0 || spread->bars[b - 1].low <= spread->bars[b].low);
        }
        assert_int_equal(spread->count, count);
        assert_int_equal(spread->total, total);
        assert_int_equal(bars, count);
    }
    crn_spreads_free(sum);
    crn_spreads_free(parts[0]);
    crn_spreads_free(parts[1]);
}

static void a_reset_makes_them_empty(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = options_for(scratch_path(path, "reset.cairn"));
    options.spans = false;
    setup s = setup_open(&options, 2);
    for (int i = 0; i < 5; i++) {
        cairn_span_begin(s.strand, 1, i);
        cairn_span_end(s.strand);
    }
    crn_spreads *before = spreads_of(path); /* while it is recorded */
    assert_int_equal(before->count, 1);
    assert_int_equal(before->all[0].count, 5);
    cairn_profile_reset(s.profile);
    cairn_span_begin(s.strand, 2, 0);
    cairn_span_end(s.strand);
    setup_close(&s);
    crn_spreads *after = spreads_of(path);
    assert_int_equal(after->count, 1);
    assert_int_equal(after->all[0].block, 2);
    assert_int_equal(after->all[0].count, 1);
    crn_spreads_free(before);
    crn_spreads_free(after);
}

/* Many values, long texts, and one key more than once. */
static void values_are_bounded(void **state)
{
    (void)state;
    char path[SCRATCH_PATH], text[400];
    cairn_options options = options_for(scratch_path(path, "bounded.cairn"));
    options.spans = false;
    setup s = setup_open(&options, 1);
    cairn_key key = cairn_key_add(s.profile, "key"), other = cairn_key_add(s.profile, "other");
    cairn_key_split(s.profile, key, 4);
    cairn_key_split(s.profile, CAIRN_KEY_MAX, 4);
    cairn_key_split(NULL, key, 4);
    cairn_span_integer(s.strand, key, 1); /* of no span */
    for (int64_t i = 0; i < 100; i++) {
        cairn_span_begin(s.strand, 1, i);
        cairn_span_integer(s.strand, key, i % 10);
        cairn_span_integer(s.strand, other, i);
        cairn_span_end(s.strand);
    }
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    cairn_key_split(s.profile, other, 4);
    for (int i = 0; i < 3; i++) {
        text[300] = (char)('0' + i); /* beyond the compared part of texts */
        cairn_span_begin(s.strand, 1, i);
        cairn_span_text(s.strand, other, text);
        cairn_span_end(s.strand);
    }
    setup_close(&s);
    crn_spreads *spreads = spreads_of(path);
    uint64_t values = 0, others = 0, texts = 0, integers = 0;
    for (uint32_t i = 0; i < spreads->count; i++) {
        const crn_spread *spread = &spreads->all[i];
        integers += spread->kind == CRN_HISTOGRAM_INTEGER;
        values += spread->kind == CRN_HISTOGRAM_INTEGER ? spread->count : 0;
        others += spread->kind == CRN_HISTOGRAM_OTHER ? spread->count : 0;
        texts += spread->kind == CRN_HISTOGRAM_TEXT ? spread->count : 0;
    }
    assert_int_equal(integers, 4);
    assert_int_equal(values, 40);
    assert_int_equal(others, 60);
    assert_int_equal(texts, 3);
    assert_int_equal(spreads->dropped, 0);
    crn_spreads_free(spreads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(histograms_agree_with_the_spans),
        cmocka_unit_test(they_need_no_spans),
        cmocka_unit_test(they_add_up),
        cmocka_unit_test(a_reset_makes_them_empty),
        cmocka_unit_test(values_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
