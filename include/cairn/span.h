/* SPDX-License-Identifier: MIT
 *
 * span.h - spans: single executions of a block, with iteration number and attributes.
 *
 * A *span* has a begin, an end, an iteration number and a parent, the span in which it ran. A span
 * is also a call of the block, so one run gives both sums by context and single executions.
 *
 *     cairn_span_begin(strand, frame, i);
 *     cairn_span_integer(strand, width, image->width);
 *     ...
 *     cairn_span_end(strand);
 *
 * Spans are for scopes that run up to a few million times a second. Recording one takes two
 * readings of the time stamp counter and 32 bytes in the capture. A thread of the profile prepares
 * space; if it is too slow, spans are dropped and counted, and the program never waits. If spans
 * are too many, cairn_options chooses what is kept: the first or the last (span_policy,
 * span_limit), a share of all trees (span_rate), or only histograms (span_histograms). Calls by
 * context are exact in any case.
 *
 * Every function accepts NULL for a strand and then does nothing. Thread: the strand's. None is
 * signal safe.
 */
#ifndef CAIRN_SPAN_H
#define CAIRN_SPAN_H

#include "hot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Identifies a span within its profile; 0: no span. */
typedef uint64_t cairn_span;

/* The span in a token whose taker is in a tree that is not recorded (span_rate): the adopted work
 * is not recorded either. */
#define CAIRN_SPAN_SKIPPED UINT64_MAX

/* Stands for no iteration number. */
#define CAIRN_ITERATION_NONE INT64_MIN

/* Identifies the name of an attribute; see cairn_key_add. */
typedef uint32_t cairn_key;
#define CAIRN_KEY_MAX ((cairn_key)65536)

/* Adds a key; may be called at any time, from any thread. Equal names are not merged. Returns
 * CAIRN_KEY_MAX if the profile is NULL or has no space: attributes with that key are dropped. */
CAIRN_API cairn_key cairn_key_add(cairn_profile *profile, const char *name);

/* With span_histograms, also counts a histogram for each value of this attribute, by block and
 * lane: for up to `values` values, and one histogram for all other values. Texts are compared by
 * their first 128 bytes. `values` 0 stops this for later spans. May be called at any time, from any
 * thread. */
CAIRN_API void cairn_key_split(cairn_profile *profile, cairn_key key, uint32_t values);

/* Add an attribute to the innermost open span. Texts are copied, up to CAIRN_TEXT_MAX bytes. A key
 * that is set twice has both values. */
#define CAIRN_TEXT_MAX 1024
CAIRN_API void cairn_span_integer(cairn_strand *strand, cairn_key key, int64_t value);
CAIRN_API void cairn_span_number(cairn_strand *strand, cairn_key key, double value);
CAIRN_API void cairn_span_text(cairn_strand *strand, cairn_key key, const char *value);

/* Stores a text once; cairn_span_name then sets it as an attribute for the cost of a number. Cuts
 * the text to CAIRN_TEXT_MAX bytes. Equal texts share a number. Returns CAIRN_TEXT_NONE for "" and
 * NULL, if the profile is NULL, or without space. Thread: any. */
typedef uint32_t cairn_text;
#define CAIRN_TEXT_NONE ((cairn_text)0)
CAIRN_API cairn_text cairn_text_add(cairn_profile *profile, const char *text);
CAIRN_API void cairn_span_name(cairn_strand *strand, cairn_key key, cairn_text text);

/* Returns the innermost open span; 0 if no span is open, or if it is not recorded. */
CAIRN_API cairn_span cairn_span_current(const cairn_strand *strand);

/* Add an edge from the innermost open span: waits_for: it waited for the end of `other` (join,
 * future, condition); follows: it continues the work of `other` (stages of a pipeline). `other`
 * must be of this process; in a child of fork, names of the parent's spans are invalid. */
