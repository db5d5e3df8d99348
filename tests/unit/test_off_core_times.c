/* SPDX-License-Identifier: MIT
 *
 * test_off_core_times.c - the times without a core in snapshots, in periods and in entries without
 * an end. Samples in periods. And the sums within a period, against a reference.
 */
#include <stdlib.h>
#include <unistd.h>

#include <cairn/span.h>

#include "base/memory.h"
#include "runtime/runtime.h"
#include "spans/off_core.h"
#include "spans/spans.h"
#include "support/cases.h"
#include "support/clock.h"
#include "support/hostile.h"
#include "support/profiles.h"
#include "support/random.h"
#include "support/recorded.h"
#include "support/scratch.h"

enum { MS = 1000000, SLEEP = 1, BLOCKS = 4 };

/* ---- snapshots ---- */

/* Takes snapshots until one has times without a core. Returns that one's trace. */
static crn_trace *await_off_core(cairn_profile *profile, const char *path)
{
    for (uint64_t until = now_ns() + 30000 * (uint64_t)MS;;) {
        assert_true(now_ns() < until);
        usleep(20000);
        assert_int_equal(cairn_profile_snapshot(profile, path), CAIRN_OK);
        crn_trace *trace = recorded_trace(path);
        uint64_t waited = 0;
        for (uint32_t i = 0; i < trace->off_core_count; i++)
            waited += trace->off_core[i].waiting;
        if (waited > 10 * MS)
            return trace;
        crn_trace_free(trace);
    }
}

static void snapshots_have_the_times_without_a_core(void **state)
{
    (void)state;
    skip_where_emulated();
    char path[SCRATCH_PATH], copy[SCRATCH_PATH];
    cairn_options options = span_options(scratch_path(path, "whole.cairn"));
    options.off_core = true;
    setup s = setup_open(&options, BLOCKS);
    cairn_span_begin(s.strand, SLEEP, 1);
    crn_trace *taken = await_off_core(s.profile, scratch_path(copy, "snapshot.cairn"));
    cairn_span_end(s.strand);
    setup_close(&s);
    crn_trace *whole = recorded_trace(path);
    assert_true(taken->off_core_count <= whole->off_core_count);
    for (uint32_t i = 0; i < taken->off_core_count; i++) {
        const crn_off_core *its = &taken->off_core[i], *same = &whole->off_core[i];
        assert_int_equal(its->lane, same->lane);
        assert_int_equal(its->begin, same->begin);
        /* The last one may not have ended then, and one before it may have ended as it was copied.
         */
        bool is_last = i + 1 == taken->off_core_count;
        if (its->end != same->end && !is_last) {
            assert_in_range(its->end, same->end, its[1].begin);
            assert_int_equal(its->waiting, its->end - its->begin);
        }
        assert_true(its->waiting + its->ready <= its->end - its->begin);
    }
    crn_trace_free(taken);
    crn_trace_free(whole);
}

/* A copy may have an entry from before its end, and the next one, too. */
static void an_entry_without_an_end_ends_where_the_next_begins(void **state)
{
    (void)state;
    skip_where_emulated();
    char path[SCRATCH_PATH], copy[SCRATCH_PATH];
    cairn_options options = span_options(scratch_path(path, "no-end.cairn"));
    options.off_core = true;
    setup s = setup_open(&options, BLOCKS);
    cairn_span_begin(s.strand, SLEEP, 1);
    scratch_path(copy, "snapshot.cairn");
    for (uint32_t count = 0; count < 4;) {
        crn_trace *trace = await_off_core(s.profile, copy);
        count = trace->off_core_count;
        crn_trace_free(trace);
    }
    setup_close(&s);
    CHANGE(path, CRN_SECTION_OFF_CORE, 0, 1, crn_disk_off_core, off_core)
    {
        off_core->end = off_core->waiting = off_core->ready = 0;
    }
    crn_trace *trace = recorded_trace(path);
    const crn_off_core *its = &trace->off_core[1];
    assert_true(its->begin < its[1].begin);
    assert_int_equal(its->end, its[1].begin);
    assert_int_equal(its->waiting, its->end - its->begin);
    assert_int_equal(its->ready, 0);
    crn_trace_free(trace);
}

/* A later period has nothing that ended before it. */
static void a_period_has_its_own_times_without_a_core(void **state)
{
    (void)state;
    skip_where_emulated();
    char path[SCRATCH_PATH];
    cairn_options options = span_options(NULL);
    options.off_core = true;
    setup s = setup_open(&options, BLOCKS);
    scratch_path(path, "period.cairn");
    cairn_span_begin(s.strand, SLEEP, 1); /* a trace without spans has no times */
    crn_trace_free(await_off_core(s.profile, path));
    cairn_profile_disable(s.profile);
    crn_profile_stop_threads(s.profile);
    assert_true(crn_profile_begin_again(s.profile));
    crn_trace *trace = await_off_core(s.profile, path);
    unsigned earlier = 0;
    for (uint32_t i = 0; i < trace->off_core_count; i++)
        earlier += trace->off_core[i].begin == 0 && trace->off_core[i].end > 0;
    assert_true(earlier <= 1); /* one may have begun before */
    crn_trace_free(trace);
    setup_close(&s);
}

