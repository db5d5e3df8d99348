/* SPDX-License-Identifier: MIT
 *
 * runtime.h - internals that the files of the runtime share.
 *
 * Only a lane's owner thread writes the lane's graph and figures. Another thread that needs
 * something of the owner (the sampler, cairn_profile_disable) stores a request and then lowers the
 * stack limits of the current strand, so that the owner's next event takes the slow path. Lanes and
 * strands are not freed before the profile is: a request to a closed lane is harmless.
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
    CRN_MODE_OFF = 0,   /* maintains stacks, counts nothing */
    CRN_MODE_COUNT = 1, /* the fast path counts */
    CRN_MODE_EXACT = 2  /* each event reads the clock */
} crn_mode;

/* State of the sampling thread. When no lane has events, the sampler sleeps until the next event:
 * idle.c. */
typedef struct crn_sampler {
    crn_helper helper;
    uint64_t period_ns; /* current period, increased while samples cost too much */
    uint64_t random;
    uint32_t quiet; /* consecutive rounds without an event of any lane */
    bool sleeps;    /* sampling is suspended until the next event; atomic */
    /* Drawn when a sleep begins, for the event that will end it: */
    uint64_t age;         /* clock units from the last sample before the event, which sampling
                             without a sleep would have made, to the event; atomic */
    uint64_t rest_ns;     /* ns from the event to the next sample */
    uint64_t last_before; /* clock: moment of that last sample; 0 until the event; atomic */
    bool paused;          /* the thread was ended by crn_sampler_pause */
    bool stopped_timers;  /* timers were stopped because the program took their signal */
    double sample_ns;     /* time that a sample costs the sampled thread */
} crn_sampler;

/* A thread that owns lanes. */
typedef struct crn_thread {
    cairn_lane *lanes; /* a list, by next_owned */
    pid_t id;          /* kernel's thread id; 0: not known yet */
    bool told;         /* the thread's end will release its lanes: owner.c */
} crn_thread;

/* Threads of a profile that may be hidden from the C library: the sampling thread, and
 * CRN_HIDES_HOST: the host's (host_thread.h). As the C library would know the preparer, there is
 * none beside a hidden thread of the host. */
typedef enum { CRN_HIDES_NONE, CRN_HIDES_SAMPLER, CRN_HIDES_HOST } crn_hiding;

/* The result of one round of the sampler. */
typedef struct crn_round {
    uint32_t asked;   /* number of lanes with a new request for a sample */
    uint32_t running; /* number of lanes with a current strand */
} crn_round;

typedef struct crn_timer crn_timer;

/* A moment by the profile's clock, and by the CPU clock of a lane's owner. */
typedef struct crn_sample_time {
    uint64_t clock; /* 0: no moment */
    uint64_t cpu;   /* the owner's CPU time, ns */
} crn_sample_time;

/* A process that this process was forked from, directly or not. It took the hand-off tokens whose
 * times lie between the `until` of the ancestor before it and its own `until`. */
typedef struct crn_ancestor {
    uint64_t until;    /* clock: when it forked the next ancestor, or this process */
    uint64_t span_key; /* see ids.c; 0: forgotten */
} crn_ancestor;

enum { CRN_ANCESTORS = 8 };

enum { CRN_FILES_KNOWN = 16 };

/* State of a profile in a child of fork. */
typedef struct crn_child {
    bool waiting;                          /* no event has happened since the fork; atomic */
    crn_mode mode;                         /* mode of the profile from the first event on */
    bool sampler;                          /* the parent had a sampling thread */
    crn_disk_moment forked;                /* when this process was forked */
    uint64_t used[CRN_SECTION_KINDS];      /* sizes of the parent's tables at the fork; the parent's
                                              tables keep growing */
    crn_ancestor ancestors[CRN_ANCESTORS]; /* oldest first */
    uint32_t ancestor_count;
    uint64_t forks; /* number of forks that this process and its ancestors made */
    char *origin;   /* path after which the captures of children and periods are named. The process
                       that makes the first of them sets it, and its children inherit it; NULL
                       before */
} crn_child;

