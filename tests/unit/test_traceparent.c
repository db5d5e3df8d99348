/* SPDX-License-Identifier: MIT
 *
 * test_traceparent.c - the traceparent header: its syntax, trace ids, and the details in captures.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/scope.h>
#include <cairn/traceparent.h>

#include "support/cases.h"
#include "support/children.h"
#include "support/profiles.h"
#include "support/recorded.h"
#include "support/scratch.h"

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define SPAN "b7ad6b7169203331"

typedef struct opened {
    setup s;
    char path[SCRATCH_PATH];
} opened;

static opened open_at(const char *name, double rate)
{
    opened here;
    cairn_options options = span_options(scratch_path(here.path, name));
    options.span_rate = rate;
    here.s = setup_open(&options, 3);
    return here;
}

static recorded close_here(opened *here)
{
    setup_close(&here->s);
    return recorded_load(here->path);
}

static bool is_nobodys(const cairn_handoff *handoff)
{
    static const cairn_handoff nobody;
    return memcmp(handoff, &nobody, sizeof nobody) == 0;
}

/* ---- the form ---- */

static void valid_headers_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool right;
    } texts[] = {
        {"00-" TRACE "-" SPAN "-01", true},
        {"00-" TRACE "-" SPAN "-00", true},
        {"00-" TRACE "-" SPAN "-ff", true},
        {"cc-" TRACE "-" SPAN "-01", true},
        {"cc-" TRACE "-" SPAN "-01-what comes later", true},
        {"cc-" TRACE "-" SPAN "-01.what comes later", false},
        {"00-" TRACE "-" SPAN "-01-more", false},
        {"00-" TRACE "-" SPAN "-01 ", false},
        {"ff-" TRACE "-" SPAN "-01", false},
        {"00-00000000000000000000000000000000-" SPAN "-01", false},
        {"00-00000000000000000000000000000001-" SPAN "-01", true},
        {"00-10000000000000000000000000000000-" SPAN "-01", true},
        {"00-" TRACE "-0000000000000000-01", false},
        {"00-0AF7651916CD43DD8448EB211C80319C-" SPAN "-01", false},
        {"00-" TRACE "-" SPAN "-0", false},
        {"00-" TRACE "-" SPAN "-0g", false},
        {"00-" TRACE "-" SPAN, false},
        {"0g-" TRACE "-" SPAN "-01", false},
        {"00_" TRACE "-" SPAN "-01", false},
        {"00-" TRACE "_" SPAN "-01", false},
        {"00-" TRACE "-" SPAN "_01", false},
        {" 00-" TRACE "-" SPAN "-01", false},
        {"", false},
        {NULL, false},
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        cairn_handoff handoff;
        memset(&handoff, 0xee, sizeof handoff);
        if (cairn_traceparent_read(texts[i].text, &handoff) != texts[i].right)
            fail_msg("%s", texts[i].text);
        assert_true(is_nobodys(&handoff) == !texts[i].right);
    }
    cairn_handoff handoff;
    cairn_traceparent_read("00-" TRACE "-" SPAN "-03", &handoff);
    assert_true(handoff.trace[0] == 0x0af7651916cd43dd && handoff.trace[1] == 0x8448eb211c80319c);
    assert_true(handoff.remote == 0xb7ad6b7169203331 && handoff.flags == 3);
}

/* Any single byte that is another makes it another one, or none; never one that is the same. */
static void damage_is_seen(void **state)
{
    (void)state;
    static const char whole[] = "00-" TRACE "-" SPAN "-01";
    cairn_handoff right, damaged;
    assert_true(cairn_traceparent_read(whole, &right));
    for (size_t at = 2; at < sizeof whole - 1; at++)
        for (int byte = 0; byte < 256; byte++) {
            char text[sizeof whole];
            memcpy(text, whole, sizeof whole);
            text[at] = (char)byte;
            bool same = text[at] == whole[at];
            if (cairn_traceparent_read(text, &damaged))
                assert_true((memcmp(&right, &damaged, sizeof right) == 0) == same);
            else
                assert_false(same);
        }
}

