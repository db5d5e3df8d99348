/* SPDX-License-Identifier: MIT
 *
 * streams.h - random and adversarial event streams, each generated from a seed.
 */
#ifndef TESTS_SUPPORT_STREAMS_H
#define TESTS_SUPPORT_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/random.h"

typedef enum event_kind {
    EVENT_ENTER,
    EVENT_REPLACE,
    EVENT_LEAVE,
    EVENT_TICK,
    EVENT_CHARGE, /* value: amount * REFERENCE_USER_METRICS + which */
    EVENT_SAMPLE, /* value: seed of the path and of what is charged to it */
    EVENT_MARK,   /* value: which of the strand's marks */
    EVENT_UNWIND, /* value: which of the strand's marks */
    EVENT_OPEN,   /* ends the strand in this slot and opens another */
    EVENT_SWITCH,
    EVENT_LANE_CLOSE, /* ends the slot's lane and all its strands, and opens another */
    EVENT_BLOCK_ADD,
    EVENT_ENABLE,
    EVENT_DISABLE,
    EVENT_CHECK /* compare the live profile with the reference */
} event_kind;

#define STREAM_ROOT UINT32_MAX /* as the value of enter and replace: block 0 */

enum { STREAM_SLOTS = 8, STREAM_MARKS = 4 };

typedef struct event {
    uint32_t value;
    uint8_t kind;
    uint8_t slot; /* of the strand */
} event;

typedef struct stream {
    event *events;
    size_t count, room;
    uint64_t seed;
    const char *pattern;
    uint32_t block_count; /* when it begins */
    uint32_t lanes;
    uint32_t path_limit, budget;
    bool disabled; /* when it begins */
    bool capture;  /* to a file, which is loaded and compared too */
} stream;

/* Makes the stream of this seed: pattern, blocks, limits and up to `limit` events. */
void stream_make(stream *made, uint64_t seed, size_t limit);
void stream_free(stream *made);

/* Appends an event. */
void stream_add(stream *made, event_kind kind, uint32_t slot, uint32_t value);

/* Returns letter `position` of a square-free word over {0, 1, 2}: the differences of the Thue-Morse
 * sequence. */
uint32_t stream_square_free(uint64_t position);

/* Prints one line an event. */
void stream_print(const stream *printed);

#endif