/* The counters of allocations: memory_counters.c. */
typedef struct crn_memory_counters {
    bool begun;          /* a thread adds the keys, or has added them; atomic */
    bool known;          /* the keys are valid; atomic */
    bool busy;           /* a thread is changing `at` and `allocated`; atomic */
    uint32_t live, rate; /* keys */
    uint64_t at;         /* CLOCK_MONOTONIC, ns: when the last values were recorded; atomic */
    uint64_t allocated;  /* bytes allocated up to then */
} crn_memory_counters;

struct cairn_profile {
    crn_capture capture;
    crn_section strings, blocks, metrics, notes, keys, trees; /* under lock */
    uint64_t trees_used;                                      /* bytes; under lock */
    crn_futex_lock lock;
    uint32_t block_count, lane_count; /* changed under lock */
    uint32_t metric_count;            /* changes under lock; atomic */
    uint32_t key_count;               /* under lock */
    uint32_t files[CRN_FILES_KNOWN];  /* offsets of files' names in `strings`, by hash; 0: none.
                                         Under lock */
    crn_names texts, places;          /* hash tables: offsets of texts in `strings`; blocks of
                                         cairn_block_once; under lock */
    uint32_t names;                   /* unique id of the profile's block, key and text numbers; not
                                         0 */
    uint64_t trace_id[2], span_key;   /* of spans: see ids.c */
    cairn_lane *lanes;                /* newest first; lanes are only added */
    bool tsc;         /* the profile's clock is the time stamp counter, otherwise CLOCK_MONOTONIC;
                         a comment that begins with "clock:" means its readings */
    crn_mode mode;    /* atomic */
    crn_mode mode_on; /* mode while recording is on */
    bool mismatched;  /* the note "mismatch" exists (checked.c); atomic */
    uint64_t turned;  /* number of times recording was switched on or off; atomic */
    uint64_t turned_at[2]; /* clock: last switch off, last switch on */
    cairn_error stopped;   /* first reason why recording is incomplete; CAIRN_OK: none; atomic */
    uint64_t generation;   /* number of resets, as in the header; changes under lock; atomic */
    uint64_t reset_at;     /* clock: last reset; atomic */
    uint64_t changes;      /* incremented to announce changes to the lanes; atomic */
    double clock_per_ns;
    cairn_wall wall;
    cairn_cpu cpu;
    cairn_sampler how_sampled;
    double sample_overhead;
    uint64_t sample_period_ns, tick_period, seed;
    uint32_t path_limit, context_budget;
    crn_hiding hides;
    bool spans, span_histograms, span_cpu;
    cairn_span_policy span_policy;
    uint64_t span_limit;
    uint64_t span_threshold; /* root spans with a random number below it are recorded; 0: all */
    uint64_t span_weight;    /* bits of a double: weight of a recorded root span */
    uint32_t *splits;        /* for each key: limit on values with histograms of their own;
                                atomic */
    crn_sampler sampler;
    cairn_metric ready; /* the metric "ready"; 0: not added yet; atomic */
    crn_helper preparer;
    crn_helper off_core; /* runs if `has_off_core` */
    bool has_off_core;
    const char *off_core_source; /* the text of the note "off_core" */
    bool lacks_preparer;         /* no thread prepares space for spans */
    bool preparer_sleeps;        /* the preparer sleeps until a lane takes a chunk; atomic */
    bool preparer_wanted;        /* a lane has taken a chunk; atomic */
    crn_memory_counters memory;
    bool in_memory;
    crn_child child;        /* state after a fork */
    cairn_profile *sibling; /* ring of profiles with the same blocks; under the siblings' lock */
    cairn_profile *next;    /* list of all profiles of the process, for fork's handlers */
};

typedef struct crn_crossing crn_crossing;

