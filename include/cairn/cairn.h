/* SPDX-License-Identifier: MIT
 *
 * cairn.h - profile a language runtime by calling context.
 *
 * A *profile* writes one capture file. A *lane* is what never runs in parallel
 * with itself (an OS thread, or a Lua state with all its coroutines); it owns one
 * graph of calling contexts. A *strand* is one stack of control on a lane (a
 * thread, a fiber, a coroutine). A *block* is a named piece of source.
 *
 *     cairn_options options = CAIRN_OPTIONS_DEFAULT;
 *     options.path = "toy.cairn";
 *     cairn_profile *profile;
 *     if (cairn_profile_open(&profile, &options) != CAIRN_OK) ...
 *     cairn_block work = cairn_block_add(profile, &(cairn_block_info){.name = "work"});
 *     cairn_strand *strand = cairn_strand_open(cairn_lane_open(profile, "main"));
 *     cairn_enter(strand, work);
 *     cairn_tick(strand, 3);
 *     cairn_leave(strand);
 *     cairn_profile_close(profile);
 *
 * Every function takes NULL for its profile, lane, strand or view and then does
 * nothing (and returns NULL, 0 or CAIRN_E_ARGUMENT), so that a host never has to
 * ask whether it is being profiled.
 *
 * Threads: profile and block functions may be called from any thread. A lane and
 * its strands belong to one thread at a time; handing them to another thread
 * (cairn_lane_hand_over) needs the host's own synchronisation. Signals: nothing here is
 * safe in a signal handler unless its contract says so. `errno` is preserved by every function.
 *
 * Fork: a child goes on, stacks and all, in a capture of its own: x.cairn becomes x.PID.cairn
 * beside it (in memory, if the profile is), with the same blocks, metrics and notes, and the
 * notes "parent" and "forked_from". It is made at the child's first event (whatever is entered,
 * left, charged, opened, added or asked for; not what only closes), so that a child that only
 * execs leaves no file; until then cairn_profile_status is CAIRN_E_FORKED, then CAIRN_OK, or
 * why it could not be made, in which case nothing is recorded. Only lanes of the thread that
 * forked go on (the one that opened the lane or a strand of it, or switched strands, last);
 * those of other threads may still be used and record nothing. Calls that are on a stack
 * already count 0 in the child, each open strand's root counts 1, and time counts from the
 * fork. Children of vfork and posix_spawn are their parent's. A child that came about behind
 * the C library's back (_Fork, clone), or by a fork in a signal handler, must not record.
 */
#ifndef CAIRN_H
#define CAIRN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CAIRN_VERSION "0.1.0"

/* The library's symbols are hidden but for what is marked so. */
#define CAIRN_API __attribute__((visibility("default")))

/* What is inlined changes the stack that who calls it runs on: a compiler that puts hooks into
 * functions (cairn cc, cairn clang, -finstrument-functions) leaves it alone. */
#if defined(__clang__)
#define CAIRN_PRIV_UNSEEN __attribute__((no_instrument_function, xray_never_instrument))
#else
#define CAIRN_PRIV_UNSEEN __attribute__((no_instrument_function))
#endif
/* Behind what ends a scope: it must not become a jump, which its function would have been left
 * before. gcc's plugin knows. */
#if defined(__clang__)
#define CAIRN_PRIV_NO_JUMP() __asm__ volatile("")
#else
#define CAIRN_PRIV_NO_JUMP() ((void)0)
#endif
#define CAIRN_PRIV_INLINE static inline CAIRN_PRIV_UNSEEN

typedef struct cairn_profile cairn_profile;
typedef struct cairn_lane cairn_lane;
typedef struct cairn_strand cairn_strand;
typedef struct cairn_view cairn_view;

/* Identifies a block within its profile. */
typedef uint32_t cairn_block;

/* The block at the bottom of every strand's stack. */
#define CAIRN_BLOCK_ROOT ((cairn_block)0)
/* Contexts that a limit would not let exist are folded below this block. */
#define CAIRN_BLOCK_FOLDED ((cairn_block)0xffffffffu)

