/* SPDX-License-Identifier: MIT
 *
 * alloc.h - what the parts of libcairn-alloc share. docs/ALLOC.md says how they fit together.
 *
 * Rules that hold everywhere here: what the program asked of malloc is done by the real malloc,
 * first and whatever happens to us; our own memory comes from mmap, libcairn's from the real
 * malloc, uncounted; errno is the real malloc's.
 */
#ifndef CRN_ALLOC_ALLOC_H
#define CRN_ALLOC_ALLOC_H

#include <pthread.h>

#include <cairn/alloc.h>

#include "unwind/unwind.h"

#define CRN_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define CRN_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* First sizes are small in a test build, so that all growth happens early and often. */
#ifdef CRN_TINY_LIMITS
#define CRN_FIRST_SIZE(usual, tiny) (tiny)
#else
#define CRN_FIRST_SIZE(usual, tiny) (usual)
#endif

typedef enum crn_alloc_state {
    CRN_ALLOC_EARLY = 0, /* the program has not begun */
    CRN_ALLOC_IDLE,      /* nothing is recorded until someone asks for it */
    CRN_ALLOC_ON,
    CRN_ALLOC_FULL, /* the disk is full: nothing is recorded any more, the profile is to be closed
                     */
    CRN_ALLOC_OVER  /* nothing is recorded any more */
} crn_alloc_state;

extern int crn_alloc_state_now; /* crn_alloc_state; atomic */

/* ---- memory.c: memory of our own ------------------------------------------------- */

/* Zeroed, from the system. NULL when there is none. errno is kept. */
void *crn_pages(size_t size);
void *crn_pages_grow(void *pages, size_t size, size_t larger);
void crn_pages_free(void *pages, size_t size);

/* ---- live.c: which blocks of memory live ------------------------------------------- */

enum { CRN_LANE_BITS = 20, CRN_GENERATION_BITS = 17 };

/* A block that was counted: by whom, in which context, and as how much. A block that outlives 2^17
 * resets of the figures may be taken for one that came after the last. */
typedef struct crn_live {
    uint64_t context : 32;
    uint64_t lane : CRN_LANE_BITS; /* its number; 0: no block */
    uint64_t more_bytes : 1;       /* what it stands for as a sample was rounded up */
    uint64_t more_objects : 1;
    uint64_t size : 47; /* bytes that were asked for: less than there are addresses */
    uint64_t generation : CRN_GENERATION_BITS; /* of the figures that it is in */
} crn_live;

enum {
    CRN_LIVE_GRANULE = 5, /* bits */
    CRN_LIVE_LEAF = 16,   /* bits: 1 MiB of entries for 2 MiB of heap */
    CRN_LIVE_MIDDLE = 13,
    CRN_LIVE_TOP = 13 /* all 47 bits of a user address */
};

typedef struct crn_live_middle {
    crn_live *leaves[1 << CRN_LIVE_MIDDLE]; /* atomic */
} crn_live_middle;

extern crn_live_middle *crn_live_top[1 << CRN_LIVE_TOP]; /* atomic */

/* The entry of a block, NULL if there cannot be one. The block is the caller's own: whoever has it
 * may write its entry, nobody else looks. */
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

/* As find, made if need be. NULL when there is no memory for it. */
crn_live *crn_live_make(const void *block);

/* ---- filter.c: which blocks cannot be counted ones ----------------------------------- */

enum { CRN_FILTER_BITS = 16 };
extern uint64_t crn_filter[1 << (CRN_FILTER_BITS - 6)];

static inline uint64_t crn_filter_hash(const void *block)
{
    return (uintptr_t)block * 0x9e3779b97f4a7c15u >> (64 - CRN_FILTER_BITS);
}

/* False only if the block was not counted. One load. */
static inline bool crn_filter_may(const void *block)
{
    uint64_t hash = crn_filter_hash(block);
    return crn_filter[hash >> 6] >> (hash & 63) & 1;
}

/* All blocks may be counted ones, from now on. */
void crn_filter_all(void);
/* Where they are sampled: */
void crn_filter_add(const void *block);
void crn_filter_remove(const void *block);

