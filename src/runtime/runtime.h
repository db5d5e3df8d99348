/* SPDX-License-Identifier: MIT
 *
 * runtime.h - internals that the files of the runtime share.
 *
 * A lane's graph and figures are written by its owner thread alone. Another thread that needs
 * something from it (the sampler, cairn_profile_disable) stores a request and then lowers the stack
 * limits of the current strand, so that the owner's next event takes the slow path. Lanes and
 * strands are never freed before the profile is: a request to one that has been closed is harmless.
 */
#ifndef CRN_RUNTIME_RUNTIME_H
#define CRN_RUNTIME_RUNTIME_H

#include <pthread.h>

#include <cairn/cairn.h>
#include <cairn/host.h>
#include <cairn/process.h>
#include <cairn/span.h>

#include "capture/writer.h"
#include "graph/graph.h"
#include "plat/clock.h"
#include "runtime/helper.h"
#include "runtime/names.h"
#include "runtime/stream.h"
#include "runtime/translation.h"

typedef enum crn_mode {
    CRN_MODE_OFF = 0,   /* stacks are maintained, nothing is counted */
    CRN_MODE_COUNT = 1, /* counted by the fast path */
    CRN_MODE_EXACT = 2  /* the clock is read at every event */
} crn_mode;

/* State of the sampling thread. When all lanes are idle it sleeps until the next event: idle.c. */
typedef struct crn_sampler {
    crn_helper helper;
    uint64_t period_ns; /* the current period, increased so that samples do not cost too much */
    uint64_t random;
    uint32_t quiet;       /* consecutive rounds without an event of any lane */
    bool sleeps;          /* until the next event; atomic */
    uint64_t age;         /* units of the clock: from the last sample to the event that will end the
                             sleep */
    uint64_t rest_ns;     /* from that event to the next sample */
    uint64_t last_before; /* clock: the last sample before that event; 0 until the event; atomic */
    bool stopped_timers;  /* the program has taken their signal */
    double sample_ns;     /* cost of a sample to the sampled thread */
} crn_sampler;

/* A thread that owns lanes. */
typedef struct crn_thread {
    cairn_lane *lanes; /* a list, by next_owned */
    pid_t id;          /* 0: not known yet */
    bool told;         /* it will give up its lanes at its end: owner.c */
} crn_thread;

/* The result of one round of the sampler. */
typedef struct crn_round {
    uint32_t asked;   /* number of lanes from which a sample was requested */
    uint32_t running; /* number of lanes with a current strand */
} crn_round;

typedef struct crn_timer crn_timer;

/* A moment by both clocks of a lane. */
typedef struct crn_sample_time {
    uint64_t clock; /* 0: none */
    uint64_t cpu;   /* of the lane's thread, ns */
} crn_sample_time;

/* A process that this one was forked from, directly or not. It took the hand-off tokens with times
 * between the `until` of the ancestor before it and its own. */
typedef struct crn_ancestor {
    uint64_t until;    /* clock: its fork of the next ancestor, or of this process */
    uint64_t span_key; /* see ids.c; 0: not known any more */
} crn_ancestor;

enum { CRN_ANCESTORS = 8 };

/* State of a profile in a child of fork; `waiting` until it has a capture of its own. */
typedef struct crn_child {
    bool waiting;                          /* for the first event; atomic */
    crn_mode mode;                         /* the profile's future mode */
    bool sampler;                          /* the parent had one */
    crn_disk_moment forked;                /* moment of the fork */
    uint64_t used[CRN_SECTION_KINDS];      /* sizes of the parent's tables at that time: they
                                              keep growing */
    crn_ancestor ancestors[CRN_ANCESTORS]; /* oldest first; the first is the process itself
                                              before any fork */
    uint32_t ancestor_count;
    uint64_t forks; /* number of forks of this process and its ancestors */
    char *origin;   /* path from which children's paths are made; NULL before the first */
} crn_child;

