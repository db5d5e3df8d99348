/* SPDX-License-Identifier: MIT */
#include "replay/replay.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "profile/profile.h"
#include "replay/program.h"

/* ---- the program's notes ---- */

static bool is_about(const char *key, const char *what, const char **name)
{
    size_t length = strlen(what);
    *name = key + length;
    return strncmp(key, what, length) == 0;
}

bool crn_replay_read_period(const char *text, uint64_t *period)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char *rest;
    double number = strtod(text, &rest);
    for (size_t u = 0; rest != text && u < sizeof units / sizeof *units; u++) {
        double ns = number * units[u].ns;
        if (strcmp(rest, units[u].name) != 0 || !(ns >= 1000 && ns <= 1e15))
            continue;
        *period = (uint64_t)(ns + 0.5);
        return true;
    }
    return false;
}

/* Reads what follows the capacity in a queue's note. */
static crn_full read_full(const char *value)
{
    const char *comma = strchr(value, ',');
    if (comma && strcmp(comma + 1, "drop-oldest") == 0)
        return CRN_FULL_DROPS_OLDEST;
    return comma && strcmp(comma + 1, "drop-newest") == 0 ? CRN_FULL_DROPS_NEWEST : CRN_FULL_WAITS;
}

/* Sets `rest` of blocks NAME and NAME.PART, for a condition variable or semaphore. */
static void read_parts(crn_replay_setup *setup, const crn_profile *profile, const char *name,
                       crn_rest rest)
{
    static const char *const parts[] = {"", ".elsewhere", ".signal", ".post"};
    size_t length = strlen(name);
    for (uint32_t b = 0; b < profile->block_count; b++)
        for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
            if (strncmp(profile->blocks[b].name, name, length) == 0 &&
                strcmp(profile->blocks[b].name + length, parts[p]) == 0)
                setup->rest[b] = (uint8_t)rest;
}

static void read_note(crn_replay_setup *setup, const crn_profile *profile, const crn_note *note)
{
    const char *name;
    bool condition = is_about(note->key, "condition.", &name);
    if (condition || is_about(note->key, "semaphore.", &name)) {
        read_parts(setup, profile, name, condition ? CRN_REST_CONDITION : CRN_REST_SEMAPHORE);
        return;
    }
    bool queue = is_about(note->key, "queue.", &name);
    bool sleep = !queue && is_about(note->key, "sleep.", &name);
    bool timer = !queue && !sleep && is_about(note->key, "timer.", &name);
    bool lock = !queue && !sleep && !timer && is_about(note->key, "lock.", &name);
    bool async = !queue && !sleep && !timer && !lock && is_about(note->key, "async.", &name);
    if (!queue && !sleep && !timer && !lock && !async)
        return;
    for (uint32_t b = 0; b < profile->block_count && lock; b++)
        if (strcmp(profile->blocks[b].name, note->value) == 0)
            setup->rest[b] = CRN_REST_WAIT;
    unsigned long capacity = strtoul(note->value, NULL, 10);
    for (uint32_t b = 0; b < profile->block_count; b++) {
        if (strcmp(profile->blocks[b].name, name) != 0)
            continue;
        if (queue)
            setup->full[b] = (uint8_t)read_full(note->value);
        if (queue)
            setup->capacity[b] = capacity < UINT32_MAX ? (uint32_t)capacity : 0;
        else
            setup->rest[b] = sleep   ? CRN_REST_SLEEP
                             : timer ? CRN_REST_TIMER
                             : lock  ? CRN_REST_LOCK
                                     : CRN_REST_ASYNC;
        if (timer)
            crn_replay_read_period(note->value, &setup->period[b]);
    }
}

static uint64_t ready_time(const crn_profile *profile)
{
    uint32_t metric = crn_compare_ready(profile);
    return metric ? crn_metric_total(profile, metric) : 0;
}

