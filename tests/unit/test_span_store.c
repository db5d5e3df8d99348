/* SPDX-License-Identifier: MIT
 *
 * test_span_store.c - the span store, which reads in place, compared with crn_trace_load on valid,
 * damaged and truncated files.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cairn/span.h>

#include "base/memory.h"
#include "base/order.h"
#include "spans/spans.h"
#include "support/again.h"
#include "support/cases.h"
#include "support/damage.h"
#include "support/profiles.h"
#include "support/random.h"
#include "support/random_profile.h"
#include "support/random_trace.h"
#include "support/scratch.h"
#include "support/span_readers.h"

enum { BLOCKS = 6, LANES = 3, KEYS = 4 };

/* ---- a capture of anything that can be ---- */

typedef struct recorder {
    random_source *random;
    cairn_strand *strands[LANES];
    int depth[LANES], adopted[LANES];
    cairn_key keys[KEYS];
    cairn_handoff token;
    cairn_span seen;
} recorder;

static void add_attribute(recorder *recorder, cairn_strand *strand)
{
    cairn_key key = recorder->keys[random_below(recorder->random, KEYS)];
    char text[200];
    switch (random_below(recorder->random, 3)) {
    case 0:
        cairn_span_integer(strand, key, (int64_t)random_next(recorder->random));
        break;
    case 1:
        cairn_span_number(strand, key, random_below(recorder->random, 1000) / 8.0);
        break;
    default:
        memset(text, 'a' + (int)random_below(recorder->random, 26), sizeof text);
        text[random_below(recorder->random, sizeof text)] = 0;
        text[sizeof text - 1] = 0;
        cairn_span_text(strand, key, text);
        break;
    }
}

static void step(recorder *recorder)
{
    random_source *random = recorder->random;
    uint32_t lane = random_below(random, LANES);
    cairn_strand *strand = recorder->strands[lane];
    switch (random_below(random, 12)) {
    case 0:
    case 1:
    case 2:
    case 3:
        cairn_span_begin(strand, 1 + random_below(random, BLOCKS),
                         random_chance(random, 1, 3) ? CAIRN_ITERATION_NONE
                                                     : (int64_t)random_below(random, 50) - 5);
        recorder->depth[lane]++;
        break;
    case 4:
    case 5:
    case 6:
        if (recorder->depth[lane] > 0) {
            cairn_span_end(strand);
            recorder->depth[lane]--;
        }
        break;
    case 7:
        recorder->token = cairn_handoff_take(strand);
        recorder->seen = cairn_span_current(strand);
        break;
    case 8:
        if (recorder->depth[lane] == 0 && !recorder->adopted[lane]) {
            cairn_handoff_adopt(strand, recorder->token);
            recorder->adopted[lane] = 1;
        }
        break;
    case 9:
        if (recorder->depth[lane] == 0 && recorder->adopted[lane]) {
            cairn_handoff_leave(strand);
            recorder->adopted[lane] = 0;
        }
        break;
    case 10:
        if (random_chance(random, 1, 2))
            cairn_span_waits_for(strand, recorder->seen);
        else
            cairn_span_follows(strand, recorder->seen);
        break;
    default:
        add_attribute(recorder, strand);
        break;
    }
}

static void record(random_source *random, const char *path, uint32_t steps)
{
    static const char *const names[] = {"width", "name", "odd", "width"};
    cairn_options options = span_options(path);
    options.span_cpu = random_chance(random, 1, 4);
    options.span_rate = random_chance(random, 1, 4) ? 0.5 : 1;
    setup s = setup_open(&options, BLOCKS);
    recorder recorder = {.random = random};
    recorder.token = cairn_handoff_take(NULL);
    for (int i = 0; i < LANES; i++)
        recorder.strands[i] =
            i ? cairn_strand_open(cairn_lane_open(s.profile, i == 1 ? "worker" : "")) : s.strand;
    for (int i = 0; i < KEYS; i++)
        recorder.keys[i] = cairn_key_add(s.profile, names[i]);
    for (uint32_t i = 0; i < steps; i++)
        step(&recorder);
    setup_close(&s);
}

/* ---- comparison ---- */

