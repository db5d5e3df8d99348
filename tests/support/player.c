/* SPDX-License-Identifier: MIT
 *
 * player.c - see player.h.
 */
#include "support/player.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/scratch.h"

/* A strand of the library beside one of the reference. */
typedef struct pair {
    cairn_strand *strand;
    reference_strand reference;
    cairn_mark marks[STREAM_MARKS];
} pair;

typedef struct player {
    const stream *played;
    difference *found;
    cairn_profile *profile;
    cairn_lane *lanes[STREAM_SLOTS];
    cairn_metric user[REFERENCE_USER_METRICS];
    uint32_t block_count;
    bool recording;
    reference_graph graph;
    pair pairs[STREAM_SLOTS];
} player;

static bool add_block(player *p)
{
    char name[24];
    uint32_t expected = ++p->block_count;
    snprintf(name, sizeof(name), "b%u", expected);
    cairn_block block = cairn_block_add(
        p->profile, &(cairn_block_info){.name = name, .file = "stream", .line = expected});
    if (block != expected)
        difference_set(p->found, "block %u was given the number %u", expected, block);
    return block == expected;
}

static void end_pair(pair *ended)
{
    if (!ended->strand)
        return;
    cairn_strand_close(ended->strand);
    ended->strand = NULL;
    reference_strand_end(&ended->reference);
}

static bool start_pair(player *p, uint32_t slot)
{
    pair *started = &p->pairs[slot];
    memset(started, 0, sizeof(*started));
    started->strand = cairn_strand_open(p->lanes[slot % p->played->lanes]);
    reference_strand_start(&started->reference, &p->graph, p->recording);
    if (!started->strand)
        difference_set(p->found, "a strand could not be opened");
    return started->strand != NULL;
}

static bool reopen_lane(player *p, uint32_t lane)
{
    for (uint32_t slot = lane; slot < STREAM_SLOTS; slot += p->played->lanes) {
        if (p->pairs[slot].strand)
            reference_strand_end(&p->pairs[slot].reference);
        p->pairs[slot].strand = NULL;
    }
    cairn_lane_close(p->lanes[lane]);
    p->lanes[lane] = cairn_lane_open(p->profile, "again");
    if (!p->lanes[lane])
        difference_set(p->found, "a lane could not be opened");
    return p->lanes[lane] != NULL;
}

static bool check_view(player *p)
{
    cairn_view *view;
    cairn_error error = cairn_view_open(&view, p->profile);
    if (error) {
        difference_set(p->found, "no view: %s", cairn_error_text(error));
        return false;
    }
    bool same = compare_view(view, &p->graph, p->found);
    cairn_view_close(view);
    return same;
}

static bool same_depth(const player *p, const pair *t)
{
    size_t depth = cairn_strand_depth(t->strand);
    if (depth == t->reference.depth)
        return true;
    difference_set(p->found, "depth is %zu, must be %zu", depth, t->reference.depth);
    return false;
}

/* Charges a random path of up to 40 blocks with some recursion, as cairn_sample does. */
static void sample(player *p, pair *t, uint32_t seed)
{
    random_source random = {seed};
    cairn_block path[40];
    uint32_t length = random_below(&random, 41);
    uint32_t variety = 1 + random_below(&random, p->block_count);
    for (uint32_t i = 0; i < length; i++)
        path[i] = 1 + random_below(&random, variety);
    cairn_sample(t->strand, path, length, CAIRN_METRIC_TICKS, seed % 1000);
    reference_sample(&t->reference, path, length, seed % 1000, p->recording);
}

static void set_recording(player *p, bool recording)
{
    p->recording = recording;
    if (recording)
        cairn_profile_enable(p->profile);
    else
        cairn_profile_disable(p->profile);
}

