/* SPDX-License-Identifier: MIT
 *
 * runtime.h - what the parts of the runtime share.
 *
 * A lane is written by its owner alone. Another thread that wants something of it (the
 * sampler, cairn_profile_disable) stores what it wants and then sets the stack limits of
 * the strand that runs, so that the owner's next event comes through the slow path.
 * Lanes and strands are never freed before the profile is: storing into one that has been
 * closed meanwhile is harmless.
 */
#ifndef CRN_RUNTIME_RUNTIME_H
#define CRN_RUNTIME_RUNTIME_H

#include <pthread.h>

#include <cairn/cairn.h>
#include <cairn/process.h>
#include <cairn/span.h>

#include "capture/writer.h"
#include "graph/graph.h"
#include "plat/clock.h"
#include "runtime/helper.h"
#include "runtime/names.h"
#include "runtime/retrace.h"
#include "runtime/stream.h"

typedef enum crn_mode {
    CRN_MODE_OFF = 0,   /* stacks are kept, nothing is counted */
    CRN_MODE_COUNT = 1, /* the fast path does it */
    CRN_MODE_EXACT = 2  /* the clock is read at every event */
} crn_mode;

typedef struct crn_sampler {
    crn_helper helper;
    uint64_t period_ns; /* that is kept now, so that samples do not cost too much */
    uint64_t random;
    bool stopped_timers; /* the program took their signal */
    double sample_ns;    /* what a sample costs the thread that is sampled */
} crn_sampler;

/* A thread, as far as it has lanes. */
typedef struct crn_thread {
    cairn_lane *lanes; /* a list, by next_owned */
    pid_t id;          /* 0: not known yet */
    bool told;         /* will be told of its end */
} crn_thread;

/* What came of a round of the sampler. */
typedef struct crn_round {
    uint32_t asked;   /* lanes that were asked for a sample */
    uint32_t running; /* lanes that something runs on */
} crn_round;

typedef struct crn_timer crn_timer;

/* A moment, by both of a lane's clocks. */
typedef struct crn_due {
    uint64_t clock; /* 0: none */
    uint64_t cpu;   /* of the lane's thread, ns */
} crn_due;

/* A process that this one comes from: tokens that were taken before `until`, and not before the
 * one that goes before it, are its. */
typedef struct crn_ancestor {
    uint64_t until;    /* clock */
    uint64_t span_key; /* 0: not known any more */
} crn_ancestor;

enum { CRN_ANCESTORS = 8 };

/* A child of fork that has no capture of its own yet, or none yet of what a lane has. */
typedef struct crn_child {
    bool waiting;                          /* for its first event; atomic */
    crn_mode mode;                         /* what the profile's will be */
    bool sampler;                          /* the parent had one */
    crn_disk_moment forked;                /* when */
    uint64_t used[CRN_SECTION_KINDS];      /* of the parent's tables then: they go on growing */
    crn_ancestor ancestors[CRN_ANCESTORS]; /* oldest first; made where the process begins */
    uint32_t ancestor_count;
    uint64_t forks; /* how often this process, and those before it, forked */
    char *origin;   /* path that children's paths are made of; NULL before the first */
} crn_child;

