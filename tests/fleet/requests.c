/* SPDX-License-Identifier: MIT
 *
 * Two processes, one asked by the other through traceparents: histograms by block and by the values
 * of attributes, counters, events, processor time, times without a core, clocks.
 *
 * usage: requests OUT.cairn < traceparents > traceparents
 */
#include <cairn/traceparent.h>
#include <stdio.h>
#include <string.h>

enum { REQUESTS = 30 };

int main(int argc, char **argv)
{
    char from[CAIRN_TRACEPARENT_SIZE + 1], to[CAIRN_TRACEPARENT_SIZE];
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    cairn_profile *profile;
    cairn_handoff handoff;
    if (argc != 2)
        return 2;
    options.path = argv[1];
    options.spans = options.span_histograms = options.span_cpu = options.off_core = true;
    if (cairn_profile_open(&profile, &options) != CAIRN_OK)
        return 1;
    cairn_key size = cairn_key_add(profile, "size"), kind = cairn_key_add(profile, "kind");
    cairn_key load = cairn_key_add(profile, "load");
    cairn_text refilled = cairn_text_add(profile, "refilled\n");
    cairn_key_split(profile, size, 4);
    cairn_key_split(profile, kind, 4);
    cairn_block block =
        cairn_block_add(profile, &(cairn_block_info){.name = "request", .file = argv[0]});
    cairn_strand *strand = cairn_strand_open(cairn_lane_open(profile, "requests"));
    for (int i = 0; i < REQUESTS; i++) {
        bool asked = fgets(from, sizeof from, stdin) != NULL;
        from[strcspn(from, "\n")] = '\0';
        if (asked && cairn_traceparent_read(from, &handoff))
            cairn_handoff_adopt(strand, handoff);
        cairn_span_begin(strand, block, i);
        cairn_span_integer(strand, size, i % 6);
        cairn_span_text(strand, kind, i % 2 ? "odd" : "even\xff");
        cairn_counter_set(strand, load, i / 3.0);
        cairn_counter_set(strand, load, i / 7.0);
        cairn_event_add(strand, refilled);
        cairn_log_add(strand, i % 2 ? CAIRN_LEVEL_ERROR : CAIRN_LEVEL_DEBUG,
                      "a line of a log, \xff'\t");
        if (cairn_traceparent_write(strand, to))
            puts(to);
        cairn_span_end(strand);
        if (asked)
            cairn_handoff_leave(strand);
    }
    cairn_profile_close(profile);
    return 0;
}
