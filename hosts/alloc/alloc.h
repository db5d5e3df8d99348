/* SPDX-License-Identifier: MIT
 *
 * alloc.h - declarations that the parts of libcairn-alloc share. docs/ALLOC.md explains the whole.
 *
 * Rules of all parts. The real malloc serves the program's request first, even if recording fails.
 * The library's own memory comes from mmap; libcairn's comes from the real malloc and is not
 * counted. errno is left as the real malloc set it.
 */
#ifndef CRN_ALLOC_ALLOC_H
#define CRN_ALLOC_ALLOC_H

#include <pthread.h>

#include <cairn/alloc.h>
#include <cairn/host.h>

#include "../native/code.h"
#include "../native/limits.h"
#include "../native/pages.h"
#include "unwind/unwind.h"

/* No other library uses these names, so they need no table of addresses. */
#pragma GCC visibility push(hidden)

typedef enum crn_alloc_state {
    CRN_ALLOC_EARLY = 0, /* before the program begins */
    CRN_ALLOC_IDLE,      /* not recording, until cairn_alloc_follow */
    CRN_ALLOC_ON,
    CRN_ALLOC_FULL, /* the disk is full: not recording; the profile is still to be closed */
    CRN_ALLOC_OVER  /* not recording, for good */
} crn_alloc_state;

extern int crn_alloc_state_now; /* crn_alloc_state; atomic */

/* ---- live.c: table of live allocations ---------------------------------------------- */

enum { CRN_LANE_BITS = 20, CRN_GENERATION_BITS = 17 };

/* A live allocation that was counted. Two words, not bit fields, so that registers hold it. The
 * generation is kept modulo 2^17: an allocation that survives 2^17 resets may count as one made
 * after the last. */
typedef struct crn_live {
    /* From the lowest bit on: context (32 bits), number of the lane that counted it (20 bits),
     * CRN_LIVE_MORE_BYTES and _OBJECTS. 0: no allocation. */
    uint64_t owner;
    uint64_t amount; /* requested bytes (47 bits), generation of the profile (17 bits) */
} crn_live;

enum { CRN_LIVE_LANE = 32, CRN_LIVE_MORE = CRN_LIVE_LANE + CRN_LANE_BITS };

/* The sample's weight in bytes, or objects, was rounded up. */
#define CRN_LIVE_MORE_BYTES ((uint64_t)1 << CRN_LIVE_MORE)
#define CRN_LIVE_MORE_OBJECTS ((uint64_t)1 << (CRN_LIVE_MORE + 1))

static inline crn_live crn_live_of(cairn_context context, uint32_t lane, uint64_t size,
                                   uint64_t generation)
{
    return (crn_live){context | (uint64_t)lane << CRN_LIVE_LANE,
                      size | generation << (64 - CRN_GENERATION_BITS)};
}

static inline uint32_t crn_live_lane(crn_live live)
{
    return live.owner >> CRN_LIVE_LANE & ((1 << CRN_LANE_BITS) - 1);
}

static inline uint64_t crn_live_size(crn_live live)
{
    return live.amount & (((uint64_t)1 << (64 - CRN_GENERATION_BITS)) - 1);
}

/* Returns true if the allocation was counted in this generation of the profile. */
static inline bool crn_live_is_of(crn_live live, uint64_t generation)
{
    return (live.amount ^ generation << (64 - CRN_GENERATION_BITS)) >> (64 - CRN_GENERATION_BITS) ==
           0;
}

enum {
    CRN_LIVE_GRANULE = 5, /* bits: one entry for 32 bytes of heap */
    CRN_LIVE_LEAF = 16,   /* bits: a leaf is 1 MiB, for 2 MiB of heap */
    CRN_LIVE_MIDDLE = 13,
    CRN_LIVE_TOP = 13 /* bits: together all 47 of a user address */
};

typedef struct crn_live_middle {
    crn_live *leaves[1 << CRN_LIVE_MIDDLE]; /* atomic */
} crn_live_middle;

extern crn_live_middle *crn_live_top[1 << CRN_LIVE_TOP]; /* atomic */

/* Returns the entry for an allocation's address; NULL if that part of the table is not made yet.
 * Only the allocation's owner uses the entry, so it needs no lock. */
