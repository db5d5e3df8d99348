/* SPDX-License-Identifier: MIT
 *
 * Charges allocations and frees.
 */
#include <errno.h>

#include "alloc.h"

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

/* Charges an allocation to a context (`count` is CRN_COUNT_BYTES), or its free
 * (CRN_COUNT_FREED_BYTES). Returns false if there is no space. */
static inline bool charge(crn_lane *lane, cairn_context context, const crn_live *block, int count)
{
    uint64_t bytes = block->size, objects = 1;
    if (CRN_UNLIKELY(crn_sampled))
        crn_sample_weigh(block, &bytes, &objects);
    if (CRN_UNLIKELY(context >= lane->capacity) && !crn_alloc_lane_widen(lane, context)) {
        crn_alloc_lose(lane);
        return false;
    }
    CAIRN_PRIV_ADD(lane->counters[count][context], bytes);
    CAIRN_PRIV_ADD(lane->counters[count + 1][context], objects);
    crn_peak_change(lane, context, count == CRN_COUNT_BYTES ? (int64_t)bytes : -(int64_t)bytes);
    if (CRN_UNLIKELY(lane->strand != NULL)) {
        lane->allocated += count == CRN_COUNT_BYTES ? bytes : 0;
        if (++lane->unseen >= UNSEEN_MOST)
            show_memory(lane);
    }
    return true;
}

/* Returns the lower bits of the lane's generation, which entries of live allocations store. */
static inline uint64_t generation_of(const crn_lane *lane)
{
    return lane->generation & ((1 << CRN_GENERATION_BITS) - 1);
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
static void return_to(crn_lane *lane, const crn_live *taken)
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
        chunk->blocks[chunk->count++] = *taken;
    pthread_mutex_unlock(&lock);
    if (!chunk)
        crn_alloc_lose(crn_here.lane);
}

static void charge_freed(crn_lane *lane, cairn_context context, const crn_live *taken)
{
    crn_alloc_lane_listen(lane);
    if (CRN_UNLIKELY(taken->generation != generation_of(lane)))
        return;
    if (CRN_LIKELY(!lane->off))
        charge(lane, context, taken, CRN_COUNT_FREED_BYTES);
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
            charge_freed(lane, chunk->blocks[i].context, &chunk->blocks[i]);
        crn_pages_free(chunk, sizeof *chunk);
    }
}

/* ---- allocations ---- */

static inline void made(crn_lane *lane, const void *block, size_t size, const uintptr_t *frame)
{
    crn_live *live = crn_live_find(block);
    if (CRN_UNLIKELY(!live) && !(live = crn_live_make(block))) {
        crn_alloc_lose(lane);
        return;
    }
    cairn_context context = CRN_UNLIKELY(lane->strand != NULL)
                                ? lane->calls->strand_context(lane->strand)
                                : crn_alloc_stack_context(lane, frame);
    if (CRN_UNLIKELY(!context)) {
        crn_alloc_lose(lane);
        return;
    }
    crn_alloc_lane_listen(lane);
    if (CRN_UNLIKELY(lane->off))
        return;
    crn_live counted = {
        .context = context, .lane = lane->number, .size = size, .generation = generation_of(lane)};
    if (CRN_UNLIKELY(crn_sampled))
        crn_sample_round(&counted, &lane->random);
    if (!charge(lane, context, &counted, CRN_COUNT_BYTES))
        return;
    *live = counted;
    if (CRN_UNLIKELY(crn_sampled))
        crn_filter_add(block);
}

void crn_record_made(const void *block, size_t size, const uintptr_t *frame)
{
    if (!block || !begin((uintptr_t)frame))
        return;
    crn_lane *lane = enter(enter_first);
    if (CRN_LIKELY(lane != NULL)) {
        if (CRN_UNLIKELY(__atomic_load_n(&lane->returned, __ATOMIC_RELAXED) != NULL))
            crn_record_collect(lane);
        if (CRN_LIKELY(!crn_sampled)) {
            made(lane, block, size, frame);
        } else if (size < crn_here.left) { /* a thread's first allocation is sampled like any
                                              other */
            crn_here.left -= size;
        } else {
            made(lane, block, size, frame);
            crn_here.left = crn_sample_gap(&lane->random);
        }
        leave(lane);
    }
    end();
}

/* ---- frees ---- */

void crn_record_take(const void *block, crn_live *taken)
{
    crn_live *live = crn_live_find(block);
    if (!live || !live->lane) {
        taken->lane = 0;
        return;
    }
    *taken = *live;
    live->lane = 0;
    if (CRN_UNLIKELY(crn_sampled))
        crn_filter_remove(block);
}

void crn_record_keep(const void *block, const crn_live *taken)
{
    crn_live *live = taken->lane ? crn_live_find(block) : NULL;
    if (!live)
        return;
    *live = *taken;
    if (crn_sampled)
        crn_filter_add(block);
}

/* Charges the free of another lane's allocation to this lane, in the context with the same path. So
 * each column keeps one writer, and reports add lanes up. If one of the two is a lane of the
 * program, their paths differ in kind: the free goes to the other lane's list if that is the one,
 * else to the shared lane. */
__attribute__((noinline)) static void freed_elsewhere(crn_lane *lane, const crn_live *taken)
{
    crn_lane *other = crn_alloc_lane_numbered(taken->lane);
    if (!other)
        return;
    if (other->of_program) {
        return_to(other, taken);
        return;
    }
    crn_lane *here = lane->strand ? crn_alloc_lane_shared() : lane;
    cairn_context context = here ? crn_alloc_lane_translate(here, other, taken->context) : 0;
    if (context)
        charge_freed(here, context, taken);
    else
        crn_alloc_lose(lane);
    if (here && here != lane)
        crn_alloc_lane_shared_done(here);
}

/* Handles a free by a thread without a lane: adds the allocation to its own lane's list, if that
 * lane has a strand. */
static void freed_by_nobody(const crn_live *taken)
{
    crn_lane *other = crn_alloc_lane_numbered(taken->lane);
    if (other && other->of_program)
        return_to(other, taken);
}

void crn_record_freed(const crn_live *taken)
{
    if (!taken->lane || !begin((uintptr_t)__builtin_frame_address(0)))
        return;
    crn_lane *lane = enter(enter_to_free);
    if (CRN_LIKELY(lane != NULL)) {
        if (CRN_LIKELY(taken->lane == lane->number))
            charge_freed(lane, taken->context, taken);
        else
            freed_elsewhere(lane, taken);
        leave(lane);
    } else {
        freed_by_nobody(taken);
    }
    end();
}