struct cairn_lane {
    crn_graph graph; /* must be first: the hot path uses its first member */
    cairn_profile *profile;
    crn_section links, records;
    crn_section *columns[CAIRN_METRIC_MAX];
    crn_disk_lane *disk;   /* the lane's header: the begin of `links`, mapped a second time, because
                              `links` moves when it grows */
    char *header_page;     /* the page of that second mapping */
    cairn_strand *running; /* current strand; atomic, because the sampler reads it */
    cairn_strand *strands; /* list of open strands */
    cairn_strand *spare;   /* list of closed strands */
    crn_sample_time pending; /* the newest request for a sample. Its clock is stored last; the owner
                                sets the clock to 0; atomic */
    crn_sample_time first_pending; /* the oldest request since the owner's last sample */
    bool locked;                   /* lock of the lane's time: see charge.c; atomic */
    bool promises;                 /* the file has promises that are not charged yet; atomic */
    uint64_t seen_cpu;             /* the owner's CPU time at the sampler's last round; atomic */
    uint64_t ready;                /* ready time that the sampler has seen, ns; atomic */
    uint64_t ready_charged;        /* part of it that the owner has charged or dropped */
    uint64_t seen_ready;    /* sampler only: the thread's total ready time at the last reading */
    pid_t ready_thread;     /* sampler only: id of that thread */
    uint64_t seen_stamp;    /* sampler only: the lane's stamp at the last round */
    uint64_t turned;        /* the profile's `turned` up to which the lane has followed; atomic */
    uint64_t turned_cpu[2]; /* CPU time of the owner at the profile's turned_at; atomic */
    uint64_t changes_seen;  /* the profile's `changes` up to which the lane has followed */
    uint64_t reset_cpu;     /* CPU time of the owner at the profile's reset_at; atomic */
    crn_thread *owner;      /* thread that owns the lane; NULL: none; atomic; changes under the
                               threads' lock */
    cairn_lane *next_owned; /* next in the owner's list */
    crn_timer *timer;       /* timer on the owner's CPU time */
    pid_t thread_id;        /* kernel's id of the owner; atomic */
    clockid_t thread_clock; /* the owner's CPU clock; 0: no owner, or in a child of fork no event
                               yet; atomic */
    bool thread_set;        /* cairn_lane_set_thread was called: the lane describes another thread
                               than its owner */
    uint32_t shown_thread;  /* id of the lane's thread in the file; 0: not stored yet */
    bool of_thread;         /* the lane was opened for a thread's own strand (process.h); atomic */
    bool open;
    bool forked; /* in a child of fork: the graph is still the parent's */
    uint32_t number;
    crn_futex_lock moving; /* held while the graph's arrays move, because other lanes read paths in
                               them */
    crn_stream spans, details;
    cairn_priv_span *spans_end;           /* end of the chunk being written */
    crn_disk_detail *detail, *detail_end; /* the next free detail, and the end of its chunk */
    struct crn_histograms *histograms;
    struct crn_core_watch *off_core;      /* the off-core thread's data about the owner; only that
                                             thread uses it; NULL before its first look */
    struct crn_sample_space *samples;     /* sample_moments.c; NULL before the first */
    struct crn_counted *counted;          /* counter trees: counted.c */
    struct cairn_priv_follower *follower; /* libcairn-alloc's part of the lane (cairn/alloc.h) */
    uint64_t span_random;                 /* state of the generator that samples root spans */
    struct crn_foreign *foreign; /* cache: contexts of other lanes -> records of this lane */
    uint32_t foreign_mask, foreign_count;
    uint64_t random;        /* state of the generator for sampled ticks */
    uint64_t tick_point;    /* position of the next sample of ticks within its interval */
    uint64_t tick_interval; /* number of that interval */
    uint32_t tick_waiting;  /* record of the last sample, not charged yet; 0: none */
    cairn_lane *next;       /* next in the profile's list */
    /* For strands redirected to other profiles: redirect.c. */
    cairn_lane *home;                 /* the lane that this lane stands in for; NULL if it is no
                                         stand-in */
    cairn_lane *stand_ins;            /* list of the lanes that stand in for this lane; atomic */
    cairn_lane *next_stand_in;        /* next stand-in of the same lane */
    cairn_strand *silent;             /* the current strand, if it records nothing */
    crn_crossing *crossings;          /* list of caches of other lanes' contexts: crossing.c */
    uint64_t serial;                  /* unique number of the lane's graph */
    struct crn_old_graph *old_graphs; /* graphs from before forks */
};