struct cairn_profile {
    crn_capture capture;
    crn_section strings, blocks, metrics, notes, keys, trees; /* under lock */
    uint64_t trees_used;                                      /* bytes; under lock */
    pthread_mutex_t lock;
    uint32_t block_count, lane_count; /* under lock */
    uint32_t metric_count;            /* changes under lock; atomic */
    uint32_t key_count;               /* under lock */
    crn_names texts, places; /* offsets into strings; blocks that are made once; under lock */
    uint32_t names;          /* of this profile alone, not 0 */
    uint64_t trace_id[2], span_key; /* of spans: see traceparent.c */
    cairn_lane *lanes;              /* newest first; only ever grows */
    bool tsc;
    crn_mode mode;         /* atomic */
    crn_mode mode_on;      /* what enabling brings back */
    uint64_t turned;       /* how often it was switched on or off; atomic */
    uint64_t turned_at[2]; /* clock: last turn to off, to on */
    cairn_error stopped;   /* atomic */
    uint64_t generation;   /* the header's; under lock; atomic */
    uint64_t reset_at;     /* clock: last reset; atomic */
    uint64_t news;         /* goes up when lanes must look at what changed; atomic */
    double clock_per_ns;
    cairn_wall wall;
    cairn_cpu cpu;
    cairn_sampler how_sampled;
    double sample_overhead;
    uint64_t sample_period_ns, tick_period, seed;
    uint32_t path_limit, context_budget;
    bool spans, span_histograms, span_cpu;
    cairn_span_policy span_policy;
    uint64_t span_limit;
    uint64_t span_threshold; /* of numbers below it trees are recorded; 0: of all */
    uint64_t span_weight;    /* bits of a double: for how many trees one stands */
    uint32_t *splits;        /* by key: how many values have a histogram of their own; atomic */
    crn_sampler sampler;
    crn_helper preparer;
    bool in_memory;
    crn_child child;        /* what a fork left for later */
    cairn_profile *sibling; /* a ring of those with the same blocks; under the siblings' lock */
    cairn_profile *next;    /* of all profiles of the process, for fork */
};

typedef struct crn_crossing crn_crossing;

struct cairn_lane {
    crn_graph graph; /* first: its first member is what the hot path sees */
    cairn_profile *profile;
    crn_section links, records;
    crn_section *columns[CAIRN_METRIC_MAX];
    crn_disk_lane *disk;    /* the first of links, at an address that stays */
    char *face;             /* the page of the file that it is in, mapped once more */
    cairn_strand *running;  /* atomic: the sampler reads it */
    cairn_strand *strands;  /* open ones, a list */
    cairn_strand *spare;    /* closed ones */
    crn_due due;            /* a sample that is to be taken; the last word of it is the clock,
                             * which the owner takes away; atomic */
    crn_due first;          /* when `due` was set that has not been taken; goes before it */
    bool locked;            /* its time: see settle.c; atomic */
    bool waits;             /* something is promised in the file; atomic */
    uint64_t seen_cpu;      /* the sampler's: what the thread had spent when it last came by */
    uint64_t seen_stamp;    /* the sampler's: the stamp, when it last came by */
    uint64_t turned;        /* profile's, when it was last looked at */
    uint64_t turned_cpu[2]; /* as the profile's turned_at, by the thread's clock; atomic */
    uint64_t heard;         /* of the profile's news */
    uint64_t reset_cpu;     /* as the profile's reset_at, by the thread's clock; atomic */
    crn_thread *owner;      /* of the thread that it is on; atomic, changes under a lock */
    cairn_lane *next_owned;
    crn_timer *timer;       /* on the owner's time; changes with it */
    pid_t thread_id;        /* the owner's; atomic */
    clockid_t thread_clock; /* of its processor time; 0: nobody has the lane; atomic */
    bool open;
    bool forked; /* what it has is still the parent's */
    uint32_t number;
    pthread_mutex_t moving; /* of the graph's arrays: other lanes read paths there */
    crn_stream spans, details;
    cairn_priv_span *spans_end; /* of the chunk that is written to */
    crn_disk_detail *detail, *detail_end;
    struct crn_histograms *histograms;
    struct crn_counted *counted; /* calls that are counted by counters alone: counted.c */
    uint64_t span_random;        /* state of the generator that draws trees */
    struct crn_foreign *foreign; /* contexts of other lanes, by where they are here */
    uint32_t foreign_mask, foreign_count;
    uint64_t random;        /* state of the tick sampler's generator */
    uint64_t tick_point;    /* where in its interval the next sample of ticks is */
    uint64_t tick_interval; /* index of that interval */
    uint32_t tick_waiting;  /* record that the last sample hit, 0 if none */
    cairn_lane *next;       /* of the profile */
    /* Of strands that go on in other profiles: redirect.c. */
    cairn_lane *home;     /* the lane that this one stands in for; NULL for most */
    cairn_lane *twins;    /* those that stand in for this one; atomic */
    cairn_lane *twin;     /* the next of them */
    cairn_strand *silent; /* runs, and records nothing */
    crn_crossing *crossings;
    uint64_t serial;       /* of the lane's graph: no other ever has it */
    struct crn_past *past; /* graphs that it had before forks */
};

