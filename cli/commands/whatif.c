/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/common/progress.h"
#include "cli/explain/whatif.h"
#include "commands.h"

enum { TOP_DEFAULT = 30, MOST_CHANGES = 64, MOST_THREADS = 65536, MOST_PATH = 64 };

typedef struct changes {
    size_t count;
    crn_whatif_change list[MOST_CHANGES];
} changes;

static struct {
    crn_list captures, sleeps, timers;
    const char *context, *block;
    changes speedups, threads, queues;
    long top, cores;
    bool fixed, no_guesses, no_table, json;
} given = {.top = TOP_DEFAULT};

/* ---- options ---- */

/* Adds a change from "BLOCK=5"; if `all`, also from "5", for all blocks. The last "=" is the
 * separator. Refuses a number that is not from `least` to `most`. */
static void add_change(struct argp_state *state, changes *changes, char *text, bool all,
                       double least, double most)
{
    char *equals = strrchr(text, '='), *end;
    const char *number = equals ? equals + 1 : text;
    double value = strtod(number, &end);
    if (changes->count == MOST_CHANGES)
        argp_error(state, "\"%s\": at most %d such options", text, MOST_CHANGES);
    if (!equals && (!all || end == number))
        argp_error(state, "\"%s\": write a block's name, = and a number", text);
    if (end == number || *end || !(value >= least && value <= most))
        argp_error(state, "\"%s\": \"%s\" is not a number from %g to %g", text, number, least,
                   most);
    if (equals)
        *equals = 0;
    changes->list[changes->count++] = (crn_whatif_change){equals ? text : NULL, value};
}

static void add_speedup(struct argp_state *state, const crn_option *option, char *value)
{
    (void)option;
    add_change(state, &given.speedups, value, true, 1e-6, 1e9);
}

static void add_threads(struct argp_state *state, const crn_option *option, char *value)
{
    (void)option;
    add_change(state, &given.threads, value, true, 1, MOST_THREADS);
}

static void add_queue(struct argp_state *state, const crn_option *option, char *value)
{
    (void)option;
    add_change(state, &given.queues, value, false, 0, 1e9);
}

static void check(struct argp_state *state)
{
    for (size_t i = 0; i < given.speedups.count; i++)
        if (!given.speedups.list[i].name && !given.context)
            argp_error(state, "--speedup needs a block; write --speedup BLOCK=%g, or add --context",
                       given.speedups.list[i].value);
    if (given.context && !given.speedups.count)
        argp_error(state, "--context needs --speedup");
}

static const crn_option options[] = {
    {"speedup", 's', .argument = "BLOCK=K",
     .help = "Divide the self time of this block's spans by K; may be repeated for other blocks. "
             "Without a block: of all spans of the context",
     .more = "K below 1 makes them slower.", .set = add_speedup},
    {"context", 'c', .argument = "BLOCK,...",
     .help = "Only spans whose path contains these blocks in a row", .text = &given.context},
    {"threads", 't', .argument = "[BLOCK=]N",
     .help = "N threads for each pool, or for the pool whose jobs begin with this block",
     .set = add_threads},
    {"cores", .argument = "N", .help = "Number of processors, instead of the recording's",
     .number = &given.cores, .least = 1, .most = MOST_THREADS},
    {"queue", .argument = "BLOCK=N",
     .help = "Capacity of the queue of jobs that begin with this block; 0: unlimited",
     .set = add_queue},
    {"sleep", .argument = "BLOCK",
     .help = "Self time of this block is sleep: it needs no processor and keeps its length",
     .list = &given.sleeps},
    {"timer", .argument = "BLOCK[=PERIOD]",
     .help = "Self time of this block waits for a timer: it ends at the next multiple of PERIOD, "
             "such as 16.667ms; without PERIOD, at the recorded moment",
     .list = &given.timers},
    {"block", 'b', .argument = "BLOCK",
     .help = "Show the throughput and latency of this block's spans, not of root spans",
     .text = &given.block},
    {"fixed", .help = "Each thread runs the jobs that it ran in the recording",
     .flag = &given.fixed},
    {"no-guesses", .help = "Only recorded waits, none inferred from hand-offs",
     .more = "Otherwise a span that handed work off and ended after it is assumed to have waited.",
     .flag = &given.no_guesses},
    {"no-table", .help = "Without the table of the effects of faster blocks",
     .more = "The table takes three replays for each block.", .flag = &given.no_table},
    CRN_OPTION_TOP(&given.top, " of that table (30), those with the most self time"),
    CRN_OPTION_JSON(&given.json),
    {0},
};