/* The counters of allocations: memory_counters.c. */
typedef struct crn_memory_counters {
    bool known;          /* the keys are there; atomic */
    bool busy;           /* a thread writes the rest; atomic */
    uint32_t live, rate; /* keys */
    uint64_t at;         /* CLOCK_MONOTONIC, ns, of the last value; atomic */
    uint64_t allocated;  /* at that time */
} crn_memory_counters;

struct cairn_profile {
    crn_capture capture;
    crn_section strings, blocks, metrics, notes, keys, trees; /* under lock */
    uint64_t trees_used;                                      /* bytes; under lock */
    pthread_mutex_t lock;
    uint32_t block_count, lane_count; /* changed under lock */
    uint32_t metric_count;            /* changes under lock; atomic */
    uint32_t key_count;               /* under lock */
    crn_names texts, places;          /* hash tables. texts: offsets into strings; places: blocks of
                                         cairn_block_once; under lock */
    uint32_t names;                   /* id of the name space, unique to this profile, not 0 */
    uint64_t trace_id[2], span_key;   /* of spans: see ids.c */
    cairn_lane *lanes;                /* newest first; lanes are only added */
    bool tsc;
    crn_mode mode;         /* atomic */
    crn_mode mode_on;      /* mode to restore when recording is enabled */
    bool mismatched;       /* a mismatch was noted (checked.c); atomic */
    uint64_t turned;       /* number of times recording was switched on or off; atomic */
    uint64_t turned_at[2]; /* clock: last switch off, last switch on */
    cairn_error stopped;   /* atomic */
    uint64_t generation;   /* the header's; under lock; atomic */
    uint64_t reset_at;     /* clock: last reset; atomic */
    uint64_t changes;      /* incremented when lanes have pending changes to look at; atomic */
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
    uint64_t span_threshold; /* root spans with a random number below it are recorded; 0: all */
    uint64_t span_weight;    /* bits of a double: executions that a recorded root span represents */
    uint32_t *splits;        /* by key: number of values with a histogram of their own; atomic */
    crn_sampler sampler;
    cairn_metric ready; /* metric of time without a core; 0: none yet; atomic */
    crn_helper preparer;
    crn_helper off_core; /* runs if `has_off_core` */
    bool has_off_core;
    const char *off_core_source; /* of that thread: as noted */
    bool preparer_sleeps;        /* until a lane takes a chunk; atomic */
    bool preparer_wanted;        /* a lane has taken a chunk; atomic */
    crn_memory_counters memory;
    bool in_memory;
    crn_child child;        /* state after a fork */
    cairn_profile *sibling; /* ring of profiles with the same blocks; under the siblings' lock */
    cairn_profile *next;    /* of all profiles of the process, for fork */
};

typedef struct crn_crossing crn_crossing;

