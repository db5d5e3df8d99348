/* SPDX-License-Identifier: MIT
 *
 * Charges allocations and frees.
 */
#include <errno.h>

#include "alloc.h"

#define INLINE __attribute__((always_inline)) static inline

/* ---- reentry ---- */

/* Returns true if a thread that is already recording may record. It may not if the allocation is
 * the library's own. But if the program has jumped out of a signal handler, the stack is shorter
 * now, and recording begins anew. */
__attribute__((noinline)) static bool begin_again(uintptr_t frame)
{
    const crn_lane *lane = crn_here.native;
    if (!lane || !crn_alloc_stack_holds(lane->stack, crn_here.busy) ||
        !crn_alloc_stack_holds(lane->stack, frame) || frame <= crn_here.busy)
        return false;
    crn_here.busy = frame;
    crn_alloc_stack_forget(lane->stack);
    return true;
}

static inline bool begin(uintptr_t frame)
{
    if (CRN_UNLIKELY(crn_here.busy != 0))
        return begin_again(frame);
    crn_here.busy = frame;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return true;
}

static inline void end(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    crn_here.busy = 0;
}

/* ---- the lane ---- */

__attribute__((noinline)) static crn_lane *enter_first(void)
{
    int saved = errno;
    crn_lane *lane = crn_alloc_lane_first();
    int state = __atomic_load_n(&crn_alloc_state_now, __ATOMIC_ACQUIRE);
    if (!lane && state == CRN_ALLOC_ON)
        crn_alloc_lose(NULL);
    if (!lane && state != CRN_ALLOC_EARLY)
        crn_here.left = (uint64_t)1 << CRN_LEFT_NEVER;
    errno = saved;
    return lane;
}

/* A thread that only frees opens no lane: its key destructors may have run already, and a lane that
 * is opened after them is never closed. */
__attribute__((noinline)) static crn_lane *enter_to_free(void)
{
    int saved = errno;
    crn_lane *lane = crn_alloc_lane_to_free();
    errno = saved;
    return lane;
}

static inline void leave(crn_lane *lane)
{
    __atomic_store_n(&lane->busy, false, __ATOMIC_RELEASE);
    if (CRN_UNLIKELY(lane != crn_here.lane))
        crn_alloc_lane_shared_done(lane);
}

/* Returns the lane to charge, busy until `leave`; `first` finds one for a thread without a lane.
 * NULL if nothing is recorded. */
static inline crn_lane *enter(crn_lane *first(void))
{
    crn_alloc_notice_child();
    crn_lane *lane = crn_here.lane;
    if (CRN_UNLIKELY(!lane))
        return first();
    __atomic_store_n(&lane->busy, true, __ATOMIC_RELAXED);
    /* From here on the profile is not closed: the closing thread sets the state, makes a membarrier
     * and then waits for busy lanes. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (CRN_LIKELY(__atomic_load_n(&crn_alloc_state_now, __ATOMIC_RELAXED) == CRN_ALLOC_ON))
        return lane;
    leave(lane);
    crn_here.left = (uint64_t)1 << CRN_LEFT_NEVER;
    return NULL;
}

/* ---- charges ---- */

/* Number of allocations and frees between two calls of show_memory. */
enum { UNSEEN_MOST = 32 };

/* Shows live bytes and the rate of allocation as counters of the strand's profile. */
__attribute__((noinline)) static void show_memory(crn_lane *lane)
{
    static uint64_t allocated; /* atomic */
    uint64_t all = __atomic_add_fetch(&allocated, lane->allocated, __ATOMIC_RELAXED);
    lane->allocated = 0;
    lane->unseen = 0;
    lane->calls->memory_show(lane->strand, crn_peak_live(lane), all);
}

/* Makes counters for a context. Returns false if there is no space. */
__attribute__((noinline)) static bool widen(crn_lane *lane, cairn_context context)
{
    if (crn_alloc_lane_widen(lane, context))
        return true;
    crn_alloc_lose(lane);
    return false;
}

/* Charges an allocation to a context (`count` is CRN_COUNT_BYTES), or its free
 * (CRN_COUNT_FREED_BYTES). Returns false if there is no space. */
INLINE bool charge(crn_lane *lane, cairn_context context, crn_weight weight, int count)
{
    int64_t bytes = (int64_t)weight.bytes;
    if (CRN_UNLIKELY(context >= lane->capacity) && !widen(lane, context))
        return false;
    CAIRN_PRIV_ADD(lane->counters[count][context], weight.bytes);
    CAIRN_PRIV_ADD(lane->counters[count + 1][context], weight.objects);
    crn_peak_change(lane, context, count == CRN_COUNT_BYTES ? bytes : -bytes);
    if (CRN_UNLIKELY(lane->strand != NULL)) {
        lane->allocated += count == CRN_COUNT_BYTES ? weight.bytes : 0;
        if (++lane->unseen >= UNSEEN_MOST)
            show_memory(lane);
    }
    return true;
}

static inline crn_weight weigh(crn_live block, bool sampled)
{
    return CRN_UNLIKELY(sampled) ? crn_sample_weigh(block) : (crn_weight){crn_live_size(block), 1};
}

/* ---- allocations that other threads have freed ----
 *
 * Only the owner writes to a lane of the program's (follow.c). Other threads add those of its
 * allocations that they free to a list, and so does the owner while recording is off. */

enum { RETURNED_IN_CHUNK = 4095 };

/* A chunk of a lane's list. */
typedef struct crn_returned {
    struct crn_returned *next;
    size_t count;
    crn_live blocks[RETURNED_IN_CHUNK];
} crn_returned;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects all lists */

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
    crn_filter_lock();
}