struct cairn_strand {
    cairn_priv_strand hot; /* must be first */
    cairn_priv_stack only; /* used if the strand keeps only a stack of blocks */
    uint32_t *stack;       /* entry 0 is unused: its address is the limit at which leave takes the
                              slow path */
    uint32_t *end;         /* end of the stack's memory */
    size_t lost;           /* number of innermost frames, for which there was no memory */
    /* For strands that keep only a stack of blocks: */
    uint32_t *records;           /* record of each frame; NULL in strands with counts */
    size_t resolved;             /* number of valid records */
    size_t stride;               /* number of records to invalidate next: stack.c */
    cairn_block at_root;         /* block that replaced the root */
    cairn_priv_open *open_spans; /* open_spans[0] is unused; NULL before the first span */
    size_t lost_spans;           /* innermost open spans, for which there was no memory */
    size_t lost_spans_from;      /* height of the stack below the first such span, + 1; 0: no such
                                    span */
    struct crn_timing *timings;  /* parallel to open_spans; NULL if no span needs more than its
                                    record */
    crn_disk_histogram **splits; /* histograms by attribute value of the open spans */
    uint32_t split_count, split_room;
    struct crn_adoption *adoptions;
    uint32_t adoption_count, adoption_room, adopted; /* adopted: number of adoptions since the
                                                        strand was made */
    size_t lost_adoptions, lost_adoptions_at; /* number of innermost adoptions for which there
                                                 was no memory; height of the stack at the
                                                 first of them */
    uint64_t *forked; /* parallel to open_spans: ids of the spans that an ancestor process began */
    size_t forked_room;
    cairn_strand *next, *previous;
    cairn_strand *away;   /* strand of another profile that runs in place of this strand */
    cairn_strand *origin; /* strand in whose place this strand runs */
    size_t paused;        /* number of innermost redirections that record nothing: to no profile, or
                             without a strand there */
    uint32_t aim;         /* span that attributes go to; 0: the innermost; CRN_AIM_NOWHERE: drop
                             them */
    bool open;
};

static inline cairn_lane *crn_lane_of(const cairn_strand *strand)
{
    return (cairn_lane *)strand->hot.lane;
}

/* Returns the current record of a strand that keeps only a stack of blocks. */
uint32_t crn_stack_resolve(cairn_strand *strand);

/* Returns the current record. Thread: the lane's. */
static inline uint32_t crn_strand_record(cairn_strand *strand)
{
    if (__builtin_expect(strand->records != NULL, 0))
        return crn_stack_resolve(strand);
    return crn_record_at(strand->hot.current);
}

/* Makes a callee current, given as a node offset, and counts the call. */
static inline void crn_strand_call(cairn_priv_strand *hot, uint64_t callee)
{
    CAIRN_PRIV_PUT(hot->current, callee);
    CAIRN_PRIV_ADD(cairn_priv_record_at(hot->lane, callee)->calls, 1);
}

/* Copies the addresses of the lane's arrays, which move when the lane grows. */
static inline void crn_strand_copy_addresses(cairn_strand *strand)
{
    const cairn_lane *lane = crn_lane_of(strand);
    strand->hot.base = lane->graph.hot.base;
    strand->hot.links = lane->graph.links;
    strand->hot.charged = lane->disk ? &lane->disk->stamp : NULL;
}

/* Returns what cairn_strand_depth does; faster for strands with counts. */
static inline size_t crn_strand_depth(const cairn_strand *strand)
{
    if (__builtin_expect(strand->records != NULL, 0))
        return cairn_strand_depth(strand);
    return (size_t)(strand->hot.top - strand->stack) - 1 + strand->lost;
}

/* Take and release the profile's lock. A thread has no strand while it holds the lock: otherwise
 * events in a signal handler or in the program's own malloc would wait for the lock. */
static inline void crn_profile_lock(cairn_profile *profile)
{
    cairn_priv_strand_aside();
    crn_futex_lock_take(&profile->lock);
}

static inline void crn_profile_unlock(cairn_profile *profile)
{
    crn_futex_lock_give(&profile->lock);
    cairn_priv_strand_back();
}