/* Both load it, or neither does. Returns the number of spans. */
static uint32_t assert_same(const char *path, bool in_place)
{
    difference found;
    uint32_t spans;
    if (!span_readers_agree(path, &spans, &found))
        fail_msg("%s", found.text);
    if (in_place) {
        crn_error error = {0};
        crn_span_store *store = crn_store_open(path, &error);
        assert_non_null(store);
        assert_null(store->trace);
        crn_store_close(store);
    }
    return spans;
}

static void both_readers_agree(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    random_source random = {11};
    uint32_t spans = 0;
    scratch_path(path, "place.cairn");
    for (uint64_t round = 0; round < scale(40); round++) {
        record(&random, path, random_below(&random, 4000));
        spans += assert_same(path, true);
    }
    assert_true(spans > 0);
    record(&random, path, 60000); /* several chunks of each kind */
    assert_true(assert_same(path, true) > 1 << CRN_PIECE_BITS);
}

/* Anywhere; but nearly all of a capture that was just closed is in use. */
static void damage_bytes(random_source *random, unsigned char *bytes, size_t size)
{
    for (uint32_t i = 1 + random_below(random, 20); i; i--) {
        size_t at = random_below(random, (uint32_t)size);
        for (int tries = 0; tries < 200 && !bytes[at]; tries++)
            at = random_below(random, (uint32_t)size);
        uint32_t left = 1 + random_below(random, 8);
        for (; left && at < size; left--, at++)
            bytes[at] = random_chance(random, 1, 2) ? (unsigned char)random_below(random, 4)
                                                    : (unsigned char)random_next(random);
    }
}

static void both_readers_agree_on_damaged_files(void **state)
{
    (void)state;
    char path[SCRATCH_PATH], damaged[SCRATCH_PATH];
    random_source random = {12};
    uint32_t loaded = 0;
    scratch_path(path, "whole.cairn");
    scratch_path(damaged, "damaged.cairn");
    for (uint64_t round = 0; round < scale(40); round++) {
        size_t size;
        record(&random, path, 200 + random_below(&random, 2000));
        unsigned char *bytes = scratch_read(path, &size);
        assert_non_null(bytes);
        for (int variant = 0; variant < 6; variant++) {
            unsigned char *copy = crn_calloc(size, 1);
            memcpy(copy, bytes, size);
            if (variant == 0)
                damage_bytes(&random, copy, size);
            else
                damage_fields(&random, copy, size, 1 + random_below(&random, 8));
            size_t kept =
                random_chance(&random, 1, 3) ? random_below(&random, (uint32_t)size) : size;
            assert_true(scratch_write(damaged, copy, kept));
            crn_free(copy);
            loaded += assert_same(damaged, false) > 0;
        }
        free(bytes);
    }
    assert_true(loaded > 0);
}

/* Changes a hand-off's value so that it names a later span: the parents form a cycle. */
static void both_readers_cut_cycles_at_the_same_edge(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    random_source random = {13};
    scratch_path(path, "circles.cairn");
    uint64_t cut = 0;
    for (uint64_t round = 0; round < scale(30) || (!cut && round < 500); round++) {
        size_t size;
        record(&random, path, 1500);
        unsigned char *bytes = scratch_read(path, &size);
        crn_disk_detail detail;
        for (size_t at = 4096; at + sizeof detail <= size; at += 8) {
            memcpy(&detail, bytes + at, sizeof detail);
            if (detail.kind != CRN_DETAIL_HANDOFF || !detail.span || detail.span > 2000 ||
                detail.value >> 32 == 0 || detail.value >> 32 > LANES)
                continue;
            detail.value = ((uint64_t)(1 + random_below(&random, LANES)) << 32) |
                           (1 + random_below(&random, 40));
            memcpy(bytes + at, &detail, sizeof detail);
        }
        assert_true(scratch_write(path, bytes, size));
        free(bytes);
        assert_same(path, true);
        crn_error error;
        crn_span_store *store = crn_store_open(path, &error);
        for (uint32_t m = 0; m < store->move_count; m++)
            cut += store->moves[m].parent == CRN_SPAN_NONE;
        crn_store_close(store);
    }
    assert_true(cut > 0);
}