/* What a function could not do. The numbers never change. */
typedef enum cairn_error {
    CAIRN_OK = 0,
    CAIRN_E_ARGUMENT = 1,  /* an argument is NULL or out of range */
    CAIRN_E_MEMORY = 2,    /* the system has no memory left */
    CAIRN_E_OPEN = 3,      /* the capture cannot be created at its path */
    CAIRN_E_SPACE = 4,     /* the disk is full, or the file-size cap is reached */
    CAIRN_E_MAP = 5,       /* the capture cannot be mapped */
    CAIRN_E_FORMAT = 6,    /* the file is not a capture, or is damaged */
    CAIRN_E_VERSION = 7,   /* the capture was written by a newer format */
    CAIRN_E_TRUNCATED = 8, /* the capture is cut short before its tables */
    CAIRN_E_THREAD = 9,    /* the sampling thread cannot be started */
    CAIRN_E_FORKED = 10,   /* the capture is the parent's: this process has none yet */
    CAIRN_E_READ = 11,     /* the file cannot be read */
    CAIRN_E_LIMIT = 12     /* more blocks, metrics or lanes than the format holds */
} cairn_error;

/* One sentence on what `error` means and what to do. Never NULL; static storage. */
CAIRN_API const char *cairn_error_text(cairn_error error);

/* ---- metrics -------------------------------------------------------------- */

/* A number charged to contexts. Ids from CAIRN_METRIC_USER on come from cairn_metric_add. */
typedef uint32_t cairn_metric;
#define CAIRN_METRIC_CALLS ((cairn_metric)0)
#define CAIRN_METRIC_TICKS ((cairn_metric)1)
#define CAIRN_METRIC_WALL ((cairn_metric)2) /* nanoseconds */
#define CAIRN_METRIC_CPU ((cairn_metric)3)  /* nanoseconds */
#define CAIRN_METRIC_USER ((cairn_metric)4)
#define CAIRN_METRIC_MAX ((cairn_metric)32)

/* ---- profiles ------------------------------------------------------------- */

/* How wall time is taken. */
typedef enum cairn_wall {
    CAIRN_WALL_OFF = 0,
    CAIRN_WALL_SAMPLED = 1, /* what has passed since the last sample, every sample_period_ns */
    CAIRN_WALL_EXACT = 2    /* the time stamp counter is read at every event */
} cairn_wall;

/* How the processor time of the thread that a lane runs on is taken. */
typedef enum cairn_cpu {
    CAIRN_CPU_OFF = 0,
    CAIRN_CPU_SAMPLED = 1 /* what has passed since the last sample, every sample_period_ns */
} cairn_cpu;

/* Who says when a sample is due. */
typedef enum cairn_sampler {
    CAIRN_SAMPLER_THREAD = 0, /* one thread for all lanes, which interrupts nobody */
    CAIRN_SAMPLER_TIMER = 1   /* a timer on each thread's own CPU clock, which sends it a signal:
                               * cpu only, and no oftener than the kernel's ticks. A loop in step
                               * with these ticks is seen wrongly, however many samples there are.
                               * sigwait, sigtimedwait, signalfd and sigpending with a set of all
                               * signals see this one, too; what they take is a lost sample, and
                               * the next comes within some tenths of a second */
} cairn_sampler;

/* What becomes of spans (span.h) when a lane has as many as it may keep. */
typedef enum cairn_span_policy {
    CAIRN_SPANS_KEEP_FIRST = 0, /* further ones are dropped, and counted */
    CAIRN_SPANS_KEEP_LAST = 1   /* the oldest make room, and are counted */
} cairn_span_policy;

/* What is profiled and where it goes. Start from CAIRN_OPTIONS_DEFAULT. */
typedef struct cairn_options {
    size_t size;               /* sizeof(cairn_options), so that fields can be added */
    const char *path;          /* the capture; NULL keeps it in memory for queries only. What
                                * `cairn run` wants is in the environment, as CAIRN_OUT. A
                                * file that is there is replaced if it is a capture. Of
                                * several that are opened with one path each has a file of
                                * its own, whole, and the last of them the name; or, where
                                * they are opened in the same moment, CAIRN_E_OPEN. */
    const char *command;       /* what is profiled, for the report; may be NULL */
    const char *labels;        /* "key=value" lines for the report; may be NULL */
    cairn_wall wall;           /* default: off */
    cairn_cpu cpu;             /* default: off */
    cairn_sampler sampler;     /* default: the thread */
    uint64_t sample_period_ns; /* between samples of wall and cpu; default 1,000,000 */
    double sample_overhead;    /* longer periods are used while samples take more than this part
                                * of the program's time; 0: never; default 0.01 */
    uint64_t tick_period;      /* 1 is exact; N takes one sample in each N ticks; default 1 */
    uint64_t seed;             /* of the jitter of sampled ticks */
    uint32_t path_limit;       /* longest canonical path, root included; default 1,024 */
    uint32_t context_budget;   /* most contexts a lane may have; default 4,194,304 */
    uint64_t file_limit;       /* most bytes the capture may take; default 4 GiB */
    bool spans;                /* record single executions, see span.h; default: off */
    bool span_histograms;      /* keep by block how long spans took, also of those that are not
                                * recorded, and with `spans` off; default: off */
    bool span_cpu;             /* read the thread's processor time where a span begins and ends:
                                * two system calls a span; default: off */

    /* Bytes of spans that a lane may keep, and as many of their attributes and edges; at least
     * 1 MiB is. Default 0: keeping the first, what the file limit lets be; the last, 64 MiB. */
    uint64_t span_limit;
    cairn_span_policy span_policy; /* default: keep the first */

    /* The share of trees of spans that is recorded, each with all of its spans wherever they run;
     * drawn, from `seed`, where a span without a parent begins. Above 0; default 1: all. */
    double span_rate;

    bool disabled;            /* open without recording; see cairn_profile_enable */
    cairn_profile *blocks_of; /* has the same blocks by the same numbers, now and whenever one is
                               * added to either, so that strands can be redirected from one to
                               * the other; default NULL */
} cairn_options;