static inline crn_live *crn_live_find(const void *block)
{
    uintptr_t at = (uintptr_t)block >> CRN_LIVE_GRANULE;
    uintptr_t top = at >> (CRN_LIVE_LEAF + CRN_LIVE_MIDDLE);
    if (CRN_UNLIKELY(top >> CRN_LIVE_TOP))
        return NULL;
    const crn_live_middle *middle = __atomic_load_n(&crn_live_top[top], __ATOMIC_ACQUIRE);
    if (CRN_UNLIKELY(!middle))
        return NULL;
    crn_live *leaf = __atomic_load_n(
        &middle->leaves[at >> CRN_LIVE_LEAF & ((1 << CRN_LIVE_MIDDLE) - 1)], __ATOMIC_ACQUIRE);
    return CRN_LIKELY(leaf != NULL) ? leaf + (at & ((1 << CRN_LIVE_LEAF) - 1)) : NULL;
}

/* As crn_live_find, but makes the entry. NULL if there is no memory. */
crn_live *crn_live_make(const void *block);

/* ---- filter.c: quick test for allocations that were not counted --------------------- */

enum { CRN_FILTER_GRANULE = 9 /* bits: one element for 512 bytes of heap */ };

/* Number of counted allocations in each granule of heap, and in those 32 MiB apart. A number that
 * has reached 255 stays. Atomic; changes under the filter's lock. */
extern uint8_t crn_filter[1 << 16];

static inline uint8_t *crn_filter_at(const void *block)
{
    return &crn_filter[(uint16_t)((uintptr_t)block >> CRN_FILTER_GRANULE)];
}

/* Returns false if the allocation was certainly not counted. Costs one load. */
static inline bool crn_filter_may(const void *block)
{
    return __atomic_load_n(crn_filter_at(block), __ATOMIC_RELAXED) != 0;
}

/* Without sampling: makes crn_filter_may true for all allocations. */
void crn_filter_all(void);
/* With sampling: add an allocation when it is counted, and remove it when it is freed. */
void crn_filter_add(const void *block);
/* For fork: no other thread changes the counts meanwhile. */
void crn_filter_lock(void);
void crn_filter_unlock(void);
void crn_filter_remove(const void *block);

/* The bytes and objects that are charged for an allocation. */
typedef struct crn_weight {
    uint64_t bytes, objects;
} crn_weight;

/* ---- sample.c: sampling by bytes ----------------------------------------------------- */

/* Mean number of bytes between samples; 0: every allocation is counted. */
extern double crn_sample_mean;
extern bool crn_sampled; /* crn_sample_mean is not 0 */

/* Writes the mean as captures note it: a number of bytes, or "exact". */
void crn_sample_mean_text(char text[32]);
extern uint64_t crn_sample_seed; /* seeds each lane's generator of random numbers */

/* Draws the number of bytes to the next sample, at least 1; 0 without sampling. */
uint64_t crn_sample_gap(uint64_t *random);

/* Chooses at random whether the sample's weight is rounded up. Returns the entry with the choice,
 * so that the free subtracts what the allocation added. */
crn_live crn_sample_round(crn_live block, uint64_t *random);
/* Returns the weight of a sample: the bytes and objects that it stands for. */
crn_weight crn_sample_weigh(crn_live block);

/* ---- lane.c: threads and their counters ---------------------------------------------- */

enum {
    CRN_COUNT_BYTES,
    CRN_COUNT_OBJECTS,
    CRN_COUNT_FREED_BYTES,
    CRN_COUNT_FREED_OBJECTS,
    CRN_COUNTS, /* number of counters that each allocation changes */
    CRN_COUNT_PEAK = CRN_COUNTS,
    CRN_METRICS
};

/* Live bytes of a context, for the peak. Modulo 2^64: a lane that frees what other lanes allocated
 * goes below 0, and the sum over lanes is right. */
typedef struct crn_tally {
    uint64_t live;
    uint64_t peak;   /* live bytes that were charged as "peak bytes" */
    uint32_t moment; /* crn_lane.moment at the last change */
    uint32_t spare;
} crn_tally;

/* First edge to a context. Other threads read it to find the path of the context that an allocation
 * was charged to. */
typedef struct crn_origin {
    cairn_context from;
    cairn_block block; /* 0: no such context yet */
} crn_origin;

enum {
    CRN_ORIGINS = 4096,         /* origins in a chunk */
    CRN_ORIGIN_CHUNKS = 1 << 11 /* for all contexts that a lane may have */
};

/* Entry of the edge cache: the context that a block leads to. */
typedef struct crn_cached_edge {
    cairn_context from;
    cairn_block block;
    cairn_context to;
} crn_cached_edge;

/* A context of another lane, and the context with the same path in this lane. */
typedef struct crn_translation {
    uint32_t lane;
    cairn_context context, here;
} crn_translation;