static inline crn_mode crn_profile_mode(const cairn_profile *profile)
{
    return __atomic_load_n(&profile->mode, __ATOMIC_ACQUIRE);
}

extern __thread crn_thread crn_this_thread __attribute__((tls_model("initial-exec")));

/* Returns the calling thread's crn_thread, which a child of fork keeps. */
static inline crn_thread *crn_thread_self(void)
{
    return &crn_this_thread;
}

/* Removes the lane from its owner's list. Under the threads' lock. */
void crn_thread_remove(cairn_lane *lane);

/* Makes the calling thread the lane's owner, after charging the time of another owner. */
void crn_lane_own(cairn_lane *lane);

/* Charges outstanding time and takes the lane from its owner. Thread: any, while the lane is not in
 * use. */
void crn_lane_let_go(cairn_lane *lane);

/* Charges the time up to the sampler's last request, on a lane that moved to another thread than
 * its owner. */
void crn_lane_settle_moved(cairn_lane *lane);

/* Starts charging time at `clock`, and at the current CPU time of the calling thread, which owns
 * the lane. */
void crn_lane_begin_time(cairn_lane *lane, uint64_t clock);

/* Like crn_lane_begin_time, in a child of fork: its thread's CPU time was 0 at the fork. */
void crn_lane_begin_child(cairn_lane *lane, uint64_t clock);

/* Makes the strand the lane's current one. */
void crn_lane_run(cairn_lane *lane, cairn_strand *strand);

/* Returns the CPU time of the lane's owner, 0 if it is not recorded. Threads other than the owner
 * need the threads' lock. */
uint64_t crn_lane_cpu_now(const cairn_lane *lane);

/* Returns true if the lock is free, or becomes free within a second. It never becomes free if the
 * process ends in a signal handler that interrupted the holder. */
bool crn_lock_is_obtainable(crn_futex_lock *lock);

/* Lock and unlock the owners of lanes, also around a fork. A child of fork unlocks with
 * crn_threads_begin_child. A child that was made without fork's handlers makes the lock anew with
 * crn_threads_begin_unseen, because another thread may have held it. */
void crn_threads_lock(void);
void crn_threads_unlock(void);
bool crn_threads_lock_is_obtainable(void); /* see crn_lock_is_obtainable */
void crn_threads_begin_child(void);
void crn_threads_begin_unseen(void);

/* Lock of the lane's time: see charge.c. */
bool crn_lane_try_lock(cairn_lane *lane);
void crn_lane_lock(cairn_lane *lane);
void crn_lane_unlock(cairn_lane *lane);

/* Announces a change to all lanes: their current strands take the slow path at the next event.
 * Under the profile's lock. */
void crn_profile_announce_change(cairn_profile *profile);

/* Processes announced changes. Thread: the lane's. */
void crn_lane_apply_changes(cairn_lane *lane);

/* Returns true if recording is on, and the lane has noticed that. Thread: any. */
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

/* Clears the lane's figures if they are from before a reset. Thread: the lane's; if the lane is
 * closed, any that holds the profile's lock. */
void crn_lane_catch_up(cairn_lane *lane);

/* Stores why recording is incomplete, unless a reason is stored already. */
void crn_profile_stop(cairn_profile *profile, cairn_error error);

/* Returns the present moment by the profile's clock and by CLOCK_MONOTONIC. */
crn_disk_moment crn_profile_read_moment(const cairn_profile *profile);

/* Ends the profile's helper threads. */
void crn_profile_stop_threads(cairn_profile *profile);

/* Returns true if neither the lane's time nor its graph is locked. */
bool crn_lane_is_unlocked(cairn_lane *lane);
/* Packs the capture if it is small and has one lane, which no other thread uses. Call it after the
 * end of recording, with the helper threads halted. Returns false if the file stays as it is. */
bool crn_profile_pack(cairn_profile *profile);

/* Begins recording anew in a disabled profile: sets all figures to 0, counts time from now on, and
 * starts the helper threads. Returns false if the profile cannot record. */
bool crn_profile_begin_again(cairn_profile *profile);

