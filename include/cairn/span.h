/* SPDX-License-Identifier: MIT
 *
 * span.h - which iteration, which argument, for whom: scopes whose every execution is recorded.
 *
 * A *span* is one execution of a block: when it began and ended, its iteration number, and the
 * span that it ran in. It is also a call of the block, so that the same run has the sums by
 * context and the single executions.
 *
 *     cairn_span_begin(strand, frame, i);
 *     cairn_span_integer(strand, width, image->width);
 *     ...
 *     cairn_span_end(strand);
 *
 * Opt-in: it is for scopes that run up to a few million times a second. Recording one is two
 * readings of the time stamp counter and 32 bytes in the capture. Space is prepared ahead by
 * a thread of the profile; where that is not quick enough, spans are dropped and counted, and
 * nobody waits. What becomes of them when there are too many is chosen in cairn_options: the first
 * or the last are kept (span_policy, span_limit), or a share of all trees (span_rate), or how long
 * they took and nothing else (span_histograms). Whatever is chosen, calls by context are exact.
 *
 * Each function takes NULL for a strand and then does nothing. Thread: the strand's. None is
 * safe in a signal handler.
 */
#ifndef CAIRN_SPAN_H
#define CAIRN_SPAN_H

#include "hot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Names a span within its profile; 0 is none. */
typedef uint64_t cairn_span;

/* Of a token: what asks for the work is in a tree that is not recorded (span_rate), and so is the
 * work not. */
#define CAIRN_SPAN_SKIPPED UINT64_MAX

/* A span that is not one of many. */
#define CAIRN_ITERATION_NONE INT64_MIN

/* What an attribute is called. Ids come from cairn_key_add. */
typedef uint32_t cairn_key;
#define CAIRN_KEY_MAX ((cairn_key)65536)

/* Defines a key, at any moment, from any thread. Returns CAIRN_KEY_MAX if the profile is NULL or
 * has no room: attributes of that key are dropped. Not deduplicated. */
CAIRN_API cairn_key cairn_key_add(cairn_profile *profile, const char *name);

/* Where there are histograms (span_histograms), there is also one for each value that this
 * attribute has on spans of a block: on each lane for up to `values` of them, and one for all
 * others. Texts are told apart by their first 128 bytes. 0: none any more, of spans to come. At
 * any moment, from any thread. */
CAIRN_API void cairn_key_split(cairn_profile *profile, cairn_key key, uint32_t values);

/* Attributes of the innermost open span. A text is copied; of more than CAIRN_TEXT_MAX bytes
 * only those are kept. A key that is given twice has both values. */
#define CAIRN_TEXT_MAX 1024
CAIRN_API void cairn_span_integer(cairn_strand *strand, cairn_key key, int64_t value);
CAIRN_API void cairn_span_number(cairn_strand *strand, cairn_key key, double value);
CAIRN_API void cairn_span_text(cairn_strand *strand, cairn_key key, const char *value);

/* A text that is written once, and given many times for the cost of a number; of more
 * than CAIRN_TEXT_MAX bytes those are kept. Of the same text there is one. Returns CAIRN_TEXT_NONE
 * for "" and NULL, or if the profile is NULL or has no room. Thread: any. */
typedef uint32_t cairn_text;
#define CAIRN_TEXT_NONE ((cairn_text)0)
CAIRN_API cairn_text cairn_text_add(cairn_profile *profile, const char *text);
CAIRN_API void cairn_span_name(cairn_strand *strand, cairn_key key, cairn_text text);

/* The innermost open span, 0 if there is none or it was dropped. */
CAIRN_API cairn_span cairn_span_current(const cairn_strand *strand);

/* Edges to the innermost open span: it waited for `other` to end (join, future, condition); it
 * goes on where `other` ended (the stages of a pipeline). `other` is one of this process: in a
 * child of fork what its parent's spans were called names others, or none. */
CAIRN_API void cairn_span_waits_for(cairn_strand *strand, cairn_span other);
CAIRN_API void cairn_span_follows(cairn_strand *strand, cairn_span other);