struct cairn_lane {
    crn_graph graph; /* must be first: the hot path uses its first member */
    cairn_profile *profile;
    crn_section links, records;
    crn_section *columns[CAIRN_METRIC_MAX];
    crn_disk_lane *disk;   /* the lane's header: the begin of `links`, mapped a second time, because
                              `links` moves when it grows */
    char *header_page;     /* that mapping: a page */
    cairn_strand *running; /* current strand; atomic: the sampler reads it */
    cairn_strand *strands; /* list of open strands */
    cairn_strand *spare;   /* list of closed strands */
    crn_sample_time pending; /* a requested sample; its clock is stored last and cleared by the
                    owner; atomic */
    crn_sample_time
        first_pending;      /* the first request that has not been served; precedes `pending` */
    bool locked;            /* lock of the lane's time: see charge.c; atomic */
    bool promises;          /* the file shows time that is not charged yet; atomic */
    uint64_t seen_cpu;      /* the thread's CPU time at the sampler's last round; atomic */
    uint64_t ready;         /* ns without a core that the sampler has seen; atomic */
    uint64_t ready_charged; /* of those, charged by the owner or left out */
    uint64_t seen_ready;    /* sampler only: the thread's own figure at the last look */
    pid_t ready_thread;     /* sampler only: that thread */
    uint64_t seen_stamp;    /* sampler only: the lane's stamp at the last round */
    uint64_t turned;        /* the profile's `turned` when last seen; atomic */
    uint64_t turned_cpu[2]; /* like the profile's turned_at, by the thread's clock; atomic */
    uint64_t changes_seen;  /* the profile's `changes` when last seen */
    uint64_t reset_cpu;     /* like the profile's reset_at, by the thread's clock; atomic */
    crn_thread *owner;      /* thread that owns the lane; atomic, changes under a lock */
    cairn_lane *next_owned;
    crn_timer *timer;       /* timer on the owner's CPU time */
    pid_t thread_id;        /* of the owner; atomic */
    clockid_t thread_clock; /* its CPU clock; 0: no owner; atomic */
    bool thread_set;        /* another thread records for the lane's: cairn_lane_set_thread */
    uint32_t shown_thread;  /* whose lane it is in the file; 0: nobody's yet */
    bool of_thread;         /* it is the own lane of a thread (process.h); atomic */
    bool open;
    bool forked; /* it still has the parent's data */
    uint32_t number;
    pthread_mutex_t moving; /* held while the graph's arrays move: other lanes read paths there */
    crn_stream spans, details;
    cairn_priv_span *spans_end; /* end of the chunk being written */
    crn_disk_detail *detail, *detail_end;
    struct crn_histograms *histograms;
    struct crn_core_watch *off_core;  /* off_core.c; its thread's alone */
    struct crn_sample_space *samples; /* sample_moments.c; NULL before the first */
    struct crn_counted *counted;      /* counter trees: counted.c */
    uint64_t span_random;             /* state of the generator that samples root spans */
    struct crn_foreign *foreign;      /* cache from contexts of other lanes to this lane's */
    uint32_t foreign_mask, foreign_count;
    uint64_t random;        /* state of the generator for sampled ticks */
    uint64_t tick_point;    /* position of the next sample of ticks within its interval */
    uint64_t tick_interval; /* index of that interval */
    uint32_t tick_waiting;  /* record that the last sample hit, 0 if none */
    cairn_lane *next;       /* in the profile's list */
    /* For strands redirected to other profiles: redirect.c. */
    cairn_lane *home;          /* the lane that this one stands in for; usually NULL */
    cairn_lane *stand_ins;     /* lanes that stand in for this one; atomic */
    cairn_lane *next_stand_in; /* next in that list */
    cairn_strand *silent;      /* a current strand that records nothing */
    crn_crossing *crossings;
    uint64_t serial;                  /* unique number of the lane's graph */
    struct crn_old_graph *old_graphs; /* graphs from before forks */
};

struct cairn_strand {
    cairn_priv_strand hot; /* must be first */
    cairn_priv_stack only; /* for strands that keep only a stack of blocks */
    uint32_t *stack;       /* stack[0] is unused: leave must stop before it */
    uint32_t *end;
    size_t lost; /* frames on top of the stack for which there was no memory */
    /* For strands that keep only a stack of blocks: */
    uint32_t *records;           /* records that the frames led to; NULL in other strands */
    size_t resolved;             /* number of valid ones */
    size_t stride;               /* see stack.c: number of entries to invalidate next */
    cairn_block at_root;         /* block that replaced the root */
    cairn_priv_open *open_spans; /* open_spans[0] is unused; NULL before the first span */
    size_t lost_spans;           /* open spans on top of these for which there was no memory */
    size_t lost_spans_from;      /* stack height below the first of these + 1; 0: none */
    struct crn_timing *timings;  /* parallel to open_spans; NULL if records suffice */
    crn_disk_histogram **splits; /* histograms by attribute value of the open spans */
    uint32_t split_count, split_room;
    struct crn_adoption *adoptions;
    uint32_t adoption_count, adoption_room, adopted; /* adopted: number of adoptions so far */
    size_t lost_adoptions, lost_adoptions_at;        /* lost_adoptions_at: stack height at the first
                                                        without memory */
    uint64_t *forked; /* parallel to open_spans: ids of spans that an ancestor process began */
    size_t forked_room;
    cairn_strand *next, *previous;
    cairn_strand *away;   /* runs in its place in another profile */
    cairn_strand *origin; /* the strand in whose place it runs */
    size_t paused;        /* number of redirections to no profile */
    uint32_t aim;         /* span that attributes go to, CRN_AIM_NOWHERE; 0: the innermost one */
    bool open;
};

