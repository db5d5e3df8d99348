/* SPDX-License-Identifier: MIT
 *
 * test_track.c - spans of a fake device, whose clock has another origin and rate than the
 * profile's. Each case runs this program again, with a task as argument.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cairn/track.h>

#include "support/again.h"
#include "support/cases.h"
#include "support/clock.h"

enum { MS = 1000000, KERNELS = 20 };

/* The device counts 19.2 MHz, and a little faster than it says. */
static uint64_t device_clock(void)
{
    return 1000000000 + (uint64_t)((double)now_ns() * 0.0192 * 1.001);
}

static uint64_t longest; /* ns, the most that a pair of readings took */

static void synchronise(cairn_track *track)
{
    uint64_t begin = now_ns(), before = cairn_track_clock();
    cairn_track_sync(track, device_clock(), before);
    uint64_t took = now_ns() - begin;
    longest = took > longest ? took : longest;
}

/* The most that the error can be `passed` ns after the first pair, if there were FIRST_MS between
 * it and the second: half of the longest pair, what these two pairs make of the clock's rate, and
 * the device's own deviation from its rate. */
enum { FIRST_MS = 20 };

static double error_most(uint64_t passed)
{
    double pair = (double)longest, rate = pair / (FIRST_MS * MS) + 0.002;
    return pair / 2 + rate * (double)passed + MS / 10.0;
}

/* A pair of readings that took long moves the next span to before the end of the last one: it
 * begins there, and is not lost. */
static void device_with_a_late_reading(void)
{
    CAIRN_SCOPE("main");
    cairn_track *queue = cairn_track_open("gpu queue", 1);
    uint64_t clock = cairn_track_clock(), device = 1000000000;
    cairn_track_sync(queue, device, clock);
    check(CAIRN_TRACK_SPAN(queue, cairn_handoff_take(NULL), "kernel", device + 90 * MS,
                           device + 100 * MS) != 0);
    cairn_track_sync(queue, device + 101 * MS, cairn_track_clock());
    check(CAIRN_TRACK_SPAN(queue, cairn_handoff_take(NULL), "kernel", device + 100 * MS,
                           device + 101 * MS) != 0);
    check(CAIRN_TRACK_SPAN(queue, cairn_handoff_take(NULL), "overlaps", device + 100 * MS,
                           device + 102 * MS) == 0);
    cairn_track_close(queue);
}

/* Each kernel runs within a span "reference" of the host, and asks for the span "reads" after it.
 */
static void device(void)
{
    CAIRN_SCOPE("main");
    cairn_track *queue = cairn_track_open("gpu queue", 1 / 0.0192);
    check((queue != NULL) == (getenv("CAIRN_OUT") != NULL));
    check(cairn_track_error(queue) < 0);
    check(CAIRN_TRACK_SPAN(queue, cairn_handoff_take(NULL), "too early", 1, 2) == 0);
    uint64_t first = now_ns();
    synchronise(queue);
    sleep_ms(FIRST_MS);
    synchronise(queue);
    uint64_t end = 0, begin = 0;
    for (int i = 0; i < KERNELS; i++) {
        cairn_handoff asked;
        {
            CAIRN_SCOPE("submit", .iteration = i);
            asked = cairn_handoff_take(cairn_thread_strand());
        }
        {
            CAIRN_SCOPE("reference", .iteration = i);
            begin = device_clock();
            sleep_ms(2);
            end = device_clock();
        }
        cairn_span kernel = CAIRN_TRACK_SPAN(queue, asked, "kernel", begin, end);
        CAIRN_SCOPE("reads");
        cairn_span_waits_for(cairn_thread_strand(), kernel);
        synchronise(queue);
    }
    check(CAIRN_TRACK_SPAN(queue, cairn_handoff_take(NULL), "overlaps", begin, end + 9) == 0);
    check(CAIRN_TRACK_SPAN(queue, cairn_handoff_take(NULL), "backwards", end + 9, end + 8) == 0);
    double error = cairn_track_error(queue);
    check(!queue || (error > 0 && error < error_most(now_ns() - first)));
    cairn_track_close(queue);
}

static void device_spans_are_where_they_ran(void **state)
{
    (void)state;
    recorded recorded = again_record("device");
    const crn_trace *trace = recorded.trace;
    assert_int_equal(recorded_count(&recorded, "main/submit/kernel"), KERNELS);
    assert_int_equal(trace->edge_count, KERNELS);
    assert_string_equal(crn_profile_note(recorded.profile, "misuses", ""), "3");
    const char *note = crn_profile_note(recorded.profile, "track.gpu queue", "");
    const char *error = strstr(note, "error=");
    assert_true(strstr(note, "pairs=") && error);
    double most = atof(error + strlen("error=")) + 20000; /* conversion of the capture's clock */
    const crn_span *references[KERNELS];
    uint32_t kernels = 0, count = 0;
    for (uint32_t s = 0; s < trace->span_count; s++)
        if (trace->spans[s].iteration != CAIRN_ITERATION_NONE &&
            strcmp(recorded.profile->blocks[trace->spans[s].block].name, "reference") == 0)
            references[count++] = &trace->spans[s];
    assert_int_equal(count, KERNELS);
    for (uint32_t s = 0; s < trace->span_count; s++) {
        const crn_span *span = &trace->spans[s];
        if (strcmp(recorded.profile->blocks[span->block].name, "kernel") != 0)
            continue;
        assert_string_equal(trace->lanes[span->lane], "gpu queue");
        const crn_span *reference = references[kernels++];
        assert_true((double)span->start + most >= (double)reference->start);
        assert_true((double)span->end <= (double)reference->end + most);
        assert_true((double)(span->end - span->start) >= 2 * MS - most);
    }
    assert_int_equal(kernels, KERNELS);
    recorded_free(&recorded);
}

static void a_late_reading_loses_no_span(void **state)
{
    (void)state;
    recorded recorded = again_record("late");
    const crn_trace *trace = recorded.trace;
    assert_int_equal(recorded_count(&recorded, "kernel"), 2);
    uint64_t end = 0;
    for (uint32_t s = 0; s < trace->span_count; s++)
        if (strcmp(recorded.profile->blocks[trace->spans[s].block].name, "kernel") == 0) {
            assert_true(trace->spans[s].start >= end);
            assert_true(trace->spans[s].end >= trace->spans[s].start);
            end = trace->spans[s].end;
        }
    assert_string_equal(crn_profile_note(recorded.profile, "misuses", ""), "1");
    recorded_free(&recorded);
}

static void without_a_profile_nothing_happens(void **state)
{
    (void)state;
    again_run("device", NULL, NULL, NULL, 0);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(device_spans_are_where_they_ran),
        cmocka_unit_test(a_late_reading_loses_no_span),
        cmocka_unit_test(without_a_profile_nothing_happens),
    };
    if (count > 1) {
        alarm(60);
        if (strcmp(arguments[1], "late") == 0)
            device_with_a_late_reading();
        else
            device();
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