/* Like cairn_profile_open. If threads may be hidden, crn_sampler_pause must be called before the
 * process gets another thread, changes its user, or makes a change of namespaces that the kernel
 * refuses beside the thread. */
cairn_error crn_profile_open(cairn_profile **profile, const cairn_options *options,
                             crn_hiding hides);

/* Stores the present moment in the header, to calibrate the clock. One caller at a time. */
void crn_profile_moment(cairn_profile *profile);

/* ---- tables of the capture: tables.c ---- */

/* Writes the initial contents of a capture. */
void crn_profile_put_first(cairn_profile *profile, const cairn_options *options);
/* Measures the cost of a call and of a sample, and adds both as notes. Takes some ten
 * microseconds. */
void crn_profile_put_costs(cairn_profile *profile);
/* Adds a block. Under the profile's lock. */
typedef cairn_block crn_put_block(cairn_profile *profile, const cairn_block_info *info);
crn_put_block crn_profile_add_block;
/* Returns the metric of that name; CAIRN_METRIC_MAX if the profile lacks it. Under lock. */
cairn_metric crn_profile_find_metric(const cairn_profile *profile, const char *name);
/* Add a metric, a key, a note. Return CAIRN_METRIC_MAX, CAIRN_KEY_MAX or false without space. Under
 * lock. */
cairn_metric crn_profile_add_metric(cairn_profile *profile, const char *name, const char *unit);
cairn_key crn_profile_add_key(cairn_profile *profile, const char *name);
bool crn_profile_add_note(cairn_profile *profile, const char *key, const char *value);

/* Returns the callee record for `block` of `record`, adding it if needed; never fails. For a block
 * that was never added, returns the record of [folded] and counts a misuse. */
static inline uint32_t crn_lane_follow(cairn_lane *lane, uint32_t record, cairn_block block)
{
    if (block < __atomic_load_n(&lane->profile->block_count, __ATOMIC_ACQUIRE))
        return crn_graph_follow(&lane->graph, record, block);
    lane->disk->misuses++;
    return crn_graph_append(&lane->graph, record, CAIRN_BLOCK_FOLDED); /* not cached, so that the
                                                                          next misuse counts, too */
}

/* Calls `put_block` to find or add a block, under the profile's lock, and adds the block to the
 * siblings. */
cairn_block crn_profile_make_block(cairn_profile *profile, const cairn_block_info *info,
                                   crn_put_block *put_block);

/* Stores a string. Returns its offset in `strings`; 0 for "" or without space. Under lock. */
uint32_t crn_profile_string(cairn_profile *profile, const char *text);

/* Opens a lane like cairn_lane_open, but never reuses a closed one. */
cairn_lane *crn_lane_open_new(cairn_profile *profile, const char *name);

/* crn_lane_new adds a lane, which is not open yet, under the profile's lock; returns NULL without
 * memory. crn_lane_free frees a lane that nothing uses any more. */
cairn_lane *crn_lane_new(cairn_profile *profile);
void crn_lane_free(cairn_lane *lane);

/* ---- column.c ---- */

/* Grows the lane's column of a metric to `records` records; makes the column if needed. */
cairn_error crn_column_grow(cairn_lane *lane, cairn_metric metric, uint64_t records);
void crn_columns_close(cairn_lane *lane);

/* Adds to a record's figure in the column for a metric; makes the column if needed. */
void crn_lane_charge(cairn_lane *lane, uint32_t record, cairn_metric metric, uint64_t amount);

/* Charges `record`, which is not 0, with exact wall time up to `now`, unless it is charged beyond.
 * Does not change `settled` (charge.c): the lane must have no promises, which readers could count
 * twice. */
static inline void crn_lane_charge_exact(cairn_lane *lane, uint64_t record, uint64_t now)
{
    cairn_priv_charge_until(&lane->disk->stamp, &lane->graph.links[record].wall, record, now);
}

/* Handles what is pending: announced changes, requested samples, promises. Charges exact time to
 * the current context. */
void crn_lane_settle(cairn_lane *lane);

/* Carries out a switch of recording on or off. */
void crn_lane_settle_turn(cairn_lane *lane);

/* Charges the current context with wall time up to `clock` and CPU time up to `cpu`. Call it with
 * the lane's time locked. */