enum { CRN_EDGE_CACHE = 1 << 12, CRN_TRANSLATIONS = 1 << 12 };

struct crn_stack;
struct crn_returned;

/* A cairn_lane and what libcairn-alloc adds to it. Never freed: a later thread that gets the
 * cairn_lane uses this struct again. */
typedef struct crn_lane {
    cairn_priv_follower follower; /* must be first */
    cairn_lane *lane;
    uint32_t number;   /* index in the table of lanes (lane.c); never 0 */
    bool busy;         /* atomic: the owner is recording */
    bool of_program;   /* the contexts are those of the program's strands, not native stacks */
    bool off;          /* recording is off */
    uint32_t capacity; /* number of contexts that have counters */
    uint64_t *counters[CRN_COUNTS]; /* the columns of libcairn's lane, by context */
    uint32_t tally_count;
    crn_tally *tallies;
    uint32_t moment;   /* number of the last moment (peak.c) that this lane has copied */
    int64_t unflushed; /* change of live bytes that the process's total does not have yet */
    int64_t told;      /* this lane's part of the process's total; atomic */
    const uint64_t *generation_now; /* the profile's generation; atomic */
    uint64_t generation;            /* this lane's generation; changes under the lock */
    const uint64_t *changes_now;    /* number of the profile's changes; atomic */
    uint64_t changes;               /* number of the last change that this lane has acted on */
    cairn_strand *strand;          /* the strand whose contexts are charged; NULL: native stacks, or
                                      no thread follows the lane */
    struct crn_returned *returned; /* of_program: frees to be charged; atomic */
    crn_cached_edge *edge_cache;
    struct crn_stack *stack;
    crn_origin **origins;
    crn_translation *translations;
    const cairn_priv_alloc_calls *calls; /* of the libcairn that has `lane` */
    cairn_metric metrics[CRN_METRICS];
    uint64_t random;
    uint64_t allocated; /* with a strand: bytes to be added to the process's sum */
    uint32_t unseen;    /* with a strand: allocations and frees since the last show_memory */
    uint32_t *changed;  /* contexts whose live bytes changed since `moment` */
    size_t changed_count, changed_capacity;
    bool changed_all; /* there was no memory for the list: all may have changed */
    /* While no thread follows the lane: its column of peak bytes, to which the thread that ends the
     * last following of the profile adds; else NULL. Changes under the lock. */
    uint64_t *resting_peaks;
    bool closed; /* atomic: the cairn_lane does not exist any more */
} crn_lane;

typedef struct crn_thread {
    uint64_t left;    /* bytes until the next allocation to record; 0: record each */
    uintptr_t busy;   /* while the library records, its frame's address: its own allocations are not
                         counted; else 0 */
    crn_lane *lane;   /* lane to charge */
    crn_lane *native; /* the thread's own lane, for native stacks */
    bool ended;       /* the thread's lane is closed; what follows is charged to the shared lane */
} crn_thread;

enum { CRN_LEFT_NEVER = 62 }; /* bits: `left` of a thread that does not record */

/* ---- state.c ---- */

extern _Thread_local crn_thread crn_here __attribute__((tls_model("initial-exec")));

extern cairn_profile *crn_profile_here; /* profile of native stacks; NULL if there is none */
extern cairn_metric crn_metrics_here[CRN_METRICS];
extern const char *const crn_metric_names[CRN_METRICS][2]; /* name and unit */

/* Makes all threads stop recording if the capture has no space or is lost. To be called after
 * something could not be recorded. */
void crn_alloc_stop_if_full(void);

/* Notes in the lane's profile, once, that an allocation or a free could not be recorded, unless
 * recording is off or the capture is full, which the capture says itself. To be called without the
 * locks of lanes and lists. NULL: a thread that has no lane. */
void crn_alloc_lose(crn_lane *lane);

/* Ends recording in a child that was made without fork, so that nothing of the child reaches the
 * parent's capture. Signal safe. */
void crn_alloc_end_in_child(void);

/* Ends recording if the process is a child that libcairn's fork handlers have not seen. Call it
 * before using anything of the profile. */
static inline void crn_alloc_notice_child(void)
{
    if (CRN_UNLIKELY(cairn_priv_process_is_unseen()))
        crn_alloc_end_in_child();
}

/* ---- lane.c: all lanes ---- */

/* Makes the thread key and the fork handlers. Called once, before the first lane. Returns false if
 * that fails. */
bool crn_alloc_lanes_open(void);
/* Calls `each` for all lanes of native stacks. */
void crn_alloc_lanes_each(void (*each)(crn_lane *lane));
/* Returns true if no thread is recording. Called after a membarrier, when none can begin. */
bool crn_alloc_lanes_rest(void);