/* clang-format off */
#define CAIRN_OPTIONS_DEFAULT                                                                      \
    {sizeof(cairn_options), NULL, NULL, NULL, CAIRN_WALL_OFF, CAIRN_CPU_OFF, CAIRN_SAMPLER_THREAD, \
     1000000, 0.01, 1, 1, 1024, 4194304, (uint64_t)4 << 30, false, false, false, 0,                \
     CAIRN_SPANS_KEEP_FIRST, 1, false, NULL}
/* clang-format on */

/* Creates the capture and starts recording. On error `*profile` is NULL, and so every
 * later call is a no-op: a host may ignore the result and run unprofiled. */
CAIRN_API cairn_error cairn_profile_open(cairn_profile **profile, const cairn_options *options);

/* Charges what is still to be charged, closes every lane and strand, ends the capture
 * and frees everything. No lane or strand may be used afterwards. */
CAIRN_API void cairn_profile_close(cairn_profile *profile);

/* Start and stop recording. Stacks are kept while recording is off, so that enabling in
 * the middle of a program is right: frames entered while off count as their caller. A lane
 * notices at its next event on the strand that runs (cairn_strand_switch). While recording is
 * off, what is entered and left is only kept on the stack, which costs about what counting it
 * would (bench/SWEEP.md); what costs nothing is a strand that is NULL.
 * (fble's profile tree: the enabled flag is internal, and there is a function for it.) */
CAIRN_API void cairn_profile_enable(cairn_profile *profile);
CAIRN_API void cairn_profile_disable(cairn_profile *profile);

/* Begins all figures anew at 0, while stacks and contexts stay: time counts from now on, and
 * the root of each strand that is open counts one call, so that calls are again those entered
 * and replaced, and one for each strand. A view, or a reader of the file, never sees what was
 * before. Lanes of other threads notice at their next event on the strand that runs and have no
 * figures until then, and what a thread records in the very moment of the call may count or
 * not; a lane takes time in proportion to its contexts then. Thread: any. */
CAIRN_API void cairn_profile_reset(cairn_profile *profile);

/* CAIRN_OK, or why recording stopped by itself (CAIRN_E_SPACE, ...). */
CAIRN_API cairn_error cairn_profile_status(const cairn_profile *profile);

/* Adds "key=value" to what the report says about the run: options, exit status, labels.
 * The last value of a key holds. Both strings are copied. */
CAIRN_API cairn_error cairn_profile_note(cairn_profile *profile, const char *key,
                                         const char *value);

/* Writes all that was recorded so far as a closed capture at `path` (a file that is there is
 * replaced if it is a capture), while the program goes on: what other threads are recording
 * just now may or may not be in it, as in a view. Blocks nobody. Thread: any. Errors: those of
 * opening a capture; CAIRN_E_ARGUMENT if `path` is the profile's own capture. */
CAIRN_API cairn_error cairn_profile_snapshot(cairn_profile *profile, const char *path);

/* Defines a metric, such as "cache misses" in unit "count"; or gives that of the name, where a
 * host has defined it already. Returns CAIRN_METRIC_MAX if there are too many. */
CAIRN_API cairn_metric cairn_metric_add(cairn_profile *profile, const char *name, const char *unit);

/* ---- blocks --------------------------------------------------------------- */

typedef struct cairn_block_info {
    const char *name;   /* what a person would call it */
    const char *file;   /* may be NULL */
    uint32_t line;      /* 1-based; 0 is unknown */
    uint32_t column;    /* 1-based; 0 is unknown */
    cairn_block parent; /* the block that it is written inside of, or CAIRN_BLOCK_ROOT */
} cairn_block_info;

