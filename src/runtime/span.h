/* SPDX-License-Identifier: MIT
 *
 * span.h - internals of spans and hand-offs.
 *
 * A strand's stack of open spans holds span numbers, CRN_SPAN_GONE for a span that is not recorded
 * or was overwritten, numbers >= CAIRN_PRIV_ADOPTED for hand-offs (entries above work for them),
 * or one of the values below.
 */
#ifndef CRN_RUNTIME_SPAN_H
#define CRN_RUNTIME_SPAN_H

#include "runtime/runtime.h"

#define CRN_OPEN_DRAWN ((uint32_t)0xfffffffeu) /* bottom of the stack if root spans are sampled */
#define CRN_OPEN_FORKED                                                                            \
    ((uint32_t)0xfffffffdu) /* open at the time of a fork: a span of the parent process, see       \
                               span_fork.c */
#define CRN_OPEN_SKIPPED                                                                           \
    ((uint32_t)0xffffffffu) /* a span below a root span that was not sampled                       \
                             */

/* A hand-off that a strand has adopted. */
typedef struct crn_adoption {
    cairn_span span;
    uint64_t taken;  /* clock */
    cairn_mark mark; /* the stack's height below it */
    uint16_t number; /* distinguishes adoptions of one token; not 0 */
    uint32_t flags;
    uint64_t trace[2], remote; /* as in the hand-off */
} crn_adoption;

static inline bool crn_open_is_adoption(uint32_t open)
{
    return open >= CAIRN_PRIV_ADOPTED && open < CRN_OPEN_FORKED;
}

/* Returns the name of a span of the lane that is not recorded. */
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

/* Prepares a lane for spans, as the profile's options say. False if out of memory. */
bool crn_spans_open(cairn_lane *lane);
void crn_spans_close(cairn_lane *lane);

/* Returns space for a new span and its number. NULL without space, which is counted. */
cairn_priv_span *crn_spans_take(cairn_lane *lane, uint32_t *number);

/* Returns an open span; a dummy if it was overwritten. */
cairn_priv_span *crn_spans_at(const cairn_lane *lane, uint32_t number);

/* Returns an open span's name in the capture. */
static inline cairn_span crn_spans_name(const cairn_lane *lane, uint32_t number)
{
    uint64_t newest = lane->spans.taken - 1, round = newest / CRN_STREAM_CHUNKS;
    uint32_t chunk = (number - 1) / CAIRN_PRIV_SPAN_CHUNK;
    uint32_t within = (number - 1) % CAIRN_PRIV_SPAN_CHUNK, first = lane->spans.ring;
    if (chunk > newest % CRN_STREAM_CHUNKS)
        round--;
    return crn_span_name_make(
        lane->number,
        (round * CRN_STREAM_CHUNKS + chunk) * (CAIRN_PRIV_SPAN_CHUNK - first) + within - first);
}

/* Appends an attribute or edge of a span. */
void crn_spans_put_detail(cairn_lane *lane, crn_disk_detail detail);

/* At the end of the profile, when nothing records: releases prepared space that closed lanes never
 * used, and shortens the file if nobody can write there any more. */
void crn_spans_trim(cairn_profile *profile, bool shorten);

/* Starts the thread that prepares space for spans of all lanes; it is separate because it waits for
 * the disk. A sampling thread that shares the program's files starts it when it is first needed.
 * Stop it with crn_helper_stop(&profile->preparer), after the sampling thread. */
bool crn_preparer_start(cairn_profile *profile);

/* Wakes it, or has the sampling thread start it. Signal safe. */
void crn_preparer_wake(cairn_profile *profile);

/* Starts the preparer if it is wanted and does not run yet. Thread: the sampling one. */
void crn_preparer_start_if_wanted(cairn_profile *profile);

/* ---- open spans: open_spans.c, span.c ---- */

/* Returns false for strands that keep only a stack of blocks. */
static inline bool crn_has_spans(const cairn_strand *strand)
{
    const cairn_profile *profile = crn_lane_of(strand)->profile;
    return (profile->spans || profile->span_histograms) && !strand->records;
}

/* Ends spans without memory that were above `height`, which the stack was dropped to. */
static inline void crn_spans_end_lost(cairn_strand *strand, size_t height)
{
    if (height < strand->lost_spans_from)
        strand->lost_spans = strand->lost_spans_from = 0;
}

