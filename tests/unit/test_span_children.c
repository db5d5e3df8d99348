/* SPDX-License-Identifier: MIT
 *
 * test_span_children.c - spans of a child of fork: children of the spans that were open at the
 * fork, or roots after those end.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/traceparent.h>

#include "base/memory.h"
#include "spans/spans.h"
#include "support/cases.h"
#include "support/children.h"
#include "support/profiles.h"
#include "support/random.h"
#include "support/recorded.h"
#include "support/scratch.h"

enum { BLOCKS = 5 };

static crn_trace *trace_of_child(const char *parent, pid_t child)
{
    char path[SCRATCH_PATH];
    return access(child_path(path, parent, child), F_OK) ? NULL : recorded_trace(path);
}

/* The spans of a process, and of its children that recorded something. */
static crn_trace *merged(const char *path, const pid_t *children, uint32_t count)
{
    crn_error error = {0};
    crn_trace **traces = calloc(count + (size_t)1, sizeof(void *)), *trace;
    uint32_t used = 0;
    traces[used++] = recorded_trace(path);
    for (uint32_t i = 0; i < count; i++)
        if ((traces[used] = trace_of_child(path, children[i])))
            used++;
    assert_true(crn_trace_merge((const crn_trace *const *)(void *)traces, used, &trace, &error));
    while (used--)
        crn_trace_free(traces[used]);
    free((void *)traces);
    return trace;
}

static const crn_span *find(const crn_trace *trace, int64_t iteration)
{
    for (uint32_t s = 0; s < trace->span_count; s++)
        if (trace->spans[s].iteration == iteration)
            return &trace->spans[s];
    fail_msg("there is no span %d", (int)iteration);
    return NULL;
}

/* Returns the iteration of the span's parent; 0: no parent; -1: its parent is missing. */
static int64_t parent_of(const crn_trace *trace, int64_t iteration)
{
    const crn_span *span = find(trace, iteration);
    if (span->parent != CRN_SPAN_NONE)
        return trace->spans[span->parent].iteration;
    return span->orphaned ? -1 : 0;
}

static void record(cairn_strand *strand, int64_t iteration)
{
    cairn_span_begin(strand, 1, iteration);
    cairn_span_end(strand);
}

/* ---- a random walk that forks, and a reference that notes only the parents ---- */

enum { STRANDS = 3, DEEPEST = 12, TOKENS = 8, GENERATIONS = 4, MOST = 1 << 14, PROCESSES = 24 };

/* Expected parents and roots, noted by all processes: by span, numbered from 1. */
typedef struct notes {
    uint32_t count, processes;
    uint32_t parent[MOST], root[MOST];
    pid_t pids[PROCESSES];
} notes;

/* An open span or adoption on a strand, tracked without the runtime. */
typedef struct open_one {
    bool adoption;
    uint32_t asks; /* the span to which spans that begin here belong; 0: none */
} open_one;

typedef struct reference {
    cairn_strand *strand;
    open_one open[DEEPEST];
    uint32_t height;
} reference;

typedef struct walk {
    random_source random;
    setup s;
    notes *notes;
    reference strands[STRANDS];
    cairn_handoff tokens[TOKENS];
    uint32_t token_of[TOKENS]; /* the span that was asking; 0: none */
    uint32_t tokens_taken, generation;
} walk;

static uint32_t asking(const reference *strand)
{
    return strand->height ? strand->open[strand->height - 1].asks : 0;
}

static void push(reference *strand, bool adoption, uint32_t asks)
{
    strand->open[strand->height++] = (open_one){adoption, asks};
}

static void pop(reference *strand)
{
    if (strand->open[--strand->height].adoption)
        cairn_handoff_leave(strand->strand);
    else
        cairn_span_end(strand->strand);
}

static void begin_span(walk *walk, reference *strand)
{
    notes *notes = walk->notes;
    uint32_t number = ++notes->count, parent = asking(strand);
    if (number >= MOST)
        _exit(8);
    notes->parent[number] = parent;
    notes->root[number] = parent ? notes->root[parent] : number;
    cairn_span_begin(strand->strand, 1 + number % BLOCKS, number);
    push(strand, false, number);
}