CAIRN_API void cairn_span_waits_for(cairn_strand *strand, cairn_span other);
CAIRN_API void cairn_span_follows(cairn_strand *strand, cairn_span other);

/* ---- hand-off: charge work of another strand to its requester ------------------------ */

/* A token, taken where a job is queued and adopted where the job runs: by any number of strands, on
 * any lane of the profile, even after the taker has ended. A token is a plain value; nothing must
 * be freed. It holds the time of its taking: take it when the job enters the queue, not before a
 * wait for space. In a child of fork, a token from before the fork refers to a span of the parent;
 * its context is unknown, so work is charged to the adopter's own context. */
typedef struct cairn_handoff {
    cairn_span span;       /* local parent of the adopter's spans */
    cairn_context context; /* the taker's context, a number of `lane` */
    uint32_t lane;
    uint64_t taken; /* clock: when the token was taken; 0: from another process, or without
                       effect */
    /* For requests from other processes (traceparent.h): the trace id, or 0 0 for this process's
     * own trace; the id of the remote parent span, or 0 if `span` is the parent; and flags. */
    uint64_t trace[2], remote;
    uint64_t flags;
} cairn_handoff;

CAIRN_API cairn_handoff cairn_priv_handoff_take(const cairn_strand *strand);

/* Returns a token for what the strand runs now; for NULL, a token without effect. */
CAIRN_PRIV_INLINE cairn_handoff cairn_handoff_take(const cairn_strand *strand)
{
    const cairn_handoff none = {0, 0, 0, 0, {0, 0}, 0, 0};
    if (CAIRN_PRIV_OFF(strand))
        return none;
    return cairn_priv_handoff_take(strand);
}

/* Adopts a token: until cairn_handoff_leave, the strand runs in the token's context, and its spans
 * are children of the token's span. Counts no call. Adoptions nest. An adoption costs a lookup if
 * this lane has adopted the context before. */
CAIRN_API void cairn_handoff_adopt(cairn_strand *strand, cairn_handoff handoff);
CAIRN_API void cairn_handoff_leave(cairn_strand *strand);

/* ---- counters ----------------------------------------------------------------------- */

/* Records that the counter `key` (a queue's depth, a buffer's fill level) has this value from now
 * on. The value belongs to the strand's innermost open span, or if that is not recorded, to the
 * last span that the lane recorded. Before a lane's first span nothing is recorded. A value costs
 * as much as an attribute and a reading of the clock, and takes 24 bytes. */
CAIRN_API void cairn_counter_set(cairn_strand *strand, cairn_key key, double value);

/* ---- events and log lines ------------------------------------------------------------ */

/* Level of an event: log lines have one, other events CAIRN_LEVEL_NONE. */
typedef enum cairn_level {
    CAIRN_LEVEL_NONE = 0,
    CAIRN_LEVEL_DEBUG = 1,
    CAIRN_LEVEL_INFO = 2,
    CAIRN_LEVEL_WARNING = 3,
    CAIRN_LEVEL_ERROR = 4
} cairn_level;

/* Record an event at this moment: one with a stored text (cairn_text_add); a log line, which is
 * copied, up to CAIRN_TEXT_MAX bytes. Like a counter's value, it belongs to the innermost open
 * span, or else to the lane's last span. Before a lane's first span nothing is recorded. Nothing is
 * printed. An event costs a reading of the clock and 24 bytes; a log line 24 bytes more for each 16
 * bytes of text. */
CAIRN_API void cairn_event_add(cairn_strand *strand, cairn_text text);
CAIRN_API void cairn_log_add(cairn_strand *strand, cairn_level level, const char *line);

/* ---- missing time ------------------------------------------------------------------- */

/* The number of ended spans, the sum of their durations, and the sum of the times in which no child
 * ran on any thread; in nanoseconds. */
typedef struct cairn_missing {
    uint64_t spans;
    uint64_t total;
    uint64_t missing;
} cairn_missing;

