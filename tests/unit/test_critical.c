/* SPDX-License-Identifier: MIT
 *
 * test_critical.c - the critical path of simulated programs, for which the dependencies of each
 * moment are known.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "explain/explain.h"
#include "support/cases.h"
#include "support/random.h"

enum {
    JOBS_DEEP = 3,
    LANES = 1 + 2 * (JOBS_DEEP - 1),
    MOST_OPS = 4000,
    MOST_SPANS = 1200,
    BLOCKS = 6
};

/* ---- a program ---- */

typedef enum kind {
    WORK,
    BEGIN, /* once `other`, an op that hands it off, is done; NONE: at once */
    END,
    HANDOFF,
    WAIT,  /* for the end of the span `other`; `said`: with an edge */
    FOLLOW /* the same, before `span` begins, with an edge */
} kind;
#define NONE CRN_SPAN_NONE

typedef struct op {
    kind kind;
    uint32_t lane, span, other;
    uint64_t took;
    bool said;
} op;

typedef struct program {
    random_source random;
    op ops[MOST_OPS]; /* each lane's in order */
    uint32_t op_count, span_count, edge_count, handoff_count;
    crn_span spans[MOST_SPANS];
    crn_span_edge edges[MOST_OPS];
    crn_span_handoff handoffs[MOST_SPANS];
    uint32_t ended[MOST_SPANS], ended_count; /* in the order in which they were made */
    bool in_loop[LANES];
    uint64_t at[MOST_OPS]; /* when each op was done */
} program;

static uint32_t add(program *program, op op)
{
    assert_true(program->op_count < MOST_OPS);
    program->ops[program->op_count] = op;
    return program->op_count++;
}

static uint32_t begin(program *program, uint32_t lane, uint32_t parent, uint32_t handoff)
{
    uint32_t span = program->span_count++;
    assert_true(span < MOST_SPANS);
    program->spans[span] = (crn_span){.parent = parent,
                                      .lane = lane,
                                      .block = 1 + random_below(&program->random, BLOCKS - 1),
                                      .handed_off = handoff != NONE};
    add(program, (op){.kind = BEGIN, .lane = lane, .span = span, .other = handoff});
    return span;
}

static void end(program *program, uint32_t lane, uint32_t span)
{
    add(program, (op){.kind = END, .lane = lane, .span = span});
    program->ended[program->ended_count++] = span;
}

static void work(program *program, uint32_t lane, uint32_t span)
{
    /* Each work takes at least 1 ns: events at equal times have no recorded order. */
    uint64_t took = 1 + random_below(&program->random, 30);
    add(program, (op){.kind = WORK, .lane = lane, .span = span, .took = took});
}

/* Self time between two events, possibly of length 0. */
static void moment(program *program, uint32_t lane, uint32_t span)
{
    add(program, (op){.kind = WORK, .lane = lane, .span = span});
}

static void plain(program *program, uint32_t lane, uint32_t parent)
{
    uint32_t span;
    if (program->ended_count && random_chance(&program->random, 1, 3)) {
        /* It waits for the end of `other` and begins at once. */
        uint32_t other = program->ended[random_below(&program->random, program->ended_count)];
        add(program,
            (op){.kind = FOLLOW, .lane = lane, .span = program->span_count, .other = other});
    } else {
        moment(program, lane, parent);
    }
    span = begin(program, lane, parent, NONE);
    work(program, lane, span);
    end(program, lane, span);
    moment(program, lane, parent);
}

static void job(program *program, uint32_t lane, uint32_t span, int depth);

static uint32_t hand_off(program *program, uint32_t lane, uint32_t span, int depth)
{
    uint32_t to = 1 + 2 * (uint32_t)depth + random_below(&program->random, 2);
    moment(program, lane, span);
    uint32_t handoff = add(program, (op){.kind = HANDOFF, .lane = lane, .span = span});
    uint32_t child = begin(program, to, span, handoff);
    job(program, to, child, depth + 1);
    end(program, to, child);
    return child;
}

/* A span that declares its waits may do anything besides. One that declares none only waits after
 * it has handed work off. */