/* ---- sample.c: one block in so many bytes -------------------------------------------- */

/* The mean number of bytes between samples; 0: every block is counted. */
extern double crn_sample_mean;
extern bool crn_sampled;         /* it is not 0 */
extern uint64_t crn_sample_seed; /* each lane has its own sequence of it */

/* How many bytes it is to the next sample, at least 1. */
uint64_t crn_sample_gap(uint64_t *random);

/* Decides how what a block stands for is rounded, once: it is freed as what it was made as. */
void crn_sample_round(crn_live *block, uint64_t *random);
/* What a block that was sampled stands for. */
void crn_sample_weigh(const crn_live *block, uint64_t *bytes, uint64_t *objects);

/* ---- lane.c: threads and what they count --------------------------------------------- */

enum {
    CRN_COUNT_BYTES,
    CRN_COUNT_OBJECTS,
    CRN_COUNT_FREED_BYTES,
    CRN_COUNT_FREED_OBJECTS,
    CRN_COUNTS, /* those that each block changes */
    CRN_COUNT_PEAK = CRN_COUNTS,
    CRN_METRICS
};

/* What lives of a context, for the peak. Modulo 2^64: in a lane that frees what others have
 * allocated it is below 0, and sums over lanes come out right. */
typedef struct crn_tally {
    uint64_t live;
    uint64_t peak;   /* what was charged as "peak bytes" so far */
    uint32_t moment; /* crn_lane.moment when it changed last */
    uint32_t spare;
} crn_tally;

/* How a context was first reached. Other threads read this of contexts that came with a block. */
typedef struct crn_origin {
    cairn_context from;
    cairn_block block; /* 0: never */
} crn_origin;

enum {
    CRN_ORIGINS = 4096,         /* in a chunk */
    CRN_ORIGIN_CHUNKS = 1 << 11 /* for all contexts that a lane may have */
};

/* Where a block led to when that was last asked. */
typedef struct crn_way {
    cairn_context from;
    cairn_block block;
    cairn_context to;
} crn_way;

/* A context of another lane, and the one that has its path here. */
typedef struct crn_translation {
    uint32_t lane;
    cairn_context context, here;
} crn_translation;

enum { CRN_WAYS = 1 << 12, CRN_TRANSLATIONS = 1 << 12 };

struct crn_stack;
struct crn_returned;

/* A cairn_lane and what goes with it. Never freed: the next thread that libcairn gives the same
 * lane goes on with it. */
typedef struct crn_lane {
    cairn_lane *lane;
    uint32_t number;
    bool busy;     /* atomic: its owner is recording */
    uint32_t room; /* contexts below this have counters and tallies */
    uint64_t *counters[CRN_COUNTS];
    crn_tally *tallies;
    uint32_t moment;   /* the last snapshot that this lane has taken part in */
    int64_t unflushed; /* bytes by which its live bytes differ from what is in the total */
    int64_t told;      /* what is in the total; atomic */
    const uint64_t *generation_now; /* of the profile's figures; atomic */
    uint64_t generation;            /* of this lane's; changes under lock */
    cairn_strand *strand;           /* that is followed; NULL: native stacks are */
    struct crn_returned *returned;  /* of a lane that is followed; atomic */
    crn_way *ways;
    struct crn_stack *stack;
    crn_origin **origins;
    crn_translation *translations;
    const cairn_priv_alloc_calls *calls;
    cairn_metric metrics[CRN_METRICS];
    uint64_t random;
    uint32_t *changed; /* contexts whose live bytes changed since that snapshot */
    size_t changed_count, changed_room;
    bool changed_all; /* there was no memory to say which */
    bool retired;     /* atomic: its profile may be gone */
} crn_lane;

typedef struct crn_thread {
    uint64_t left;    /* bytes until something is to be recorded; 0: at each block */
    uintptr_t busy;   /* we are at work: what is allocated is our own. Address of our frame */
    crn_lane *lane;   /* that is charged */
    crn_lane *native; /* its own, which it goes back to when it follows no strand */
    bool ended;       /* its lane is closed: what it still does is charged to the shared lane */
} crn_thread;