struct cairn_strand {
    cairn_priv_strand hot; /* first */
    cairn_priv_stack only; /* of a strand that keeps only its stack */
    uint32_t *stack;       /* stack[0] is not used: leave must fall short of it */
    uint32_t *end;
    size_t lost; /* frames that there was no memory for, on top of the stack */
    /* Of a strand that keeps only its stack, which is then one of blocks: */
    uint32_t *records;           /* that the frames led to; NULL in strands of the other kind */
    size_t resolved;             /* how many of them hold */
    size_t stride;               /* how many more are given up next */
    cairn_block at_root;         /* what replaced the root */
    cairn_priv_open *open_spans; /* open_spans[0] is none; NULL before the first */
    size_t lost_spans;           /* that there was no memory for, on top of those */
    size_t lost_spans_from;      /* one more than the stack's height below the first; 0: never */
    struct crn_timing *timings;  /* as open_spans; NULL where records are enough */
    crn_disk_histogram **splits; /* by attributes of the open ones */
    uint32_t split_count, split_room;
    struct crn_adoption *adoptions;
    uint32_t adoption_count, adoption_room, adopted; /* so often */
    size_t lost_adoptions, lost_adoptions_at; /* the stack's height at the first, which has none */
    uint64_t *forked; /* by place in open_spans: ids of those that another process began */
    size_t forked_room;
    cairn_strand *next, *previous;
    cairn_strand *away;   /* runs in its place, in another profile */
    cairn_strand *origin; /* the one that it runs in place of */
    size_t paused;        /* how many times it was sent to record nothing, and is not back */
    bool open;
};

static inline cairn_lane *crn_lane_of(const cairn_strand *strand)
{
    return (cairn_lane *)strand->hot.lane;
}

/* The record that the blocks of a strand lead to that keeps only its stack. */
uint32_t crn_stack_resolve(cairn_strand *strand);

/* The record that runs. Thread: the lane's. */
static inline uint32_t crn_strand_record(cairn_strand *strand)
{
    if (__builtin_expect(strand->records != NULL, 0))
        return crn_stack_resolve(strand);
    return (uint32_t)(strand->hot.current / CRN_RECORD_WORDS);
}

/* The profile's lock. Who has it has no strand: what a signal's handler enters meanwhile, or a
 * malloc that is the program's, would wait for it. */
static inline void crn_profile_lock(cairn_profile *profile)
{
    cairn_priv_strand_aside();
    pthread_mutex_lock(&profile->lock);
}

static inline void crn_profile_unlock(cairn_profile *profile)
{
    pthread_mutex_unlock(&profile->lock);
    cairn_priv_strand_back();
}

static inline crn_mode crn_profile_mode(const cairn_profile *profile)
{
    return __atomic_load_n(&profile->mode, __ATOMIC_ACQUIRE);
}

/* The calling thread; the same in a child of fork. */
crn_thread *crn_thread_self(void);

/* The lane is on the thread that calls. */
void crn_lane_own(cairn_lane *lane);

/* Charges the rest and leaves the lane to whoever comes next. Any thread, while nobody uses
 * the lane. */
void crn_lane_let_go(cairn_lane *lane);

void crn_lane_forget_thread(cairn_lane *lane);
void crn_lane_settle_moved(cairn_lane *lane);

/* Time counts from `clock`, a reading of the profile's clock, and from now by the clock of the
 * calling thread, which has the lane. */
void crn_lane_begin_time(cairn_lane *lane, uint64_t clock);

/* The same in a child of fork, where the clock of its only thread began with it. */
void crn_lane_begin_child(cairn_lane *lane, uint64_t clock);

