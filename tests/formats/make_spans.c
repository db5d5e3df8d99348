/* SPDX-License-Identifier: MIT
 *
 * make_spans.c - a capture of spans, for readers of time lines: two strands that take turns on one
 * lane, a pool that work is handed off to, waits and continuations, attributes of each kind, and a
 * span that never ends.
 *
 * usage: make_spans OUT.cairn
 */
#include <cairn/span.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WORKERS = 3, JOBS = 40 };

static struct {
    cairn_profile *profile;
    cairn_block main, turn, ask, job, part;
    cairn_key width, ratio, name, depth;
} here;

typedef struct job {
    cairn_handoff handoff;
    cairn_span span; /* set when it has run */
    pthread_t thread;
    int number;
} job;

static void work(cairn_strand *strand, job *job, cairn_span before)
{
    char name[64];
    cairn_handoff_adopt(strand, job->handoff);
    cairn_span_begin(strand, here.job, job->number);
    job->span = cairn_span_current(strand);
    if (before)
        cairn_span_follows(strand, before);
    cairn_counter_set(strand, here.depth, JOBS - 0.5 - job->number);
    if (job->number % 10 == 0)
        cairn_log_add(strand, CAIRN_LEVEL_WARNING, "a job in ten, \xc3\xa9");
    cairn_span_integer(strand, here.width, job->number * (int64_t)1000000007);
    cairn_span_number(strand, here.ratio, job->number / 8.0);
    snprintf(name, sizeof name, "image \"%d\" of a long name, <\xc3\xa9>", job->number % 4);
    cairn_span_text(strand, here.name, name);
    for (int i = 0; i < job->number % 5; i++) {
        cairn_span_begin(strand, here.part, i);
        usleep(20);
        cairn_span_end(strand);
    }
    cairn_span_end(strand);
    cairn_handoff_leave(strand);
}

static void *run(void *data)
{
    job *jobs = data;
    cairn_lane *lane = cairn_lane_open(here.profile, "worker");
    cairn_strand *strand = cairn_strand_open(lane);
    for (int i = 0; i < JOBS; i++)
        work(strand, &jobs[i], i ? jobs[i - 1].span : 0);
    cairn_lane_close(lane);
    return NULL;
}

/* Each ends while the other is open. */
static void take_turns(cairn_strand *one, cairn_strand *other)
{
    for (int i = 0; i < 10; i++) {
        cairn_strand_switch(one);
        cairn_span_begin(one, here.turn, i);
        cairn_strand_switch(other);
        cairn_span_begin(other, here.turn, -i);
        cairn_strand_switch(one);
        cairn_span_end(one);
        cairn_strand_switch(other);
        cairn_span_end(other);
    }
    cairn_strand_switch(one);
}

static cairn_block block(const char *name)
{
    return cairn_block_add(here.profile,
                           &(cairn_block_info){.name = name, .file = "spans.c", .line = 7});
}

int main(int argc, char **argv)
{
    static job jobs[WORKERS][JOBS];
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    if (argc != 2)
        return 1;
    options.path = argv[1];
    options.spans = true;
    if (cairn_profile_open(&here.profile, &options) != CAIRN_OK)
        return 1;
    cairn_profile_note(here.profile, "command", "spans --of \"everything\"");
    here.main = block("main");
    here.turn = block("take turns");
    here.ask = block("ask \\ \"quoted\"");
    here.job = block("job");
    here.part = block("part");
    here.width = cairn_key_add(here.profile, "width");
    here.ratio = cairn_key_add(here.profile, "ratio");
    here.name = cairn_key_add(here.profile, "name");
    here.depth = cairn_key_add(here.profile, "queue depth");
    cairn_lane *lane = cairn_lane_open(here.profile, "main");
    cairn_strand *strand = cairn_strand_open(lane), *other = cairn_strand_open(lane);
    cairn_strand_switch(strand);
    cairn_span_begin(strand, here.main, CAIRN_ITERATION_NONE);
    for (int w = 0; w < WORKERS; w++) {
        cairn_span_begin(strand, here.ask, w);
        for (int i = 0; i < JOBS; i++)
            jobs[w][i] = (job){.handoff = cairn_handoff_take(strand), .number = w * JOBS + i};
        pthread_create(&jobs[w][0].thread, NULL, run, jobs[w]);
        cairn_span_end(strand);
    }
    take_turns(strand, other);
    for (int w = 0; w < WORKERS; w++) {
        pthread_join(jobs[w][0].thread, NULL);
        cairn_span_waits_for(strand, jobs[w][JOBS - 1].span);
    }
    cairn_span_begin(strand, here.part, 99); /* does not end, as main does not */
    _exit(0);
}