crn_replay_setup crn_replay_setup_read(const crn_profile *profile)
{
    enum { MOST_NOTES = 1000 }; /* limit on notes, each of which is searched for among all blocks */
    crn_replay_setup setup = {.block_count = profile->block_count, .ready = ready_time(profile)};
    setup.capacity = crn_calloc(profile->block_count + (size_t)1, sizeof *setup.capacity);
    setup.full = crn_calloc(profile->block_count + (size_t)1, 1);
    setup.rest = crn_calloc(profile->block_count + (size_t)1, 1);
    setup.period = crn_calloc(profile->block_count + (size_t)1, sizeof *setup.period);
    unsigned long cores = strtoul(crn_profile_note(profile, "cores", "0"), NULL, 10);
    setup.cores = cores < UINT16_MAX ? (unsigned)cores : 0;
    for (size_t n = 0; n < profile->note_count && n < MOST_NOTES; n++)
        read_note(&setup, profile, &profile->notes[n]);
    return setup;
}

void crn_replay_setup_free(crn_replay_setup *setup)
{
    crn_free(setup->capacity);
    crn_free(setup->full);
    crn_free(setup->rest);
    crn_free(setup->period);
    *setup = (crn_replay_setup){0};
}

/* ---- construction ---- */

static void describe_pools(crn_replay *replay)
{
    crn_replay_facts *facts = &replay->facts;
    facts->pool_count = replay->pool_count;
    facts->pools = crn_calloc(replay->pool_count + (size_t)1, sizeof *facts->pools);
    for (uint32_t p = 0; p < replay->pool_count; p++) {
        crn_pool_plan *pool = &replay->pools[p];
        uint32_t *blocks = crn_calloc(pool->facts.kinds + (size_t)1, sizeof *blocks);
        /* At most CRN_QUEUES kinds have priorities. */
        for (uint32_t k = 0; k < pool->facts.kinds; k++) {
            uint32_t at = k, rank = pool->rank[k % CRN_QUEUES];
            while (pool->facts.by_kind && at &&
                   pool->rank[replay->kinds[replay->kind_of[blocks[at - 1]]].queue] > rank) {
                blocks[at] = blocks[at - 1];
                at--;
            }
            blocks[at] = replay->kinds[pool->kinds[k]].block;
        }
        pool->facts.blocks = blocks;
        pool->facts.first = blocks[0];
        facts->pools[p] = pool->facts;
    }
}

/* Converts jobs and gates to the compact form for runs, a quarter of the memory. There are fewer
 * than 2^31 kinds, so the highest bit is free. */
static void compact_for_runs(crn_replay *replay)
{
    uint32_t jobs = replay->job_count, gates = replay->gate_count;
    uint32_t all = jobs + replay->copy_count;
    replay->job_code = crn_calloc(all + (size_t)1, sizeof *replay->job_code);
    replay->job_kind = crn_calloc(all + (size_t)1, sizeof *replay->job_kind);
    for (uint32_t j = 0; j < all; j++) {
        const crn_job *job = &replay->jobs[j < jobs ? j : replay->copies[j - jobs].job];
        replay->job_code[j] = replay->lanes[job->lane].code.bytes + job->first;
        replay->job_kind[j] = job->kind | (job->movable ? CRN_JOB_MOVABLE : 0);
    }
    crn_free(replay->jobs);
    replay->jobs = NULL;
    replay->pending = crn_calloc(gates + (size_t)1, sizeof *replay->pending);
    for (uint32_t gate = 0; gate < gates; gate++)
        replay->pending[gate] = replay->gates[gate].pending;
    crn_free(replay->gates);
    replay->gates = NULL;
}

