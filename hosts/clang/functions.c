/* SPDX-License-Identifier: MIT
 *
 * cairn clang --inlined: the hooks of -finstrument-functions, called for each function of the
 * source, even where it is inlined.
 *
 * Functions inlined into one function share its machine frame, and so its *slot* (frames.h); their
 * addresses distinguish them. Return addresses distinguish consecutive frames with the same slot.
 * The slot is found from the frame pointer, which cairn clang makes programs keep.
 */
#include <errno.h>
#include <stdio.h>

#include "../gcc/fork_lock.h"
#include "../gcc/module.h"
#include "sled.h"
#include "verbs.h"

/* ---- sites by function (hash table) ------------------------------------------------------ */

typedef struct known {
    const void *function; /* atomic; NULL is free */
    crn_site *site;       /* atomic; NULL: the function has been unloaded */
} known;

typedef struct table {
    size_t mask, used;
    known entries[];
} table;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
CRN_LOCK_ACROSS_FORK(lock)
static table *sites; /* atomic; outgrown tables are kept for concurrent readers */

static known *place_of(table *table, const void *function)
{
    size_t i = (uintptr_t)function * 0x9e3779b97f4a7c15u >> 20;
    for (;; i++) {
        known *known = &table->entries[i & table->mask];
        const void *found = __atomic_load_n(&known->function, __ATOMIC_ACQUIRE);
        if (found == function || !found)
            return known;
    }
}

static table *grown(table *before)
{
    enum { FIRST = 1024 };
    size_t room = before ? 2 * (before->mask + 1) : FIRST;
    table *after = cairn_priv_calloc(1, sizeof *after + room * sizeof *after->entries);
    if (!after)
        return NULL;
    after->mask = room - 1;
    for (size_t i = 0; before && i <= before->mask; i++)
        if (before->entries[i].function)
            *place_of(after, before->entries[i].function) = before->entries[i];
    after->used = before ? before->used : 0;
    return after;
}

static crn_site *make_site(const void *function, cairn_profile *profile)
{
    enum { NAME = 24 };
    crn_unwind_module module;
    bool is_known = crn_unwind_module_find((uintptr_t)function, &module);
    crn_site *site = cairn_priv_calloc(1, sizeof *site + NAME);
    if (!site)
        return NULL;
    char *name = (char *)(site + 1);
    uintptr_t bias = is_known ? module.bias : 0;
    snprintf(name, NAME, "0x%lx", (unsigned long)((uintptr_t)function - bias + 1));
    site->block = CRN_SITE_NEW;
    site->callee_offset = CRN_SITE_NEW_CALLEE;
    site->name = name;
    site->file = is_known ? crn_module_path(profile, &module) : "";
    return site;
}

/* Adds a function, and returns its site; NULL without memory. The caller holds the lock. */
static crn_site *add(const void *function)
{
    table *now = sites;
    if (!now || now->used * 2 > now->mask) {
        table *larger = grown(now);
        if (larger)
            __atomic_store_n(&sites, now = larger, __ATOMIC_RELEASE);
    }
    if (!now || now->used == now->mask)
        return NULL;
    known *known = place_of(now, function);
    if (!known->site) {
        crn_site *site = make_site(function, cairn_process_profile());
        if (!site)
            return NULL;
        now->used += !known->function;
        __atomic_store_n(&known->site, site, __ATOMIC_RELEASE);
        __atomic_store_n(&known->function, function, __ATOMIC_RELEASE);
    }
    return known->site;
}

/* Adds a function's site under the lock. The thread has no strand while it holds the lock, so that
 * an event in a signal handler does not wait for the lock. */
static crn_site *add_site(const void *function)
{
    int saved = errno;
    cairn_strand *strand = cairn_priv_thread_strand;
    cairn_priv_thread_strand = NULL;
    pthread_mutex_lock(&lock);
    crn_site *site = add(function);
    pthread_mutex_unlock(&lock);
    cairn_priv_thread_strand = strand;
    errno = saved;
    return site;
}

static inline crn_site *site_of(const void *function)
{
    table *now = __atomic_load_n(&sites, __ATOMIC_ACQUIRE);
    known *known = now ? place_of(now, function) : NULL;
    bool is_known = known && __atomic_load_n(&known->function, __ATOMIC_RELAXED);
    crn_site *site = is_known ? __atomic_load_n(&known->site, __ATOMIC_ACQUIRE) : NULL;
    return site ? site : add_site(function);
}