void crn_lane_settle_until(cairn_lane *lane, uint64_t clock, uint64_t cpu);

/* Counts an event that was dropped for lack of memory. */
void crn_lane_drop(cairn_lane *lane);

/* Charges the time that the lane's promises show (charge.c). Call it with the lane's time locked.
 */
void crn_lane_charge_promises(cairn_lane *lane);

/* Charge the time since the last sample to the current context. The second function processes
 * announced changes first. */
void crn_lane_charge_now(cairn_lane *lane);
static inline void crn_lane_charge_rest(cairn_lane *lane)
{
    crn_lane_listen(lane);
    crn_lane_charge_now(lane);
}

/* Begin and end the intervals of sampled ticks of a lane; the end charges the rest of the last
 * interval. Intervals go on when another thread takes the lane: otherwise short-lived threads would
 * cut most of them short. */
void crn_ticks_begin(cairn_lane *lane);
uint64_t crn_ticks_mode(const cairn_profile *profile);
void crn_ticks_finish(cairn_lane *lane);

/* Pushes a frame without counting a call, and makes `record` current. */
void crn_strand_push(cairn_strand *strand, uint32_t record);

/* Upper limit of a strand while recording is off and nothing is pending: enter only pushes, and
 * leave takes the fast path. Like NULL, the address is below every stack. */
#define CRN_HIGH_OFF ((uint32_t *)sizeof(uint32_t))

/* Set the strand's stack limits. arm: so that the next event takes the slow path. disarm: to those
 * of its stack, unless each event must take the slow path. */
void crn_strand_arm(cairn_strand *strand);
void crn_strand_disarm(cairn_strand *strand);
bool crn_strand_grow(cairn_strand *strand);

/* ---- idle.c: the sampling thread sleeps while there are no events ---- */

/* Returns a random gap between samples, in periods. */
double crn_sampler_gap(const cairn_profile *profile, uint64_t *random);

/* Ends a round. `quiet`: no lane had an event in it. After enough quiet rounds in a row, begins the
 * sleep. Thread: the sampling one. */
void crn_sampler_rest(cairn_profile *profile, bool quiet);

/* Ends the sleep. Thread: the sampling one. */
void crn_sampler_resume(cairn_profile *profile);

/* Returns true if an event has woken the sampler, and sets the moment of the next sample
 * (CLOCK_MONOTONIC, ns). Thread: the sampling one. */
bool crn_sampler_was_woken(const cairn_profile *profile, uint64_t now, uint64_t *next);

/* Wakes the sampling thread if it sleeps, because a strand begins to run or recording is switched
 * on. Signal safe. */
void crn_sampler_wake(cairn_profile *profile);

/* Takes a request's readings of the clocks. If the sampler sleeps, wakes it, and sets the readings
 * to those of the last sample that it would have made. `own`: the caller is the lane's owner. Call
 * it with the lane's time locked. */
void crn_sampler_catch_up(cairn_lane *lane, bool own, uint64_t *clock, uint64_t *cpu);

/* Returns true if the thread can be hidden from the C library: with the profile's options, the
 * sampling thread only reads clocks and stores words, and the host's makes no timer. */
bool crn_profile_may_hide(const cairn_profile *profile, crn_hiding what);

/* Starts the sampling thread. Stop it with crn_helper_stop(&profile->sampler.helper). */
cairn_error crn_sampler_start(cairn_profile *profile);
/* Returns true if this process has a hidden sampling thread. */
static inline bool crn_sampler_is_hidden(const cairn_profile *profile)
{
    return crn_helper_is_hidden(&profile->sampler.helper);
}

/* Ends a hidden sampling thread and returns true. Returns false, and does nothing, if the process
 * has none. The second function starts a thread that was ended so again, hidden if it may be. Call
 * both with all signals but SIGBUS blocked, under crn_helpers_replaced; `mask` is the mask before.
 */
bool crn_sampler_pause(cairn_profile *profile);
void crn_sampler_go_on(cairn_profile *profile, const sigset_t *mask);

/* Prepares timers, which sample CPU time in place of the sampling thread. Returns false if no
 * signal is free. */
