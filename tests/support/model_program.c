/* SPDX-License-Identifier: MIT */
#include "support/model_program.h"

#include <string.h>

#include "base/memory.h"

enum { ORIGIN = 1000, LANES = 1 + MODEL_STAGES * MODEL_WORKERS };

typedef enum phase {
    MAIN_BEGINS,
    MAIN_WORKS,
    MAIN_PUSHES,
    MAIN_JOINS,
    MAIN_WAITS,
    MAIN_GOES_ON,
    IDLE,
    WORKS_BEFORE,
    PUSHES,
    WORKS_AFTER,
    OVER
} phase;

typedef struct lane {
    phase phase;
    int pool, item, stage;
    double left;         /* work until the next phase */
    bool waits_for_room; /* waits in the queue's line */
    uint32_t spans[3];   /* open spans, outermost first */
    int open;
} lane;

typedef struct waiting {
    int item;
    double arrived;
    uint32_t push; /* span */
} waiting;

typedef struct queue {
    waiting *items;
    int head, tail;
    int line[LANES], line_length; /* lanes that wait for space */
} queue;

typedef struct simulation {
    const model_program *program;
    model_recording *recording;
    lane lanes[LANES];
    int lane_count;
    queue queues[MODEL_STAGES];
    bool *done;     /* by item: the last stage has ended */
    uint32_t *last; /* by item: the span of its last stage */
    double now;
    uint64_t arrivals;
} simulation;

/* ---- recording ---- */

static uint64_t moment(const simulation *sim)
{
    return ORIGIN + (uint64_t)(sim->now + 0.5);
}

static void begin_span(simulation *sim, lane *lane, uint32_t block, uint32_t asked)
{
    model_recording *recording = sim->recording;
    if (!recording)
        return;
    crn_trace *trace = &recording->trace;
    if (trace->span_count == recording->span_room) {
        recording->span_room = recording->span_room ? recording->span_room * 2 : 64;
        trace->spans = crn_realloc(trace->spans, recording->span_room, sizeof *trace->spans);
        trace->handoffs =
            crn_realloc(trace->handoffs, recording->span_room, sizeof *trace->handoffs);
        trace->edges = crn_realloc(trace->edges, recording->span_room, sizeof *trace->edges);
    }
    uint32_t parent = asked != CRN_SPAN_NONE ? asked
                      : lane->open           ? lane->spans[lane->open - 1]
                                             : CRN_SPAN_NONE;
    trace->spans[trace->span_count] = (crn_span){.start = moment(sim),
                                                 .block = block,
                                                 .parent = parent,
                                                 .lane = (uint32_t)(lane - sim->lanes),
                                                 .handed_off = asked != CRN_SPAN_NONE};
    lane->spans[lane->open++] = trace->span_count++;
}

static void end_span(simulation *sim, lane *lane)
{
    if (sim->recording)
        sim->recording->trace.spans[lane->spans[--lane->open]].end = moment(sim);
}

static uint32_t innermost(const lane *lane)
{
    return lane->open ? lane->spans[lane->open - 1] : 0;
}

static void note_handoff(simulation *sim, const lane *lane, double taken)
{
    if (sim->recording)
        sim->recording->trace.handoffs[sim->recording->trace.handoff_count++] =
            (crn_span_handoff){innermost(lane), sim->recording->trace.handoff_count % 65535 + 1,
                               ORIGIN + (uint64_t)(taken + 0.5)};
}

static void note_wait(simulation *sim, const lane *lane, uint32_t target)
{
    if (sim->recording)
        sim->recording->trace.edges[sim->recording->trace.edge_count++] =
            (crn_span_edge){innermost(lane), target, CRN_EDGE_WAITS, moment(sim)};
}

/* ---- queues ---- */

static bool is_first_in_line(const queue *queue, int lane)
{
    return queue->line_length == 0 || queue->line[0] == lane;
}

/* Pushes an item. If the queue is full, the lane joins its line and false is returned. */
static bool push(simulation *sim, lane *lane, int stage, int item)
{
    queue *queue = &sim->queues[stage];
    int number = (int)(lane - sim->lanes), capacity = sim->program->capacity[stage];
    if ((capacity && queue->tail - queue->head >= capacity) || !is_first_in_line(queue, number)) {
        if (!lane->waits_for_room)
            queue->line[queue->line_length++] = number;
        lane->waits_for_room = true;
        return false;
    }
    if (lane->waits_for_room)
        memmove(queue->line, queue->line + 1, (size_t)--queue->line_length * sizeof *queue->line);
    lane->waits_for_room = false;
    queue->items[queue->tail++] = (waiting){item, (double)sim->arrivals++, innermost(lane)};
    return true;
}