/* Each period stores its times off core where the one before had its own. */
static void periods_reuse_the_space_of_times_without_a_core(void **state)
{
    (void)state;
    enum { PERIODS = 10, SLEEPS = 1500, CHUNK = 16384 };
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.off_core = true;
    uint64_t first = 0;
    setup s = setup_open(&options, BLOCKS);
    for (int period = 0; period < PERIODS; period++) {
        for (int i = 0; i < SLEEPS; i++)
            usleep(20);
        cairn_profile_disable(s.profile);
        crn_profile_stop_threads(s.profile);
        first = first ?: s.profile->capture.end;
        assert_true(crn_profile_begin_again(s.profile));
    }
    assert_in_range(s.profile->capture.end, first, first + 6 * CHUNK);
    setup_close(&s);
}

/* Samples of the period before are in its own capture. */
static void a_period_has_its_own_samples(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = span_options(NULL);
    setup s = setup_open(&options, 2);
    scratch_path(path, "period.cairn");
    for (cairn_block block = 1; block <= 2; block++) {
        assert_true(cairn_sample_at(s.strand, &block, 1, now_ns(), block));
        cairn_lane_set_thread(s.lane, (int32_t)block); /* the second is a change of threads */
        assert_int_equal(cairn_profile_snapshot(s.profile, path), CAIRN_OK);
        crn_trace *trace = recorded_trace(path);
        assert_int_equal(trace->samples.count, 1);
        assert_int_equal(trace->samples.change_count, block - 1);
        assert_int_equal(trace->samples.list[0].cpu, block);
        crn_trace_free(trace);
        cairn_profile_disable(s.profile);
        assert_true(crn_profile_begin_again(s.profile));
    }
    setup_close(&s);
}

/* ---- sums ---- */

/* Returns the times within a period, entry by entry. */
static crn_off_times reference(const crn_off_core *entries, uint32_t count, uint32_t lane,
                               uint64_t from, uint64_t to)
{
    crn_off_times times = {0};
    for (uint32_t i = 0; i < count; i++) {
        const crn_off_core *its = &entries[i];
        uint64_t first = its->begin > from ? its->begin : from;
        uint64_t last = its->end < to ? its->end : to, length = its->end - its->begin;
        if (its->lane != lane || first >= last)
            continue;
        uint64_t woken = its->begin + its->waiting;
        if (its->waiting + its->ready == length) {
            times.waiting += first < woken ? (last < woken ? last : woken) - first : 0;
            times.ready += last > woken ? last - (first > woken ? first : woken) : 0;
        } else {
            times.waiting += its->waiting * (last - first) / length;
            times.ready += its->ready * (last - first) / length;
        }
    }
    return times;
}

static void sums_within_a_period_are_those_of_the_reference(void **state)
{
    (void)state;
    enum { LANES = 4, ENTRIES = 60, PERIODS = 200 };
    random_source random = {18};
    for (int run = 0; run < 50; run++) {
        crn_off_core entries[LANES * ENTRIES];
        uint32_t count = 0;
        for (uint32_t lane = 0; lane < LANES; lane++) {
            uint64_t at = 0;
            uint32_t own = lane == 1 ? 0 : random_below(&random, ENTRIES);
            for (uint32_t i = 0; i < own; i++) {
                uint64_t length = random_below(&random, 1000);
                at += random_below(&random, 500);
                crn_off_core its = {.lane = lane, .begin = at, .end = at + length};
                its.ready = random_below(&random, (uint32_t)length + 1);
                its.waiting = length - its.ready;
                if (random_chance(&random, 1, 3))
                    its.waiting /= 2;
                entries[count++] = its;
                at += length;
            }
        }
        for (uint32_t lane = 0; lane < LANES; lane++) {
            crn_off_sums sums = crn_off_sums_of(entries, count, lane);
            for (int i = 0; i < PERIODS; i++) {
                uint64_t from = random_below(&random, 30000);
                uint64_t to = from + random_below(&random, 5000);
                crn_off_times is = crn_off_times_within(&sums, from, to);
                crn_off_times wanted = reference(entries, count, lane, from, to);
                assert_in_range(is.waiting, wanted.waiting > 4 ? wanted.waiting - 4 : 0,
                                wanted.waiting + 4); /* rounding of estimates */
                assert_in_range(is.ready, wanted.ready > 4 ? wanted.ready - 4 : 0,
                                wanted.ready + 4);
            }
            crn_free(sums.before);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(snapshots_have_the_times_without_a_core),
        cmocka_unit_test(an_entry_without_an_end_ends_where_the_next_begins),
        cmocka_unit_test(a_period_has_its_own_times_without_a_core),
        cmocka_unit_test(periods_reuse_the_space_of_times_without_a_core),
        cmocka_unit_test(a_period_has_its_own_samples),
        cmocka_unit_test(sums_within_a_period_are_those_of_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
