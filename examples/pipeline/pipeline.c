/* SPDX-License-Identifier: MIT
 *
 * pipeline.c - three stages in the manner of PARSEC's dedup: cut a text into chunks and hash them,
 * compress, check and put together; with bounded queues between. `cairn whatif`
 * predicts from its capture how much a faster stage would gain; --cut makes the stage exactly that
 * much faster, to compare.
 *
 *   pipeline -o pipeline.cairn [--layout chunk+write:1,compress:1] [--cut compress=2] ...
 *
 * Calls needed for a replay are marked with REPLAY.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for sched_setaffinity */
#endif
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cairn/span.h>
#include <zlib.h>

#include "stages.h"

enum { MOST_WORKERS = 64, MOST_ROOM = 64, DEFAULT_ITEMS = 60, DEFAULT_ROOM = 4 };

static const char *const stage_names[STAGES] = {"chunk", "compress", "write"};

/* A bounded queue of each stage, and one lock for them all: jobs take milliseconds. */
typedef struct queue {
    struct entry {
        item *item;
        cairn_handoff asked;
    } entries[MOST_ROOM];
    int pushed, taken;
} queue;

typedef struct worker {
    pthread_t thread;
    char name[32];
    unsigned serves; /* bit by stage */
    int core;        /* -1: any */
    cairn_handoff asked;
    cairn_span span; /* its whole life; once it has ended */
} worker;

static struct options {
    const char *path, *layout;
    int items, room;
    bool pin;
} options = {.layout = "chunk+write:1,compress:1", .items = DEFAULT_ITEMS, .room = DEFAULT_ROOM};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static queue queues[STAGES];
static int left; /* items that have not been written */
static worker workers[MOST_WORKERS];
static int worker_count;

static cairn_profile *profile;
static cairn_block main_block, worker_block, push_block, join_block, stage_blocks[STAGES];

/* ---- queues ---- */

/* REPLAY: waiting for room is in a span of its own, and the token is taken when the item goes in.
 * How much a queue holds is noted in main. */
static void push(cairn_strand *strand, int stage, item *item)
{
    queue *queue = &queues[stage];
    cairn_span_begin(strand, push_block, item->number);
    pthread_mutex_lock(&lock);
    while (queue->pushed - queue->taken == options.room)
        pthread_cond_wait(&changed, &lock);
    struct entry *entry = &queue->entries[queue->pushed++ % MOST_ROOM];
    entry->item = item;
    entry->asked = cairn_handoff_take(strand);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    cairn_span_end(strand);
}

/* The stage that is farthest on, of those that the worker serves and that have an item; -1 when
 * everything is written. */