static void job(program *program, uint32_t lane, uint32_t span, int depth)
{
    random_source *random = &program->random;
    bool says = random_chance(random, 1, 2);
    uint32_t children[4], count = 0;
    if (random_chance(random, 1, 3))
        plain(program, lane, span);
    work(program, lane, span);
    for (uint32_t i = depth < JOBS_DEEP - 1 ? random_below(random, 5) : 0; i; i--) {
        children[count++] = hand_off(program, lane, span, depth);
        if (says) {
            if (random_chance(random, 1, 3))
                plain(program, lane, span);
            work(program, lane, span);
        }
    }
    if (says && count) {
        moment(program, lane, span);
        uint32_t waiting = begin(program, lane, span, NONE);
        for (uint32_t i = 0; i < count; i++)
            add(program, (op){WAIT, lane, waiting, children[i], 0, true});
        end(program, lane, waiting);
    } else {
        for (uint32_t i = 0; i < count; i++)
            add(program, (op){WAIT, lane, span, children[i], 0, false});
    }
    work(program, lane, span);
}

static void write_program(program *program)
{
    uint32_t loops[LANES];
    program->op_count = program->span_count = program->edge_count = program->handoff_count = 0;
    program->ended_count = 0;
    for (uint32_t lane = 1; lane < LANES; lane++) {
        program->in_loop[lane] = random_chance(&program->random, 1, 2);
        if (program->in_loop[lane])
            loops[lane] = begin(program, lane, NONE, NONE);
    }
    uint32_t whole = begin(program, 0, NONE, NONE);
    for (uint32_t i = 1 + random_below(&program->random, 3); i; i--) {
        moment(program, 0, whole);
        uint32_t span = begin(program, 0, whole, NONE);
        job(program, 0, span, 0);
        end(program, 0, span);
        work(program, 0, whole);
    }
    end(program, 0, whole);
    for (uint32_t lane = 1; lane < LANES; lane++)
        if (program->in_loop[lane])
            end(program, lane, loops[lane]);
}

/* ---- its simulation ---- */

/* Runs the operations: each runs when its lane has reached it and its inputs are there. `slower`
 * takes `longer` more. Returns the time of the last one. */
static uint64_t run(program *program, uint32_t slower, uint64_t longer)
{
    static bool done[MOST_OPS];
    static uint64_t ends[MOST_SPANS];
    static bool ended[MOST_SPANS];
    uint64_t time[LANES] = {0}, last = 0;
    uint32_t left = program->op_count;
    memset(done, 0, sizeof done);
    memset(ended, 0, sizeof ended);
    for (bool on = true; on && left;) {
        on = false;
        bool blocked[LANES] = {false};
        for (uint32_t i = 0; i < program->op_count; i++) {
            const op *op = &program->ops[i];
            if (done[i] || blocked[op->lane])
                continue;
            uint64_t *now = &time[op->lane];
            bool needs_end = op->kind == WAIT || op->kind == FOLLOW;
            if ((needs_end && !ended[op->other]) ||
                (op->kind == BEGIN && op->other != NONE && !done[op->other])) {
                blocked[op->lane] = true;
                continue;
            }
            uint64_t there = needs_end                                ? ends[op->other]
                             : op->kind == BEGIN && op->other != NONE ? program->at[op->other]
                                                                      : 0;
            *now = *now < there ? there : *now;
            *now += (op->kind == WORK ? op->took : 0) + (i == slower ? longer : 0);
            program->at[i] = *now;
            if (op->kind == END) {
                ended[op->span] = true;
                ends[op->span] = *now;
            }
            last = last < *now ? *now : last;
            done[i] = on = true;
            left--;
        }
    }
    assert_int_equal(left, 0);
    return last;
}

static crn_trace trace_of(program *program, bool times)
{
    uint64_t length = 0;
    program->edge_count = program->handoff_count = 0;
    for (uint32_t i = 0; i < program->op_count; i++) {
        const op *op = &program->ops[i];
        length = length < program->at[i] ? program->at[i] : length;
        if (op->kind == BEGIN) {
            program->spans[op->span].start = program->at[i];
            if (op->other != NONE)
                program->handoffs[program->handoff_count++] =
                    (crn_span_handoff){op->span, 0, times ? program->at[op->other] : 0};
        } else if (op->kind == END) {
            program->spans[op->span].end = program->at[i];
        } else if (op->kind == FOLLOW || (op->kind == WAIT && op->said)) {
            program->edges[program->edge_count++] = (crn_span_edge){
                op->span, op->other, op->kind == WAIT ? CRN_EDGE_WAITS : CRN_EDGE_FOLLOWS,
                program->at[i]};
        }
    }
    return (crn_trace){.spans = program->spans,
                       .span_count = program->span_count,
                       .edges = program->edges,
                       .edge_count = program->edge_count,
                       .handoffs = program->handoffs,
                       .handoff_count = program->handoff_count,
                       .lane_count = LANES,
                       .length = length};
}