/* Computes the missing time of the spans of `block` recorded so far, or of all root spans for
 * CAIRN_BLOCK_ROOT; for tests within a program. Returns CAIRN_E_ARGUMENT if only the last spans are
 * kept, because their children may be lost. `cairn spans --missing` computes the same from a
 * capture and shows where the time is. Takes time proportional to the number of all spans. Thread:
 * any. (Suggested by ILLIXR's timers.) */
CAIRN_API cairn_error cairn_profile_missing(cairn_profile *profile, cairn_block block,
                                            cairn_missing *missing);

/* ---- the hot path ------------------------------------------------------------------ */

/* A span in the capture. */
struct cairn_priv_span {
    uint64_t start; /* clock; 0: the entry is unused */
    uint64_t end;   /* clock; 0: still open */
    int64_t iteration;
    cairn_block block;
    uint32_t parent; /* number of the parent on this lane; 0: a root span */
};

enum {
    CAIRN_PRIV_SPAN_CHUNK = 8192,     /* spans in a chunk */
    CAIRN_PRIV_SPAN_LAST = 0x7ffffffe /* highest number of a span */
};

/* Flag of an entry that stands for a hand-off on the stack of open spans. */
#define CAIRN_PRIV_ADOPTED ((uint32_t)0x80000000u)

CAIRN_API void cairn_priv_span_begin(cairn_strand *strand, cairn_block block, int64_t iteration);
CAIRN_API void cairn_priv_span_end(cairn_strand *strand);

/* Reads the time stamp counter; 0 on processors other than x86-64. */
CAIRN_PRIV_INLINE uint64_t cairn_priv_stamp(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
}

/* Enters `block` and opens a span. */
CAIRN_PRIV_INLINE void cairn_span_begin(cairn_strand *strand, cairn_block block, int64_t iteration)
{
    cairn_priv_strand *s = (cairn_priv_strand *)strand;
    if (!s)
        return;
    cairn_priv_spans *spans = &s->lane->spans;
    cairn_priv_span *span = spans->next;
    cairn_priv_open *open = s->open;
    if (!CAIRN_PRIV_LIKELY(span < CAIRN_PRIV_READ(spans->limit) && open < s->open_end &&
                           open[-1].span < CAIRN_PRIV_ADOPTED)) {
        cairn_priv_span_begin(strand, block, iteration);
        return;
    }
    uint32_t number = spans->used + 1;
    uint32_t height = (uint32_t)(s->top - s->bottom);
    span->iteration = iteration;
    span->block = block;
    span->parent = open[-1].span;
    spans->next = span + 1;
    spans->used = number;
    open->span = number;
    open->height = height;
    s->open = open + 1;
    cairn_enter(strand, block);
    __atomic_store_n(&span->start, cairn_priv_stamp(), __ATOMIC_RELEASE);
}

/* Closes the innermost open span and leaves its block, with all frames inside of it. Without an
 * open span only counts a misuse. */
CAIRN_PRIV_INLINE void cairn_span_end(cairn_strand *strand)
{
    cairn_priv_strand *s = (cairn_priv_strand *)strand;
    if (!s)
        return;
    uint64_t now = cairn_priv_stamp();
    const cairn_priv_spans *spans = &s->lane->spans;
    cairn_priv_open *open = s->open - 1;
    uint32_t place = open->span - 1;
    /* The last comparison catches frames for which there was no memory, which are not on the
     * stack. */
    if (!CAIRN_PRIV_LIKELY(place < spans->quick &&
                           (uint32_t)(s->top - s->bottom) == open->height + 1 &&
                           s->top - 1 > CAIRN_PRIV_READ(s->low))) {
        cairn_priv_span_end(strand);
        return;
    }
    spans->chunks[place / CAIRN_PRIV_SPAN_CHUNK][place % CAIRN_PRIV_SPAN_CHUNK].end = now;
    s->open = open;
    cairn_leave(strand);
}

#ifdef __cplusplus
}
#endif

#endif