static void without_an_open_span_nothing_is_written(void **state)
{
    (void)state;
    char text[CAIRN_TRACEPARENT_SIZE] = "before";
    assert_false(cairn_traceparent_write(NULL, text));
    assert_string_equal(text, "");
    setup s = setup_open(NULL, 3); /* without spans */
    cairn_span_begin(s.strand, 1, 0);
    assert_false(cairn_traceparent_write(s.strand, text));
    setup_close(&s);
    opened here = open_at("none.cairn", 1);
    assert_false(cairn_traceparent_write(here.s.strand, text));
    cairn_enter(here.s.strand, 1);
    assert_false(cairn_traceparent_write(here.s.strand, text));
    assert_string_equal(text, "");
    recorded recorded = close_here(&here);
    recorded_free(&recorded);
}

/* ---- parents in other processes ---- */

static uint64_t span_in(const char *text)
{
    cairn_handoff handoff;
    assert_true(cairn_traceparent_read(text, &handoff));
    return handoff.remote;
}

/* Each id, by the key in the capture, is the name of the span that was open. */
static void the_id_is_the_spans_name(void **state)
{
    (void)state;
    enum { SPANS = 20000 };
    static uint64_t ids[SPANS];
    opened here = open_at("ids.cairn", 1);
    cairn_lane *other = cairn_lane_open(here.s.profile, "other");
    cairn_strand *strands[2] = {here.s.strand, cairn_strand_open(other)};
    for (int i = 0; i < SPANS; i++) {
        char text[CAIRN_TRACEPARENT_SIZE];
        cairn_strand *strand = strands[i / (SPANS / 2)];
        CAIRN_SCOPE("scope", .iteration = i, .strand = strand);
        ids[i] = cairn_traceparent_write(strand, text) ? span_in(text) : 0;
    }
    recorded recorded = close_here(&here);
    const crn_trace *trace = recorded.trace;
    uint32_t found = 0;
    for (uint32_t s = 0; s < trace->span_count; s++) {
        uint32_t lane = trace->spans[s].lane, first = 0;
        while (trace->spans[first].lane != lane)
            first++;
        uint64_t name = trace->origins[lane] + (s - first);
        found += ids[trace->spans[s].iteration] == (name ^ trace->processes[0].span_key);
    }
    assert_int_equal(found, trace->span_count);
    assert_true(found > SPANS / 2); /* space is prepared by another thread */
    recorded_free(&recorded);
}

static void a_trace_is_handed_on(void **state)
{
    (void)state;
    char own[CAIRN_TRACEPARENT_SIZE], within[CAIRN_TRACEPARENT_SIZE], text[CAIRN_TRACEPARENT_SIZE];
    opened here = open_at("on.cairn", 1);
    cairn_strand *strand = here.s.strand;
    cairn_strand *other = cairn_strand_open(cairn_lane_open(here.s.profile, "other"));
    cairn_handoff handoff, job;
    assert_true(cairn_traceparent_read("00-" TRACE "-" SPAN "-01", &handoff));
    {
        CAIRN_SCOPE("own", .strand = strand);
        assert_true(cairn_traceparent_write(strand, own));
        CAIRN_ADOPT(handoff, strand);
        assert_true(cairn_traceparent_write(strand, text)); /* the requester stays the same */
        assert_string_equal(text, "00-" TRACE "-" SPAN "-01");
        CAIRN_SCOPE("served", .strand = strand);
        assert_true(cairn_traceparent_write(strand, within));
        assert_memory_equal(within, "00-" TRACE "-", 36);
        assert_true(span_in(within) != span_in(own));
        job = cairn_handoff_take(strand);
    }
    {
        CAIRN_ADOPT(job, other); /* by another lane of the process: the trace goes along */
        CAIRN_SCOPE("job", .strand = other);
        assert_true(cairn_traceparent_write(other, text));
        assert_memory_equal(text, "00-" TRACE "-", 36);
    }
    {
        CAIRN_ADOPT(handoff, other); /* the same request, by another */
        CAIRN_SCOPE("served too", .strand = other);
    }
    recorded recorded = close_here(&here);
    assert_int_equal(memcmp(own, "00-" TRACE, 35) != 0, 1);
    assert_memory_equal(own + 3, crn_profile_note(recorded.profile, "trace_id", ""), 32);
    assert_int_equal(recorded_count(&recorded, "served/job"), 1);
    assert_int_equal(recorded.trace->remote_count, 2);
    for (uint32_t r = 0; r < 2; r++) {
        const crn_span_remote *remote = &recorded.trace->remotes[r];
        assert_true(remote->trace_id[0] == handoff.trace[0] &&
                    remote->trace_id[1] == handoff.trace[1] && remote->parent == handoff.remote);
        assert_int_equal(remote->flags, 1);
        assert_false(remote->resolved);
    }
    assert_int_equal(recorded.trace->remotes[0].span, recorded_find(&recorded, "served"));
    assert_int_equal(recorded.trace->remotes[1].span, recorded_find(&recorded, "served too"));
    recorded_free(&recorded);
}