/* Forgets the functions of an unloaded object at whose address the object of `inside` has been
 * loaded. Their sites are not freed, because other threads may be using them. */
void cairn_priv_functions_forget(const void *inside)
{
    crn_unwind_module module;
    cairn_strand *strand = cairn_priv_thread_strand; /* as in add_site */
    cairn_priv_thread_strand = NULL;
    pthread_mutex_lock(&lock);
    if (sites && crn_unwind_module_find((uintptr_t)inside, &module))
        for (size_t i = 0; i <= sites->mask; i++) {
            known *known = &sites->entries[i];
            uintptr_t function = (uintptr_t)known->function;
            if (function >= module.start && function < module.end)
                __atomic_store_n(&known->site, NULL, __ATOMIC_RELEASE);
        }
    pthread_mutex_unlock(&lock);
    cairn_priv_thread_strand = strand;
}

/* ---- frames ------------------------------------------------------------------------------- */

/* Returns the function's frame among those with one slot; NULL if it is not there. */
static crn_frame *find(crn_frame *top, uintptr_t slot, const void *function)
{
    while (top[-1].slot == slot) {
        top--;
        if (top->function == function)
            return top;
    }
    return NULL;
}

/* Returns the place for a frame; NULL without space. Other frames with the same slot stay, because
 * they are of functions that this one is inlined into. But if one has another return address or the
 * same function, they were left without an exit, and are dropped. */
static crn_frame *room(crn_frame *top, uintptr_t slot, const void *function, uintptr_t back)
{
    crn_frames *frames = &crn_frames_own;
    if (top >= frames->limit || top[-1].slot < slot)
        top = crn_frames_enter(slot, false);
    if (top && top[-1].slot == slot && (top[-1].back != back || find(top, slot, function)))
        top = crn_frames_enter(slot, true);
    return top;
}

/* Address of the return address of the instrumented function, which has a frame pointer. If it
 * called the hook in tail position, it jumped to the hook, and the hook's return address is the
 * function's. */
#define SLOT (*(uintptr_t *)__builtin_frame_address(0) + sizeof(uintptr_t))
#define SLOT_OR_OWN(back)                                                                          \
    ((back) == __builtin_return_address(0)                                                         \
         ? (uintptr_t)__builtin_frame_address(0) + sizeof(uintptr_t)                               \
         : SLOT)

CAIRN_API void __cyg_profile_func_enter(void *function, void *back);
CAIRN_API void __cyg_profile_func_exit(void *function, void *back);

void __cyg_profile_func_enter(void *function, void *back)
{
    if (!cairn_priv_thread_strand)
        return;
    uintptr_t slot = SLOT;
    crn_frames *frames = &crn_frames_own;
    crn_frame *frame = frames->top;
    crn_site *site = site_of(function);
    if (__builtin_expect(frame >= frames->limit || frame[-1].slot <= slot, 0))
        frame = room(frame, slot, function, (uintptr_t)back);
    if (!frame || !site)
        return;
    crn_frame fresh = {slot, CRN_HEIGHT_NONE, function, (uintptr_t)back};
    *frame = fresh;
    *(crn_frame *volatile *)&frames->top = frame + 1;
    __asm__ volatile("" ::: "memory");
    *frame = fresh; /* see sled.c */
    frame->height = crn_verb_enter((cairn_priv_strand *)cairn_priv_thread_strand, site);
}

void __cyg_profile_func_exit(void *function, void *back)
{
    cairn_strand *strand = cairn_priv_thread_strand;
    crn_frames *frames = &crn_frames_own;
    crn_frame *top = frames->top;
    if (!strand || !top)
        return;
    uintptr_t slot = SLOT_OR_OWN(back);
    if (__builtin_expect(top[-1].slot != slot || top[-1].function != function, 0)) {
        top = crn_frames_leave(slot);
        crn_frame *found = top ? find(top, slot, function) : NULL;
        if (!found)
            return;
        top = found + 1;
    }
    int64_t height = top[-1].height;
    *(crn_frame *volatile *)&frames->top = top - 1;
    crn_verb_leave((cairn_priv_strand *)strand, height);
}