static inline cairn_lane *crn_lane_of(const cairn_strand *strand)
{
    return (cairn_lane *)strand->hot.lane;
}

/* Returns the record that the blocks of a strand with only a stack lead to. */
uint32_t crn_stack_resolve(cairn_strand *strand);

/* Returns the current record. Thread: the lane's. */
static inline uint32_t crn_strand_record(cairn_strand *strand)
{
    if (__builtin_expect(strand->records != NULL, 0))
        return crn_stack_resolve(strand);
    return crn_record_at(strand->hot.current);
}

/* As cairn_strand_depth, in a few instructions for strands with counts. */
static inline size_t crn_strand_depth(const cairn_strand *strand)
{
    if (__builtin_expect(strand->records != NULL, 0))
        return cairn_strand_depth(strand);
    return (size_t)(strand->hot.top - strand->stack) - 1 + strand->lost;
}

/* Take and release the profile's lock. The thread has no strand while it holds it: otherwise events
 * in a signal handler or an own malloc would wait for the lock. */
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

extern __thread crn_thread crn_this_thread __attribute__((tls_model("initial-exec")));

/* Returns the calling thread; the same in a child of fork. */
static inline crn_thread *crn_thread_self(void)
{
    return &crn_this_thread;
}

/* Removes the lane from its owner's list. Under the threads' lock. */
void crn_thread_remove(cairn_lane *lane);

/* Makes the calling thread the owner of the lane; charges the time of another thread before. */
void crn_lane_own(cairn_lane *lane);

/* Charges outstanding time and gives up ownership. Any thread, while the lane is not in use. */
void crn_lane_let_go(cairn_lane *lane);

/* For a lane whose events come from another thread than its owner: charges the time up to the
 * sampler's last request. */
void crn_lane_settle_moved(cairn_lane *lane);

/* Starts charging time at `clock`, and at the current CPU time of the calling thread, which owns
 * the lane. */
void crn_lane_begin_time(cairn_lane *lane, uint64_t clock);

/* The same in a child of fork: its CPU time is 0, as that of its only thread was at the fork. */
void crn_lane_begin_child(cairn_lane *lane, uint64_t clock);

/* Makes the strand the lane's current one. */
void crn_lane_run(cairn_lane *lane, cairn_strand *strand);

/* Returns the CPU time of the lane's thread, 0 if it is not recorded. Other threads need the
 * threads' lock. */
uint64_t crn_lane_cpu_now(const cairn_lane *lane);

/* Returns true if the lock is free, or becomes free within a second. In a process that ends in a
 * signal handler which interrupted the holder, it never does. */
bool crn_lock_is_obtainable(pthread_mutex_t *lock);

/* Held during a fork: lanes do not change owners. */
void crn_threads_lock(void);
void crn_threads_unlock(void);
bool crn_threads_lock_is_obtainable(void); /* as crn_lock_is_obtainable */
void crn_threads_begin_child(void);
void crn_threads_begin_unseen(void); /* another thread may have had the lock */

/* Lock of the lane's time: see charge.c. */
bool crn_lane_try_lock(cairn_lane *lane);
void crn_lane_lock(cairn_lane *lane);
void crn_lane_unlock(cairn_lane *lane);

/* Announces a change to all lanes: their current strands take the slow path at the next event.
 * Under the profile's lock. */
void crn_profile_announce_change(cairn_profile *profile);

/* Processes announced changes. Thread: the lane's. */
void crn_lane_apply_changes(cairn_lane *lane);

