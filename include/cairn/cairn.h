/* SPDX-License-Identifier: MIT
 *
 * cairn.h - profile a language runtime by calling context.
 *
 * A *profile* writes one capture file. A *block* is a named piece of source. A *strand* is one
 * stack of control: a thread, a fiber, a coroutine. A *lane* is a group of strands of which only
 * one runs at a time (an OS thread, or a Lua state with all its coroutines); it owns one graph of
 * calling contexts.
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
 * NULL: every function accepts NULL for its profile, lane, strand or view. The function then does
 * nothing and returns NULL, 0 or CAIRN_E_ARGUMENT, so a host need not test whether it is profiled.
 *
 * Threads: functions on profiles and blocks may be called from any thread. A lane and its strands
 * belong to one thread at a time; moving them to another thread (cairn_lane_hand_over) needs the
 * host's own synchronisation.
 *
 * Signals: nothing here is safe in a signal handler unless its contract says so. Every function
 * preserves `errno`.
 *
 * Fork: a child continues with its stacks in a capture of its own: x.PID.cairn beside x.cairn (in
 * memory, if the profile is), with the same blocks, metrics and notes, and the notes "parent" and
 * "forked_from". The capture is made at the child's first event (anything except closing), so a
 * child that only execs leaves no file. Until then cairn_profile_status returns CAIRN_E_FORKED;
 * afterwards CAIRN_OK, or the reason why nothing is recorded. Only lanes of the forking thread
 * continue (a lane is of the thread that last opened it or a strand of it, or switched its
 * strands); lanes of other threads may be used but record nothing. Calls that are on a stack at the
 * fork count 0 in the child, the root of each open strand counts 1, and time counts from the fork.
 * Children of vfork and posix_spawn belong to their parent. A child must not record if _Fork or
 * clone made it, or a fork in a signal handler.
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

/* The library exports only symbols with this attribute. */
#define CAIRN_API __attribute__((visibility("default")))

/* Keeps the hooks of cairn cc, cairn clang and -finstrument-functions out of Cairn's inlined
 * functions, which change the strand's stack for the function around them. */
#if defined(__clang__)
#define CAIRN_PRIV_UNSEEN __attribute__((no_instrument_function, xray_never_instrument))
#else
#define CAIRN_PRIV_UNSEEN __attribute__((no_instrument_function))
#endif
/* Follows the call that ends a scope. Otherwise clang could make that call a tail call, which would
 * run after the function's leave. Cairn's GCC plugin knows these calls. */
#if defined(__clang__)
#define CAIRN_PRIV_NO_JUMP() __asm__ volatile("")
#else
#define CAIRN_PRIV_NO_JUMP() ((void)0)
#endif
#define CAIRN_PRIV_INLINE static inline CAIRN_PRIV_UNSEEN

/* True if `strand` is NULL, so that nothing is recorded. With CAIRN_DISABLE (scope.h) it is true at
 * compile time, at every level of optimisation. */
#ifdef CAIRN_DISABLE
#define CAIRN_PRIV_OFF(strand) (1 || !(strand))
#else
#define CAIRN_PRIV_OFF(strand) __builtin_expect(!(strand), 1)
#endif

/* Declares a function of the library, or with CAIRN_DISABLE an inline function that records
 * nothing. */
#ifdef CAIRN_DISABLE
#define CAIRN_PRIV_API CAIRN_PRIV_INLINE
#else
#define CAIRN_PRIV_API CAIRN_API
#endif

typedef struct cairn_profile cairn_profile;
typedef struct cairn_lane cairn_lane;
typedef struct cairn_strand cairn_strand;
typedef struct cairn_view cairn_view;

/* Identifies a block within its profile. */
typedef uint32_t cairn_block;

/* The block `[root]`, at the bottom of every strand's stack. */
#define CAIRN_BLOCK_ROOT ((cairn_block)0)
/* The block of `[folded]`, below which contexts stand for those that a limit prevented. */
#define CAIRN_BLOCK_FOLDED ((cairn_block)0xffffffffu)

