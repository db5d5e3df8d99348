/* SPDX-License-Identifier: MIT
 *
 * test_counter_tracks.c - counters over time, against a reference that looks at all values for each
 * pixel.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "spans/counter_tracks.h"
#include "support/cases.h"
#include "support/random.h"

enum { ROUNDS = 2000, MOST = 80, LANES = 4, KEYS = 3, PIXELS = 12, LONG = 200 };

typedef struct recording {
    crn_trace trace;
    crn_span spans[LANES];
    crn_counter counters[MOST];
    crn_trace_process processes[2];
    bool used[MOST];
} recording;

static void make(recording *recording, random_source *random)
{
    *recording = (struct recording){.trace = {.spans = recording->spans,
                                              .counters = recording->counters,
                                              .processes = recording->processes,
                                              .lane_count = LANES,
                                              .key_count = KEYS,
                                              .span_count = LANES}};
    recording->trace.process_count = random_below(random, 3);
    recording->processes[1].first_lane = 2;
    recording->trace.counter_count = random_below(random, MOST);
    for (uint32_t i = 0; i < LANES; i++)
        recording->spans[i].lane = i;
    for (uint32_t i = 0; i < recording->trace.counter_count; i++) {
        static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0};
        double value = (double)random_below(random, 20) - 10;
        recording->counters[i] = (crn_counter){
            .span = random_below(random, LANES),
            .key = (uint16_t)random_below(random, KEYS),
            .at = random_chance(random, 1, 50) ? UINT64_MAX >> 1 : random_below(random, LONG),
            .value = random_chance(random, 1, 20) ? odd[random_below(random, 4)] : value};
    }
}

static uint32_t process_of(const recording *recording, const crn_counter *counter)
{
    return recording->trace.process_count == 2 && counter->span >= 2;
}

static bool same(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b;
}

static bool is_of(const recording *recording, const crn_counter_track *track, uint32_t i)
{
    const crn_counter *counter = &recording->counters[i];
    return counter->key == track->key && process_of(recording, counter) == track->process;
}

/* Returns the value that was recorded last of those with the latest time before `to`. */
static const crn_counter *last_before(const recording *recording, const crn_counter_track *track,
                                      uint64_t from, uint64_t to)
{
    const crn_counter *found = NULL;
    for (uint32_t i = 0; i < recording->trace.counter_count; i++) {
        const crn_counter *its = &recording->counters[i];
        if (is_of(recording, track, i) && its->at >= from && its->at < to &&
            (!found || its->at >= found->at))
            found = its;
    }
    return found;
}

static void check_pixel(const recording *recording, const crn_counter_track *track, uint64_t from,
                        uint64_t to, const crn_counter_point *point)
{
    double low = NAN, high = NAN;
    uint64_t at = UINT64_MAX;
    for (uint32_t i = 0; i < recording->trace.counter_count; i++) {
        const crn_counter *its = &recording->counters[i];
        if (!is_of(recording, track, i) || its->at < from || its->at >= to)
            continue;
        low = isnan(low) || its->value < low ? its->value : low;
        high = isnan(high) || its->value > high ? its->value : high;
        at = its->at < at ? its->at : at;
    }
    assert_true(point->at == at && same(point->low, low) && same(point->high, high));
    assert_true(same(point->last, last_before(recording, track, from, to)->value));
}

/* Pixels of equal length, so that the reference can name their ends. */
static void check_drawing(const recording *recording, const crn_counter_tracks *tracks,
                          uint32_t track, random_source *random)
{
    crn_counter_point points[PIXELS + 1];
    uint64_t width = 1 + random_below(random, 20), from = random_below(random, LONG);
    uint32_t count = crn_counter_draw(tracks, track, from, from + PIXELS * width, PIXELS, points);
    uint32_t next = 0;
    const crn_counter_track *its = &tracks->tracks[track];
    const crn_counter *before = last_before(recording, its, 0, from);
    assert_true(count <= PIXELS + 1);
    if (before) {
        assert_true(count && points[0].at == before->at && same(points[0].last, before->value));
        next = 1;
    }
    for (uint64_t begin = from; begin < from + PIXELS * width; begin += width)
        if (last_before(recording, its, begin, begin + width))
            check_pixel(recording, its, begin, begin + width, &points[next++]);
    assert_int_equal(next, count);
}

static void drawings_have_all_values(void **state)
{
    random_source random = {20261125};
    recording *its = crn_calloc(1, sizeof *its);
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        make(its, &random);
        crn_counter_tracks *tracks = crn_counter_tracks_make(&its->trace);
        uint32_t sum = 0;
        for (uint32_t i = 0; i < tracks->count; i++) {
            assert_int_equal(tracks->tracks[i].first, sum);
            assert_true(tracks->tracks[i].count > 0);
            sum += tracks->tracks[i].count;
            check_drawing(its, tracks, i, &random);
        }
        assert_int_equal(sum, its->trace.counter_count);
        crn_counter_tracks_free(tracks);
    }
    crn_free(its);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(drawings_have_all_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
