/* SPDX-License-Identifier: MIT
 *
 * test_stream.c - every profiling call of a real run of a functional language's benchmark,
 * played to the library and to the reference. The stream is not in this tree: it is
 * looked for in CAIRN_STREAMS, and the test is skipped without it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "support/cases.h"
#include "support/compare.h"
#include "support/profiles.h"
#include "support/scratch.h"

#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

enum { ENTER = 0, REPLACE = 1, LEAVE = 2, TICK = 3 };
#define STRAND_BEGINS 0x3fffffffu
#define STRAND_ENDS 0x3ffffffeu

/* Known figures of this stream. */
enum {
    WORDS = 35395364,
    CALLS = 8693978,
    TICKS = 39249211,
    CONTEXTS = 110687,
    LONGEST = 216,
    LENGTHS = 11468470
};

static unsigned char *read_packed(size_t *size)
{
    char path[4096];
    const char *folder = getenv("CAIRN_STREAMS");
    snprintf(path, sizeof(path), "%s/fble-bench.ev.zst", folder ? folder : "../shared/streams");
    return scratch_read(path, size);
}

static uint32_t *read_stream(void)
{
    size_t room = (size_t)WORDS * sizeof(uint32_t);
    uint32_t *words = malloc(room);
#ifdef HAVE_ZSTD
    size_t size;
    unsigned char *packed = read_packed(&size);
    assert_int_equal(ZSTD_decompress(words, room, packed, size), room);
    free(packed);
#endif
    return words;
}

/* Plays the stream to a profile, and to the reference unless it is NULL. */
static void play(const uint32_t *words, size_t count, cairn_profile *profile,
                 reference_graph *graph)
{
    reference_strand reference;
    cairn_lane *lane = cairn_lane_open(profile, "stream");
    cairn_strand *strand = NULL;
    uint32_t blocks = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t kind = words[i] >> 30, value = words[i] & 0x3fffffffu;
        if (kind <= REPLACE && value > blocks) {
            setup_blocks(profile, blocks + 1, value);
            blocks = value;
        }
        if (kind == TICK && value == STRAND_BEGINS) {
            strand = cairn_strand_open(lane);
            cairn_strand_switch(strand);
            if (graph)
                reference_strand_start(&reference, graph, true);
        } else if (kind == TICK && value == STRAND_ENDS) {
            cairn_strand_close(strand);
            if (graph)
                reference_strand_end(&reference);
        } else if (kind == ENTER) {
            cairn_enter(strand, value);
            if (graph)
                reference_enter(&reference, value, true);
        } else if (kind == REPLACE) {
            cairn_replace(strand, value);
            if (graph)
                reference_replace(&reference, value, true);
        } else if (kind == LEAVE) {
            cairn_leave(strand);
            if (graph)
                reference_leave(&reference);
        } else {
            cairn_tick(strand, value);
            if (graph)
                reference_tick(&reference, value, true);
        }
    }
    cairn_lane_close(lane);
}

typedef struct lengths {
    uint64_t contexts, longest, sum;
} lengths;

static bool add_length(void *data, const cairn_block *sequence, size_t length,
                       const cairn_cost *cost)
{
    (void)sequence;
    (void)cost;
    lengths *all = data;
    all->contexts++;
    all->sum += length;
    all->longest = length > all->longest ? length : all->longest;
    return true;
}

static void a_real_program_whole(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    uint32_t *words = read_stream();
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path = scratch_path(path, "stream.cairn");
    cairn_profile *profile;
    assert_int_equal(cairn_profile_open(&profile, &options), CAIRN_OK);
    reference_graph graph;
    reference_graph_start(&graph, options.path_limit, UINT32_MAX);
    play(words, WORDS, profile, &graph);
    free(words);

    cairn_view *view;
    assert_int_equal(cairn_view_open(&view, profile), CAIRN_OK);
    cairn_cost total = view_total(view);
    lengths all = {0, 0, 0};
    cairn_view_contexts(view, add_length, &all);
    assert_int_equal(total.calls, CALLS);
    assert_int_equal(total.ticks, TICKS);
    assert_int_equal(all.contexts, CONTEXTS);
    assert_int_equal(all.longest, LONGEST);
    assert_int_equal(all.sum, LENGTHS);
    difference found;
    if (!compare_view(view, &graph, &found))
        fail_msg("%s", found.text);
    cairn_view_close(view);
    assert_int_equal(cairn_profile_status(profile), CAIRN_OK);
    cairn_profile_close(profile);
    if (!compare_capture(path, &graph, &found))
        fail_msg("%s", found.text);
    reference_graph_end(&graph);
}

/* A tenth of the space that the stream needs: no call is lost. */
static void a_real_program_in_little_room(void **state)
{
    (void)state;
    uint32_t *words = read_stream();
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.context_budget = CONTEXTS / 10;
    options.path_limit = 50;
    cairn_profile *profile;
    assert_int_equal(cairn_profile_open(&profile, &options), CAIRN_OK);
    reference_graph graph;
    reference_graph_start(&graph, options.path_limit, options.context_budget);
    play(words, WORDS, profile, &graph);
    free(words);
    cairn_view *view;
    difference found;
    assert_int_equal(cairn_view_open(&view, profile), CAIRN_OK);
    assert_int_equal(view_total(view).calls, CALLS);
    assert_int_equal(view_total(view).ticks, TICKS);
    if (!compare_view(view, &graph, &found))
        fail_msg("%s", found.text);
    cairn_view_close(view);
    cairn_profile_close(profile);
    reference_graph_end(&graph);
}

int main(void)
{
    size_t size;
    unsigned char *packed = read_packed(&size);
    if (!packed)
        return cases_skip_all("there is no fble-bench.ev.zst in CAIRN_STREAMS");
    free(packed);
#ifndef HAVE_ZSTD
    return cases_skip_all("built without libzstd");
#endif
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(a_real_program_whole),
        cmocka_unit_test(a_real_program_in_little_room),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