/* Error codes. The numbers never change. */
typedef enum cairn_error {
    CAIRN_OK = 0,
    CAIRN_E_ARGUMENT = 1,  /* an argument is NULL or out of range */
    CAIRN_E_MEMORY = 2,    /* the system has no memory left */
    CAIRN_E_OPEN = 3,      /* the capture cannot be created at this path */
    CAIRN_E_SPACE = 4,     /* the disk is full, or the file limit is reached */
    CAIRN_E_MAP = 5,       /* the capture cannot be mapped */
    CAIRN_E_FORMAT = 6,    /* the file is not a capture, or is damaged */
    CAIRN_E_VERSION = 7,   /* the capture was written by a newer version */
    CAIRN_E_TRUNCATED = 8, /* the file is empty or truncated */
    CAIRN_E_THREAD = 9,    /* a thread or timer of Cairn cannot run */
    CAIRN_E_FORKED = 10,   /* after a fork: this process has no capture yet */
    CAIRN_E_READ = 11,     /* the file cannot be read */
    CAIRN_E_LIMIT = 12,    /* the format holds no more blocks, texts or counters */
    CAIRN_E_LOST = 13      /* the file was truncated, or could not be written (cairn_catch_fault) */
} cairn_error;

/* Returns one sentence about the error and what to do. Never NULL; static storage. */
CAIRN_API const char *cairn_error_text(cairn_error error);

/* ---- metrics -------------------------------------------------------------- */

/* A number that is charged to contexts. Values from CAIRN_METRIC_USER on come from
 * cairn_metric_add. */
typedef uint32_t cairn_metric;
#define CAIRN_METRIC_CALLS ((cairn_metric)0)
#define CAIRN_METRIC_TICKS ((cairn_metric)1)
#define CAIRN_METRIC_WALL ((cairn_metric)2) /* nanoseconds */
#define CAIRN_METRIC_CPU ((cairn_metric)3)  /* nanoseconds */
#define CAIRN_METRIC_USER ((cairn_metric)4)
#define CAIRN_METRIC_MAX ((cairn_metric)32)

/* ---- profiles ------------------------------------------------------------- */

/* The clock for wall time. */
typedef enum cairn_wall {
    CAIRN_WALL_OFF = 0,
    CAIRN_WALL_SAMPLED = 1, /* every sample_period_ns, the time since the last sample is charged */
    CAIRN_WALL_EXACT = 2    /* the time stamp counter is read at every event */
} cairn_wall;

/* The clock for the processor time of a lane's thread. */
typedef enum cairn_cpu {
    CAIRN_CPU_OFF = 0,
    CAIRN_CPU_SAMPLED = 1 /* every sample_period_ns, the time since the last sample is charged */
} cairn_cpu;

/* The trigger of samples. */
typedef enum cairn_sampler {
    CAIRN_SAMPLER_THREAD = 0, /* one thread for all lanes; it interrupts nothing */
    CAIRN_SAMPLER_TIMER = 1   /* cpu only: a timer on each thread's CPU clock sends the thread a
                                 signal, at most at the rate of the kernel's timer tick. A program
                                 in step with that tick is measured wrongly, whatever the number of
                                 samples. sigpending shows the signal. If the program takes it
                                 (sigwait, sigtimedwait or signalfd with all signals), the sample is
                                 lost, and the next comes within tenths of a second */
} cairn_sampler;

/* The behaviour of a lane that has as many spans (span.h) as it may keep. */
typedef enum cairn_span_policy {
    CAIRN_SPANS_KEEP_FIRST = 0, /* drops and counts further spans */
    CAIRN_SPANS_KEEP_LAST = 1   /* overwrites and counts the oldest spans */
} cairn_span_policy;