/* A file that cannot be read in place is loaded as a trace, with equal results. */
static void a_store_made_of_a_trace_equals_it(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    random_source random = {14};
    scratch_path(path, "made.cairn");
    for (uint64_t round = 0; round < scale(100); round++) {
        crn_trace *trace = random_trace(&random, random_below(&random, 200));
        crn_span_store *store = crn_store_of(trace);
        difference found;
        if (!store_is_trace(store, trace, &found))
            fail_msg("%s", found.text);
        crn_store_close(store);
        crn_trace_free(trace);
    }
    cairn_options options = span_options(path);
    options.span_policy = CAIRN_SPANS_KEEP_LAST;
    setup s = setup_open(&options, BLOCKS);
    for (int i = 0; i < 1000; i++) {
        cairn_span_begin(s.strand, 1, i);
        cairn_span_end(s.strand);
    }
    setup_close(&s);
    assert_true(assert_same(path, false) > 0);
}

/* A file that is truncated during a query: the missing part reads as zeros. */
static void a_file_may_get_shorter_meanwhile(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    random_source random = {15};
    scratch_path(path, "shorter.cairn");
    record(&random, path, 30000);
    crn_error error;
    crn_span_store *store = crn_store_open(path, &error);
    assert_non_null(store);
    assert_non_null(store->mapping.base);
    assert_int_equal(truncate(path, 4096), 0);
    crn_store_covered(store);
    crn_store_children(store);
    crn_store_attributes(store);
    char text[CAIRN_TEXT_MAX + 1];
    uint64_t gone = 0;
    for (uint32_t s = 0; s < store->count; s++) {
        crn_span span = crn_store_span(store, s);
        gone += span.start == 0 && span.block == 0;
        assert_true(span.parent == CRN_SPAN_NONE || span.parent < store->count);
    }
    for (uint32_t a = 0; a < store->attribute_count; a++)
        assert_true(crn_store_attribute(store, a, text).key < store->key_count);
    assert_true(gone > store->count / 2);
    crn_store_close(store);
}

static void spans_are_sorted_and_ranked(void **state)
{
    (void)state;
    random_source random = {16};
    for (uint64_t round = 0; round < scale(400); round++) {
        uint32_t count = 1 + random_below(&random, 300), shift = random_below(&random, 64);
        uint64_t *keys = crn_calloc(count, sizeof *keys), ranks[4];
        uint32_t *order = crn_calloc(count, sizeof *order);
        static const double shares[] = {0, 0.5, 0.99, 1};
        for (uint32_t i = 0; i < count; i++) {
            keys[i] = random_next(&random) >> shift;
            order[i] = i;
        }
        crn_store_sort(order, count, keys);
        for (uint32_t i = 1; i < count; i++)
            assert_true(keys[order[i - 1]] < keys[order[i]] ||
                        (keys[order[i - 1]] == keys[order[i]] && order[i - 1] < order[i]));
        crn_store_ranks(keys, count, shares, ranks, 4);
        assert_int_equal(ranks[0], keys[order[0]]);
        assert_int_equal(ranks[1], keys[order[(count + 1) / 2 - 1]]);
        assert_int_equal(ranks[3], keys[order[count - 1]]);
        uint32_t below = 0, upto = 0;
        for (uint32_t i = 0; i < count; i++) {
            below += keys[i] < ranks[2];
            upto += keys[i] <= ranks[2];
        }
        assert_true(below < 0.99 * count && upto >= 0.99 * count);
        crn_free(keys);
        crn_free(order);
    }
}

/* Values that come twice: few and many, of any size and many of one bucket. Others in the second
 * pass change no rank beyond the bucket, and do no harm. */