/* Returns the stage from which a worker of the pool takes its next job, -1 if there is none. */
static int choose(const simulation *sim, int pool)
{
    int best = -1;
    for (int stage = 0; stage < sim->program->stages; stage++) {
        const queue *queue = &sim->queues[stage];
        if (sim->program->pool_of[stage] != pool || queue->head == queue->tail)
            continue;
        if (best < 0 || sim->program->latest_first ||
            queue->items[queue->head].arrived <
                sim->queues[best].items[sim->queues[best].head].arrived)
            best = stage;
    }
    return best;
}

/* ---- steps of a lane without work: return true if it did something ---- */

static double scaled(const simulation *sim, double work, int block)
{
    return work * sim->program->factor[block];
}

static bool step_main(simulation *sim, lane *lane)
{
    const model_program *program = sim->program;
    switch (lane->phase) {
    case MAIN_BEGINS:
        begin_span(sim, lane, MODEL_MAIN, CRN_SPAN_NONE);
        lane->left = scaled(sim, program->feed[0], MODEL_MAIN);
        lane->phase = MAIN_WORKS;
        return true;
    case MAIN_WORKS:
        begin_span(sim, lane, MODEL_PUSH, CRN_SPAN_NONE);
        lane->phase = MAIN_PUSHES;
        return true;
    case MAIN_PUSHES:
        if (!push(sim, lane, 0, lane->item))
            return false;
        end_span(sim, lane);
        lane->phase = program->join[lane->item] >= 0 ? MAIN_JOINS : MAIN_GOES_ON;
        return true;
    case MAIN_JOINS:
        begin_span(sim, lane, MODEL_JOIN, CRN_SPAN_NONE);
        lane->phase = MAIN_WAITS;
        return true;
    case MAIN_WAITS:
        if (!sim->done[program->join[lane->item]])
            return false;
        note_wait(sim, lane, sim->last[program->join[lane->item]]);
        end_span(sim, lane);
        lane->phase = MAIN_GOES_ON;
        return true;
    case MAIN_GOES_ON:
        if (++lane->item == program->items) {
            end_span(sim, lane);
            lane->phase = OVER;
        } else {
            lane->left = scaled(sim, program->feed[lane->item], MODEL_MAIN);
            lane->phase = MAIN_WORKS;
        }
        return true;
    default:
        return false;
    }
}

static void take(simulation *sim, lane *lane, int stage)
{
    queue *queue = &sim->queues[stage];
    const waiting *job = &queue->items[queue->head++];
    lane->stage = stage;
    lane->item = job->item;
    begin_span(sim, lane, (uint32_t)(MODEL_FIRST_STAGE + stage), job->push);
    if (sim->recording)
        note_handoff(sim, lane, (double)(sim->recording->trace.spans[job->push].end - ORIGIN));
    lane->left = scaled(sim, sim->program->before[job->item * MODEL_STAGES + stage],
                        MODEL_FIRST_STAGE + stage);
    lane->phase = WORKS_BEFORE;
}

static bool step_worker(simulation *sim, lane *lane)
{
    const model_program *program = sim->program;
    int stage;
    switch (lane->phase) {
    case IDLE:
        stage = choose(sim, lane->pool);
        if (stage >= 0)
            take(sim, lane, stage);
        return stage >= 0;
    case WORKS_BEFORE:
        if (lane->stage + 1 < program->stages)
            begin_span(sim, lane, MODEL_PUSH, CRN_SPAN_NONE);
        lane->phase = PUSHES;
        return true;
    case PUSHES:
        if (lane->stage + 1 < program->stages) {
            if (!push(sim, lane, lane->stage + 1, lane->item))
                return false;
            end_span(sim, lane);
        }
        lane->left = scaled(sim, program->after[lane->item * MODEL_STAGES + lane->stage],
                            MODEL_FIRST_STAGE + lane->stage);
        lane->phase = WORKS_AFTER;
        return true;
    case WORKS_AFTER:
        if (lane->stage + 1 == program->stages) {
            sim->last[lane->item] = innermost(lane);
            sim->done[lane->item] = true;
        }
        end_span(sim, lane);
        lane->phase = IDLE;
        return true;
    default:
        return false;
    }
}

static bool step(simulation *sim)
{
    bool any = false;
    for (int i = 0; i < sim->lane_count; i++) {
        lane *lane = &sim->lanes[i];
        while (lane->left <= 0 && (i ? step_worker(sim, lane) : step_main(sim, lane)))
            any = true;
    }
    return any;
}

/* ---- time ---- */

/* Advances to the next moment at which a lane's work is done. Returns false if no lane works. */
static bool advance(simulation *sim)
{
    double least = 0;
    int working = 0;
    for (int i = 0; i < sim->lane_count; i++) {
        double left = sim->lanes[i].left;
        if (left <= 0)
            continue;
        least = !working || left < least ? left : least;
        working++;
    }
    double rate = working > sim->program->cores ? (double)sim->program->cores / working : 1;
    for (int i = 0; i < sim->lane_count; i++)
        if (sim->lanes[i].left > 0)
            sim->lanes[i].left = sim->lanes[i].left <= least ? 0 : sim->lanes[i].left - least;
    sim->now += least / rate;
    return working > 0;
}