enum { CRN_LEFT_NEVER = 62 }; /* bits */

extern _Thread_local crn_thread crn_here __attribute__((tls_model("initial-exec")));

extern cairn_profile *crn_profile_here; /* of native stacks; NULL if there is none */
extern cairn_metric crn_metrics_here[CRN_METRICS];
extern const char *const crn_metric_names[CRN_METRICS][2]; /* and units */

/* Before the first lane. False if threads cannot be followed. */
bool crn_alloc_lanes_open(void);
/* Calls `each` with all lanes of native stacks. */
void crn_alloc_lanes_each(void (*each)(crn_lane *lane));
/* Whether no thread is recording. To be asked after a membarrier, when none can begin. */
bool crn_alloc_lanes_rest(void);

/* Opens a lane for the calling thread, which has none and has allocated. If its key destructor has
 * run already, returns the shared lane, locked. The lane is busy. NULL if there is none. */
crn_lane *crn_alloc_lane_first(void);
/* The shared lane, locked and busy. It is used by threads that have no lane of their own: they have
 * only freed so far, or their key destructor has run. NULL if there is none. */
crn_lane *crn_alloc_lane_shared(void);
/* As crn_alloc_lane_shared, and makes sure that the profile is not closed meanwhile. */
crn_lane *crn_alloc_lane_to_free(void);
void crn_alloc_lane_shared_done(crn_lane *lane);

/* The lane with that number, NULL if its blocks are not counted (any more). */
crn_lane *crn_alloc_lane_numbered(uint32_t number);
crn_lane *crn_alloc_lane_new(cairn_lane *of, const cairn_priv_alloc_calls *calls,
                             const cairn_metric metrics[CRN_METRICS]);
/* The figures have begun anew: nothing that was allocated before lives in them. */
void crn_alloc_lane_forget(crn_lane *lane);

static inline bool crn_alloc_lane_up_to_date(const crn_lane *lane)
{
    return CRN_LIKELY(__atomic_load_n(lane->generation_now, __ATOMIC_ACQUIRE) == lane->generation);
}

/* To be called by whoever owns the lane, before it charges or tells anything. */
static inline void crn_alloc_lane_listen(crn_lane *lane)
{
    if (CRN_UNLIKELY(!crn_alloc_lane_up_to_date(lane)))
        crn_alloc_lane_forget(lane);
}

/* Makes counters and tallies for a context. False if there is no room. */
bool crn_alloc_lane_widen(crn_lane *lane, cairn_context context);
cairn_context crn_alloc_lane_step_first(crn_lane *lane, cairn_context from, cairn_block block,
                                        crn_way *way);
/* The context that has the path, here, of another lane's context; 0 if it cannot be told. */
cairn_context crn_alloc_lane_translate(crn_lane *lane, const crn_lane *other,
                                       cairn_context context);

/* Where `block` leads to from `from`; 0 if nothing can be recorded. */
static inline cairn_context crn_alloc_lane_step(crn_lane *lane, cairn_context from,
                                                cairn_block block)
{
    uint32_t hash = (from * 0x9e3779b1u + block) * 0x85ebca6bu;
    crn_way *way = &lane->ways[hash >> 20];
    if (CRN_LIKELY(way->from == from && way->block == block))
        return way->to;
    return crn_alloc_lane_step_first(lane, from, block, way);
}

_Static_assert(CRN_WAYS == 1 << (32 - 20), "the hash");

/* ---- stack.c: the context that native code runs in ------------------------------------ */

/* `frame` is the address of the frame of a function that the program has called. */
cairn_context crn_alloc_stack_context(crn_lane *lane, const uintptr_t *frame);
struct crn_stack *crn_alloc_stack_new(void);
/* This thread goes on with the lane. */
void crn_alloc_stack_begin(struct crn_stack *stack);
/* Any thread may use the lane next. The bounds of its stack are not looked up: the kernel copies
 * the words of the stack (crn_unwind_read_outside), and nothing is remembered of it. */
