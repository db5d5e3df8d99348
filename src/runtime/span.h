/* SPDX-License-Identifier: MIT
 *
 * span.h - spans and hand-offs, for the rest of the runtime.
 *
 * A strand's stack of open spans holds their numbers; or what is no number: CRN_SPAN_GONE is a
 * span that is not recorded, or was and has made room; one from CAIRN_PRIV_ADOPTED on is a
 * hand-off, which what is above it is below; and the two below.
 */
#ifndef CRN_RUNTIME_SPAN_H
#define CRN_RUNTIME_SPAN_H

#include "runtime/runtime.h"

#define CRN_OPEN_DRAWN                                                                             \
    ((uint32_t)0xfffffffeu) /* whether what begins above it is recorded is drawn */
#define CRN_OPEN_FORKED                                                                            \
    ((uint32_t)0xfffffffdu) /* was open when the process forked: the parent's, see span_fork.c */
#define CRN_OPEN_SKIPPED ((uint32_t)0xffffffffu) /* a span of a tree that was not drawn */

/* Where a strand goes on with a hand-off's work. */
typedef struct crn_adoption {
    cairn_span span;
    uint64_t taken;  /* clock */
    cairn_mark mark; /* the stack's height below it */
    uint16_t number; /* tells adoptions of one token apart; not 0 */
    uint32_t flags;
    uint64_t trace[2], remote; /* as a hand-off's */
} crn_adoption;

static inline bool crn_open_is_adoption(uint32_t open)
{
    return open >= CAIRN_PRIV_ADOPTED && open < CRN_OPEN_FORKED;
}

/* What names a span of the lane that has no record. */
static inline cairn_span crn_span_name_gone(const cairn_lane *lane)
{
    return crn_span_name_make(lane->number, UINT64_MAX - 1);
}

static inline bool crn_span_is_gone(cairn_span name)
{
    return crn_span_name_place(name) == crn_span_name_place(crn_span_name_make(0, UINT64_MAX - 1));
}

static inline bool crn_open_is_recorded(uint32_t open)
{
    return open && open < CRN_SPAN_GONE;
}

/* ---- space: span_space.c ---- */

/* Spans of a lane: space for them, as the profile wants it. False if there is no memory. */
bool crn_spans_open(cairn_lane *lane);
void crn_spans_close(cairn_lane *lane);

/* A place for one more, and its number. NULL if there is none: that is counted. */
cairn_priv_span *crn_spans_take(cairn_lane *lane, uint32_t *number);

/* One that is open, or nowhere if it has made room. */
cairn_priv_span *crn_spans_at(const cairn_lane *lane, uint32_t number);

/* An open one's name in the whole capture. */
cairn_span crn_spans_name(const cairn_lane *lane, uint32_t number);

/* Adds to what is known of a span. */
void crn_spans_put_detail(cairn_lane *lane, crn_disk_detail detail);

/* At the profile's end, with nobody recording: what was prepared and never used by lanes that are
 * over. The file gets shorter where nobody can write to it any more. */
void crn_spans_trim(cairn_profile *profile, bool shorten);

/* The thread that prepares space for the spans of all lanes: one of its own, as it waits for
 * the disk. It ends with crn_helper_stop(&profile->preparer). */
bool crn_preparer_start(cairn_profile *profile);

/* ---- open spans: span.c ---- */

/* A strand begins with no span open; it is freed; its lane is buried. */
void crn_strand_spans_begin(cairn_strand *strand);
void crn_strand_spans_free(cairn_strand *strand);
void crn_strand_spans_bury(cairn_strand *strand);

/* The stack is dropped to `height`: what was open above it ends. What begins above `height` is
 * that adoption's. */
void crn_spans_unwind(cairn_strand *strand, size_t height);
void crn_spans_adopt(cairn_strand *strand, uint32_t adoption, size_t height);

/* The next span of the lane begins slowly, which looks at the profile's mode. From any thread,
 * after the mode has changed. */
void crn_spans_slow(cairn_lane *lane);

/* What asks for work that is handed off now: the innermost open span, or what that was adopted
 * for; CAIRN_SPAN_SKIPPED in a tree that was not drawn. */
cairn_span crn_spans_asking(const cairn_strand *strand);

/* In a child of fork: the parent's spans are not to be touched any more. */
void crn_spans_forget(cairn_lane *lane);

/* The id of the innermost open span, if that is one of a process that this one comes from; else
 * 0. */
uint64_t crn_spans_forked(const cairn_strand *strand);

/* What a token says besides, of the trace that the strand's work is in. */
void crn_handoff_name_trace(const cairn_strand *strand, cairn_handoff *handoff);

/* The ids that spans have outside of the process: traceparent.c. A child of fork has the same
 * trace, and others for its spans. Under the profile's lock. */
void crn_ids_begin(cairn_profile *profile);
void crn_ids_begin_child(cairn_profile *profile);

/* A trace without an id began in this process, or in one that it comes from: it gets the id. True
 * for such a one: all that asks in it has been recorded. */
bool crn_trace_make_own(const cairn_profile *profile, uint64_t trace[2]);

/* What the clock says, or said at this event where each event reads it: then spans and exact
 * time are the same to the tick. */
static inline uint64_t crn_spans_stamp(const cairn_lane *lane)
{
    if (crn_profile_mode(lane->profile) == CRN_MODE_EXACT)
        return lane->disk->stamp;
    return crn_clock_now(lane->profile->tsc);
}

/* The innermost open span that is recorded, 0 if it is not. */
uint32_t crn_spans_innermost(const cairn_strand *strand);

/* ---- how long they took: timing.c ---- */

/* Of a span that is open, where a record is not enough. */
typedef struct crn_timing {
    uint64_t start;     /* clock; 0: nothing is known */
    uint64_t children;  /* how long those on the strand took */
    uint64_t cpu;       /* of the thread, ns */
    crn_thread *thread; /* NULL: not known */
    cairn_block block;
    uint32_t splits; /* how many the strand had then */
} crn_timing;

void crn_timing_begin(cairn_strand *strand, cairn_block block, uint64_t start);
void crn_timing_end(cairn_strand *strand, uint32_t number, uint64_t end);

/* An attribute of the innermost open span. `text` of a text, which has `value` bytes. */
void crn_timing_attribute(cairn_strand *strand, crn_histogram_kind kind, cairn_key key,
                          uint64_t value, const char *text);

/* ---- histograms of a lane: histogram.c ---- */

typedef struct crn_histograms crn_histograms;

crn_histograms *crn_histograms_new(cairn_lane *lane);
void crn_histograms_free(crn_histograms *histograms);
const crn_stream *crn_histograms_space(const crn_histograms *histograms);

/* After a reset. */
void crn_histograms_clear(crn_histograms *histograms);

/* That of all spans of a block. NULL if there is no space now. */
crn_disk_histogram *crn_histograms_block(crn_histograms *histograms, cairn_block block);

/* That of those with a value, or of the other ones if there are `most` values already. */
typedef struct crn_histogram_value {
    cairn_block block;
    cairn_key key;
    crn_histogram_kind kind;
    uint64_t value;
    const char *text;
} crn_histogram_value;

crn_disk_histogram *crn_histograms_value(crn_histograms *histograms,
                                         const crn_histogram_value *value, uint32_t most);

#endif