/* Frees what only construction needs. */
static void free_construction(crn_replay *replay)
{
    crn_free(replay->order);
    crn_free(replay->lane_first);
    crn_free(replay->begin_gates);
    crn_free(replay->points);
    crn_free(replay->point_first);
    crn_free(replay->wakes);
    crn_free(replay->working);
    crn_free(replay->holds);
    replay->holds = NULL;
    replay->hold_count = 0;
    replay->order = replay->lane_first = replay->point_first = NULL;
    replay->begin_gates = NULL;
    replay->points = NULL;
    replay->wakes = NULL;
    replay->working = NULL;
    replay->kept = NULL;
    replay->period = NULL;
}

static void run_unscaled(crn_replay *replay)
{
    crn_outcome outcome = {.begins = NULL};
    crn_replay_run(replay, &(crn_scenario){.length_only = true}, &outcome);
    replay->facts.replayed = outcome.length;
    replay->facts.loosened = outcome.loosened;
    replay->facts.late = outcome.late;
    crn_replay_check_drops(replay, &outcome);
    crn_outcome_free(&outcome);
}

static crn_replay *make(const crn_trace *trace, const crn_replay_setup *setup)
{
    crn_replay *replay = crn_calloc(1, sizeof *replay);
    replay->trace = trace;
    replay->block_count = setup->block_count ? setup->block_count : 1;
    replay->no_guesses = setup->no_guesses;
    replay->fixed = setup->fixed;
    replay->kept = setup->kept;
    replay->period = setup->period;
    replay->watched_block = setup->latency_of;
    replay->every = setup->every;
    replay->rest = crn_calloc(replay->block_count, 1);
    if (setup->rest)
        memcpy(replay->rest, setup->rest, setup->block_count);
    replay->facts.cores = setup->cores;
    crn_plan_order(replay);
    crn_plan_jobs(replay, setup);
    crn_plan_copies(replay);
    crn_plan_edges(replay);
    crn_plan_pools(replay);
    crn_plan_dropping(replay);
    crn_plan_locks(replay);
    crn_plan_timers(replay);
    crn_plan_doubts(replay);
    crn_plan_watched(replay);
    crn_plan_working(replay);
    crn_plan_code(replay);
    crn_plan_busy(replay, setup->ready);
    describe_pools(replay);
    free_construction(replay);
    compact_for_runs(replay);
    replay->facts.recorded = trace->span_count ? replay->last - replay->origin : 0;
    crn_plan_recorded(replay);
    run_unscaled(replay);
    return replay;
}

crn_replay *crn_replay_make(const crn_trace *trace, const crn_replay_setup *setup)
{
    crn_replay_setup part = *setup;
    uint32_t *origins = NULL;
    crn_trace *own = crn_replay_leave_out(trace, &part, &origins);
    if (!own)
        return make(trace, setup);
    crn_replay *replay = make(own, &part);
    replay->own = own;
    for (uint32_t i = 0; i < replay->facts.lane_count; i++) {
        uint32_t *before = &replay->facts.lanes[i].before;
        *before = *before == CRN_SPAN_NONE ? CRN_SPAN_NONE : origins[*before];
    }
    if (setup->kept)
        crn_free((void *)part.kept);
    crn_free(origins);
    return replay;
}

void crn_replay_free(crn_replay *replay)
{
    if (!replay)
        return;
    free_construction(replay);
    for (uint32_t p = 0; p < replay->pool_count; p++) {
        crn_free(replay->pools[p].kinds);
        crn_free(replay->pools[p].lanes);
        crn_free(replay->pools[p].facts.blocks);
        crn_code_free(&replay->pools[p].code);
    }
    for (uint32_t lane = 0; lane < replay->trace->lane_count; lane++)
        crn_code_free(&replay->lanes[lane].code);
    crn_free(replay->rest);
    crn_free(replay->facts.lanes);
    crn_free(replay->facts.pools);
    crn_free(replay->facts.timers);
    crn_free(replay->facts.doubts);
    crn_free(replay->timers);
    crn_free(replay->job_code);
    crn_free(replay->job_kind);
    crn_free(replay->copies);
    crn_free(replay->pending);
    crn_free(replay->kinds);
    crn_free(replay->kind_of);
    crn_free(replay->pools);
    crn_free(replay->lanes);
    crn_free(replay->work);
    crn_free(replay->watched);
    crn_free(replay->watched_first);
    crn_free(replay->above);
    crn_trace_free(replay->own);
    crn_free(replay);
}