/* Adds a block, at any moment. Ids count up from 1. The strings are copied. Returns
 * CAIRN_BLOCK_ROOT when the profile is NULL or has no room. Not deduplicated. */
CAIRN_API cairn_block cairn_block_add(cairn_profile *profile, const cairn_block_info *info);

/* The same, but the one that this has made before for the same name, file and line, if it has. */
CAIRN_API cairn_block cairn_block_once(cairn_profile *profile, const cairn_block_info *info);

/* ---- lanes and strands ---------------------------------------------------- */

/* Opens a lane. NULL when there is no memory: then its strands are NULL too.
 * The graph of a lane that was closed is carried on by the next lane opened. */
CAIRN_API cairn_lane *cairn_lane_open(cairn_profile *profile, const char *name);

/* Closes the lane and all its strands. */
CAIRN_API void cairn_lane_close(cairn_lane *lane);

/* The thread that the lane is on will not use it any more, and another one may: what the lane
 * has cost is charged, to the clock tick. The next thread that has an event on the lane takes it
 * over with that event; the time in between is nobody's. For fibers and tasks that move between
 * threads: call it before the other thread can run one. Without it a move shows with the next
 * sample, what each thread spent is right to within a period, and a child that is forked before
 * then does not have the lane. A thread that ends hands over
 * what it still has. Thread: the lane's. (MLton loses a thread's last ticks: this does not.) */
CAIRN_API void cairn_lane_hand_over(cairn_lane *lane);

/* Opens a strand with an empty stack: its context is the root, whose calls go up by one.
 * The first strand of a lane is its running strand. */
CAIRN_API cairn_strand *cairn_strand_open(cairn_lane *lane);

/* Ends a strand, whatever is still on its stack. If it was running, no strand is. */
CAIRN_API void cairn_strand_close(cairn_strand *strand);

/* Says that `strand` is the one of its lane that runs from now on. Exact time that has
 * passed is charged to the strand that ran before; a sample goes to the one that runs
 * when it is taken. */
CAIRN_API void cairn_strand_switch(cairn_strand *strand);

/* The lane that the strand is on; the profile that the lane is in. NULL for NULL. */
CAIRN_API cairn_lane *cairn_strand_lane(const cairn_strand *strand);
CAIRN_API cairn_profile *cairn_lane_profile(const cairn_lane *lane);

/* How many frames are on the strand's stack. */
CAIRN_API size_t cairn_strand_depth(const cairn_strand *strand);

/* Remembers the height of the stack: right for setjmp, protected calls, `try`. */
typedef size_t cairn_mark;
CAIRN_API cairn_mark cairn_strand_mark(const cairn_strand *strand);

/* Drops to a height that cairn_strand_mark gave. A height that is above the stack is
 * counted as a misuse and otherwise ignored. A frame that was replaced (a tail call)
 * since the mark keeps what replaced it. */
CAIRN_API void cairn_strand_unwind(cairn_strand *strand, cairn_mark mark);

/* Goes on in the profile `to` for a while, which shares its blocks with the strand's (see
 * blocks_of in cairn_options): returns the strand to use meanwhile, on a lane of `to` that stands
 * in for this strand's. It has the same stack, whose frames count no calls there; its root counts
 * one, as each strand's does. `from` rests: time is charged to the one or the other, never to
 * both. NULL if `to` is NULL (what follows is not recorded), shares no blocks (a misuse), or there
 * is no memory; cairn_strand_return comes back from that, too. May be nested, with either strand:
 * it is always the innermost one that goes on elsewhere. While it rests, nothing but switch,
 * redirect, return, depth and close may be called with `from`. Thread: the lane's. The stand-in
 * lane moves and closes with the lane; `to` may be closed meanwhile by that thread: what
 * follows up to the return is not recorded. Takes time in proportion to the stack's height.
 * (MLton: MLton.Profile.withData.) */
CAIRN_API cairn_strand *cairn_strand_redirect(cairn_strand *from, cairn_profile *to);

/* Comes back from the innermost redirection of `from`, whose strand is closed. `from` gets the
 * stack as it is then: without what was left or unwound there, with what was entered there, which
 * counts no calls here. (After a redirection to NULL, the stack is as it was.) Thread: the lane's.
 * Where there is nothing to return from, it is counted as a misuse. */
CAIRN_API void cairn_strand_return(cairn_strand *from);

/* Charges `amount` of a metric to the strand's context. Calls cannot be charged. */
CAIRN_API void cairn_charge(cairn_strand *strand, cairn_metric metric, uint64_t amount);