/* ---- hand-off: work that another strand does counts where it was asked for --------- */

/* Taken where a job is pushed, adopted where it runs: by any number of strands, on any lane
 * of the profile, also when the submitter has ended. A plain value: there is nothing to free.
 * When it was taken is recorded: take it when the job goes in, not before waiting for room.
 * In a child of fork, of a token from before that, the span is known as another process's and the
 * context is not known: what runs counts where it runs. */
typedef struct cairn_handoff {
    cairn_span span;       /* that asks for the work */
    cairn_context context; /* of the lane */
    uint32_t lane;
    uint64_t taken; /* clock; 0 where nothing was running on a strand */
    /* Where the work was asked for by another process (traceparent.h): its trace, 0 0 for this
     * process's own; its span, 0 where one of this process stands between; and what it said. */
    uint64_t trace[2], remote;
    uint64_t flags;
} cairn_handoff;

/* What runs on the strand now. For NULL, a token that changes nothing when it is adopted. */
CAIRN_API cairn_handoff cairn_handoff_take(const cairn_strand *strand);

/* From now on what the strand does is below the token's context and its spans are children of
 * the token's span, until cairn_handoff_leave. Counts no call. Nests.
 * Cost: a look-up, where a context was adopted on this lane before. */
CAIRN_API void cairn_handoff_adopt(cairn_strand *strand, cairn_handoff handoff);
CAIRN_API void cairn_handoff_leave(cairn_strand *strand);

/* ---- time that nobody accounts for ------------------------------------------------- */

/* Of spans that have ended: how long they took, and for how much of it no child of theirs ran, on
 * whatever thread. Times in nanoseconds, summed over the spans. */
typedef struct cairn_missing {
    uint64_t spans;
    uint64_t total;
    uint64_t missing;
} cairn_missing;

/* For tests of the program itself: missing time of the spans of `block`, or for CAIRN_BLOCK_ROOT of
 * all without a parent, of what has been recorded so far. CAIRN_E_ARGUMENT where the last spans are
 * kept: of those not all that they asked for is there. `cairn spans --missing` says the same of a
 * capture, and where the time is. Thread: any; reads the capture, and takes time in proportion to
 * all spans. (ILLIXR's timers: subtract main's children, and missing time is found by a program.)
 */
CAIRN_API cairn_error cairn_profile_missing(cairn_profile *profile, cairn_block block,
                                            cairn_missing *missing);

/* ---- the hot path ------------------------------------------------------------------ */

/* One span, as it is in the capture. */
struct cairn_priv_span {
    uint64_t start; /* clock; 0: not there yet */
    uint64_t end;   /* 0: it has not ended */
    int64_t iteration;
    cairn_block block;
    uint32_t parent; /* number of the span of this lane that it ran in, 0 if none */
};

enum {
    CAIRN_PRIV_SPAN_CHUNK = 8192, /* spans */
    CAIRN_PRIV_SPAN_LAST = 0x7ffffffe
};

/* On a strand's stack of open spans: what is below is a hand-off's. */
#define CAIRN_PRIV_ADOPTED ((uint32_t)0x80000000u)

CAIRN_API void cairn_priv_span_begin(cairn_strand *strand, cairn_block block, int64_t iteration);
CAIRN_API void cairn_priv_span_end(cairn_strand *strand);

/* The time stamp counter, where spans may be stamped with it at all. */
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

/* Closes the innermost open span and leaves its block, with whatever was entered in it and not
 * left. A strand that has none open counts a misuse. */
CAIRN_PRIV_INLINE void cairn_span_end(cairn_strand *strand)
{
    cairn_priv_strand *s = (cairn_priv_strand *)strand;
    if (!s)
        return;
    uint64_t now = cairn_priv_stamp();
    const cairn_priv_spans *spans = &s->lane->spans;
    cairn_priv_open *open = s->open - 1;
    uint32_t place = open->span - 1;
    /* The last: frames that there was no memory for are not on the stack. */
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
