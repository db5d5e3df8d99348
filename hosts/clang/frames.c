/* SPDX-License-Identifier: MIT */
#include "frames.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "unwind/unwind.h"

__thread crn_frames crn_frames_own;

/* Bounds of the memory for a thread's frames. A machine frame that calls something has at least 16
 * bytes, half of a crn_frame, so twice the size of the machine's stack suffices. */
enum { SIZE_LEAST = 1 << 20, SIZE_MOST = 1 << 28 };

_Static_assert(sizeof(crn_frame) == 32, "twice the machine's");

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;

static void end_thread(void *data)
{
    crn_frames *frames = &crn_frames_own;
    size_t size = (size_t)((char *)frames->limit - (char *)data);
    *frames = (crn_frames){.top = NULL};
    munmap(data, size);
}

static void make_key(void)
{
    has_key = pthread_key_create(&key, end_thread) == 0;
}

/* Reserves as many frames as the machine's stack can have. The system gives memory only for those
 * that are used. */
static void make(crn_frames *frames)
{
    pthread_once(&once, make_key);
    crn_unwind_stack_of_thread(&frames->low, &frames->high);
    size_t size = 2 * (frames->high - frames->low);
    size = (size < SIZE_LEAST ? SIZE_LEAST : size > SIZE_MOST ? SIZE_MOST : size) & -4096;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return;
    if (!has_key || pthread_setspecific(key, memory) != 0) {
        munmap(memory, size);
        return;
    }
    frames->bottom = memory;
    frames->limit = frames->bottom + size / sizeof *frames->bottom;
    *frames->bottom = (crn_frame){.slot = UINTPTR_MAX};
    frames->top = frames->bottom + 1;
}

/* Returns true if the frame at `slot` is over because a frame at `at` is active. If both are on the
 * thread's own stack, or neither is (signal handlers and fibers may have other stacks), the frame
 * is over if `at` is higher; if one of them is, only if that is the active frame. */
static bool is_gone(const crn_frames *frames, uintptr_t slot, uintptr_t at)
{
    bool own = at >= frames->low && at < frames->high;
    bool its_own = slot >= frames->low && slot < frames->high;
    return own == its_own ? slot < at : own;
}

/* Drops frames that are over because the frame at `slot` is active. Returns the outermost of them;
 * NULL if there is none. */
static const crn_frame *drop(crn_frames *frames, uintptr_t slot)
{
    crn_frame *top = frames->top;
    while (top > frames->bottom + 1 && is_gone(frames, top[-1].slot, slot))
        top--;
    const crn_frame *dropped = top < frames->top ? top : NULL;
    frames->top = top;
    return dropped;
}

/* Drops the frame with that height, and all that was entered since, from the strand. */
static void unwind(cairn_strand *strand, int64_t height)
{
    cairn_priv_strand *priv = (cairn_priv_strand *)strand;
    int64_t below = height - (int64_t)sizeof(uint32_t);
    if (priv->current & CRN_REPLACED) {
        priv->current &= ~CRN_REPLACED;
        priv->top++;
    }
    if (below >= 0 && below < (const char *)priv->top - (const char *)priv->bottom)
        cairn_strand_unwind(strand, (cairn_mark)below / sizeof(uint32_t));
}

static void note_missing(cairn_strand *strand)
{
    static bool noted;
    if (!__atomic_exchange_n(&noted, true, __ATOMIC_RELAXED))
        cairn_profile_note(cairn_lane_profile(cairn_strand_lane(strand)), "frames",
                           "no space for more frames: some calls are not counted");
}

/* Drops the frames that are over, and returns the place for a new one; NULL without space. The
 * caller has taken the strand away from the thread, so that signal handlers record nothing. */
static crn_frame *enter(crn_frames *frames, cairn_strand *strand, uintptr_t slot)
{
    if (!frames->top)
        make(frames);
    const crn_frame *dropped = frames->top ? drop(frames, slot) : NULL;
    if (dropped)
        unwind(strand, dropped->height);
    if (frames->top < frames->limit)
        return frames->top;
    note_missing(strand);
    return NULL;
}

crn_frame *crn_frames_enter(uintptr_t slot, bool again)
{
    crn_frames *frames = &crn_frames_own;
    cairn_strand *strand = cairn_priv_thread_strand;
    if (frames->busy || !strand)
        return NULL;
    int saved = errno;
    frames->busy = true;
    cairn_priv_thread_strand = NULL;
    crn_frame *found = enter(frames, strand, slot + again);
    cairn_priv_thread_strand = strand;
    frames->busy = false;
    errno = saved;
    return found;
}

crn_frame *crn_frames_leave(uintptr_t slot)
{
    crn_frames *frames = &crn_frames_own;
    if (!frames->top || frames->busy)
        return NULL;
    drop(frames, slot);
    return frames->top;
}