static void step(walk *walk)
{
    reference *strand = &walk->strands[random_below(&walk->random, STRANDS)];
    uint32_t what = random_below(&walk->random, 10);
    uint32_t token = random_below(&walk->random, TOKENS);
    cairn_strand_switch(strand->strand);
    if (what < 4 && strand->height < DEEPEST) {
        begin_span(walk, strand);
    } else if (what < 7 && strand->height) {
        pop(strand);
    } else if (what < 8) {
        walk->tokens[token] = cairn_handoff_take(strand->strand);
        walk->token_of[token] = asking(strand);
        walk->tokens_taken |= 1u << token;
    } else if (what < 9 && strand->height < DEEPEST && walk->tokens_taken >> token & 1) {
        cairn_handoff_adopt(strand->strand, walk->tokens[token]);
        push(strand, true, walk->token_of[token]);
    }
}

/* A child continues with all open spans; some fork again before they do anything else. */
static void go_on(walk *walk, uint32_t steps)
{
    for (uint32_t i = 0; i < steps; i++) {
        bool at_once = i == 0 && walk->generation && random_chance(&walk->random, 1, 3);
        if (walk->generation < GENERATIONS && walk->notes->processes < PROCESSES &&
            (at_once || random_chance(&walk->random, 1, 40))) {
            pid_t child = fork();
            if (child == 0) {
                child_begin(120);
                walk->generation++;
                walk->random.state ^= (uint64_t)walk->notes->processes << 32;
                walk->notes->pids[walk->notes->processes++] = getpid();
                go_on(walk, 60);
                cairn_profile_close(walk->s.profile);
                _exit(0);
            }
            int status;
            if (waitpid(child, &status, 0) != child || status)
                _exit(9);
        }
        step(walk);
    }
    for (uint32_t s = 0; s < STRANDS; s++)
        while (walk->strands[s].height)
            pop(&walk->strands[s]);
}

/* Checks each span against the notes: each tree is there completely or not at all. Returns the
 * number of trees. */
static uint32_t check(const crn_trace *trace, const notes *notes)
{
    static bool there[MOST];
    uint32_t found = 0;
    memset(there, 0, sizeof there);
    for (uint32_t s = 0; s < trace->span_count; s++) {
        uint32_t number = (uint32_t)trace->spans[s].iteration, above = trace->spans[s].parent;
        assert_in_range(number, 1, notes->count);
        assert_false(there[number]);
        there[number] = true;
        int64_t parent = above == CRN_SPAN_NONE ? 0 : trace->spans[above].iteration;
        if (parent != notes->parent[number] || trace->spans[s].orphaned)
            fail_msg("span %u: its parent is %d, not %u", number, (int)parent,
                     notes->parent[number]);
        found++;
    }
    for (uint32_t number = 1; number <= notes->count; number++)
        assert_int_equal(there[number], there[notes->root[number]]);
    assert_int_equal(trace->dropped + trace->details_dropped + trace->dangling, 0);
    assert_int_equal(found + trace->skipped, notes->count);
    return found;
}

static double weight_of(const crn_trace *trace)
{
    double *weights = crn_trace_weigh(trace), sum = weights ? 0 : trace->span_count;
    for (uint32_t s = 0; weights && s < trace->span_count; s++)
        sum += weights[s];
    crn_free(weights);
    return sum;
}

