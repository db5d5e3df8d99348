/* SPDX-License-Identifier: MIT
 *
 * The functions that sleds call. They use no vector registers, so their callers need not save
 * these; the slow path saves everything.
 */
#include "sled.h"

#include "verbs.h"

/* In hosts/gcc/stub_x86_64.S: calls the function in %rax with %rdi, returns its result in %rax, and
 * preserves all other registers. */
CAIRN_API void cairn_priv_site_call(void);

static void *enter_slowly(uintptr_t slot)
{
    return crn_frames_enter(slot, true);
}

static void *leave_slowly(uintptr_t slot)
{
    return crn_frames_leave(slot);
}

static inline crn_frame *call(void *function(uintptr_t), uintptr_t slot)
{
    void *result = (void *)(uintptr_t)function;
    __asm__ volatile(CRN_KEEPING_CALL("cairn_priv_site_call")
                     : "+a"(result)
                     : "D"(slot)
                     : "cc", "memory");
    return result;
}

/* Enters a function. The slot is written twice, because a signal handler in between uses the same
 * place. */
void cairn_priv_sled_enter(crn_site *site, uintptr_t slot)
{
    cairn_priv_strand *strand = (cairn_priv_strand *)cairn_priv_thread_strand;
    crn_frames *frames = &crn_frames_own;
    crn_frame *frame = frames->top;
    if (!strand)
        return;
    if (__builtin_expect(frame >= frames->limit || frame[-1].slot <= slot, 0)) {
        frame = call(enter_slowly, slot);
        if (!frame)
            return;
    }
    *(volatile uintptr_t *)&frame->slot = slot;
    *(crn_frame *volatile *)&frames->top = frame + 1;
    *(volatile uintptr_t *)&frame->slot = slot;
    frame->height = crn_verb_enter(strand, site);
}

/* Pops the frame, and stores its height. Returns NULL if it was not entered. */
static inline crn_frame *take(uintptr_t slot, int64_t *height)
{
    crn_frames *frames = &crn_frames_own;
    crn_frame *top = frames->top;
    if (__builtin_expect(!top, 0))
        return NULL;
    if (__builtin_expect(top[-1].slot != slot, 0)) {
        top = call(leave_slowly, slot);
        if (!top || top[-1].slot != slot)
            return NULL;
    }
    *height = *(volatile int64_t *)&top[-1].height;
    frames->top = top - 1;
    return top;
}

static inline void leave(uintptr_t slot)
{
    cairn_priv_strand *strand = (cairn_priv_strand *)cairn_priv_thread_strand;
    int64_t height;
    if (strand && take(slot, &height))
        crn_verb_leave(strand, height);
}

CRN_KEEPS void cairn_priv_sled_leave(uintptr_t slot)
{
    leave(slot);
}

CRN_KEEPS void cairn_priv_sled_tail(uintptr_t slot)
{
    cairn_priv_strand *strand = (cairn_priv_strand *)cairn_priv_thread_strand;
    int64_t height;
    if (strand && take(slot, &height))
        crn_verb_tail(strand, height);
}