/* For hosts that walk a stack of their own now and then instead of calling enter and
 * leave: charges `amount` to the context that `path` (outermost first, the root left out)
 * leads to. Counts no calls; the strand's own stack is not looked at. */
CAIRN_API void cairn_sample(cairn_strand *strand, const cairn_block *path, size_t length,
                            cairn_metric metric, uint64_t amount);

/* Contexts by number, for hosts that keep their own stacks or remember where something was
 * made (the allocation that is freed later). A number belongs to its lane, and is good for as
 * long as the profile is; but in a child of fork contexts have other numbers. */
typedef uint32_t cairn_context;
#define CAIRN_CONTEXT_ROOT ((cairn_context)1)

/* The context that runs on the strand; 0 for NULL. */
CAIRN_API cairn_context cairn_strand_context(const cairn_strand *strand);

/* Where `block` leads to from `from`, made if need be. Counts no call. Thread: the lane's. */
CAIRN_API cairn_context cairn_context_step(cairn_lane *lane, cairn_context from, cairn_block block);

/* Charges a context of the lane. Calls cannot be charged. Thread: the lane's. */
CAIRN_API void cairn_context_charge(cairn_lane *lane, cairn_context context, cairn_metric metric,
                                    uint64_t amount);

/* The counters that cairn_context_charge adds to, by context, at least up to `context`; for hosts
 * that charge millions of times a second, and add to them by themselves. Of metrics that
 * cairn_metric_add has made. NULL where nothing is recorded, or there is no room. Thread: the
 * lane's. Good until this or cairn_context_charge is called for this metric and a higher context,
 * and not in a child of fork, nor after the profile is disabled or closed. */
CAIRN_API uint64_t *cairn_context_counters(cairn_lane *lane, cairn_metric metric,
                                           cairn_context context);

/* How many ticks may still pass on the strand's lane before one that is sampled: a host
 * that counts by interrupting itself need not do so before. 0 where ticks are exact. */
CAIRN_API uint32_t cairn_tick_due(const cairn_strand *strand);

/* cairn_enter, cairn_replace, cairn_leave and cairn_tick are in hot.h; strands that keep only
 * their stack, which costs less than counts, in stack.h. */

/* ---- queries -------------------------------------------------------------- */

/* What a context or an edge cost. Wall is in nanoseconds, by the calibration of the time
 * stamp counter so far: what it makes of the same reading settles by some parts in 10,000
 * in the profile's first milliseconds. */
typedef struct cairn_cost {
    uint64_t calls;
    uint64_t ticks;
    uint64_t wall;
    uint64_t cpu; /* nanoseconds */
} cairn_cost;

/* Takes a snapshot of everything recorded so far, all lanes merged; of sampled ticks, what
 * their last two intervals will be charged is not in it yet. Safe while other
 * threads record; what they are recording just now may or may not be in it. */
CAIRN_API cairn_error cairn_view_open(cairn_view **view, cairn_profile *profile);
CAIRN_API void cairn_view_close(cairn_view *view);

/* The block's description, valid as long as the view. NULL if there is no such block. */
CAIRN_API const cairn_block_info *cairn_view_block(const cairn_view *view, cairn_block block);

/* Visits every context, parents first. `sequence` is its canonical path, root first,
 * valid during the call. Stops when the visitor returns false.
 * (fble's FbleQueryProfile.) */
typedef bool cairn_context_visitor(void *data, const cairn_block *sequence, size_t length,
                                   const cairn_cost *cost);
CAIRN_API void cairn_view_contexts(const cairn_view *view, cairn_context_visitor *visit,
                                   void *data);

/* Visits every edge: `block` was entered `calls` times from the context whose path is
 * `sequence`. `target_length` is the length of the path that it leads to: length + 1, or
 * less where a cycle or a limit folds it into an ancestor, or 3 where a limit folds it into
 * [folded]/block, which is not on the path. */
typedef bool cairn_edge_visitor(void *data, const cairn_block *sequence, size_t length,
                                cairn_block block, size_t target_length, uint64_t calls);
CAIRN_API void cairn_view_edges(const cairn_view *view, cairn_edge_visitor *visit, void *data);

/* Looks up the context that `sequence` leads to, the root left out; the sequence need not
 * be canonical. False if nothing ran there. */
CAIRN_API bool cairn_view_find(const cairn_view *view, const cairn_block *sequence, size_t length,
                               cairn_cost *cost);

/* How many calls end in `sequence`: {b} counts the calls of b, {a, b} those of b from a. */
CAIRN_API uint64_t cairn_view_calls(const cairn_view *view, const cairn_block *sequence,
                                    size_t length);

#ifdef __cplusplus
}
#endif

#include "hot.h"

#endif