static void walk_once(double rate, uint64_t seed)
{
    char path[SCRATCH_PATH];
    cairn_options options = span_options(scratch_path(path, "walk.cairn"));
    options.span_rate = rate;
    options.seed = seed;
    notes *notes =
        mmap(NULL, sizeof *notes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(notes != MAP_FAILED);
    walk walk = {.random = {seed}, .s = setup_open(&options, BLOCKS), .notes = notes};
    walk.strands[0].strand = walk.s.strand;
    walk.strands[1].strand = cairn_strand_open(walk.s.lane);
    walk.strands[2].strand = cairn_strand_open(cairn_lane_open(walk.s.profile, "second"));
    go_on(&walk, 200);
    cairn_profile_close(walk.s.profile);
    crn_trace *trace = merged(path, notes->pids, notes->processes);
    uint32_t found = check(trace, notes);
    if (rate == 1)
        assert_int_equal(found, notes->count);
    double each = 1 / rate,
           sum = weight_of(trace); /* all of a tree stand for as many as its root */
    assert_true(sum > found * each * 0.999 && sum < found * each * 1.001);
    crn_trace_free(trace);
    munmap(notes, sizeof *notes);
}

static void each_span_is_below_the_one_it_is_in(void **state)
{
    (void)state;
    skip_where_emulated();
    uint64_t seeds = scale(8);
    for (uint64_t seed = 1; seed <= seeds; seed++)
        walk_once(1, seed);
}

static void a_tree_is_sampled_once_for_all_processes(void **state)
{
    (void)state;
    skip_where_emulated();
    uint64_t seeds = scale(8);
    for (uint64_t seed = 1; seed <= seeds; seed++)
        walk_once(0.4, seed);
}

/* ---- trees that are not sampled ---- */

/* Recorded trees are complete; spans of the others are counted. */
static void trees_that_are_not_sampled_stay_so_in_children(void **state)
{
    (void)state;
    skip_where_emulated();
    enum { ROOTS = 60, KIDS = 20 };
    char path[SCRATCH_PATH];
    pid_t children[ROOTS];
    cairn_options options = span_options(scratch_path(path, "drawn.cairn"));
    options.span_rate = 0.3;
    setup s = setup_open(&options, BLOCKS);
    for (int64_t root = 1; root <= ROOTS; root++) {
        cairn_span_begin(s.strand, 2, root);
        children[root - 1] = fork();
        if (children[root - 1] == 0) {
            child_begin(120);
            for (int64_t kid = 0; kid < KIDS; kid++)
                record(s.strand, root * 1000 + kid);
            cairn_profile_close(s.profile);
            _exit(0);
        }
        child_await(children[root - 1]);
        cairn_span_end(s.strand);
    }
    setup_close(&s);
    crn_trace *parents = recorded_trace(path);
    uint32_t drawn = parents->span_count;
    assert_in_range(drawn, 1, ROOTS - 1);
    for (int64_t root = 1, at = 0; root <= ROOTS; root++) {
        bool there = at < drawn && parents->spans[at].iteration == root;
        crn_trace *trace = trace_of_child(path, children[root - 1]);
        assert_non_null(trace);
        assert_int_equal(trace->span_count, there ? KIDS : 0);
        assert_int_equal(trace->skipped, there ? 0 : KIDS);
        assert_int_equal(trace->trees_skipped, 0); /* it was the parent's */
        crn_trace_free(trace);
        at += there;
    }
    crn_trace_free(parents);
    crn_trace *trace = merged(path, children, ROOTS);
    assert_int_equal(trace->span_count, drawn * (1 + KIDS));
    assert_true(weight_of(trace) > (1 + KIDS) * drawn / 0.3 * 0.999);
    crn_trace_free(trace);
}

/* The requester's decision also holds for its child: for spans below a span, and for those below
 * the adoption alone. */
static void remote_trees_that_are_not_sampled_stay_so_in_children(void **state)
{
    (void)state;
    skip_where_emulated();
    static const char *const asked[] = {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00",
                                        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"};
    enum { KIDS = 50 };
    for (int how = 0; how < 4; how++) {
        bool drawn = how & 1, within = how & 2;
        char path[SCRATCH_PATH];
        cairn_handoff handoff;
        cairn_options options = span_options(scratch_path(path, "asked.cairn"));
        options.span_rate = 0.5;
        setup s = setup_open(&options, BLOCKS);
        assert_true(cairn_traceparent_read(asked[drawn], &handoff));
        cairn_handoff_adopt(s.strand, handoff);
        if (within)
            cairn_span_begin(s.strand, 2, 1);
        pid_t child = fork();
        if (child == 0) {
            char text[CAIRN_TRACEPARENT_SIZE];
            child_begin(120);
            int wrong = !cairn_traceparent_write(s.strand, text) || strlen(text) != 55 ||
                        memcmp(text, asked[drawn], 36) || strcmp(text + 52, asked[drawn] + 52);
            for (int64_t kid = 0; kid < KIDS; kid++)
                record(s.strand, 100 + kid);
            cairn_handoff_leave(s.strand);
            cairn_profile_close(s.profile);
            _exit(wrong);
        }
        child_await(child);
        setup_close(&s);
        crn_trace *trace = trace_of_child(path, child);
        assert_int_equal(trace->span_count, drawn ? KIDS : 0);
        assert_int_equal(trace->remote_count, drawn ? KIDS : 0);
        assert_int_equal(trace->skipped, drawn ? 0 : KIDS);
        for (uint32_t r = 0; !within && r < trace->remote_count; r++)
            assert_true(trace->remotes[r].parent == 0x00f067aa0ba902b7u);
        crn_trace_free(trace);
        trace = merged(path, &child, 1);
        if (drawn && within)
            assert_int_equal(parent_of(trace, 100), 1);
        crn_trace_free(trace);
    }
}

/* ---- spans that are open at a fork ---- */

/* The usual way: a function that has a span forks, and both return from it. */
static void a_child_may_leave_the_span_it_was_forked_in(void **state)
{
    (void)state;
    skip_where_emulated();
    enum { DEPTH = 40 /* more than a stack has room for at first */ };
    char path[SCRATCH_PATH];
    pid_t children[2];
    int report[2];
    assert_int_equal(pipe(report), 0);
    cairn_options options = span_options(scratch_path(path, "leaves.cairn"));
    setup s = setup_open(&options, BLOCKS);
    for (int64_t depth = 1; depth <= DEPTH; depth++) {
        cairn_enter(s.strand, 3);
        cairn_span_begin(s.strand, 2, depth);
    }
    children[0] = fork();
    if (children[0] == 0) {
        child_begin(120);
        for (int64_t depth = DEPTH; depth > DEPTH / 2; depth--) {
            record(s.strand, 100 + depth);
            cairn_span_end(s.strand);
            cairn_leave(s.strand);
        }
        cairn_span_begin(s.strand, 2, 1000);
        pid_t grandchild = fork();
        if (grandchild) {
            int status;
            bool wrong = write(report[1], &grandchild, sizeof grandchild) != sizeof grandchild ||
                         waitpid(grandchild, &status, 0) != grandchild || status;
            cairn_profile_close(s.profile);
            _exit(wrong);
        }
        record(s.strand, 1001);
        cairn_span_end(s.strand);
        for (int64_t depth = DEPTH / 2; depth > 0; depth--) {
            record(s.strand, 100 + depth);
            cairn_span_end(s.strand);
            cairn_leave(s.strand);
        }
        record(s.strand, 1002);
        cairn_profile_close(s.profile);
        _exit(0);
    }
    child_await(children[0]);
    assert_int_equal(read(report[0], &children[1], sizeof children[1]), sizeof children[1]);
    close(report[0]);
    close(report[1]);
    setup_close(&s);
    crn_trace *trace = merged(path, children, 2);
    assert_int_equal(trace->span_count, 2 * DEPTH + 3);
    for (int64_t depth = 1; depth <= DEPTH; depth++)
        assert_int_equal(parent_of(trace, 100 + depth), depth);
    assert_int_equal(parent_of(trace, 1000), DEPTH / 2);
    assert_int_equal(parent_of(trace, 1001), 1000);
    assert_int_equal(parent_of(trace, 1002), 0);
    assert_int_equal(crn_trace_clocks_of(trace).missing, 0);
    crn_trace_free(trace);
}

/* In the child, too, spans below it have a missing parent; spans outside of it have a real one. */
static void unrecorded_parents_leave_no_roots(void **state)
{
    (void)state;
    skip_where_emulated();
    char path[SCRATCH_PATH];
    cairn_options options = span_options(scratch_path(path, "gone.cairn"));
    setup s = setup_open(&options, BLOCKS);
    cairn_span_begin(s.strand, 2, 1);
    cairn_profile_disable(s.profile);
    cairn_span_begin(s.strand, 2, 2);
    cairn_profile_enable(s.profile);
    cairn_handoff before = cairn_handoff_take(s.strand);
    pid_t child = fork();
    if (child == 0) {
        child_begin(120);
        cairn_strand *other = cairn_strand_open(cairn_lane_open(s.profile, "other"));
        cairn_handoff tokens[] = {before, cairn_handoff_take(s.strand), {0}};
        record(s.strand, 10);
        tokens[2] = cairn_handoff_take(s.strand);
        for (int64_t i = 0; i < 3; i++) {
            cairn_handoff_adopt(other, tokens[i]);
            record(other, 11 + i);
            cairn_handoff_leave(other);
        }
        cairn_span_end(s.strand);
        record(s.strand, 14);
        cairn_span_end(s.strand);
        record(s.strand, 15);
        cairn_profile_close(s.profile);
        _exit(0);
    }
    child_await(child);
    setup_close(&s);
    crn_trace *trace = merged(path, &child, 1);
    assert_int_equal(trace->span_count, 1 + 6);
    for (int64_t i = 10; i < 14; i++)
        assert_int_equal(parent_of(trace, i), -1);
    assert_int_equal(parent_of(trace, 14), 1);
    assert_int_equal(parent_of(trace, 15), 0);
    assert_int_equal(crn_trace_clocks_of(trace).missing, 0);
    crn_trace_free(trace);
}

/* If there is no memory for the ids of open spans, spans of the child have a missing parent. */
static void without_memory_parents_are_missing(void **state)
{
    (void)state;
    skip_where_emulated();
    char path[SCRATCH_PATH];
    cairn_options options = span_options(scratch_path(path, "memory.cairn"));
    setup s = setup_open(&options, BLOCKS);
    cairn_span_begin(s.strand, 2, 1);
    crn_memory_fail_at(1);
    pid_t child = fork();
    crn_memory_fail_at(0);
    if (child == 0) {
        child_begin(120);
        record(s.strand, 2);
        cairn_span_end(s.strand);
        record(s.strand, 3);
        cairn_profile_close(s.profile);
        _exit(0);
    }
    child_await(child);
    setup_close(&s);
    crn_trace *trace = merged(path, &child, 1);
    assert_int_equal(trace->span_count, 3);
    assert_int_equal(parent_of(trace, 2), -1);
    assert_int_equal(parent_of(trace, 3), 0);
    crn_trace_free(trace);
}

/* ---- rings of spans ---- */

/* The detail that names a parent in another process or on another strand may be overwritten before
 * the span: the span is then no root. */
static void spans_with_lost_parents_are_marked(void **state)
{
    (void)state;
    skip_where_emulated();
    enum { KIDS = 60000 };
    char path[SCRATCH_PATH];
    cairn_options options = span_options(scratch_path(path, "last.cairn"));
    options.span_policy = CAIRN_SPANS_KEEP_LAST;
    options.span_limit = 1 << 20;
    setup s = setup_open(&options, BLOCKS);
    cairn_span_begin(s.strand, 2, 1);
    pid_t child = fork();
    if (child == 0) {
        child_begin(120);
        for (int64_t kid = 0; kid < KIDS; kid++)
            record(s.strand, 10 + kid);
        cairn_profile_close(s.profile);
        _exit(0);
    }
    child_await(child);
    cairn_strand *other = cairn_strand_open(cairn_lane_open(s.profile, "other"));
    cairn_handoff_adopt(other, cairn_handoff_take(s.strand));
    for (int64_t kid = 0; kid < KIDS; kid++)
        record(other, 10 + KIDS + kid);
    setup_close(&s);
    crn_trace *trace = merged(path, &child, 1);
    assert_true(trace->span_count > 1);
    for (uint32_t i = 0; i < trace->span_count; i++) {
        const crn_span *span = &trace->spans[i];
        if (span->parent != CRN_SPAN_NONE)
            assert_int_equal(trace->spans[span->parent].iteration, 1);
        else
            assert_int_equal(span->orphaned, span->iteration != 1);
    }
    crn_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_span_is_below_the_one_it_is_in),
        cmocka_unit_test(a_tree_is_sampled_once_for_all_processes),
        cmocka_unit_test(trees_that_are_not_sampled_stay_so_in_children),
        cmocka_unit_test(remote_trees_that_are_not_sampled_stay_so_in_children),
        cmocka_unit_test(a_child_may_leave_the_span_it_was_forked_in),
        cmocka_unit_test(unrecorded_parents_leave_no_roots),
        cmocka_unit_test(without_memory_parents_are_missing),
        cmocka_unit_test(spans_with_lost_parents_are_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