/* Options of a profile. Start from CAIRN_OPTIONS_DEFAULT. */
typedef struct cairn_options {
    size_t size;               /* sizeof(cairn_options): allows fields to be added */
    const char *path;          /* path of the capture; NULL: in memory, for queries only. `cairn
                                  run` passes its choice in CAIRN_OUT. Replaces an existing capture,
                                  no other file. Only the owner may read the capture (mode 0600).
                                  The file gets its name when a reader can read it. If several
                                  profiles are opened with the same path, each writes a whole file
                                  and the last one has the name */
    const char *command;       /* command line to show in reports; may be NULL */
    const char *labels;        /* "key=value" lines to show in reports; may be NULL */
    cairn_wall wall;           /* default: off */
    cairn_cpu cpu;             /* default: off */
    cairn_sampler sampler;     /* default: the sampling thread */
    uint64_t sample_period_ns; /* ns between samples of wall and cpu; default 1,000,000 */
    double sample_overhead;    /* the period is increased while sampling takes more than this share
                                  of the program's time; 0: the period is fixed; default 0.01 */
    uint64_t tick_period;      /* 1: exact; N: one sample in N ticks; default 1 */
    uint64_t seed;             /* seed of everything random: intervals of ticks, gaps between
                                  samples, trees of spans */
    uint32_t path_limit;       /* longest canonical path, including the root; at least 4; default
                                  1,024 */
    uint32_t context_budget;   /* limit on contexts of a lane; at least 4; default 4,194,304 */
    uint64_t file_limit;       /* limit on bytes of the capture; default 4 GiB */
    bool spans;                /* record spans (span.h); default: off */
    bool span_histograms;      /* count histograms of span durations by block, for unrecorded
                                  spans too, and also if `spans` is off; default: off */
    bool span_cpu;             /* measure the processor time of each span: two system calls a
                                  span; default: off */
    bool off_core;             /* record when threads are off core, and whether they wait or are
                                  ready; done by a thread of the profile; default: off */

    /* Limit on the bytes of a lane's spans; the same limit holds for the bytes of their attributes
     * and edges. At least 1 MiB. Default 0: file_limit if the first spans are kept, 64 MiB if the
     * last. */
    uint64_t span_limit;
    cairn_span_policy span_policy; /* default: keep the first */

    /* Share of the trees of spans that is recorded, chosen at random (from `seed`) when a root span
     * begins; a tree is recorded whole, wherever its spans run. In (0, 1]; default 1. */
    double span_rate;

    bool disabled;            /* open without recording; see cairn_profile_enable */
    cairn_profile *blocks_of; /* another profile to share blocks with: a block added to one gets the
                                 same number in the other, so that strands can be redirected between
                                 the two; default NULL */
} cairn_options;

/* clang-format off */
#define CAIRN_OPTIONS_DEFAULT                                                                      \
    {sizeof(cairn_options), NULL, NULL, NULL, CAIRN_WALL_OFF, CAIRN_CPU_OFF, CAIRN_SAMPLER_THREAD, \
     1000000, 0.01, 1, 1, 1024, 4194304, (uint64_t)4 << 30, false, false, false, false, 0,         \
     CAIRN_SPANS_KEEP_FIRST, 1, false, NULL}
/* clang-format on */

/* Sets an option from text that a host got from `cairn run`. `name` is the name of an option of
 * `cairn run` without the dashes ("span-limit"), or "labels". `value` has the form of the
 * environment variable (CAIRN_SPAN_LIMIT), with times in ns; it is not copied. Returns false, and
 * changes nothing, if the name is unknown or the value is bad. Thread: any. Signal safe. */
CAIRN_API bool cairn_options_set(cairn_options *options, const char *name, const char *value);

/* Creates the capture and starts recording. On an error `*profile` is NULL and every later call
 * does nothing: a host may ignore the result and run unprofiled. */
CAIRN_API cairn_error cairn_profile_open(cairn_profile **profile, const cairn_options *options);

/* Charges outstanding time, closes all lanes and strands, completes the capture and frees
 * everything. Lanes and strands must not be used afterwards. */
CAIRN_API void cairn_profile_close(cairn_profile *profile);

/* Start and stop recording. Stacks are maintained while recording is off, so that it can be
 * switched on in the middle of a program: frames entered while it was off are charged to their
 * caller. A lane notices at the next event on its current strand (cairn_strand_switch). Events
 * while recording is off cost about as much as counting them (bench/SWEEP.md); for no cost at all,
 * use a NULL strand. */
CAIRN_API void cairn_profile_enable(cairn_profile *profile);
CAIRN_API void cairn_profile_disable(cairn_profile *profile);

/* Sets all figures to 0; stacks and contexts stay. Time counts from now on, and the root of each
 * open strand counts one call, so that the calls are still the sum of enters and replaces plus one
 * for each strand. Views and readers of the file never see figures from before the reset. Lanes of
 * other threads reset at the next event on their current strand and have no figures until then; an
 * event at the very moment of the call may count or not. Each lane takes time in proportion to its
 * contexts. Thread: any. */
