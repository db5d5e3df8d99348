/* SPDX-License-Identifier: MIT
 *
 * make_spans.c - writes a capture with any number of spans, for benchmarks of readers: requests of
 * 14 spans, four levels deep, and for each sixteenth two more that a worker runs.
 *
 * usage: make_spans FILE SPANS
 */
#include <cairn/span.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "random.h"

enum { REQUEST = 1, PARSE, RENDER, DRAW, CONVERT, DECODE, BLOCKS = DECODE, WORKERS = 3 };
enum { WHOLE = 14, HANDED_OFF = 2, EACH = 16, BURST = 100000 };

/* Takes a varying time, sometimes a long one. */
static void work(uint64_t *state)
{
    uint32_t turns = below(state, 20) + (below(state, 100) == 0 ? 500 : 0);
    for (volatile uint32_t i = 0; i < turns; i++)
        ;
}

static void leaf(cairn_strand *strand, cairn_block block, int64_t iteration, uint64_t *state)
{
    cairn_span_begin(strand, block, iteration);
    work(state);
    cairn_span_end(strand);
}

static void run_request(cairn_strand *strand, cairn_strand *worker, cairn_key width, int64_t number,
                        uint64_t *state)
{
    cairn_span_begin(strand, REQUEST, number);
    leaf(strand, PARSE, CAIRN_ITERATION_NONE, state);
    for (int64_t i = 0; i < 4; i++) {
        cairn_span_begin(strand, RENDER, i);
        if (i == 0)
            cairn_span_integer(strand, width, 320 + 10 * (int64_t)below(state, 100));
        leaf(strand, DRAW, 0, state);
        leaf(strand, DRAW, 1, state);
        cairn_span_end(strand);
    }
    if (worker) {
        cairn_handoff_adopt(worker, cairn_handoff_take(strand));
        cairn_span_begin(worker, CONVERT, number);
        leaf(worker, DECODE, CAIRN_ITERATION_NONE, state);
        cairn_span_end(worker);
        cairn_handoff_leave(worker);
    }
    cairn_span_end(strand);
}

/* Waits for the profile's thread, which prepares space. */
static void record(cairn_profile *profile, uint64_t spans)
{
    cairn_strand *strand = cairn_strand_open(cairn_lane_open(profile, "main"));
    cairn_strand *workers[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        char name[24];
        snprintf(name, sizeof(name), "worker %d", i + 1);
        workers[i] = cairn_strand_open(cairn_lane_open(profile, name));
    }
    cairn_key width = cairn_key_add(profile, "width");
    uint64_t state = 1, made = 0, burst = 0;
    for (int64_t i = 0; made < spans; i++) {
        bool shared = i % EACH == 0;
        run_request(strand, shared ? workers[i / EACH % WORKERS] : NULL, width, i, &state);
        made += WHOLE + (shared ? HANDED_OFF : 0);
        if (made < burst + BURST)
            continue;
        burst = made;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"request", "parse", "render", "draw", "convert", "decode"};
    if (argc != 3) {
        fprintf(stderr, "usage: make_spans FILE SPANS\n");
        return 2;
    }
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path = argv[1];
    options.command = "make_spans";
    options.spans = true;
    options.file_limit = UINT64_C(64) << 30;
    cairn_profile *profile;
    cairn_error error = cairn_profile_open(&profile, &options);
    if (!error) {
        for (int i = 0; i < BLOCKS; i++)
            cairn_block_add(profile, &(cairn_block_info){.name = names[i]});
        record(profile, strtoull(argv[2], NULL, 10));
        error = cairn_profile_status(profile);
        cairn_profile_close(profile);
    }
    if (error)
        fprintf(stderr, "make_spans: %s: %s\n", argv[1], cairn_error_text(error));
    return error ? 2 : 0;
}
