/* SPDX-License-Identifier: MIT
 *
 * span.h - internals of spans and hand-offs.
 *
 * An entry of a strand's stack of open spans is: a span's number; CRN_SPAN_GONE for a span that is
 * not recorded or was overwritten; a number >= CAIRN_PRIV_ADOPTED for an adoption, to which the
 * entries above it belong; or one of the values below.
 */
#ifndef CRN_RUNTIME_SPAN_H
#define CRN_RUNTIME_SPAN_H

#include "runtime/runtime.h"

#define CRN_OPEN_DRAWN ((uint32_t)0xfffffffeu) /* bottom of the stack if root spans are sampled */
#define CRN_OPEN_FORKED                                                                            \
    ((uint32_t)0xfffffffdu) /* a span of an ancestor process, open at the fork (span_fork.c) */
#define CRN_OPEN_SKIPPED                                                                           \
    ((uint32_t)0xffffffffu) /* a span below a root span that was not sampled                       \
                             */

/* A hand-off that a strand has adopted. */
typedef struct crn_adoption {
    cairn_span span;
    uint64_t taken;  /* clock */
    cairn_mark mark; /* height of the strand's stack before the adoption */
    uint16_t number; /* distinguishes adoptions of one token; not 0 */
    uint32_t flags;
    uint64_t trace[2], remote; /* as in the hand-off */
} crn_adoption;

static inline bool crn_open_is_adoption(uint32_t open)
{
    return open >= CAIRN_PRIV_ADOPTED && open < CRN_OPEN_FORKED;
}

/* Returns the name that stands for any span of the lane that is not recorded. */
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

/* Prepares a lane for spans, as the profile's options say. Returns false without memory. */
bool crn_spans_open(cairn_lane *lane);
void crn_spans_close(cairn_lane *lane);

/* Returns space for a new span, and sets `*number` to its number. Without space counts a dropped
 * span and returns NULL. */
cairn_priv_span *crn_spans_take(cairn_lane *lane, uint32_t *number);

/* Returns the record of an open span. If the span was overwritten, returns a record in the dummy
 * chunk (stream.h), where writes do no harm. */
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

/* Releases prepared space that closed lanes never used, at the end of the profile. Returns the end
 * of what the file still needs; UINT64_MAX if all of it, or on an error. */
uint64_t crn_spans_trim(cairn_profile *profile);

/* Starts the preparer, a thread of its own because it waits for the disk. If a sampling thread runs
 * that shares the program's file table, leaves the start to that thread, when a lane first takes a
 * chunk. Returns false if the preparer cannot start. Stop it with
 * crn_helper_stop(&profile->preparer), after the sampling thread. */
bool crn_preparer_start(cairn_profile *profile);

/* Wakes the preparer, or has the sampling thread start it. Signal safe. */
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

/* Ends the open spans for which there was no memory, if the first of them is above `height`, to
 * which the strand's stack was dropped. */
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

/* Prepare an opened strand; free its memory for spans; make it record none, on an abandoned
 * lane. */
void crn_strand_spans_begin(cairn_strand *strand);
void crn_strand_spans_free(cairn_strand *strand);
void crn_strand_spans_bury(cairn_strand *strand);

/* crn_spans_unwind ends the spans and adoptions above `height`, to which the stack is dropped.
 * crn_spans_adopt makes the spans that begin above `height` children of the strand's adoption with
 * the index `adoption`. */
void crn_spans_unwind(cairn_strand *strand, size_t height);
void crn_spans_adopt(cairn_strand *strand, uint32_t adoption, size_t height);

/* Sends the lane's next span to the slow path, which looks at the profile's mode. Thread: any,
 * after a change of the mode. */
void crn_spans_slow(cairn_lane *lane);

/* Ends all references to spans of the parent's capture, in a child of fork. */
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

/* Makes the trace id and the key of span ids (ids.c). A child of fork keeps the trace id and gets
 * another key. Call it with the profile's lock held. */
void crn_ids_begin(cairn_profile *profile);
void crn_ids_begin_child(cairn_profile *profile);

/* Sets `trace` to the profile's trace id and returns true if both words of `trace` are 0: then the
 * trace began in this process or an ancestor. Otherwise returns false. */
bool crn_trace_make_own(const cairn_profile *profile, uint64_t trace[2]);

/* Returns the profile's clock. With exact wall time returns the last event's reading, so that spans
 * and exact time agree. */
static inline uint64_t crn_spans_stamp(const cairn_lane *lane)
{
    if (crn_profile_mode(lane->profile) == CRN_MODE_EXACT)
        return lane->disk->stamp;
    return crn_clock_now(lane->profile->tsc);
}

#define CRN_AIM_NOWHERE UINT32_MAX

/* Returns the span of cairn_scope_aim, otherwise the innermost open span; 0 if that is not
 * recorded. */
uint32_t crn_spans_innermost(const cairn_strand *strand);

/* ---- durations: timing.c ---- */

/* Data of an open span for histograms and CPU time, beyond the span's record. */
typedef struct crn_timing {
    uint64_t start;     /* clock; 0: not known */
    uint64_t children;  /* total duration of its children on the strand */
    uint64_t cpu;       /* CPU time of the thread at the begin, ns */
    crn_thread *thread; /* thread that began the span; NULL: not known */
    cairn_block block;
    uint32_t splits; /* number of the strand's `splits` at the begin */
} crn_timing;

/* crn_timing_begin stores what is to be known of the innermost open span. crn_timing_end counts
 * that span after it was popped from the stack of open spans; `number` was its entry there. */
void crn_timing_begin(cairn_strand *strand, cairn_block block, uint64_t start);
void crn_timing_end(cairn_strand *strand, uint32_t number, uint64_t end);

/* Adds the histogram for this value of an attribute to those that will count the innermost open
 * span at its end. Does nothing unless the program asked for such histograms (cairn_key_split).
 * `value` is the length of `text`, if `text` is not NULL. */
void crn_timing_attribute(cairn_strand *strand, crn_histogram_kind kind, cairn_key key,
                          uint64_t value, const char *text);

/* ---- histograms of a lane: histogram.c ---- */

typedef struct crn_histograms crn_histograms;

crn_histograms *crn_histograms_new(cairn_lane *lane);
void crn_histograms_free(crn_histograms *histograms);
const crn_stream *crn_histograms_space(const crn_histograms *histograms);

/* Sets all histograms to zero, for a reset. */
void crn_histograms_clear(crn_histograms *histograms);

/* Returns the histogram of all spans of a block. NULL without space. */
crn_disk_histogram *crn_histograms_block(crn_histograms *histograms, cairn_block block);

/* A value of an attribute in spans of a block. crn_histograms_value returns the value's histogram,
 * or that of other values if `most` values have one. */
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