static void after_fork(void)
{
    crn_filter_unlock();
    pthread_mutex_unlock(&lock);
}

bool crn_record_open(void)
{
    return pthread_atfork(before_fork, after_fork, after_fork) == 0;
}

/* Adds a freed allocation to its lane's list. Without memory, the free is not counted. */
static void return_to(crn_lane *lane, crn_live taken)
{
    pthread_mutex_lock(&lock);
    crn_returned *chunk = lane->returned;
    if (!chunk || chunk->count == RETURNED_IN_CHUNK) {
        crn_returned *made = crn_pages(sizeof *made);
        if (made) {
            made->next = chunk;
            __atomic_store_n(&lane->returned, made, __ATOMIC_RELEASE);
        }
        chunk = made;
    }
    if (chunk)
        chunk->blocks[chunk->count++] = taken;
    pthread_mutex_unlock(&lock);
    if (!chunk)
        crn_alloc_lose(crn_here.lane);
}

INLINE void charge_freed(crn_lane *lane, cairn_context context, crn_live taken)
{
    crn_alloc_lane_listen(lane);
    if (CRN_UNLIKELY(!crn_live_is_of(taken, lane->generation)))
        return;
    if (CRN_LIKELY(!lane->off))
        charge(lane, context, weigh(taken, crn_sampled), CRN_COUNT_FREED_BYTES);
    else if (lane->of_program)
        return_to(lane, taken);
}