/* Returns true if recording is on, and the lane has noticed the last switch. Any thread. */
static inline bool crn_lane_is_on(const cairn_lane *lane)
{
    uint64_t turned = __atomic_load_n(&lane->profile->turned, __ATOMIC_ACQUIRE);
    return turned % 2 == 0 && __atomic_load_n(&lane->turned, __ATOMIC_RELAXED) == turned;
}

/* Returns true if the lane waits for its first event in a child of fork. */
static inline bool crn_lane_waits(const cairn_lane *lane)
{
    return lane->forked && __atomic_load_n(&lane->profile->child.waiting, __ATOMIC_ACQUIRE);
}

/* Processes announced changes, if there are any. Thread: the lane's. */
static inline void crn_lane_listen(cairn_lane *lane)
{
    if (__builtin_expect(
            __atomic_load_n(&lane->profile->changes, __ATOMIC_RELAXED) != lane->changes_seen, 0))
        crn_lane_apply_changes(lane);
}

/* Clears the lane's figures if they are from before a reset. Thread: the lane's; under the
 * profile's lock any, if the lane is closed. */
void crn_lane_catch_up(cairn_lane *lane);

/* Stores the reason why recording is incomplete; the first one is kept. */
void crn_profile_stop(cairn_profile *profile, cairn_error error);

/* Returns the present moment in both units of the clock. */
crn_disk_moment crn_profile_read_moment(const cairn_profile *profile);

/* Stores a calibration point of the clock. One caller at a time. */
void crn_profile_moment(cairn_profile *profile);

/* ---- tables of the capture: tables.c ---- */

/* Writes the initial contents of a capture. */
void crn_profile_put_first(cairn_profile *profile, const cairn_options *options);
/* Measures the cost of a call and of a sample, and notes it. Takes some ten microseconds. */
void crn_profile_put_costs(cairn_profile *profile);
/* Adds a block. Under lock. */
typedef cairn_block crn_put_block(cairn_profile *profile, const cairn_block_info *info);
crn_put_block crn_profile_add_block;
/* Returns the metric of that name; CAIRN_METRIC_MAX if there is none. With the lock held. */
cairn_metric crn_profile_find_metric(const cairn_profile *profile, const char *name);
cairn_metric crn_profile_add_metric(cairn_profile *profile, const char *name, const char *unit);
cairn_key crn_profile_add_key(cairn_profile *profile, const char *name);
bool crn_profile_add_note(cairn_profile *profile, const char *key, const char *value);

/* Returns the record for `block` at `record`, adding it if needed; never fails. A block that was
 * never added is counted as misuse, each time, and becomes [folded]. */
static inline uint32_t crn_lane_follow(cairn_lane *lane, uint32_t record, cairn_block block)
{
    if (block < __atomic_load_n(&lane->profile->block_count, __ATOMIC_ACQUIRE))
        return crn_graph_follow(&lane->graph, record, block);
    lane->disk->misuses++;
    return crn_graph_append(&lane->graph, record, CAIRN_BLOCK_FOLDED); /* not cached: counted each
                                                                          time */
}

/* Calls `put_block` to find or add a block, under the profile's lock, in step with its siblings. */
cairn_block crn_profile_make_block(cairn_profile *profile, const cairn_block_info *info,
                                   crn_put_block *put_block);

/* Returns the string's offset in the capture, 0 for "" or without space. Under lock. */
uint32_t crn_profile_string(cairn_profile *profile, const char *text);

/* cairn_lane_open that reuses no closed lane. */
cairn_lane *crn_lane_open_new(cairn_profile *profile, const char *name);

/* Adds a lane, not open yet; frees one. Under the profile's lock. */
cairn_lane *crn_lane_new(cairn_profile *profile);
void crn_lane_free(cairn_lane *lane);

/* ---- column.c ---- */

/* Gives the lane's column for a metric space for that many records; makes it if needed. */
cairn_error crn_column_grow(cairn_lane *lane, cairn_metric metric, uint64_t records);
void crn_columns_close(cairn_lane *lane);

/* Adds to a record's figure in the column for a metric; makes the column if needed. */
void crn_lane_charge(cairn_lane *lane, uint32_t record, cairn_metric metric, uint64_t amount);