static const char doc[] =
    "Predict what would happen if a part of a program were faster.\vThe recorded spans are "
    "replayed in a simulation, with the recorded order of each thread, hand-offs, waits and "
    "processors. They are first replayed unchanged: the output shows the difference from the "
    "recording, and says why if the prediction is not to be trusted. docs/WHATIF.md describes what "
    "to record.\n\n  cairn whatif app.cairn                          what should I optimise?\n  "
    "cairn whatif app.cairn --speedup compress=2     and what does this bring?\n  cairn whatif "
    "app.cairn --threads 8 --cores 8    or more threads?\n\nExit status: 0, or 2 for bad input.";

/* ---- names of blocks ---- */

static bool is_named(const crn_profile *profile, uint32_t block, const char *name)
{
    return strcmp(profile->blocks[block].name, name) == 0;
}

/* Returns, by block, 1 if it has the name, which several may have. If no span has such a block,
 * prints a message and returns NULL. */
static uint8_t *blocks_named(const crn_whatif_report *report, const char *name)
{
    const crn_profile *profile = report->profile;
    uint8_t *named = crn_calloc(profile->block_count, 1);
    bool any = false;
    for (uint32_t b = 0; b < profile->block_count; b++)
        named[b] = is_named(profile, b, name);
    for (uint32_t s = 0; s < report->trace->span_count && !any; s++) {
        uint32_t block = report->trace->spans[s].block;
        any = named[block < profile->block_count ? block : 0];
    }
    if (any)
        return named;
    crn_free(named);
    crn_cli_fail("%s: has no span of a block \"%s\"; cairn spans lists all blocks", report->path,
                 name);
    return NULL;
}

/* Calls `set` for each block that a change names; for a change without a name, for all blocks. If
 * no span has such a block, prints a message and returns false. */
static bool apply(const crn_whatif_report *report, const changes *changes,
                  void (*set)(void *array, uint32_t block, double value), void *array)
{
    for (size_t i = 0; i < changes->count; i++) {
        const crn_whatif_change *change = &changes->list[i];
        uint8_t *named = change->name ? blocks_named(report, change->name) : NULL;
        if (change->name && !named)
            return false;
        for (uint32_t b = 0; b < report->profile->block_count; b++)
            if (!named || named[b])
                set(array, b, change->value);
        crn_free(named);
    }
    return true;
}

static void set_factor(void *array, uint32_t block, double value)
{
    ((double *)array)[block] /= value;
}

static void set_count(void *array, uint32_t block, double value)
{
    ((uint32_t *)array)[block] = (uint32_t)value;
}

/* Makes the blocks of "NAME" or "NAME=PERIOD" timers. On an error prints why and returns false. */
static bool set_timer(const crn_whatif_report *report, const char *text, crn_replay_setup *setup)
{
    char *name = crn_strdup(text), *equals = strrchr(name, '=');
    uint64_t period = 0;
    bool good = !equals || crn_replay_read_period(equals + 1, &period);
    if (!good)
        crn_cli_fail("--timer %s: write a block's name, = and a period with ns, us, ms or s", text);
    if (equals)
        *equals = '\0';
    uint8_t *named = good ? blocks_named(report, name) : NULL;
    for (uint32_t b = 0; named && b < report->profile->block_count; b++) {
        if (!named[b])
            continue;
        setup->rest[b] = CRN_REST_TIMER;
        setup->period[b] = period ? period : setup->period[b];
    }
    good = named != NULL;
    crn_free(named);
    crn_free(name);
    return good;
}

/* Sets the kind of rest for the named blocks. If no span has such a block, prints a message and
 * returns false. */
static bool set_rest(const crn_whatif_report *report, const crn_list *names, crn_rest kind,
                     uint8_t *rest)
{
    for (size_t i = 0; i < names->count; i++) {
        uint8_t *named = blocks_named(report, names->list[i]);
        for (uint32_t b = 0; named && b < report->profile->block_count; b++)
            if (named[b])
                rest[b] = (uint8_t)kind;
        crn_free(named);
        if (!named)
            return false;
    }
    return true;
}

/* Returns, by span, 1 if its path contains the blocks of "a,b" in a row. On an error prints why and
 * returns NULL. */