const crn_replay_facts *crn_replay_facts_of(const crn_replay *replay)
{
    return &replay->facts;
}

/* ---- trust ---- */

double crn_replay_drift(const crn_replay *replay)
{
    const crn_replay_facts *facts = &replay->facts;
    double recorded = (double)facts->recorded;
    return facts->recorded ? ((double)facts->replayed - recorded) / recorded : 0;
}

bool crn_replay_is_odd(const crn_replay *replay, const crn_replay_lane *lane)
{
    return (double)lane->unexplained > CRN_REPLAY_TRUST * (double)replay->facts.recorded;
}

bool crn_replay_is_trusted(const crn_replay *replay)
{
    const crn_replay_facts *facts = &replay->facts;
    double drift = crn_replay_drift(replay);
    if (drift > CRN_REPLAY_TRUST || drift < -CRN_REPLAY_TRUST || facts->loosened ||
        replay->trace->dropped || replay->trace->details_dropped || replay->trace->skipped ||
        facts->doubt_count)
        return false;
    for (uint32_t lane = 0; lane < facts->lane_count; lane++)
        if (crn_replay_is_odd(replay, &facts->lanes[lane]))
            return false;
    return true;
}

bool crn_replay_is_late(const crn_replay *replay, const crn_outcome *outcome)
{
    enum { SOME = 2, PERCENT = 1 };
    const crn_replay_facts *facts = &replay->facts;
    return outcome->late > facts->late + SOME + facts->beats / 100 * PERCENT;
}

bool crn_replay_has_few(const crn_replay *replay, const crn_outcome *outcome)
{
    enum { FEW = 30 };
    return replay->drops && outcome->dropped && outcome->droppable < FEW;
}

/* ---- selection of spans ---- */

static bool ends_path(const crn_trace *trace, uint32_t block_count, uint32_t span,
                      const uint8_t *const *path, size_t length)
{
    size_t matched = 0;
    for (uint32_t at = span; matched < length && at != CRN_SPAN_NONE;
         at = trace->spans[at].parent) {
        uint32_t block = trace->spans[at].block;
        if (!path[length - 1 - matched][block < block_count ? block : 0])
            break;
        matched++;
    }
    return matched == length;
}

uint8_t *crn_replay_below(const crn_trace *trace, uint32_t block_count, const uint8_t *const *path,
                          size_t length)
{
    enum { UNKNOWN, APART, BELOW };
    uint8_t *below = crn_calloc(trace->span_count + (size_t)1, 1);
    for (uint32_t s = 0; s < trace->span_count; s++) {
        /* Walks up to an ancestor with a known result, which all spans on the way get. */
        uint32_t top = s, parent;
        while (below[top] == UNKNOWN && (parent = trace->spans[top].parent) != CRN_SPAN_NONE &&
               !ends_path(trace, block_count, top, path, length))
            top = parent;
        if (below[top] == UNKNOWN)
            below[top] = ends_path(trace, block_count, top, path, length) ? BELOW : APART;
        for (uint32_t at = s; at != top; at = trace->spans[at].parent)
            below[at] = below[top];
    }
    for (uint32_t s = 0; s < trace->span_count; s++)
        below[s] = below[s] == BELOW;
    return below;
}

uint64_t *crn_replay_work(const crn_replay *replay)
{
    uint64_t *work = crn_calloc(replay->block_count + (size_t)1, sizeof *work);
    for (uint32_t block = 0; block < replay->block_count; block++)
        work[block] = replay->work[block * 2 + 1];
    return work;
}