void crn_record_collect(crn_lane *lane)
{
    crn_alloc_lane_listen(lane);
    if (lane->off)
        return;
    pthread_mutex_lock(&lock);
    crn_returned *chunk = lane->returned;
    __atomic_store_n(&lane->returned, NULL, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
    for (crn_returned *next; chunk; chunk = next) {
        next = chunk->next;
        for (size_t i = 0; i < chunk->count; i++)
            charge_freed(lane, (cairn_context)chunk->blocks[i].owner, chunk->blocks[i]);
        crn_pages_free(chunk, sizeof *chunk);
    }
}

/* ---- allocations ---- */

/* `sampled` is crn_sampled, known to the compiler. */
INLINE void made(crn_lane *lane, const void *block, size_t size, const uintptr_t *frame,
                 bool sampled)
{
    cairn_context context = CRN_UNLIKELY(lane->strand != NULL)
                                ? lane->calls->strand_context(lane->strand)
                                : crn_alloc_stack_context(lane, frame);
    crn_live *live = crn_live_find(block);
    if (CRN_UNLIKELY(!context) || (CRN_UNLIKELY(!live) && !(live = crn_live_make(block)))) {
        crn_alloc_lose(lane);
        return;
    }
    crn_alloc_lane_listen(lane);
    if (CRN_UNLIKELY(lane->off))
        return;
    crn_live counted = crn_live_of(context, lane->number, size, lane->generation);
    if (sampled)
        counted = crn_sample_round(counted, &lane->random);
    if (!charge(lane, context, weigh(counted, sampled), CRN_COUNT_BYTES))
        return;
    if (sampled)
        crn_filter_add(block);
    *live = counted;
}

__attribute__((noinline)) static void made_sampled(crn_lane *lane, const void *block, size_t size,
                                                   const uintptr_t *frame)
{
    if (size < crn_here.left) { /* a thread's first allocation is sampled like any other */
        crn_here.left -= size;
        return;
    }
    made(lane, block, size, frame, true);
    crn_here.left = crn_sample_gap(&lane->random);
}

void crn_record_made(const void *block, size_t size, const uintptr_t *frame)
{
    if (!block || !begin((uintptr_t)frame))
        return;
    crn_lane *lane = enter(enter_first);
    if (CRN_LIKELY(lane != NULL)) {
        if (CRN_UNLIKELY(__atomic_load_n(&lane->returned, __ATOMIC_RELAXED) != NULL))
            crn_record_collect(lane);
        if (CRN_LIKELY(!crn_sampled))
            made(lane, block, size, frame, false);
        else
            made_sampled(lane, block, size, frame);
        leave(lane);
    }
    end();
}

/* ---- frees ---- */

static inline crn_live take(const void *block)
{
    crn_live *live = crn_live_find(block);
    if (!live || !live->owner)
        return (crn_live){0};
    crn_live taken = *live;
    live->owner = 0;
    if (CRN_UNLIKELY(crn_sampled))
        crn_filter_remove(block);
    return taken;
}

crn_live crn_record_take(const void *block)
{
    return take(block);
}

void crn_record_keep(const void *block, crn_live taken)
{
    crn_live *live = taken.owner ? crn_live_find(block) : NULL;
    if (!live)
        return;
    if (crn_sampled)
        crn_filter_add(block);
    *live = taken;
}

/* Charges the free of another lane's allocation to this lane, in the context with the same path. So
 * each column keeps one writer, and reports add lanes up. If one of the two is a lane of the
 * program, their paths differ in kind: the free goes to the other lane's list if that is the one,
 * else to the shared lane. */
__attribute__((noinline)) static void freed_elsewhere(crn_lane *lane, crn_live taken)
{
    crn_lane *other = crn_alloc_lane_numbered(crn_live_lane(taken));
    if (!other)
        return;
    if (other->of_program) {
        return_to(other, taken);
        return;
    }
    crn_lane *here = lane->strand ? crn_alloc_lane_shared() : lane;
    cairn_context context =
        here ? crn_alloc_lane_translate(here, other, (cairn_context)taken.owner) : 0;
    if (context)
        charge_freed(here, context, taken);
    else
        crn_alloc_lose(lane);
    if (here && here != lane)
        crn_alloc_lane_shared_done(here);
}

/* Handles a free by a thread without a lane: adds the allocation to its own lane's list, if that
 * lane has a strand. */
static void freed_by_nobody(crn_live taken)
{
    crn_lane *other = crn_alloc_lane_numbered(crn_live_lane(taken));
    if (other && other->of_program)
        return_to(other, taken);
}

void crn_record_freed(crn_live taken)
{
    if (!taken.owner || !begin((uintptr_t)__builtin_frame_address(0)))
        return;
    crn_lane *lane = enter(enter_to_free);
    if (CRN_LIKELY(lane != NULL)) {
        if (CRN_LIKELY(crn_live_lane(taken) == lane->number))
            charge_freed(lane, (cairn_context)taken.owner, taken);
        else
            freed_elsewhere(lane, taken);
        leave(lane);
    } else {
        freed_by_nobody(taken);
    }
    end();
}

void crn_record_free(const void *block)
{
    crn_live taken = take(block);
    if (taken.owner)
        crn_record_freed(taken);
}