/* ---- properties of each critical path ---- */

/* Returns true if the span works itself between these moments. */
static bool works(const program *program, const crn_path_step *step)
{
    uint64_t at = step->start;
    for (uint32_t i = 0; i < program->op_count; i++) {
        const op *op = &program->ops[i];
        uint64_t done = program->at[i], took = op->kind == WORK ? op->took : 0;
        if (op->span == step->span && op->kind == WORK && done - took <= at && done > at)
            at = done;
    }
    return at >= step->end;
}

static void assert_path(program *program, const crn_critical *critical, uint64_t last)
{
    uint64_t at = critical->start, on_path = 0;
    assert_int_equal(critical->start, 0);
    assert_int_equal(critical->end, last);
    assert_int_equal(critical->idle, 0);
    for (uint32_t i = 0; i < critical->step_count; i++) {
        const crn_path_step *step = &critical->steps[i];
        assert_int_equal(step->start, at);
        assert_true(step->end > step->start);
        assert_true(step->span != NONE);
        assert_true(works(program, step));
        at = step->end;
    }
    assert_int_equal(at, last);
    for (uint32_t r = 0; r < critical->row_count; r++)
        on_path += critical->rows[r].time;
    assert_int_equal(on_path, last);
}

/* Returns when the lane had finished the operation before this one. */
static uint64_t lane_at(const program *program, uint32_t op)
{
    uint32_t before = op;
    while (before-- && program->ops[before].lane != program->ops[op].lane)
        continue;
    return program->at[before];
}

/* Returns each span's slack: the least delay of any of its work that moves the end, by trying it
 * out. */
static void assert_slack(program *program, const crn_critical *critical, uint64_t last)
{
    enum { FAR = 1000000 };
    static uint64_t least[MOST_SPANS];
    static uint64_t at[MOST_OPS];
    memcpy(at, program->at, sizeof at);
    for (uint32_t s = 0; s < program->span_count; s++)
        least[s] = UINT64_MAX;
    for (uint32_t i = 0; i < program->op_count; i++) {
        const op *op = &program->ops[i];
        bool own = op->kind == WORK || op->kind == END;
        uint32_t span = op->span;
        if (op->kind == FOLLOW && program->spans[op->other].end <= lane_at(program, i)) {
            own = true; /* there was nothing to wait for */
            span = program->spans[span].parent;
        }
        if (!own)
            continue;
        uint64_t slack = FAR - (run(program, i, FAR) - last);
        memcpy(program->at, at, sizeof at);
        least[span] = slack < least[span] ? slack : least[span];
    }
    for (uint32_t s = 0; s < program->span_count; s++)
        assert_int_equal(critical->slack[s], least[s]);
}

static void path_and_slack_are_the_simulations(void **state)
{
    (void)state;
    program *program = crn_calloc(1, sizeof *program);
    program->random.state = 77;
    uint32_t with_slack = 0, handed = 0, waited = 0;
    for (int round = 0; round < 150; round++) {
        write_program(program);
        uint64_t last = run(program, NONE, 0);
        crn_trace trace = trace_of(program, true);
        crn_spans *spans = crn_spans_make(&trace, BLOCKS);
        crn_critical *critical = crn_critical_make(spans, NONE);
        if (getenv("DBG")) {
            {
                for (uint32_t i = 0; i < program->op_count; i++)
                    printf("op %u k%d lane %u span %u other %d took %lu at %lu\n", i,
                           program->ops[i].kind, program->ops[i].lane, program->ops[i].span,
                           (int)program->ops[i].other, program->ops[i].took, program->at[i]);
                for (uint32_t i = 0; i < critical->step_count; i++)
                    printf("step %lu-%lu span %d via %d\n", critical->steps[i].start,
                           critical->steps[i].end, (int)critical->steps[i].span,
                           critical->steps[i].via);
            }
        }
        assert_path(program, critical, last);
        if (program->op_count < 400)
            assert_slack(program, critical, last);
        for (uint32_t s = 0; s < trace.span_count; s++)
            with_slack += critical->slack[s] > 0;
        for (uint32_t i = 0; i < critical->step_count; i++) {
            handed += critical->steps[i].via == CRN_VIA_HANDOFF;
            waited += critical->steps[i].via == CRN_VIA_WAIT;
        }
        crn_critical_free(critical);
        crn_spans_free(spans);
    }
    assert_true(with_slack > 100 && handed > 100 && waited > 100);
    crn_free(program);
}