CAIRN_API void cairn_profile_reset(cairn_profile *profile);

/* Returns CAIRN_OK, or the first reason why recording stopped (CAIRN_E_SPACE, ...) or is incomplete
 * (CAIRN_E_MEMORY, CAIRN_E_THREAD, ...). */
CAIRN_API cairn_error cairn_profile_status(const cairn_profile *profile);

/* Handles a fault in a capture, if a handler of SIGBUS calls it with `si_addr`: an access to a
 * capture raises SIGBUS if somebody truncates the file, or if the file system has no space for a
 * block that it must copy. If the fault is in a capture, ends recording and returns true: return
 * from the handler, and the program goes on. Threads must not block the signal. Programs that
 * `cairn run` or `cairn cc` profiles need no handler. Signal safe. */
CAIRN_API bool cairn_catch_fault(const void *address);

/* Adds "key=value" to the notes that reports show about the run. The last value of a key counts.
 * Both strings are copied. */
CAIRN_API cairn_error cairn_profile_note(cairn_profile *profile, const char *key,
                                         const char *value);

/* Writes what was recorded so far as a closed capture at `path` while the program continues. An
 * existing capture is replaced. Events that other threads record at this moment may be missing, as
 * in a view. Blocks no thread. Thread: any. Errors: those of cairn_profile_open; CAIRN_E_ARGUMENT
 * if `path` is the profile's own capture. */
CAIRN_API cairn_error cairn_profile_snapshot(cairn_profile *profile, const char *path);

/* Adds a metric, such as "cache misses" in unit "count", or returns the existing metric of that
 * name. Returns CAIRN_METRIC_MAX if there are too many metrics. */
CAIRN_API cairn_metric cairn_metric_add(cairn_profile *profile, const char *name, const char *unit);

/* ---- blocks --------------------------------------------------------------- */

typedef struct cairn_block_info {
    const char *name;   /* name that reports show */
    const char *file;   /* may be NULL */
    uint32_t line;      /* from 1; 0: unknown */
    uint32_t column;    /* from 1; 0: unknown */
    cairn_block parent; /* lexical parent, or CAIRN_BLOCK_ROOT */
    uint32_t flags;     /* 0; compiler hosts use flags of cairn/host.h */
} cairn_block_info;

/* Adds a block; may be called at any time. Numbers count up from 1. The strings are copied. Equal
 * blocks are not merged. Returns CAIRN_BLOCK_ROOT if the profile is NULL or has no space. */
CAIRN_API cairn_block cairn_block_add(cairn_profile *profile, const cairn_block_info *info);

/* Like cairn_block_add, but returns the block of an earlier call of cairn_block_once with the same
 * name, file and line. */
CAIRN_API cairn_block cairn_block_once(cairn_profile *profile, const cairn_block_info *info);

/* ---- lanes and strands ---------------------------------------------------- */

/* Opens a lane. To save memory, reuses a closed lane with its graph, if there is one: preferably a
 * lane of this name, or without a name, among the first 64. Any other lane keeps its name, because
 * the name stands for all that was ever recorded on the lane. Returns NULL without memory:
 * cairn_strand_open then returns NULL, too. */
CAIRN_API cairn_lane *cairn_lane_open(cairn_profile *profile, const char *name);

/* Says that the lane describes the thread with the kernel's id `thread` (gettid), or no thread if
 * it is 0, while another thread records on the lane, as a sampler does. By default a lane describes
 * the thread that uses it. Thread: the lane's. */
CAIRN_API void cairn_lane_set_thread(cairn_lane *lane, int32_t thread);

/* Closes the lane and all its strands. */
CAIRN_API void cairn_lane_close(cairn_lane *lane);

/* Releases the lane for another thread, after charging all time up to now. The next thread with an
 * event on the lane takes it over; the time in between is charged to nobody. Call it for fibers and
 * tasks that move between threads, before another thread can run one. Without it a move is noticed
 * at the next sample, each thread's time is accurate to one sampling period, and a child forked
 * before then lacks the lane. A thread that ends releases its lanes itself. Thread: the lane's. */
CAIRN_API void cairn_lane_hand_over(cairn_lane *lane);

/* Opens a strand with an empty stack: its context is the root, whose calls increase by one. If the
 * lane has no current strand, the new strand is its current one. */