bool crn_timers_begin(void);
/* Returns true if the timers' signal still has this library's handler. */
bool crn_timers_are_ours(void);
void crn_timers_begin_child(void);
/* Rearms timers whose signal the program consumed: the handler, which rearms them otherwise, did
 * not run. Call it now and then. */
void crn_timers_go_on(void);

/* crn_timer_start starts a timer on the CPU time of the calling thread, which owns the lane, if the
 * profile samples by timers. crn_timer_stop ends the timer. crn_timer_forget does it in a child of
 * fork, which has no timers. */
void crn_timer_start(cairn_lane *lane);
void crn_timer_stop(cairn_lane *lane);
void crn_timer_forget(cairn_lane *lane);

/* Keeps this shared object loaded: a program may close a plugin that contains Cairn while Cairn's
 * threads run, or before destructors of threads call it. */
void crn_stay_loaded(void);

/* Installs the handler of faults in captures, if a host hides it from the program. */
void crn_faults_catch(void);

/* Charges the time up to now on all lanes that the calling thread owns. */
void crn_profile_charge_own(cairn_profile *profile);

/* Registers the fork handlers; adds a profile to those that they handle; removes it. */
void crn_fork_watch(void);
void crn_fork_add(cairn_profile *profile);
void crn_fork_remove(cairn_profile *profile);

/* Separates all profiles from the parent's captures for good, in a child for which no fork handler
 * was called. Returns false within fork, whose handlers do that. Signal safe. */
bool crn_fork_begin_unseen(void);

/* Abandons a lane: later use of it or its strands does no harm and records nothing. */
void crn_lane_abandon(cairn_lane *lane);
/* Returns true if the lane was abandoned. */
bool crn_lane_is_buried(const cairn_lane *lane);
extern cairn_profile crn_grave; /* the profile of abandoned lanes */

/* Remove the second mapping of the lane's header; make it private in a child of fork. */
void crn_lane_unmap_header(cairn_lane *lane);
void crn_lane_detach_header(cairn_lane *lane);

/* Makes the capture of a child of fork, if it has none yet. Thread: any, without the profile's
 * lock. */
void crn_child_begin(cairn_profile *profile);

/* Returns the path of a child's capture, x.PID.cairn beside its parent's at `origin`. Free it with
 * crn_free. NULL without memory. */
char *crn_child_path(const char *origin);

/* Returns true if the profile has a capture to write into. In a child of fork, makes it first.
 */
bool crn_profile_is_ready(cairn_profile *profile);

/* Continues the lane in the capture of a child of fork. Thread: the lane's. */
void crn_child_begin_lane(cairn_lane *lane);

/* ---- counter trees (cairn/host.h): counted.c, trees.c ---- */
void crn_counted_free(struct crn_counted *counted);
void crn_counted_clear(struct crn_counted *counted);

/* Makes the counters private and sets them to 0, in a child of fork. */
void crn_counted_detach(cairn_lane *lane);

/* Moves counters that crn_counted_detach made private to the child's capture, at the same
 * addresses. Call it before stacks are moved, without a lock. */
void crn_counted_move(cairn_lane *lane, crn_translation *translation, const crn_graph *before);

/* Copies the trees into the profile's present capture. Under lock. */
void crn_trees_move(cairn_profile *profile);

/* ---- crossing.c, old_graphs.c ----------------------------------------------------------- */

/* Returns the graph tag of the lane's graph. */
uint64_t crn_graph_tag(const cairn_lane *lane);

/* Keeps the parent's graph of the lane, in a child of fork, to translate callers saved with its
 * tag. Takes ownership of `links`. Returns false, and leaves `links` to the caller, if they are not
 * needed or without memory. */
bool crn_old_graph_add(cairn_lane *lane, uint64_t tag, const crn_graph *graph,
                       const crn_section *links);
void crn_old_graphs_free(cairn_lane *lane);

/* Returns the present graph's record for a record of the graph with that tag; 0 if unknown.
 */
uint32_t crn_old_graph_translate(cairn_lane *lane, uint64_t tag, uint32_t record);

#endif