/* Opens a lane, busy, for the calling thread, which has allocated. If the thread's key destructor
 * has run already, returns the shared lane, busy and locked. NULL if no lane can be opened. */
crn_lane *crn_alloc_lane_first(void);
/* Returns the shared lane, locked and busy until crn_alloc_lane_shared_done; NULL if it cannot be
 * opened. It serves threads without a lane of their own: they have only freed so far, or their key
 * destructor has run. */
crn_lane *crn_alloc_lane_shared(void);
/* As crn_alloc_lane_shared, and makes sure that the profile is not closed meanwhile. */
crn_lane *crn_alloc_lane_to_free(void);
void crn_alloc_lane_shared_done(crn_lane *lane);

/* Returns the lane with that number, NULL if its allocations are not counted any more. */
crn_lane *crn_alloc_lane_numbered(uint32_t number);
/* Return the crn_lane of one of the program's lanes. _new makes it, and returns NULL without
 * memory; _known returns the one that the lane has already, NULL if it has none. */
crn_lane *crn_alloc_lane_new(cairn_lane *of, const cairn_priv_alloc_calls *calls,
                             const cairn_metric metrics[CRN_METRICS]);
crn_lane *crn_alloc_lane_known(cairn_lane *of, const cairn_priv_alloc_calls *calls);
/* To be called when a thread begins to follow one of the program's lanes, and when it ends. */
void crn_alloc_lane_begin(crn_lane *lane);
void crn_alloc_lane_rest(crn_lane *lane);
/* Follows changes of the profile: resets, and recording that is switched on or off. Sets the lane's
 * live bytes to 0 after a reset. */
void crn_alloc_lane_attend(crn_lane *lane);

/* Returns true if the lane has noticed the profile's last reset. */
static inline bool crn_alloc_lane_up_to_date(const crn_lane *lane)
{
    return __atomic_load_n(lane->generation_now, __ATOMIC_ACQUIRE) == lane->generation;
}

/* To be called by the lane's owner before it charges: notices a reset, and whether recording is
 * on. */
static inline void crn_alloc_lane_listen(crn_lane *lane)
{
    if (CRN_UNLIKELY(__atomic_load_n(lane->changes_now, __ATOMIC_ACQUIRE) != lane->changes))
        crn_alloc_lane_attend(lane);
}

/* ---- context.c: contexts of a lane ---- */

/* Makes counters and tallies for a context. Returns false if there is no space. */
bool crn_alloc_lane_widen(crn_lane *lane, cairn_context context);
/* Does the work of crn_alloc_lane_step for an edge that is not in its cache entry `edge`, and
 * caches it there. */
cairn_context crn_alloc_lane_step_first(crn_lane *lane, cairn_context from, cairn_block block,
                                        crn_cached_edge *edge);
/* Returns the context with the path that `context` has in the other lane; 0 if that is not
 * known. */
cairn_context crn_alloc_lane_translate(crn_lane *lane, const crn_lane *other,
                                       cairn_context context);

/* Returns the context that `block` leads to from `from`; 0 if there is no space. */
static inline cairn_context crn_alloc_lane_step(crn_lane *lane, cairn_context from,
                                                cairn_block block)
{
    uint32_t hash = (from * 0x9e3779b1u + block) * 0x85ebca6bu;
    crn_cached_edge *edge = &lane->edge_cache[hash >> 20];
    if (CRN_LIKELY(edge->from == from && edge->block == block))
        return edge->to;
    return crn_alloc_lane_step_first(lane, from, block, edge);
}

_Static_assert(CRN_EDGE_CACHE == 1 << (32 - 20), "the hash");

/* ---- stack.c: context of a native stack ----------------------------------------------- */

/* Returns the context of the calling stack; 0 if there is no space. `frame` is the frame address of
 * the function that the program called, malloc for example. */
cairn_context crn_alloc_stack_context(crn_lane *lane, const uintptr_t *frame);
struct crn_stack *crn_alloc_stack_new(void); /* NULL without memory */
/* Prepares the cache for the calling thread, which takes the lane: looks up the bounds of its
 * stack. */
void crn_alloc_stack_begin(struct crn_stack *stack);
/* Prepares the cache for any thread, without the bounds of its stack: the kernel copies the words
 * of the stack (crn_unwind_read_outside), and no frame is remembered. */