static void values_that_come_twice_are_ranked(void **state)
{
    (void)state;
    random_source random = {17};
    static const double shares[CRN_RANKS_MAX] = {0.5, 0.9, 0.99};
    for (uint64_t round = 0; round < scale(100); round++) {
        uint32_t count = random_below(&random, round % 2 ? 20000 : 5000);
        uint32_t shift = random_below(&random, 64);
        uint64_t base = random_chance(&random, 1, 3) ? random_next(&random) >> 1 : 0, found[3];
        uint64_t *values = crn_calloc(count + (size_t)1, sizeof *values), expected[3];
        crn_rank_search search = {0}, changed = {0};
        for (uint32_t i = 0; i < count; i++) {
            values[i] = base + (random_next(&random) >> (shift | (base > 0)));
            crn_rank_count(&search, values[i]);
            crn_rank_count(&changed, values[i]);
        }
        bool again = crn_rank_find(&search, shares, 3);
        crn_rank_find(&changed, shares, 3);
        for (uint32_t i = 0; again && i < count; i++) {
            crn_rank_take(&search, values[i]);
            for (int times = 0; times < 3; times++)
                crn_rank_take(&changed, values[i] ^ (random_next(&random) & 1));
        }
        crn_rank_end(&search, found, 3);
        qsort(values, count, sizeof *values, crn_order_uint64);
        for (int r = 0; r < 3; r++) {
            expected[r] = count ? values[(uint64_t)ceil(shares[r] * count) - 1] : 0;
            assert_int_equal(found[r], expected[r]);
        }
        crn_rank_end(&changed, found, 3);
        for (int r = 0; r < 3; r++)
            assert_true(found[r] <= expected[r] || found[r] - expected[r] <= expected[r] / 32);
        crn_free(values);
    }
}

/* ---- memory ---- */

/* Writes a capture of requests with four children each. */
static void write_many(const char *path, uint32_t count)
{
    random_source random = {18};
    const char *lanes[] = {"main"};
    crn_span *spans = crn_calloc(count, sizeof *spans);
    for (uint32_t s = 0; s < count; s++) {
        uint32_t child = s % 5;
        spans[s] = (crn_span){.start = s,
                              .end = child ? s + 1 : s + 5,
                              .iteration = s / 5,
                              .parent = child ? s - child : CRN_SPAN_NONE};
    }
    crn_trace trace = {.spans = spans,
                       .span_count = count,
                       .lanes = lanes,
                       .lane_count = 1,
                       .length = count + (uint64_t)5};
    crn_profile *profile = random_profile(&random, 2, 1, NULL);
    crn_error error;
    assert_true(crn_trace_save(profile, &trace, path, &error));
    crn_profile_free(profile);
    crn_free(spans);
}

/* Returns a number of /proc/self/status in bytes. */
static uint64_t status_of(const char *name)
{
    char line[256];
    unsigned long long found = 0;
    FILE *status = fopen("/proc/self/status", "re");
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, name, strlen(name)) == 0)
            found = strtoull(line + strlen(name) + 1, NULL, 10);
    if (status)
        fclose(status);
    return found * 1024;
}

/* Besides 36 bytes a span, and 10 for the figures, memory has 4 while they are made, and at most 16
 * MiB of the file. */
static void a_trace_is_loaded_without_the_file_in_memory(void **state)
{
    (void)state;
    enum { MANY = 2000000, FILE_PAGES = 16 << 20, REST = 4 << 20 };
    char path[SCRATCH_PATH];
    scratch_path(path, "many.cairn");
    write_many(path, MANY);
    FILE *clear = fopen("/proc/self/clear_refs", "we");
    if (SANITIZED || !clear || fputs("5", clear) < 0 || fclose(clear) != 0)
        skip();
    uint64_t before = status_of("VmRSS");
    crn_error error;
    crn_trace *trace = crn_trace_load(path, &error);
    assert_non_null(trace);
    assert_int_equal(trace->span_count, MANY);
    uint64_t loaded = status_of("VmHWM") - before;
    crn_spans *spans = crn_spans_make(trace, 1);
    uint64_t made = status_of("VmHWM") - before;
    crn_spans_free(spans);
    crn_trace_free(trace);
    assert_in_range(loaded, 36 * MANY, 36 * MANY + FILE_PAGES + REST);
    assert_in_range(made, 40 * MANY, 50 * MANY + REST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_that_come_twice_are_ranked),
        cmocka_unit_test(both_readers_agree),
        cmocka_unit_test(both_readers_agree_on_damaged_files),
        cmocka_unit_test(both_readers_cut_cycles_at_the_same_edge),
        cmocka_unit_test(a_store_made_of_a_trace_equals_it),
        cmocka_unit_test(a_file_may_get_shorter_meanwhile),
        cmocka_unit_test(spans_are_sorted_and_ranked),
        cmocka_unit_test(a_trace_is_loaded_without_the_file_in_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
