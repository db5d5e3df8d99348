/* SPDX-License-Identifier: MIT
 *
 * test_trace_remote.c - work that one process requests from another, as recorded and after merging
 * the captures.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/traceparent.h>

#include "base/memory.h"
#include "spans/spans.h"
#include "spans/trace_process.h"
#include "support/cases.h"
#include "support/profiles.h"
#include "support/recorded.h"
#include "support/scratch.h"

typedef struct party {
    char path[SCRATCH_PATH];
    cairn_profile *profile;
    cairn_strand *strand;
    cairn_block work;
} party;

static void party_open(party *party, const char *name)
{
    cairn_options options = span_options(scratch_path(party->path, name));
    assert_int_equal(cairn_profile_open(&party->profile, &options), CAIRN_OK);
    party->work = cairn_block_add(party->profile, &(cairn_block_info){.name = name});
    party->strand = cairn_strand_open(cairn_lane_open(party->profile, name));
}

/* Compares the spans of several captures, without blocks. */
static crn_trace *merged(const party *parties, size_t count)
{
    crn_error error = {0};
    crn_trace *traces[4] = {NULL}, *merged;
    for (size_t i = 0; i < count; i++)
        traces[i] = recorded_trace(parties[i].path);
    assert_true(crn_trace_merge((const crn_trace *const *)traces, count, &merged, &error));
    for (size_t i = 0; i < count; i++)
        crn_trace_free(traces[i]);
    return merged;
}

static uint32_t span_of(const crn_trace *trace, uint32_t process, int64_t iteration)
{
    for (uint32_t s = 0; s < trace->span_count; s++)
        if (crn_trace_process_of(trace, trace->spans[s].lane) == process &&
            trace->spans[s].iteration == iteration)
            return s;
    fail_msg("process %u has no span %" PRId64, process, iteration);
    return CRN_SPAN_NONE;
}

/* The client asks the server, which asks a third, which asks the client. */
static void the_requester_is_the_parent_in_any_process(void **state)
{
    (void)state;
    party parties[3];
    char asked[3][CAIRN_TRACEPARENT_SIZE];
    cairn_handoff handoff;
    party_open(&parties[0], "client.cairn");
    party_open(&parties[1], "server.cairn");
    party_open(&parties[2], "third.cairn");
    cairn_span_begin(parties[0].strand, parties[0].work, 0);
    cairn_span_begin(parties[0].strand, parties[0].work, 1);
    assert_true(cairn_traceparent_write(parties[0].strand, asked[0]));
    for (int i = 1; i <= 2; i++) {
        assert_true(cairn_traceparent_read(asked[i - 1], &handoff));
        cairn_span_begin(parties[i].strand, parties[i].work, 100); /* waits for requests */
        cairn_handoff_adopt(parties[i].strand, handoff);
        cairn_span_begin(parties[i].strand, parties[i].work, 2);
        cairn_span_begin(parties[i].strand, parties[i].work, 3);
        assert_true(cairn_traceparent_write(parties[i].strand, asked[i]));
    }
    assert_true(cairn_traceparent_read(asked[2], &handoff));
    cairn_handoff_adopt(parties[0].strand, handoff);
    cairn_span_begin(parties[0].strand, parties[0].work, 4);
    for (int i = 0; i < 3; i++)
        cairn_profile_close(parties[i].profile);

    crn_trace *trace = merged(parties, 3);
    uint32_t outer = span_of(trace, 0, 0), inner = span_of(trace, 0, 1);
    uint32_t served = span_of(trace, 1, 2), asking = span_of(trace, 1, 3);
    uint32_t third = span_of(trace, 2, 2), last = span_of(trace, 2, 3);
    uint32_t back = span_of(trace, 0, 4);
    assert_int_equal(trace->spans[outer].parent, CRN_SPAN_NONE);
    assert_int_equal(trace->spans[inner].parent, outer);
    assert_int_equal(trace->spans[served].parent, inner);
    assert_true(trace->spans[served].handed_off);
    assert_int_equal(trace->spans[asking].parent, served);
    assert_int_equal(trace->spans[third].parent, asking);
    assert_int_equal(trace->spans[last].parent, third);
    assert_int_equal(trace->spans[back].parent, last);
    assert_int_equal(trace->spans[span_of(trace, 1, 100)].parent, CRN_SPAN_NONE);

    crn_trace_clocks clocks = crn_trace_clocks_of(trace);
    assert_int_equal(clocks.links, 3);
    assert_int_equal(clocks.missing, 0);
    assert_true(clocks.machines == 1 || trace->processes[0].boot[0] == 0);
    /* Each capture has its own calibration of the clock. */
    assert_true(clocks.earliest < 1000000);

    /* The ids are those that were given out. */
    crn_trace_ids ids;
    crn_trace_ids_open(&ids, trace);
    const uint32_t gave[] = {inner, asking, last};
    for (int i = 0; i < 3; i++) {
        char text[CAIRN_TRACEPARENT_SIZE];
        uint64_t trace_id[2];
        crn_trace_id_of(&ids, gave[i], trace_id);
        snprintf(text, sizeof text, "00-%016" PRIx64 "%016" PRIx64 "-%016" PRIx64 "-01",
                 trace_id[0], trace_id[1], crn_span_id_of(&ids, gave[i]));
        assert_string_equal(text, asked[i]);
    }
    crn_trace_ids_close(&ids);
    crn_trace_free(trace);
}