void crn_alloc_stack_begin_unknown(struct crn_stack *stack);
/* Nothing of what was remembered holds. */
void crn_alloc_stack_forget(struct crn_stack *stack);
/* Whether an address is on the thread's own stack. */
bool crn_alloc_stack_holds(const struct crn_stack *stack, uintptr_t address);

/* ---- code.c: blocks of machine code --------------------------------------------------- */

/* The block for an address of code; it is the number that crn_unwind_tag remembers. */
cairn_block crn_code_block(uintptr_t address);
/* The block for what has no tables. */
cairn_block crn_code_nothing(void);
/* Around fork. */
void crn_code_lock(void);
void crn_code_unlock(void);

/* ---- peak.c: live bytes at their peak -------------------------------------------------- */

extern uint32_t crn_peak_moment;              /* atomic */
extern int64_t crn_peak_most, crn_peak_least; /* bytes that a lane may keep back; atomic */

/* A lane was opened (+1) or closed (-1). */
void crn_peak_lanes(int change);
/* What happens seldom when live bytes change. */
void crn_peak_settle(crn_lane *lane);
void crn_peak_note(crn_lane *lane, cairn_context context);
void crn_peak_check(crn_lane *lane);
/* Brings in what a lane has not told yet; the caller owns it. */
void crn_peak_flush(crn_lane *lane);
/* What a lane has told is not in the total any more. */
void crn_peak_retract(crn_lane *lane);
/* The peak is looked for anew. */
void crn_peak_again(void);
/* In a child of fork, where nothing lives yet. */
void crn_peak_restart(void);

/* The live bytes of a context change. */
static inline void crn_peak_change(crn_lane *lane, cairn_context context, int64_t bytes)
{
    if (CRN_UNLIKELY(lane->moment != __atomic_load_n(&crn_peak_moment, __ATOMIC_ACQUIRE)))
        crn_peak_settle(lane);
    crn_tally *tally = &lane->tallies[context];
    if (CRN_UNLIKELY(tally->moment != lane->moment))
        crn_peak_note(lane, context);
    tally->live += (uint64_t)bytes;
    lane->unflushed += bytes;
    if (CRN_UNLIKELY(lane->unflushed > __atomic_load_n(&crn_peak_most, __ATOMIC_RELAXED) ||
                     lane->unflushed < __atomic_load_n(&crn_peak_least, __ATOMIC_RELAXED)))
        crn_peak_check(lane);
}

/* ---- record.c --------------------------------------------------------------------------- */

/* The program got `block`. `frame` as for crn_alloc_stack_context. */
void crn_record_made(const void *block, size_t size, const uintptr_t *frame);

/* The program gives `block` back: what is known of it is taken from the table (lane 0: nothing),
 * then charged as freed, or put back if it is not given back after all. */
void crn_record_take(const void *block, crn_live *taken);
void crn_record_freed(const crn_live *taken);
void crn_record_keep(const void *block, const crn_live *taken);

/* Charges a block as freed to a lane that the caller owns. */
void crn_record_charge_freed(crn_lane *lane, cairn_context context, const crn_live *taken);

/* ---- follow.c ----------------------------------------------------------------------------- */

/* Another thread has freed a block that was charged to a lane that is followed. */
void crn_follow_return(crn_lane *lane, const crn_live *taken);
/* The owner charges what others have returned. */
void crn_follow_collect(crn_lane *lane);

/* ---- start.c ------------------------------------------------------------------------------ */

/* Opens the profile if that is asked for and can be done by now. */
void crn_start(void);
/* To be called where something could not be recorded. If the capture has no space, all threads stop
 * recording. */
void crn_alloc_stop_if_full(void);
/* Recording begins for a strand that is followed. False if it cannot. */
bool crn_start_following(void);

/* ---- interpose.c -------------------------------------------------------------------------- */

/* The functions that we stand before. */
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

/* Finds them; false if they are not glibc's, whose blocks are what the table of live blocks is
 * made for. */
bool crn_real_find(void);

#endif