static bool play(player *p, const event *e)
{
    pair *t = &p->pairs[e->slot];
    if (!t->strand && !start_pair(p, e->slot))
        return false;
    cairn_block block = e->value == STREAM_ROOT ? CAIRN_BLOCK_ROOT : 1 + e->value % p->block_count;
    uint32_t which = e->value % REFERENCE_USER_METRICS;
    switch ((event_kind)e->kind) {
    case EVENT_ENTER:
        cairn_enter(t->strand, block);
        reference_enter(&t->reference, block, p->recording);
        return true;
    case EVENT_REPLACE:
        cairn_replace(t->strand, block);
        reference_replace(&t->reference, block, p->recording);
        return true;
    case EVENT_LEAVE:
        cairn_leave(t->strand);
        reference_leave(&t->reference);
        return true;
    case EVENT_TICK:
        cairn_tick(t->strand, e->value);
        reference_tick(&t->reference, e->value, p->recording);
        return true;
    case EVENT_CHARGE:
        cairn_charge(t->strand, p->user[which], e->value / REFERENCE_USER_METRICS);
        reference_charge(&t->reference, which, e->value / REFERENCE_USER_METRICS, p->recording);
        return true;
    case EVENT_SAMPLE:
        sample(p, t, e->value);
        return true;
    case EVENT_MARK:
        t->marks[e->value] = cairn_strand_mark(t->strand);
        return same_depth(p, t);
    case EVENT_UNWIND:
        cairn_strand_unwind(t->strand, t->marks[e->value]);
        reference_unwind(&t->reference, t->marks[e->value]);
        return same_depth(p, t);
    case EVENT_OPEN:
        end_pair(t);
        return start_pair(p, e->slot);
    case EVENT_SWITCH:
        cairn_strand_switch(t->strand);
        return true;
    case EVENT_LANE_CLOSE:
        return reopen_lane(p, e->slot % p->played->lanes);
    case EVENT_BLOCK_ADD:
        return add_block(p);
    case EVENT_ENABLE:
    case EVENT_DISABLE:
        set_recording(p, e->kind == EVENT_ENABLE);
        return true;
    case EVENT_CHECK:
        return check_view(p);
    }
    return true;
}

static bool begin(player *p, const char *path)
{
    const stream *played = p->played;
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path = path;
    options.path_limit = played->path_limit;
    options.context_budget = played->budget;
    options.disabled = played->disabled;
    cairn_error error = cairn_profile_open(&p->profile, &options);
    if (error) {
        difference_set(p->found, "no profile: %s", cairn_error_text(error));
        return false;
    }
    for (uint32_t i = 0; i < REFERENCE_USER_METRICS; i++) {
        char name[] = {'u', 's', 'e', 'r', (char)('0' + i), 0};
        p->user[i] = cairn_metric_add(p->profile, name, "count");
    }
    for (uint32_t i = 0; i < played->block_count; i++) {
        if (!add_block(p))
            return false;
    }
    for (uint32_t i = 0; i < played->lanes; i++)
        p->lanes[i] = cairn_lane_open(p->profile, "lane");
    return true;
}

bool player_play(const stream *played, difference *found)
{
    char path[SCRATCH_PATH];
    player p = {.played = played, .found = found, .recording = !played->disabled};
    found->text[0] = 0;
    reference_graph_start(&p.graph, played->path_limit, played->budget);
    bool same = begin(&p, played->capture ? scratch_path(path, "stream.cairn") : NULL);
    for (size_t i = 0; i < played->count && same; i++)
        same = play(&p, &played->events[i]);
    same = same && check_view(&p);
    cairn_profile_close(p.profile);
    same = same && (!played->capture || compare_capture(path, &p.graph, found));
    for (uint32_t i = 0; i < STREAM_SLOTS; i++)
        reference_strand_end(&p.pairs[i].reference);
    reference_graph_end(&p.graph);
    return same;
}

/* Removes parts of a failing stream, of decreasing size, as long as the rest still fails. */
static void make_small(stream *failing, difference *found)
{
    stream without = *failing;
    without.events = malloc(failing->count * sizeof(*failing->events));
    for (size_t part = failing->count / 2; part > 0;) {
        bool smaller = false;
        for (size_t start = 0; start < failing->count;) {
            size_t end = start + part < failing->count ? start + part : failing->count;
            memcpy(without.events, failing->events, start * sizeof(event));
            memcpy(without.events + start, failing->events + end,
                   (failing->count - end) * sizeof(event));
            without.count = failing->count - (end - start);
            difference other;
            if (player_play(&without, &other)) {
                start = end;
                continue;
            }
            *found = other;
            failing->count = without.count;
            memcpy(failing->events, without.events, without.count * sizeof(event));
            smaller = true;
        }
        if (!smaller || part > failing->count)
            part /= 2;
    }
    free(without.events);
}

bool player_try(uint64_t seed, size_t limit)
{
    stream made;
    difference found;
    stream_make(&made, seed, limit);
    bool same = player_play(&made, &found);
    if (!same) {
        fprintf(stderr,
                "stream %llu of at most %zu (%s, %zu events, %u blocks, path limit %u, budget %u, "
                "%u lanes%s%s): %s\n",
                (unsigned long long)seed, limit, made.pattern, made.count, made.block_count,
                made.path_limit, made.budget, made.lanes, made.disabled ? ", disabled" : "",
                made.capture ? ", captured" : "", found.text);
        make_small(&made, &found);
        fprintf(stderr, "these %zu events are enough: %s\n", made.count, found.text);
        stream_print(&made);
    }
    stream_free(&made);
    return same;
}