void crn_alloc_stack_begin_unknown(struct crn_stack *stack);
/* Forgets all remembered frames. */
void crn_alloc_stack_forget(struct crn_stack *stack);
/* Returns true if an address is on the thread's own stack. */
bool crn_alloc_stack_holds(const struct crn_stack *stack, uintptr_t address);

/* ---- peak.c: live bytes at the process's peak ------------------------------------------ */

/* Data that all threads read at each change of live bytes. A cache line of its own. */
typedef struct crn_peak_data {
    int64_t most, least; /* limits of crn_lane.unflushed; atomic */
    uint32_t moment;     /* atomic */
} __attribute__((aligned(64))) crn_peak_data;

extern crn_peak_data crn_peak_now;

/* Counts open lanes: `change` is 1 for a lane that was opened, -1 for one that was closed. */
void crn_peak_lanes(int change);
/* If a new moment has begun: charges the live bytes of the contexts that changed since the lane's
 * last moment as peak bytes. */
void crn_peak_settle(crn_lane *lane);
/* Adds a context to the list of those that changed since the lane's moment. */
void crn_peak_note(crn_lane *lane, cairn_context context);
/* Adds the lane's unflushed bytes to the total. A new moment begins if the total is above the last
 * peak: by more than 1/256 with _check, by any amount with _flush. Called by the lane's owner, or
 * when no thread records. */
void crn_peak_check(crn_lane *lane);
void crn_peak_flush(crn_lane *lane);
/* Takes the lane's bytes out of the total again, after a reset. */
void crn_peak_retract(crn_lane *lane);
/* Sets the peak to 0, after a reset. */
void crn_peak_again(void);
/* Sets all figures to 0, in a child of fork. */
void crn_peak_restart(void);

/* Returns the live bytes of all lanes, without changes that other lanes hold back. */
uint64_t crn_peak_live(const crn_lane *lane);

/* Changes the live bytes of a context. */
static inline void crn_peak_change(crn_lane *lane, cairn_context context, int64_t bytes)
{
    if (CRN_UNLIKELY(lane->moment != __atomic_load_n(&crn_peak_now.moment, __ATOMIC_ACQUIRE)))
        crn_peak_settle(lane);
    crn_tally *tally = &lane->tallies[context];
    if (CRN_UNLIKELY(tally->moment != lane->moment))
        crn_peak_note(lane, context);
    tally->live += (uint64_t)bytes;
    lane->unflushed += bytes;
    if (CRN_UNLIKELY(lane->unflushed > __atomic_load_n(&crn_peak_now.most, __ATOMIC_RELAXED) ||
                     lane->unflushed < __atomic_load_n(&crn_peak_now.least, __ATOMIC_RELAXED)))
        crn_peak_check(lane);
}

/* ---- record.c --------------------------------------------------------------------------- */

/* Records an allocation that the program got. `frame` as for crn_alloc_stack_context. */
void crn_record_made(const void *block, size_t size, const uintptr_t *frame);

/* Records a free. */
void crn_record_free(const void *block);
/* Record a realloc's free in two steps: _take takes the allocation's entry from the table (0 if it
 * was not counted); then _freed charges it as freed, or _keep puts it back if the realloc
 * failed. */
crn_live crn_record_take(const void *block);
void crn_record_freed(crn_live taken);
void crn_record_keep(const void *block, crn_live taken);

/* Charges the frees of the lane's allocations by other threads, and those by its owner while
 * recording was off. Does nothing while recording is off. Called by the lane's owner. */
void crn_record_collect(crn_lane *lane);
/* Registers fork handlers, so that a child gets the lists and the filter in a consistent state.
 * Call it before crn_alloc_lanes_open, so that lanes are locked first. Returns false without
 * memory. */
bool crn_record_open(void);

/* ---- start.c ------------------------------------------------------------------------------ */

/* Opens the profile if the environment asks for it (CAIRN_ALLOC and CAIRN_OUT). Does nothing until
 * libc has set the environment. */
void crn_start(void);
/* Starts recording for cairn_alloc_follow. Returns false if that is not possible. */
bool crn_start_following(void);

/* The next definition of each interposed function. */
typedef struct crn_real {
    void *(*malloc)(size_t size);
    void *(*calloc)(size_t count, size_t size);
    void *(*realloc)(void *block, size_t size);
    void (*free)(void *block);
    void *(*aligned_alloc)(size_t alignment, size_t size);
    void *(*memalign)(size_t alignment, size_t size);
    int (*posix_memalign)(void **block, size_t alignment, size_t size);
    void *(*valloc)(size_t size);
    void *(*pvalloc)(size_t size);
} crn_real;

extern crn_real crn_real_now;

#pragma GCC visibility pop

#endif