CAIRN_API cairn_strand *cairn_strand_open(cairn_lane *lane);

/* Closes a strand, whatever is on its stack. If it was the current strand, the lane has no current
 * strand then. */
CAIRN_API void cairn_strand_close(cairn_strand *strand);

/* Makes `strand` the current strand of its lane. Exact time so far is charged to the previous
 * strand; a sample is charged to the strand that is current when it is taken. */
CAIRN_API void cairn_strand_switch(cairn_strand *strand);

/* Return the lane of a strand; the profile of a lane. NULL for NULL. */
CAIRN_API cairn_lane *cairn_strand_lane(const cairn_strand *strand);
CAIRN_API cairn_profile *cairn_lane_profile(const cairn_lane *lane);

/* Returns the number of frames on the strand's stack. */
CAIRN_API size_t cairn_strand_depth(const cairn_strand *strand);

/* Returns the height of the stack, for cairn_strand_unwind. Call it at setjmp, protected calls,
 * `try`. */
typedef size_t cairn_mark;
CAIRN_API cairn_mark cairn_strand_mark(const cairn_strand *strand);

/* Drops the stack to a height that cairn_strand_mark returned. A height above the stack is ignored
 * and counted as misuse. A frame that has been replaced (tail call) since the mark stays
 * replaced. */
CAIRN_API void cairn_strand_unwind(cairn_strand *strand, cairn_mark mark);

/* Redirects the strand to the profile `to`, which must share blocks (blocks_of in cairn_options).
 * Returns the strand to use until cairn_strand_return, on a lane of `to` that stands in for this
 * strand's lane. That strand has the same stack. Its frames count no calls in `to`, its root counts
 * one. Meanwhile `from` pauses, so that time is charged to only one of them. Redirections can be
 * nested, from either strand; the innermost is current. While it pauses, `from` may only be passed
 * to switch, redirect, return, depth and close.
 *
 * Returns NULL if `to` is NULL (nothing is recorded until the return), if the profiles share no
 * blocks (counted as misuse), or without memory; cairn_strand_return ends these as well. The lane
 * that stands in moves to another thread, and closes, with the strand's lane. The same thread may
 * close `to` meanwhile: then nothing is recorded up to the return. Takes time in proportion to the
 * stack's height. Thread: the lane's. (Like MLton.Profile.withData.) */
CAIRN_API cairn_strand *cairn_strand_redirect(cairn_strand *from, cairn_profile *to);

/* Ends the innermost redirection of `from` and closes its strand. `from` takes over the stack of
 * the closed strand; frames entered during the redirection count no calls in the profile of `from`.
 * If `from` keeps only a stack of blocks (stack.h), a tail call leaves no trace in these frames,
 * either. (After a redirection to NULL the stack is unchanged.) A call without a redirection is
 * counted as misuse. Thread: the lane's. */
CAIRN_API void cairn_strand_return(cairn_strand *from);

/* Charges `amount` of a metric to the strand's current context. Calls cannot be charged. */
CAIRN_API void cairn_charge(cairn_strand *strand, cairn_metric metric, uint64_t amount);

/* The number of a context, for hosts that keep their own stacks or remember where something was
 * made (an allocation that is freed later). A number belongs to its lane and is valid as long as
 * the profile. In a child of fork contexts have other numbers. */
typedef uint32_t cairn_context;
#define CAIRN_CONTEXT_ROOT ((cairn_context)1)

/* Charges `amount` to the context of `path` (outermost block first, without the root), for hosts
 * that walk a stack of their own now and then in place of enter and leave. Counts no calls and
 * ignores the strand's stack. Returns the context, which cairn_context_charge charges in less time;
 * 0 if `strand` is NULL or recording is off. */
CAIRN_API cairn_context cairn_sample(cairn_strand *strand, const cairn_block *path, size_t length,
                                     cairn_metric metric, uint64_t amount);

/* Like cairn_sample with CAIRN_METRIC_CPU and `cpu` ns, and stores the moment `at`
 * (CLOCK_MONOTONIC, ns), so that readers can find the span of the thread at the sample. Takes 16
 * bytes of the capture, 64 MiB a lane at most. Returns false if the moment is not stored, for lack
 * of space or while recording is off. Thread: the lane's. */