static uint8_t *read_context(const crn_whatif_report *report, const char *context)
{
    uint8_t *path[MOST_PATH] = {NULL}, *below = NULL;
    char *names = crn_strdup(context), *rest = names;
    size_t length = 0;
    bool good = true;
    for (char *name; good && (name = strsep(&rest, ",")) != NULL; length += good) {
        if (length == MOST_PATH) {
            crn_cli_fail("--context: at most %d blocks", MOST_PATH);
            good = false;
            break;
        }
        path[length] = blocks_named(report, name);
        good = path[length] != NULL;
    }
    if (good)
        below = crn_replay_below(report->trace, report->profile->block_count,
                                 (const uint8_t *const *)path, length);
    for (size_t i = 0; i < length; i++)
        crn_free(path[i]);
    crn_free(names);
    return below;
}

/* Sets `*kept` to the spans below `context`; to NULL if `context` is NULL. If no span is below it,
 * prints that and returns false. */
static bool choose_context(const crn_whatif_report *report, const char *context, uint8_t **kept)
{
    *kept = NULL;
    if (!context)
        return true;
    *kept = read_context(report, context);
    for (uint32_t s = 0; *kept && s < report->trace->span_count; s++)
        if ((*kept)[s])
            return true;
    if (*kept)
        crn_cli_fail("%s: no span's path contains the blocks \"%s\" in a row", report->path,
                     context);
    return false;
}

static bool is_of_pool(const crn_whatif_report *report, const crn_replay_pool *pool,
                       const char *name)
{
    for (uint32_t k = 0; k < pool->kinds; k++)
        if (is_named(report->profile, pool->blocks[k], name))
            return true;
    return false;
}

/* Returns false if a number of threads is for no pool, and prints that. */
static bool pools_are_there(const crn_whatif_report *report, const changes *threads)
{
    const crn_replay_facts *facts = crn_replay_facts_of(report->replay);
    for (size_t i = 0; i < threads->count; i++) {
        const char *name = threads->list[i].name;
        bool found = !name && facts->pool_count;
        for (uint32_t p = 0; name && p < facts->pool_count && !found; p++)
            found = is_of_pool(report, &facts->pools[p], name);
        if (!found) {
            crn_cli_fail("%s: --threads: no pool of threads takes jobs%s%s%s", report->path,
                         name ? " that begin with a span of " : "", name ? name : "",
                         given.fixed ? "; remove --fixed" : "");
            return false;
        }
    }
    return true;
}

static bool queues_are_there(const crn_whatif_report *report, const changes *queues)
{
    for (size_t i = 0; i < queues->count; i++) {
        const char *name = queues->list[i].name;
        bool found = false;
        for (uint32_t s = 0; s < report->trace->span_count && !found; s++) {
            const crn_span *span = &report->trace->spans[s];
            found = span->handed_off && span->block < report->profile->block_count &&
                    is_named(report->profile, span->block, name);
        }
        if (!found) {
            crn_cli_fail("%s: --queue: no job begins with a span of %s", report->path, name);
            return false;
        }
    }
    return true;
}

/* ---- entry ---- */

static void show(crn_whatif_report *report)
{
    crn_outcome outcome = {.begins = NULL};
    crn_replay_run(report->replay, report->scenario, &outcome);
    report->outcome = &outcome;
    report->recorded = crn_replay_latency(report->replay, NULL);
    report->predicted = crn_replay_latency(report->replay, &outcome);
    report->reasons = crn_whatif_reasons(report);
    crn_effects effects = {.count = 0};
    if (!given.no_table) {
        uint32_t most = given.top ? (uint32_t)given.top : UINT32_MAX;
        effects = crn_effects_make(report->replay, report->scenario, most);
        effects.length = outcome.length;
        crn_whatif_fill(&effects);
        report->effects = &effects;
    }
    if (given.json)
        crn_whatif_json(stdout, report);
    else
        crn_whatif_text(stdout, report);
    crn_effects_free(&effects);
    crn_outcome_free(&outcome);
    crn_free(report->reasons);
    report->outcome = NULL;
    report->effects = NULL;
}