static int pop(unsigned serves, struct entry *entry)
{
    pthread_mutex_lock(&lock);
    while (left) {
        for (int stage = STAGES - 1; stage >= 0; stage--) {
            queue *queue = &queues[stage];
            if (!(serves >> stage & 1) || queue->pushed == queue->taken)
                continue;
            *entry = queue->entries[queue->taken++ % MOST_ROOM];
            pthread_cond_broadcast(&changed);
            pthread_mutex_unlock(&lock);
            return stage;
        }
        pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
    return -1;
}

/* ---- workers ---- */

/* A line for each: a profiler that goes by lines can tell them apart. */
static void run_stage(int stage, item *item, z_stream *stream)
{
    switch (stage) {
    case 0:
        chunk(item);
        break;
    case 1:
        compress_item(item, stream);
        break;
    default:
        write_item(item);
        break;
    }
}

static void finish(item *item)
{
    free(item);
    pthread_mutex_lock(&lock);
    left--;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void *work(void *data)
{
    worker *self = data;
    cairn_lane *lane = cairn_lane_open(profile, self->name);
    cairn_strand *strand = cairn_strand_open(lane);
    struct entry entry;
    z_stream stream = {.zalloc = Z_NULL};
    int stage;
    if (deflateInit(&stream, 6) != Z_OK)
        abort();
    if (self->core >= 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(self->core, &set);
        sched_setaffinity(0, sizeof set, &set);
    }
    cairn_handoff_adopt(strand, self->asked);
    cairn_span_begin(strand, worker_block, CAIRN_ITERATION_NONE);
    self->span = cairn_span_current(strand);
    while ((stage = pop(self->serves, &entry)) >= 0) {
        cairn_handoff_adopt(strand, entry.asked); /* REPLAY: the job is the pusher's */
        cairn_span_begin(strand, stage_blocks[stage], entry.item->number);
        run_stage(stage, entry.item, &stream);
        if (stage + 1 < STAGES)
            push(strand, stage + 1, entry.item);
        else
            finish(entry.item);
        cairn_span_end(strand);
        cairn_handoff_leave(strand);
    }
    cairn_span_end(strand);
    cairn_handoff_leave(strand);
    deflateEnd(&stream);
    cairn_strand_close(strand);
    cairn_lane_close(lane);
    return NULL;
}

/* REPLAY: a wait for others to end is a span that says for whom. */
static void join(cairn_strand *strand, worker *worker)
{
    cairn_span_begin(strand, join_block, CAIRN_ITERATION_NONE);
    pthread_join(worker->thread, NULL);
    cairn_span_waits_for(strand, worker->span);
    cairn_span_end(strand);
}

static void run(cairn_strand *strand)
{
    cairn_span_begin(strand, main_block, CAIRN_ITERATION_NONE);
    for (int i = 0; i < worker_count; i++) {
        workers[i].asked = cairn_handoff_take(strand);
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (int i = 0; i < options.items; i++) {
        item *item = calloc(1, sizeof *item);
        if (!item)
            abort();
        item->number = i;
        push(strand, 0, item);
    }
    for (int i = 0; i < worker_count; i++)
        join(strand, &workers[i]);
    cairn_span_end(strand);
}

/* ---- options ---- */

static void fail(const char *what, const char *value)
{
    fprintf(stderr, "pipeline: %s: %s\n", what, value);
    exit(2);
}

static int stage_named(const char *name, size_t length)
{
    for (int stage = 0; stage < STAGES; stage++)
        if (strlen(stage_names[stage]) == length && strncmp(stage_names[stage], name, length) == 0)
            return stage;
    fail("no such stage; there are chunk, compress and write", name);
    return -1;
}

/* The n-th processor that the program may run on, round and round. */
static int core_numbered(int n)
{
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    n %= CPU_COUNT(&set);
    for (int core = 0;; core++)
        if (CPU_ISSET(core, &set) && n-- == 0)
            return core;
}

/* "chunk+write:1,compress:2": who serves what, and how many of them. Each stage in one group. */
static void read_layout(const char *layout)
{
    unsigned seen = 0;
    while (*layout) {
        unsigned serves = 0;
        char *end;
        size_t length;
        do {
            length = strcspn(layout, "+:,");
            serves |= 1u << stage_named(layout, length);
            layout += length;
        } while (*layout == '+' && *++layout);
        long count = *layout == ':' ? strtol(layout + 1, &end, 10) : 1;
        layout = *layout == ':' ? end : layout;
        if (count < 1 || worker_count + count > MOST_WORKERS || serves & seen)
            fail("each stage belongs to one group of 1 to 64 workers", layout);
        seen |= serves;
        for (; count; count--, worker_count++) {
            worker *worker = &workers[worker_count];
            snprintf(worker->name, sizeof worker->name, "worker %d", worker_count + 1);
            worker->serves = serves;
            worker->core = options.pin ? core_numbered(worker_count) : -1;
        }
        layout += *layout == ',';
    }
    if (seen != (1u << STAGES) - 1)
        fail("a stage has no worker", options.layout);
}

static void read_cut(char *cut)
{
    char *factor = strchr(cut, '=');
    double value = factor ? strtod(factor + 1, NULL) : 0;
    if (!(value >= 1 && value <= UNITS))
        fail("write a stage and a factor of 1 to 60, such as compress=2", cut);
    stage_cut[stage_named(cut, (size_t)(factor - cut))] = value;
}

static void read_options(int count, char **arguments)
{
    static const struct option known[] = {{"output", 1, NULL, 'o'}, {"layout", 1, NULL, 'l'},
                                          {"cut", 1, NULL, 'c'},    {"items", 1, NULL, 'n'},
                                          {"room", 1, NULL, 'q'},   {"pin", 0, NULL, 'p'},
                                          {"rounds", 1, NULL, 'r'}, {NULL, 0, NULL, 0}};
    for (int option; (option = getopt_long(count, arguments, "o:l:c:n:q:r:p", known, NULL)) != -1;)
        switch (option) {
        case 'o':
            options.path = optarg;
            break;
        case 'l':
            options.layout = optarg;
            break;
        case 'c':
            read_cut(optarg);
            break;
        case 'n':
            options.items = atoi(optarg);
            break;
        case 'q':
            options.room = atoi(optarg);
            break;
        case 'p':
            options.pin = true;
            break;
        case 'r':
            if (sscanf(optarg, "%d,%d,%d", &stage_rounds[0], &stage_rounds[1], &stage_rounds[2]) !=
                STAGES)
                fail("write three numbers", optarg);
            break;
        default:
            exit(2);
        }
    if (options.items < 1 || options.items > 10000000)
        fail("there must be items", "--items");
    if (options.room < 1 || options.room > MOST_ROOM)
        fail("a queue has room for 1 to 64", "--room");
    read_layout(options.layout);
}

/* ---- the profile ---- */

static cairn_block block_named(const char *name)
{
    return cairn_block_add(profile, &(cairn_block_info){.name = name});
}

/* Without -o nothing is recorded: all strands are NULL. */
static void open_profile(void)
{
    cairn_options how = CAIRN_OPTIONS_DEFAULT;
    char room[16];
    how.path = options.path;
    how.spans = true;
    if (options.path && cairn_profile_open(&profile, &how) != CAIRN_OK)
        fail("cannot be written", options.path);
    main_block = block_named("main");
    worker_block = block_named("worker");
    push_block = block_named("push");
    join_block = block_named("join");
    snprintf(room, sizeof room, "%d", options.room);
    for (int stage = 0; stage < STAGES; stage++) {
        char note[32];
        stage_blocks[stage] = block_named(stage_names[stage]);
        snprintf(note, sizeof note, "queue.%s", stage_names[stage]);
        cairn_profile_note(profile, note, room); /* REPLAY: what the stage's queue holds */
    }
}

int main(int count, char **arguments)
{
    struct timespec begin, end;
    read_options(count, arguments);
    write_text();
    left = options.items;
    open_profile();
    cairn_lane *lane = cairn_lane_open(profile, "main");
    cairn_strand *strand = cairn_strand_open(lane);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    run(strand);
    clock_gettime(CLOCK_MONOTONIC, &end);
    cairn_strand_close(strand);
    cairn_lane_close(lane);
    cairn_profile_close(profile);
    printf("%.6f s\n",
           (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9);
    return 0;
}