static bool is_over(const simulation *sim)
{
    for (int item = 0; item < sim->program->items; item++)
        if (!sim->done[item])
            return false;
    return sim->lanes[0].phase == OVER;
}

double model_run(const model_program *program, model_recording *recording)
{
    static const char *names[LANES] = {"main"};
    simulation sim = {.program = program, .recording = recording, .lane_count = 1};
    sim.done = crn_calloc((size_t)program->items, sizeof *sim.done);
    sim.last = crn_calloc((size_t)program->items, sizeof *sim.last);
    for (int stage = 0; stage < program->stages; stage++)
        sim.queues[stage].items = crn_calloc((size_t)program->items, sizeof(waiting));
    for (int pool = 0; pool < program->pools; pool++)
        for (int worker = 0; worker < program->workers[pool]; worker++)
            sim.lanes[sim.lane_count++] = (lane){.phase = IDLE, .pool = pool};
    do {
        while (step(&sim))
            ;
    } while (advance(&sim));
    double length = is_over(&sim) ? sim.now : 0;
    for (int i = 1; i < LANES; i++)
        names[i] = "worker";
    if (recording) {
        recording->length = length;
        recording->trace.lane_count = LANES;
        recording->trace.lanes = names;
    }
    for (int stage = 0; stage < program->stages; stage++)
        crn_free(sim.queues[stage].items);
    crn_free(sim.done);
    crn_free(sim.last);
    return length;
}

void model_recording_free(model_recording *recording)
{
    crn_free(recording->trace.spans);
    crn_free(recording->trace.handoffs);
    crn_free(recording->trace.edges);
    *recording = (model_recording){0};
}

/* ---- programs ---- */

static model_program allocate(int items, int stages)
{
    model_program program = {.items = items,
                             .stages = stages,
                             .pools = stages,
                             .cores = LANES,
                             .jobs = (uint32_t)(items * stages),
                             .pool_of = {0, 1, 2},
                             .workers = {1, 1, 1}};
    program.feed = crn_calloc((size_t)items, sizeof *program.feed);
    program.join = crn_calloc((size_t)items, sizeof *program.join);
    program.before = crn_calloc((size_t)items * MODEL_STAGES, sizeof *program.before);
    program.after = crn_calloc((size_t)items * MODEL_STAGES, sizeof *program.after);
    for (int block = 0; block < MODEL_BLOCKS; block++)
        program.factor[block] = 1;
    for (int item = 0; item < items; item++)
        program.join[item] = -1;
    return program;
}

model_program model_pipeline(int items, const uint64_t *takes, int stages)
{
    model_program program = allocate(items, stages);
    for (int item = 0; item < items; item++)
        for (int stage = 0; stage < stages; stage++)
            program.before[item * MODEL_STAGES + stage] = (double)takes[stage];
    return program;
}

/* Returns a number so large that no two events coincide by chance. */
static double random_work(random_source *random)
{
    return 1 + random_below(random, 1u << (16 + random_below(random, 9)));
}

model_program model_random(random_source *random)
{
    model_program program =
        allocate(1 + (int)random_below(random, 40), 1 + (int)random_below(random, MODEL_STAGES));
    if (random_chance(random, 1, 3)) { /* one pool for all stages */
        program.pools = 1;
        program.pool_of[1] = program.pool_of[2] = 0;
    }
    program.cores = 1 + (int)random_below(random, 6);
    for (int pool = 0; pool < program.pools; pool++)
        program.workers[pool] = 1 + (int)random_below(random, MODEL_WORKERS);
    for (int stage = 0; stage < program.stages; stage++)
        program.capacity[stage] = random_chance(random, 1, 2) ? (int)random_below(random, 5) : 0;
    for (int item = 0; item < program.items; item++) {
        program.feed[item] = random_work(random);
        if (random_chance(random, 1, 6))
            program.join[item] = (int)random_below(random, (uint32_t)item + 1);
        for (int stage = 0; stage < program.stages; stage++) {
            program.before[item * MODEL_STAGES + stage] = random_work(random);
            if (random_chance(random, 1, 3))
                program.after[item * MODEL_STAGES + stage] = random_work(random);
        }
    }
    return program;
}

void model_program_free(model_program *program)
{
    crn_free(program->feed);
    crn_free(program->join);
    crn_free(program->before);
    crn_free(program->after);
    *program = (model_program){0};
}

double model_work(const model_program *program)
{
    double work = 0;
    for (int item = 0; item < program->items; item++)
        work += program->feed[item];
    for (int job = 0; job < program->items * MODEL_STAGES; job++)
        work += program->before[job] + program->after[job];
    return work;
}