/* Reads the setup from the capture's notes, and applies the options. */
static bool make_setup(const crn_whatif_report *report, crn_replay_setup *setup)
{
    *setup = crn_replay_setup_read(report->profile);
    setup->fixed = given.fixed;
    setup->no_guesses = given.no_guesses;
    if (!set_rest(report, &given.sleeps, CRN_REST_SLEEP, setup->rest))
        return false;
    for (size_t i = 0; i < given.timers.count; i++)
        if (!set_timer(report, given.timers.list[i], setup))
            return false;
    for (size_t i = 0; i < given.queues.count; i++) {
        /* Without a note on the queue, the recording is assumed to have had this capacity. */
        const crn_whatif_change *queue = &given.queues.list[i];
        for (uint32_t b = 0; b < report->profile->block_count; b++)
            if (is_named(report->profile, b, queue->name) && !setup->capacity[b])
                setup->capacity[b] = (uint32_t)queue->value;
    }
    return true;
}

static bool run_scenario(crn_whatif_report *report, const crn_replay_setup *setup)
{
    uint32_t blocks = report->profile->block_count;
    double *factor = crn_calloc(blocks, sizeof *factor);
    uint32_t *threads = crn_calloc(blocks, sizeof *threads);
    uint32_t *capacity = crn_calloc(blocks, sizeof *capacity);
    for (uint32_t b = 0; b < blocks; b++)
        factor[b] = 1;
    memcpy(capacity, setup->capacity, blocks * sizeof *capacity);
    bool good = apply(report, &given.speedups, set_factor, factor) &&
                apply(report, &given.threads, set_count, threads) &&
                apply(report, &given.queues, set_count, capacity) &&
                pools_are_there(report, &given.threads) && queues_are_there(report, &given.queues);
    crn_scenario scenario = {
        .factor = factor, .cores = (unsigned)given.cores, .threads = threads, .capacity = capacity};
    report->scenario = &scenario;
    if (good)
        show(report);
    report->scenario = NULL;
    crn_free(factor);
    crn_free(threads);
    crn_free(capacity);
    return good;
}

static bool choose_block(crn_whatif_report *report, const char *name)
{
    report->block = UINT32_MAX;
    uint8_t *named = name ? blocks_named(report, name) : NULL;
    for (uint32_t s = 0; named && report->block == UINT32_MAX; s++) {
        uint32_t block = report->trace->spans[s].block;
        block = block < report->profile->block_count ? block : 0;
        if (named[block])
            report->block = block;
    }
    crn_free(named);
    return !name || report->block != UINT32_MAX;
}

static int whatif(crn_whatif_report *report)
{
    crn_replay_setup setup = {.rest = NULL};
    crn_replay *replay = NULL;
    uint8_t *kept = NULL;
    bool good = choose_block(report, given.block) && make_setup(report, &setup) &&
                choose_context(report, given.context, &kept);
    if (good) {
        setup.kept = kept;
        setup.latency_of = report->block == UINT32_MAX ? 0 : report->block;
        crn_progress_begin("%s: replaying it unchanged", crn_cli_name);
        replay = crn_replay_make(report->trace, &setup);
        crn_progress_end();
        report->replay = replay;
        good = run_scenario(report, &setup);
    }
    crn_replay_setup_free(&setup);
    crn_replay_free(replay);
    crn_free(kept);
    return good ? CRN_EXIT_OK : CRN_EXIT_BAD;
}

static int run(void)
{
    const char *path = given.captures.list[0];
    crn_whatif_report report = {
        .path = path,
        .speedup_count = given.speedups.count,
        .speedups = given.speedups.list,
        .context = given.context,
        .changed = given.speedups.count || given.threads.count || given.cores || given.queues.count,
    };
    crn_error error = {0};
    crn_progress_begin("%s: reading %s", crn_cli_name, path);
    crn_trace *trace = NULL;
    crn_profile *profile = crn_trace_load_with_profile(path, &trace, &error);
    crn_progress_end();
    report.profile = profile;
    report.trace = trace;
    int status = CRN_EXIT_BAD;
    if (!profile)
        crn_cli_fail("%s", error.message);
    else if (!trace->span_count)
        crn_cli_fail("%s: has no spans to replay; see cairn-whatif(1)", path);
    else
        status = whatif(&report);
    crn_profile_free(profile);
    crn_trace_free(trace);
    return status;
}

const crn_command crn_command_whatif = {
    .name = "whatif",
    .purpose = "predict the effect of making a part faster",
    .arguments = "[CAPTURE]",
    .doc = doc,
    .options = options,
    .words = &given.captures,
    .least = 1,
    .reads_newest = true,
    .most = 1,
    .check = check,
    .run = run,
};