/* With sampled trees, the requested process follows the requester's decision. */
static void a_tree_is_recorded_in_all_processes_or_in_none(void **state)
{
    (void)state;
    enum { TREES = 400 };
    opened asks = open_at("asks.cairn", 0.25), serves = open_at("serves.cairn", 0.25);
    int sampled = 0;
    for (int i = 0; i < TREES; i++) {
        char text[CAIRN_TRACEPARENT_SIZE];
        cairn_handoff handoff;
        CAIRN_SCOPE("ask", .iteration = i, .strand = asks.s.strand);
        assert_true(cairn_traceparent_write(asks.s.strand, text));
        assert_true(cairn_traceparent_read(text, &handoff));
        sampled += handoff.flags == 1;
        CAIRN_ADOPT(handoff, serves.s.strand);
        CAIRN_SCOPE("serve", .iteration = i, .strand = serves.s.strand);
        CAIRN_SCOPE("inside", .iteration = i, .strand = serves.s.strand);
    }
    recorded first = close_here(&asks), second = close_here(&serves);
    assert_in_range(sampled, TREES / 8, TREES / 2);
    assert_int_equal(first.trace->span_count, sampled);
    assert_int_equal(recorded_count(&second, "serve/inside"), sampled);
    assert_int_equal(second.trace->span_count, 2 * sampled);
    for (uint32_t s = 0; s < first.trace->span_count; s++)
        assert_int_equal(second.trace->spans[2 * s].iteration, first.trace->spans[s].iteration);
    recorded_free(&first);
    recorded_free(&second);
}

/* ---- children ---- */

static void a_child_of_fork_continues_the_parents_trace(void **state)
{
    (void)state;
    skip_where_emulated();
    char childs[SCRATCH_PATH], text[CAIRN_TRACEPARENT_SIZE];
    opened here = open_at("forks.cairn", 1);
    cairn_strand *strand = here.s.strand;
    cairn_span_begin(strand, 1, 7);
    assert_true(cairn_traceparent_write(strand, text));
    pid_t child = fork();
    if (child == 0) {
        char own[CAIRN_TRACEPARENT_SIZE], within[CAIRN_TRACEPARENT_SIZE];
        bool right = cairn_traceparent_write(strand, own) && strcmp(own, text) == 0;
        cairn_span_begin(strand, 2, 1);
        right = right && cairn_traceparent_write(strand, within) && memcmp(within, text, 36) == 0 &&
                strcmp(within, text) != 0;
        cairn_span_end(strand);
        cairn_span_end(strand);
        cairn_span_begin(strand, 3, 2); /* outside of the parent's spans */
        cairn_span_end(strand);
        cairn_profile_close(here.s.profile);
        _exit(right ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    cairn_span_end(strand);
    recorded own = close_here(&here);
    recorded recorded = recorded_load(child_path(childs, here.path, child));
    assert_int_equal(recorded.trace->span_count, 2);
    assert_int_equal(recorded.trace->remote_count, 1);
    assert_int_equal(recorded.trace->remotes[0].span, recorded_find(&recorded, "b2"));
    assert_true(recorded.trace->remotes[0].parent == span_in(text));
    assert_string_equal(crn_profile_note(own.profile, "trace_id", "a"),
                        crn_profile_note(recorded.profile, "trace_id", "b"));
    assert_string_not_equal(crn_profile_note(own.profile, "span_key", "a"),
                            crn_profile_note(recorded.profile, "span_key", "a"));
    recorded_free(&recorded);
    recorded_free(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_headers_are_read),
        cmocka_unit_test(damage_is_seen),
        cmocka_unit_test(without_an_open_span_nothing_is_written),
        cmocka_unit_test(the_id_is_the_spans_name),
        cmocka_unit_test(a_trace_is_handed_on),
        cmocka_unit_test(a_tree_is_recorded_in_all_processes_or_in_none),
        cmocka_unit_test(a_child_of_fork_continues_the_parents_trace),
    };
    unsetenv("CAIRN_OUT");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