/* The path of one span: its own time, without gaps, also without token times. */
static void part_of_it_is_whole(void **state)
{
    (void)state;
    program *program = crn_calloc(1, sizeof *program);
    program->random.state = 5;
    for (int round = 0; round < 100; round++) {
        write_program(program);
        run(program, NONE, 0);
        crn_trace trace = trace_of(program, round % 2);
        crn_spans *spans = crn_spans_make(&trace, BLOCKS);
        uint32_t span = random_below(&program->random, trace.span_count);
        crn_critical *critical = crn_critical_make(spans, span);
        uint64_t at = trace.spans[span].start;
        for (uint32_t i = 0; i < critical->step_count; i++) {
            assert_int_equal(critical->steps[i].start, at);
            assert_true(critical->steps[i].end > at);
            at = critical->steps[i].end;
        }
        assert_int_equal(at, trace.spans[span].end);
        assert_int_equal(critical->slack[span], 0);
        crn_critical_free(critical);
        crn_spans_free(spans);
    }
    crn_free(program);
}

/* For any file, the path has no gaps, and its time agrees with the rows. */
static void any_trace_has_a_path(void **state)
{
    (void)state;
    enum { SPANS = 60, EDGES = 40, LENGTH = 50, ROUNDS = 3000 };
    random_source random = {13};
    crn_span all[SPANS];
    crn_span_edge edges[EDGES];
    crn_span_handoff handoffs[SPANS];
    for (int round = 0; round < ROUNDS; round++) {
        crn_trace trace = {.spans = all, .edges = edges, .handoffs = handoffs, .length = LENGTH};
        trace.span_count = random_below(&random, SPANS + 1);
        for (uint32_t s = 0; s < trace.span_count; s++) {
            uint64_t start = random_below(&random, LENGTH);
            all[s] = (crn_span){.start = start,
                                .end = start + random_below(&random, (uint32_t)(LENGTH - start)),
                                .block = random_below(&random, BLOCKS + 1),
                                .lane = random_below(&random, 4),
                                .parent = NONE};
            if (s && random_chance(&random, 3, 4))
                all[s].parent = random_below(&random, s);
            if (random_chance(&random, 1, 3))
                handoffs[trace.handoff_count++] =
                    (crn_span_handoff){s, 0, random_below(&random, LENGTH)};
        }
        trace.edge_count = trace.span_count ? random_below(&random, EDGES + 1) : 0;
        for (uint32_t e = 0; e < trace.edge_count; e++)
            edges[e] = (crn_span_edge){
                random_below(&random, trace.span_count), random_below(&random, trace.span_count),
                random_chance(&random, 1, 2) ? CRN_EDGE_WAITS : CRN_EDGE_FOLLOWS,
                random_below(&random, LENGTH)};
        crn_spans *spans = crn_spans_make(&trace, BLOCKS);
        crn_critical *critical = crn_critical_make(spans, NONE);
        uint64_t at = critical->start, time = critical->idle;
        for (uint32_t i = 0; i < critical->step_count; i++) {
            const crn_path_step *step = &critical->steps[i];
            assert_int_equal(step->start, at);
            assert_true(step->end > at);
            if (step->span != NONE)
                assert_true(all[step->span].start <= step->start &&
                            all[step->span].end >= step->end);
            at = step->end;
        }
        assert_int_equal(at, critical->end);
        for (uint32_t r = 0; r < critical->row_count; r++)
            time += critical->rows[r].time;
        assert_int_equal(time, critical->end - critical->start);
        for (uint32_t s = 0; s < trace.span_count; s++)
            assert_true(critical->slack[s] <= LENGTH);
        crn_critical_free(critical);
        crn_spans_free(spans);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(path_and_slack_are_the_simulations),
        cmocka_unit_test(part_of_it_is_whole),
        cmocka_unit_test(any_trace_has_a_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
