/* SPDX-License-Identifier: MIT
 *
 * streams.c - see streams.h.
 */
#include "support/streams.h"

#include <stdio.h>
#include <stdlib.h>

void stream_add(stream *made, event_kind kind, uint32_t slot, uint32_t value)
{
    if (made->count == made->room) {
        made->room = made->room * 2 + 64;
        made->events = realloc(made->events, made->room * sizeof(*made->events));
        if (!made->events)
            abort();
    }
    made->events[made->count++] = (event){value, (uint8_t)kind, (uint8_t)slot};
}

void stream_free(stream *made)
{
    free(made->events);
    made->events = NULL;
    made->count = made->room = 0;
}

uint32_t stream_square_free(uint64_t position)
{
    uint32_t here = (uint32_t)__builtin_popcountll(position) & 1;
    uint32_t next = (uint32_t)__builtin_popcountll(position + 1) & 1;
    return next + 1 - here;
}

/* The state of a generator of patterns. */
typedef struct maker {
    stream *made;
    random_source random;
    uint32_t blocks;
    uint32_t slots;
    uint32_t slot; /* the current strand */
} maker;

typedef void pattern(maker *m);

static void say(maker *m, event_kind kind, uint32_t value)
{
    stream_add(m->made, kind, m->slot, value);
}

static void tick_sometimes(maker *m)
{
    if (random_chance(&m->random, 1, 3))
        say(m, EVENT_TICK, random_below(&m->random, 100));
}

/* Random calls and returns in the ratio `enters` : `replaces` : `leaves`. */
static void walk(maker *m, uint32_t enters, uint32_t replaces, uint32_t leaves, uint32_t length)
{
    uint32_t total = enters + replaces + leaves;
    for (uint32_t i = 0; i < length; i++) {
        uint32_t pick = random_below(&m->random, total);
        uint32_t block = random_below(&m->random, m->blocks);
        if (pick < enters)
            say(m, EVENT_ENTER, block);
        else if (pick < enters + replaces)
            say(m, EVENT_REPLACE, block);
        else
            say(m, EVENT_LEAVE, 0);
        tick_sometimes(m);
    }
}

static void balanced(maker *m)
{
    walk(m, 4, 1, 4, 1 + random_below(&m->random, 400));
}

static void deepening(maker *m)
{
    walk(m, 8, 1, 2, 1 + random_below(&m->random, 1000));
}

static void tail_calls(maker *m)
{
    walk(m, 1, 8, 1, 1 + random_below(&m->random, 600));
}

static void one_recursion(maker *m)
{
    uint32_t block = random_below(&m->random, m->blocks);
    uint32_t depth = 1 + random_below(&m->random, 3000);
    for (uint32_t i = 0; i < depth; i++)
        say(m, EVENT_ENTER, block);
    tick_sometimes(m);
    for (uint32_t i = random_below(&m->random, depth + 1); i < depth; i++)
        say(m, EVENT_LEAVE, 0);
}

/* Repeats a word, sometimes with one letter changed, by calls or tail calls. */
static void periodic(maker *m)
{
    uint32_t word[40];
    uint32_t length = 1 + random_below(&m->random, 40);
    uint32_t times = 1 + random_below(&m->random, 12);
    event_kind kind = random_chance(&m->random, 1, 2) ? EVENT_ENTER : EVENT_REPLACE;
    for (uint32_t i = 0; i < length; i++)
        word[i] = random_below(&m->random, m->blocks);
    for (uint32_t i = 0; i < length * times; i++) {
        bool wrong = random_chance(&m->random, 1, 100);
        say(m, kind, wrong ? random_below(&m->random, m->blocks) : word[i % length]);
        if (random_chance(&m->random, 1, 10))
            tick_sometimes(m);
    }
}

/* Repeats a long word without repetitions: folds with a very long period. */
static void long_period(maker *m)
{
    uint64_t start = random_below(&m->random, 100000);
    uint32_t length = 10 + random_below(&m->random, 700);
    for (uint32_t turn = 0; turn < 3; turn++) {
        for (uint32_t i = 0; i < length; i++)
            say(m, EVENT_REPLACE, stream_square_free(start + i) % m->blocks);
        say(m, EVENT_REPLACE, 3 % m->blocks);
    }
}

static void square_free(maker *m)
{
    uint64_t start = random_below(&m->random, 100000);
    uint32_t length = 1 + random_below(&m->random, 4000);
    event_kind kind = random_chance(&m->random, 1, 4) ? EVENT_ENTER : EVENT_REPLACE;
    for (uint32_t i = 0; i < length; i++)
        say(m, kind, stream_square_free(start + i) % m->blocks);
}

static void fan_out(maker *m)
{
    uint32_t width = 1 + random_below(&m->random, 500);
    for (uint32_t i = 0; i < width; i++) {
        say(m, EVENT_ENTER, i % m->blocks);
        tick_sometimes(m);
        say(m, EVENT_LEAVE, 0);
    }
}

/* Like a program: each block calls a few fixed others, so that contexts repeat. */
static void program(maker *m)
{
    uint32_t depth = 0, block = random_below(&m->random, m->blocks);
    uint32_t stack[64];
    for (uint32_t i = random_below(&m->random, 2000); i > 0; i--) {
        uint32_t callee = (block * 7 + random_below(&m->random, 3) * 13 + 1) % m->blocks;
        if (depth == 64 || (depth > 0 && random_chance(&m->random, 1, 2))) {
            block = stack[--depth];
            say(m, EVENT_LEAVE, 0);
        } else if (random_chance(&m->random, 1, 8)) {
            block = callee;
            say(m, EVENT_REPLACE, block);
        } else {
            stack[depth++] = block;
            block = callee;
            say(m, EVENT_ENTER, block);
        }
        tick_sometimes(m);
    }
}