static inline bool crn_spans_any_open(const cairn_strand *strand)
{
    return strand->open_spans && strand->hot.open > strand->open_spans + 1;
}

/* Makes the stack of open spans larger. Returns false without memory. */
bool crn_spans_grow(cairn_strand *strand);

/* Handle that a strand begins, without open spans; is freed; and that its lane is abandoned. */
void crn_strand_spans_begin(cairn_strand *strand);
void crn_strand_spans_free(cairn_strand *strand);
void crn_strand_spans_bury(cairn_strand *strand);

/* The stack is dropped to `height`: ends spans above it. Spans that begin above `height` belong to
 * that adoption. */
void crn_spans_unwind(cairn_strand *strand, size_t height);
void crn_spans_adopt(cairn_strand *strand, uint32_t adoption, size_t height);

/* Sends the lane's next span to the slow path, which looks at the profile's mode. Any thread, after
 * the mode has changed. */
void crn_spans_slow(cairn_lane *lane);

/* Drops references to the parent's spans in a child of fork. */
void crn_spans_forget(cairn_lane *lane);

/* Returns the id of the innermost open span if an ancestor process began it; otherwise 0. */
static inline uint64_t crn_spans_forked(const cairn_strand *strand)
{
    if (strand->lost_spans || !strand->open_spans || strand->hot.open[-1].span != CRN_OPEN_FORKED)
        return 0;
    return strand->forked[strand->hot.open - strand->open_spans - 1];
}

enum { CRN_TRACE_SAMPLED = 1 }; /* flag of a trace that is recorded */

/* cairn_handoff_adopt, without a copy of the token. */
void crn_handoff_adopt(cairn_strand *strand, const cairn_handoff *handoff);

/* Adds the trace ids of the strand's work to a token. */
void crn_handoff_name_trace(const cairn_strand *strand, cairn_handoff *handoff);

/* Makes the ids that spans have outside of the process (ids.c). A child of fork keeps the
 * trace id and gets another key for its spans. Under the profile's lock. */
void crn_ids_begin(cairn_profile *profile);
void crn_ids_begin_child(cairn_profile *profile);

/* If a trace without an id began in this process or an ancestor, sets its id and returns true. */
bool crn_trace_make_own(const cairn_profile *profile, uint64_t trace[2]);

/* Returns the clock; where each event reads it, the reading of this event, so that spans and exact
 * time agree to the tick. */
static inline uint64_t crn_spans_stamp(const cairn_lane *lane)
{
    if (crn_profile_mode(lane->profile) == CRN_MODE_EXACT)
        return lane->disk->stamp;
    return crn_clock_now(lane->profile->tsc);
}

#define CRN_AIM_NOWHERE UINT32_MAX

/* Returns the innermost open span, or the one that cairn_scope_aim named; 0 if it is not
 * recorded. */
uint32_t crn_spans_innermost(const cairn_strand *strand);

/* ---- durations: timing.c ---- */

/* Extra data of an open span, if its record is not enough. */
typedef struct crn_timing {
    uint64_t start;     /* clock; 0: not known */
    uint64_t children;  /* total duration of its children on the strand */
    uint64_t cpu;       /* of the thread, ns */
    crn_thread *thread; /* NULL: not known */
    cairn_block block;
    uint32_t splits; /* number of the strand's splits at its begin */
} crn_timing;

void crn_timing_begin(cairn_strand *strand, cairn_block block, uint64_t start);
void crn_timing_end(cairn_strand *strand, uint32_t number, uint64_t end);

/* Counts the innermost open span, when it ends, in a histogram of its own for this value of an
 * attribute, if the program asked for such. `text` is for texts, which have `value` bytes. */
void crn_timing_attribute(cairn_strand *strand, crn_histogram_kind kind, cairn_key key,
                          uint64_t value, const char *text);

/* ---- histograms of a lane: histogram.c ---- */

typedef struct crn_histograms crn_histograms;

crn_histograms *crn_histograms_new(cairn_lane *lane);
void crn_histograms_free(crn_histograms *histograms);
const crn_stream *crn_histograms_space(const crn_histograms *histograms);

/* Clears all histograms, after a reset. */
void crn_histograms_clear(crn_histograms *histograms);

/* Returns the histogram of all spans of a block. NULL without space. */
crn_disk_histogram *crn_histograms_block(crn_histograms *histograms, cairn_block block);

/* Returns the histogram of spans with a value, or that of other values if there are `most`
 * already. */
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