/* Charges exact wall time up to now, to nobody if `record` is 0. `settled` stays as it is
 * (charge.c): there must be no promises, which readers could count twice. */
static inline void crn_lane_charge_exact(cairn_lane *lane, uint32_t record)
{
    crn_disk_lane *disk = lane->disk;
    uint64_t now = crn_clock_now(lane->profile->tsc);
    if (now <= disk->stamp)
        return;
    if (record)
        CAIRN_PRIV_ADD(lane->graph.links[record].wall, now - disk->stamp);
    __atomic_store_n(&disk->stamp, now, __ATOMIC_RELAXED);
    __atomic_store_n(&disk->current, record, __ATOMIC_RELAXED);
}

/* Processes everything since the last slow event: switches on or off, requested samples, exact
 * time. Charges the current context. */
void crn_lane_settle(cairn_lane *lane);

/* Processes a switch on or off. */
void crn_lane_settle_turn(cairn_lane *lane);

/* Charges the current context up to these moments, by each of the two clocks. Call it with the
 * lane's time locked. */
void crn_lane_settle_until(cairn_lane *lane, uint64_t clock, uint64_t cpu);

/* Counts an event that was dropped for lack of memory. */
void crn_lane_drop(cairn_lane *lane);

/* Charges the time that the lane's promises show (charge.c). Call it with the lane's time locked.
 */
void crn_lane_charge_promises(cairn_lane *lane);

/* Charges the time since the last sample to the current context; the second function processes
 * announced changes before. */
void crn_lane_charge_now(cairn_lane *lane);
static inline void crn_lane_charge_rest(cairn_lane *lane)
{
    crn_lane_listen(lane);
    crn_lane_charge_now(lane);
}

/* Begin and end the intervals of sampled ticks; the end charges the rest of the last one. They last
 * as long as the lane, not as each thread that uses it in turn: short-lived threads would cut most
 * intervals short. */
void crn_ticks_begin(cairn_lane *lane);
uint64_t crn_ticks_mode(const cairn_profile *profile);
void crn_ticks_finish(cairn_lane *lane);

/* Pushes a frame without a call: `record` becomes current. */
void crn_strand_push(cairn_strand *strand, uint32_t record);

/* Upper limit of a strand while recording is off and nothing is pending: enter pushes and does
 * nothing else, leave is fast. Below every stack, as NULL is. */
#define CRN_HIGH_OFF ((uint32_t *)sizeof(uint32_t))

/* Set the strand's stack limits: lowered, so that the next event takes the slow path; or those of
 * its stack, unless each event must take it. */
void crn_strand_arm(cairn_strand *strand);
void crn_strand_disarm(cairn_strand *strand);
bool crn_strand_grow(cairn_strand *strand);

/* ---- idle.c: the sampling thread sleeps while there are no events ---- */

/* Returns a random gap between samples, in periods. */
double crn_sampler_gap(const cairn_profile *profile, uint64_t *random);

/* After a round, in which no lane had an event if `quiet`: after enough such rounds in a row, the
 * sleep begins. Thread: the sampling one. */
void crn_sampler_rest(cairn_profile *profile, bool quiet);

/* Ends the sleep. Thread: the sampling one. */
void crn_sampler_resume(cairn_profile *profile);

/* Returns true if an event has ended the sleep, and sets the time of the next sample
 * (CLOCK_MONOTONIC, ns). Thread: the sampling one. */
bool crn_sampler_was_woken(const cairn_profile *profile, uint64_t now, uint64_t *next);

/* Wakes the sampling thread if it sleeps: a strand begins to run, or recording is switched on.
 * Signal safe. */
void crn_sampler_wake(cairn_profile *profile);

/* Takes the clocks' readings of a request. If the sampler sleeps, wakes it, and sets them to the
 * last sample that it would have made meanwhile. `own`: the lane's owner calls. Call it with the
 * lane's time locked. */
void crn_sampler_catch_up(cairn_lane *lane, bool own, uint64_t *clock, uint64_t *cpu);