/* Without the other capture, the work stays in its process. */
static void work_without_a_known_requester_stays_in_its_process(void **state)
{
    (void)state;
    party party;
    cairn_handoff handoff;
    party_open(&party, "alone.cairn");
    assert_true(cairn_traceparent_read("00-0123456789abcdef0123456789abcdef-00f067aa0ba902b7-01",
                                       &handoff));
    cairn_handoff_adopt(party.strand, handoff);
    cairn_span_begin(party.strand, party.work, 1);
    cairn_profile_close(party.profile);
    crn_trace *trace = merged(&party, 1);
    assert_int_equal(trace->span_count, 1);
    assert_int_equal(trace->remote_count, 1);
    assert_false(trace->remotes[0].resolved);
    assert_true(trace->remotes[0].parent == 0x00f067aa0ba902b7u);
    assert_true(trace->remotes[0].trace_id[0] == 0x0123456789abcdefu);
    assert_int_equal(trace->spans[0].parent, CRN_SPAN_NONE);
    crn_trace_clocks clocks = crn_trace_clocks_of(trace);
    assert_int_equal(clocks.missing, 1);
    crn_trace_free(trace);
}

/* A child of fork continues below the open spans. */
static void children_of_fork_are_below_their_parents(void **state)
{
    (void)state;
    skip_where_emulated();
#ifdef __SANITIZE_ADDRESS__
    return; /* its allocator may have been in the midst of something */
#endif
    party parties[2];
    party_open(&parties[0], "parent.cairn");
    cairn_span_begin(parties[0].strand, parties[0].work, 7);
    pid_t child = fork();
    if (child == 0) {
        cairn_span_begin(parties[0].strand, parties[0].work, 8);
        cairn_span_end(parties[0].strand);
        cairn_profile_close(parties[0].profile);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    cairn_profile_close(parties[0].profile);
    size_t stem = strlen(parties[0].path) - strlen(".cairn");
    snprintf(parties[1].path, sizeof parties[1].path, "%.*s.%ld.cairn", (int)stem, parties[0].path,
             (long)child);
    crn_trace *trace = merged(parties, 2);
    assert_int_equal(trace->span_count, 2);
    uint32_t inner = span_of(trace, 1, 8);
    assert_int_equal(trace->spans[inner].parent, span_of(trace, 0, 7));
    assert_true(trace->processes[1].number == (uint32_t)child);
    assert_true(trace->spans[inner].start >= trace->spans[trace->spans[inner].parent].start);
    crn_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_requester_is_the_parent_in_any_process),
        cmocka_unit_test(work_without_a_known_requester_stays_in_its_process),
        cmocka_unit_test(children_of_fork_are_below_their_parents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