CAIRN_API bool cairn_sample_at(cairn_strand *strand, const cairn_block *path, size_t length,
                               uint64_t at, uint64_t cpu);

/* Returns the strand's current context; 0 for NULL. */
CAIRN_API cairn_context cairn_strand_context(const cairn_strand *strand);

/* Returns the context that `block` leads to from `from`, making it if needed; 0 if `from` is no
 * context of the lane. Counts no call. Thread: the lane's. */
CAIRN_API cairn_context cairn_context_step(cairn_lane *lane, cairn_context from, cairn_block block);

/* Charges a context of the lane. Calls cannot be charged. Thread: the lane's. */
CAIRN_API void cairn_context_charge(cairn_lane *lane, cairn_context context, cairn_metric metric,
                                    uint64_t amount);

/* Returns the counters that cairn_context_charge increments, by context, at least up to `context`:
 * for hosts that charge millions of times a second and increment them directly. For metrics of
 * cairn_metric_add only. Valid until this function or cairn_context_charge is called with the same
 * metric and a higher context, the profile is disabled or closed, or the process forks (in the
 * child). Returns NULL if nothing is recorded or there is no space. Thread: the lane's. */
CAIRN_API uint64_t *cairn_context_counters(cairn_lane *lane, cairn_metric metric,
                                           cairn_context context);

/* Returns how many ticks may pass on the strand's lane before the next sampled one: a host that
 * interrupts itself to count ticks need not do so earlier. Returns 0 if ticks are exact. */
CAIRN_API uint32_t cairn_tick_due(const cairn_strand *strand);

/* cairn_enter, cairn_replace, cairn_leave and cairn_tick are in hot.h; strands that keep only a
 * stack, which costs less than counts, in stack.h. */

/* ---- queries -------------------------------------------------------------- */

/* The cost of a context or edge. Wall is in nanoseconds, converted with the calibration of the time
 * stamp counter so far, which changes by some parts in 10,000 during the profile's first
 * milliseconds. */
typedef struct cairn_cost {
    uint64_t calls;
    uint64_t ticks;
    uint64_t wall;
    uint64_t cpu; /* nanoseconds */
} cairn_cost;

/* Opens a snapshot of everything recorded so far, with all lanes merged. It lacks the last two
 * intervals of sampled ticks. Other threads may record meanwhile; their latest events may be
 * missing. Close it with cairn_view_close. */
CAIRN_API cairn_error cairn_view_open(cairn_view **view, cairn_profile *profile);
CAIRN_API void cairn_view_close(cairn_view *view);

/* Returns the block's description, valid as long as the view; NULL if the profile has no such
 * block. */
CAIRN_API const cairn_block_info *cairn_view_block(const cairn_view *view, cairn_block block);

/* Visits every context, parents first. `sequence` is its canonical path, root first, valid during
 * the call. Stops if the visitor returns false. */
typedef bool cairn_context_visitor(void *data, const cairn_block *sequence, size_t length,
                                   const cairn_cost *cost);
CAIRN_API void cairn_view_contexts(const cairn_view *view, cairn_context_visitor *visit,
                                   void *data);

/* Visits every edge: `block` was entered `calls` times from the context with path `sequence`.
 * `target_length` is the path length of the edge's target: length + 1; less if a cycle or limit
 * folds it into an ancestor; 3 if a limit folds it into [folded]/block, which is not on the
 * path. */
typedef bool cairn_edge_visitor(void *data, const cairn_block *sequence, size_t length,
                                cairn_block block, size_t target_length, uint64_t calls);
CAIRN_API void cairn_view_edges(const cairn_view *view, cairn_edge_visitor *visit, void *data);

/* Finds the context to which `sequence` leads from the root, and sets `cost`. `sequence` need not
 * be canonical. Returns false if no such context exists. */
CAIRN_API bool cairn_view_find(const cairn_view *view, const cairn_block *sequence, size_t length,
                               cairn_cost *cost);

/* Returns the number of calls whose path ends with `sequence`: {b} counts all calls of b, {a, b}
 * the calls of b from a. */
CAIRN_API uint64_t cairn_view_calls(const cairn_view *view, const cairn_block *sequence,
                                    size_t length);

#ifdef __cplusplus
}
#endif

#include "hot.h"

#endif