/* Starts the sampling thread. Stop it with crn_helper_stop(&profile->sampler.helper). */
cairn_error crn_sampler_start(cairn_profile *profile);

/* Prepares timers in place of that thread. Needs a free signal, which the program can take
 * later. */
bool crn_timers_begin(void);
bool crn_timers_are_ours(void);
void crn_timers_begin_child(void);
/* Rearms timers whose signal the program consumed without the handler. Call it now and then. */
void crn_timers_go_on(void);

/* Starts a timer on the CPU time of the calling thread, which owns the lane, if the profile wants
 * one. */
void crn_timer_start(cairn_lane *lane);
void crn_timer_stop(cairn_lane *lane);
void crn_timer_forget(cairn_lane *lane);

/* Keeps this shared object loaded: a plugin that contains Cairn may be closed while a thread of
 * Cairn runs or a thread's end will be reported. */
void crn_stay_loaded(void);

/* Installs the handler of faults in captures if the program cannot see it. */
void crn_faults_catch(void);

/* Charges the time up to now on all lanes that the calling thread owns. */
void crn_profile_charge_own(cairn_profile *profile);

/* Registers fork handlers for all profiles; for this one. */
void crn_fork_watch(void);
void crn_fork_add(cairn_profile *profile);
void crn_fork_remove(cairn_profile *profile);

/* In a child that no handler was called for: separates all profiles from the parent's captures, for
 * good. Returns false within fork, whose handlers do that. Signal safe. */
bool crn_fork_begin_unseen(void);

/* Abandons a lane: later use of it or its strands does no harm and records nothing. */
void crn_lane_abandon(cairn_lane *lane);
bool crn_lane_is_buried(const cairn_lane *lane);
extern cairn_profile crn_grave; /* the profile of abandoned lanes */

/* Unmap the second mapping of the lane's header; in a child of fork, make it private. */
void crn_lane_unmap_header(cairn_lane *lane);
void crn_lane_detach_header(cairn_lane *lane);

/* In a child of fork: makes its capture, if it has none yet. Thread: any, without the profile's
 * lock. */
void crn_child_begin(cairn_profile *profile);

/* Returns the path of a child's capture, x.PID.cairn beside its parent's at `origin`. Free it with
 * crn_free. NULL without memory. */
char *crn_child_path(const char *origin);

/* Returns true if there is a capture to write into. A child of fork that has none yet makes it now.
 */
bool crn_profile_is_ready(cairn_profile *profile);

/* In a child of fork: continues the lane in the child's capture. Thread: the lane's. */
void crn_child_begin_lane(cairn_lane *lane);

/* ---- counter trees (cairn/host.h): counted.c, trees.c ---- */
void crn_counted_free(struct crn_counted *counted);
void crn_counted_clear(struct crn_counted *counted);

/* In a child of fork: makes the counters private, and 0. */
void crn_counted_detach(cairn_lane *lane);

/* After crn_counted_detach: moves the counters to the child's capture, at the same addresses. Call
 * it before stacks are moved, without a lock. */
void crn_counted_move(cairn_lane *lane, crn_translation *translation, const crn_graph *before);

/* Copies the trees into the profile's present capture. Under lock. */
void crn_trees_move(cairn_profile *profile);

/* ---- crossing.c, old_graphs.c ----------------------------------------------------------- */

/* Returns the tag that hosts add to node offsets of the lane's graph when they save them. */
uint64_t crn_graph_tag(const cairn_lane *lane);

/* In a child of fork: records that the lane had this graph with this tag. Takes ownership of the
 * section of its links; returns false if they are not needed. */
bool crn_old_graph_add(cairn_lane *lane, uint64_t tag, const crn_graph *graph,
                       const crn_section *links);
void crn_old_graphs_free(cairn_lane *lane);

/* Returns the record in the present graph for one of the graph with that tag; 0 if there is none.
 */
uint32_t crn_old_graph_translate(cairn_lane *lane, uint64_t tag, uint32_t record);

#endif