/* What the clock of the lane's thread shows, 0 if it is not wanted. Any thread but the lane's
 * own needs the threads' lock. */
uint64_t crn_lane_cpu_now(const cairn_lane *lane);

/* Whether the lock is free, or becomes so within some tenths of a second: where a process ends in a
 * signal handler that has interrupted whoever holds it, nobody ever gives it back. */
bool crn_lock_come_by(pthread_mutex_t *lock);

/* Around a fork: nobody's lanes change hands. */
void crn_threads_lock(void);
void crn_threads_unlock(void);
bool crn_threads_come_by(void); /* as crn_lock_come_by */
void crn_threads_begin_child(void);

/* Of the lane's time. */
bool crn_lane_try_lock(cairn_lane *lane);
void crn_lane_lock(cairn_lane *lane);
void crn_lane_lock(cairn_lane *lane);
void crn_lane_unlock(cairn_lane *lane);

/* Lanes look at what is new at their next event: arms those that run. Under the profile's
 * lock. */
void crn_profile_tell(cairn_profile *profile);

/* Takes note of the profile's news. Thread: the lane's. */
void crn_lane_hear(cairn_lane *lane);

static inline void crn_lane_listen(cairn_lane *lane)
{
    if (__builtin_expect(__atomic_load_n(&lane->profile->news, __ATOMIC_RELAXED) != lane->heard, 0))
        crn_lane_hear(lane);
}

/* Makes the figures 0 if they are of before a reset. Thread: the lane's, or, under the
 * profile's lock, any while it is closed. */
void crn_lane_catch_up(cairn_lane *lane);

/* Remembers why recording is not whole; the first reason holds. */
void crn_profile_stop(cairn_profile *profile, cairn_error error);

/* What the clock shows now, in both its units. */
crn_disk_moment crn_profile_read_moment(const cairn_profile *profile);

/* Stores the clock's calibration. One caller at a time. */
void crn_profile_moment(cairn_profile *profile);

/* Tables of the capture: tables.c. */

/* What each capture begins with. */
void crn_profile_put_first(cairn_profile *profile, const cairn_options *options);
/* Adds a block, or a note. Under lock. */
typedef cairn_block crn_put_block(cairn_profile *profile, const cairn_block_info *info);
crn_put_block crn_profile_add_block;
bool crn_profile_add_note(cairn_profile *profile, const char *key, const char *value);

/* Has `put_block` find or add a block, under the profile's lock, in step with its siblings. */
cairn_block crn_profile_make_block(cairn_profile *profile, const cairn_block_info *info,
                                   crn_put_block *put_block);

/* The string's offset in the capture, 0 for "" or when there is no room. Under lock. */
uint32_t crn_profile_string(cairn_profile *profile, const char *text);

/* Adds a lane that is not open yet; frees one. Under the profile's lock. */
cairn_lane *crn_lane_new(cairn_profile *profile);
void crn_lane_free(cairn_lane *lane);

/* Adds to a column of a lane, making it if need be. */
void crn_lane_charge(cairn_lane *lane, uint32_t record, cairn_metric metric, uint64_t amount);

/* What happened since the last slow event: a turn on or off, a sample that is due, exact
 * time. Charges the context that runs. */
void crn_lane_settle(cairn_lane *lane);

/* Recording was switched on or off since the lane last looked. */
void crn_lane_settle_turn(cairn_lane *lane);

/* An event was dropped: there is no memory. */
void crn_lane_drop(cairn_lane *lane);

/* Charges the time since the last sample to what runs. */
void crn_lane_charge_rest(cairn_lane *lane);

/* Begins the intervals that ticks are sampled in, once for all that use a lane one after the
 * other: short lives would else be mostly intervals that are cut short. Charges what is left
 * of the last one, at the very end. */
void crn_ticks_begin(cairn_lane *lane);
uint64_t crn_ticks_mode(const cairn_profile *profile);
void crn_ticks_finish(cairn_lane *lane);