static void marks(maker *m)
{
    say(m, EVENT_MARK, random_below(&m->random, STREAM_MARKS));
    walk(m, 5, 3, 2, random_below(&m->random, 30));
    say(m, EVENT_UNWIND, random_below(&m->random, STREAM_MARKS));
}

static void empty_the_stack(maker *m)
{
    for (uint32_t i = random_below(&m->random, 3000); i > 0; i--)
        say(m, EVENT_LEAVE, 0);
    if (random_chance(&m->random, 1, 2))
        say(m, EVENT_REPLACE, random_below(&m->random, m->blocks));
}

/* Block 0 may be called like others. */
static void root_calls(maker *m)
{
    static const event_kind kinds[] = {EVENT_ENTER, EVENT_REPLACE};
    for (uint32_t i = random_below(&m->random, 10); i > 0; i--) {
        say(m, kinds[random_below(&m->random, 2)], STREAM_ROOT);
        walk(m, 3, 2, 1, random_below(&m->random, 6));
    }
}

static void charges(maker *m)
{
    for (uint32_t i = random_below(&m->random, 20); i > 0; i--) {
        say(m, EVENT_CHARGE, random_below(&m->random, 1000000));
        walk(m, 1, 1, 1, 1);
    }
}

static void samples(maker *m)
{
    for (uint32_t i = random_below(&m->random, 20); i > 0; i--) {
        say(m, EVENT_SAMPLE, random_below(&m->random, UINT32_MAX));
        walk(m, 1, 1, 1, 1);
    }
}

static void strands(maker *m)
{
    say(m, random_chance(&m->random, 1, 2) ? EVENT_OPEN : EVENT_SWITCH, 0);
}

static void another_strand(maker *m)
{
    m->slot = random_below(&m->random, m->slots);
    say(m, EVENT_SWITCH, 0);
}

static void another_lane(maker *m)
{
    if (random_chance(&m->random, 1, 5))
        say(m, EVENT_LANE_CLOSE, 0);
}

static void more_blocks(maker *m)
{
    for (uint32_t i = random_below(&m->random, 5); i > 0; i--) {
        say(m, EVENT_BLOCK_ADD, 0);
        m->blocks++;
    }
}

static void on_and_off(maker *m)
{
    say(m, random_chance(&m->random, 1, 2) ? EVENT_ENABLE : EVENT_DISABLE, 0);
}

static void check(maker *m)
{
    if (random_chance(&m->random, 1, 10))
        say(m, EVENT_CHECK, 0);
}

static const struct {
    const char *name;
    pattern *make;
} patterns[] = {
    {"balanced", balanced},
    {"deepening", deepening},
    {"tail calls", tail_calls},
    {"one recursion", one_recursion},
    {"periodic", periodic},
    {"long period", long_period},
    {"square-free", square_free},
    {"fan-out", fan_out},
    {"program", program},
    {"marks", marks},
    {"empty the stack", empty_the_stack},
    {"charges", charges},
    {"root calls", root_calls},
    {"samples", samples},
    {"strands", strands},
    {"another strand", another_strand},
    {"another lane", another_lane},
    {"more blocks", more_blocks},
    {"on and off", on_and_off},
    {"check", check},
};
enum { PATTERNS = sizeof(patterns) / sizeof(*patterns) };

void stream_make(stream *made, uint64_t seed, size_t limit)
{
    static const uint32_t block_counts[] = {1, 2, 3, 3, 4, 5, 8, 20, 100, 3000};
    static const uint32_t path_limits[] = {1024, 1024, 1024, 4, 5, 16, 100};
    static const uint32_t budgets[] = {4194304, 4194304, 4194304, 4, 5, 10, 100, 1000};
    *made = (stream){.seed = seed};
    maker m = {.made = made, .random = {seed}};
    made->block_count = m.blocks = block_counts[random_below(&m.random, 10)];
    made->path_limit = path_limits[random_below(&m.random, 7)];
    made->budget = budgets[random_below(&m.random, 8)];
    /* Lanes have a budget each, the reference one for all. */
    made->lanes = made->budget < 4194304 ? 1 : 1 + random_below(&m.random, 3);
    made->disabled = random_chance(&m.random, 1, 10);
    made->capture = random_chance(&m.random, 1, 4);
    m.slots = random_chance(&m.random, 1, 2) ? 1 : STREAM_SLOTS;

    /* Half of the streams have one pattern, the others mix patterns. */
    uint32_t only = random_below(&m.random, 2 * PATTERNS);
    made->pattern = only < PATTERNS ? patterns[only].name : "mixed";
    size_t length = 1 + (size_t)(random_next(&m.random) % limit);
    length = random_chance(&m.random, 1, 2) ? length : 1 + length / 50;
    while (made->count < length) {
        uint32_t pick = only;
        if (only >= PATTERNS || random_chance(&m.random, 1, 8))
            pick = random_below(&m.random, PATTERNS);
        patterns[pick].make(&m);
    }
    made->count = length;
}

void stream_print(const stream *printed)
{
    static const char *const names[] = {"enter",      "replace",   "leave",  "tick",    "charge",
                                        "sample",     "mark",      "unwind", "open",    "switch",
                                        "lane close", "block add", "enable", "disable", "check"};
    for (size_t i = 0; i < printed->count; i++) {
        const event *e = &printed->events[i];
        fprintf(stderr, "    %d: %s %u\n", e->slot, names[e->kind], e->value);
    }
}