/* Pushes a frame that is no call: what runs is `record`. */
void crn_strand_push(cairn_strand *strand, uint32_t record);

/* Sets the stack limits: tight, so that the next event is slow, or as the stack is. */
void crn_strand_arm(cairn_strand *strand);
void crn_strand_rest(cairn_strand *strand);
bool crn_strand_grow(cairn_strand *strand);

/* The thread that says when samples are due. It ends with
 * crn_helper_stop(&profile->sampler.helper). */
cairn_error crn_sampler_start(cairn_profile *profile);

/* Timers instead of that thread. There must be a signal that is free; and it may be the program's
 * own later, when it has taken it. */
bool crn_timers_begin(void);
bool crn_timers_are_ours(void);
void crn_timers_begin_child(void);
/* Arms the timers whose signal the program has taken without the handler; now and then. */
void crn_timers_go_on(void);

/* On the time of the calling thread, which has the lane. */
bool crn_timer_start(cairn_lane *lane);
void crn_timer_stop(cairn_lane *lane);
void crn_timer_forget(cairn_lane *lane);

/* Nanoseconds that a call and its return cost the program, and a sample; 0 if there is no
 * memory to try. */
double crn_cost_of_call(cairn_profile *profile);
double crn_cost_of_sample(cairn_profile *profile);

/* Keeps the shared object that this is in from being unloaded: a plugin that has Cairn in it
 * may be closed while a thread of Cairn's runs, or is told of a thread's end. */
void crn_stay_loaded(void);

/* Charges what the thread that calls has spent since it was last charged. */
void crn_profile_charge_own(cairn_profile *profile);

/* Watches what forks do, to whatever profiles there are; to this one. */
void crn_fork_watch(void);
void crn_fork_add(cairn_profile *profile);
void crn_fork_remove(cairn_profile *profile);

/* Whoever uses the lane or its strands from now on does no harm and leaves no trace. */
void crn_lane_bury(cairn_lane *lane);
bool crn_lane_is_buried(const cairn_lane *lane);

/* What only ends is no reason for a child to make a capture. */
bool crn_lane_waits(const cairn_lane *lane);

/* The mapping of the lane's header that stays. */
void crn_lane_release_face(cairn_lane *lane);
void crn_lane_detach_face(cairn_lane *lane);

/* Makes a child's capture, if it waits for that: any thread, without the profile's lock. */
void crn_child_begin(cairn_profile *profile);

/* Where a child's capture goes whose parent's is at `origin`: x.PID.cairn beside x.cairn. To be
 * freed; NULL if there is no memory. */
char *crn_child_path(const char *origin);

/* Whether there is a capture to write into; a child that waits for one makes it now. */
bool crn_profile_is_ready(cairn_profile *profile);

/* Begins the lane anew, in the child's capture. Thread: the lane's. */
void crn_child_begin_lane(cairn_lane *lane);

/* Trees and their counters (cairn/tree.h). */
void crn_counted_free(struct crn_counted *counted);
void crn_counted_clear(struct crn_counted *counted);

/* In a child of fork: counters are its own from now on, and 0. */
void crn_counted_detach(cairn_lane *lane);

/* And then in the child's capture, at the addresses that they had. Before stacks are moved. Under
 * no lock. */
void crn_counted_move(cairn_lane *lane, crn_retrace *retrace, const crn_graph *before);

/* Copies the trees into the capture that the profile has now. Under lock. */
void crn_trees_move(cairn_profile *profile);

/* ---- past.c ----------------------------------------------------------------------------- */

/* What is added to units of the lane's graph that hosts keep. */
uint64_t crn_past_mark(const cairn_lane *lane);

/* In a child of fork: the lane had that graph, whose mark that was. Takes the section that its
 * links are in; false if they are not wanted. */
bool crn_past_add(cairn_lane *lane, uint64_t mark, const crn_graph *graph,
                  const crn_section *links);
void crn_past_free(cairn_lane *lane);

#endif
