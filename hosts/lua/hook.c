/* SPDX-License-Identifier: MIT
 *
 * hook.c - the interpreter's call, tail call, return and count events.
 */
#include <stdlib.h>

#include "host.h"

/* Another coroutine runs than the one we know of, or another state, or nobody of ours. */
static crn_host *hook_elsewhere(lua_State *L)
{
    crn_host *host = crn_host_of(L);
    if (!host || host->stopped) {
        crn_real_sethook(L, NULL, 0, 0);
        return NULL;
    }
    crn_host_here = host;
    crn_coroutine_switch(host, crn_coroutine_get(host, L));
    return host;
}

static inline crn_host *hook_host(lua_State *L)
{
    crn_host *host = crn_host_here;
    return CRN_LIKELY(host->running->L == L) ? host : hook_elsewhere(L);
}

/* A call, when the frame below is not on top of our stack or there is no room. Returns
 * whether there is now. */
__attribute__((noinline)) static bool called_slowly(crn_host *host, crn_coroutine *coroutine,
                                                    lua_State *L, const lua_Debug *ar)
{
    crn_stack_sync(host, coroutine, crn_stack_caller(host, L, ar));
    return coroutine->top + 1 < coroutine->limit || crn_coroutine_grow(coroutine);
}

static inline void called(crn_host *host, crn_coroutine *coroutine, lua_State *L, lua_Debug *ar)
{
    const crn_frame *frame = crn_frame_of(ar);
    cairn_block block = crn_block_of(host, L, frame, ar);
    bool step = host->layout.frames && *coroutine->top == crn_frame_previous(frame) &&
                coroutine->top + 1 < coroutine->limit;
    if (CRN_LIKELY(step) || called_slowly(host, coroutine, L, ar)) {
        *++coroutine->top = frame;
        cairn_enter(coroutine->strand, block);
    }
}

__attribute__((noinline)) static void returned_slowly(crn_host *host, crn_coroutine *coroutine,
                                                      lua_State *L, const lua_Debug *ar)
{
    /* What was called while nobody watched is not on our stack, and need not come. */
    crn_stack_sync(host, coroutine, crn_stack_caller(host, L, ar));
}

static inline void returned(crn_host *host, crn_coroutine *coroutine, lua_State *L,
                            const lua_Debug *ar)
{
    if (CRN_LIKELY(*coroutine->top == crn_frame_of(ar) && coroutine->top > coroutine->frames)) {
        coroutine->top--;
        cairn_leave(coroutine->strand);
    } else {
        returned_slowly(host, coroutine, L, ar);
    }
}

/* The callee runs in the caller's frame. */
static void replaced(crn_host *host, crn_coroutine *coroutine, lua_State *L, lua_Debug *ar)
{
    const crn_frame *frame = crn_frame_of(ar);
    cairn_block block = crn_block_of(host, L, frame, ar);
    if (*coroutine->top == frame && coroutine->top > coroutine->frames) {
        cairn_replace(coroutine->strand, block);
        return;
    }
    crn_stack_sync(host, coroutine, frame);
    /* A frame that came in unseen came in as the callee that it runs now. */
    if (*coroutine->top == frame)
        cairn_replace(coroutine->strand, block);
}

static void counted(crn_host *host, crn_coroutine *coroutine, const lua_Debug *ar)
{
    if (*coroutine->top != crn_frame_of(ar))
        crn_stack_sync(host, coroutine, crn_frame_of(ar));
    host->count_events++;
    cairn_tick(coroutine->strand, (uint32_t)host->period);
}

static void hook_plain(lua_State *L, lua_Debug *ar)
{
    crn_host *host = hook_host(L);
    if (CRN_UNLIKELY(!host))
        return;
    crn_coroutine *coroutine = host->running;
    host->events++;
    switch (ar->event) {
    case LUA_HOOKCALL:
        called(host, coroutine, L, ar);
        break;
    case LUA_HOOKRET:
        returned(host, coroutine, L, ar);
        break;
    case LUA_HOOKTAILCALL:
        replaced(host, coroutine, L, ar);
        break;
    case LUA_HOOKCOUNT:
        counted(host, coroutine, ar);
        break;
    default:
        break;
    }
}

/* ---- together with the program's own hook ------------------------------------- */

/* While the program counts instructions the sampler does not touch the counter, but looks
 * up this often. */
enum { SAMPLE_SLICE = 1000 };

/* The period of count events that serves both; 0 if nobody counts. */
static int count_next(const crn_host *host, const crn_coroutine *coroutine)
{
    int own = 0;
    if (host->mode == CRN_MODE_TICKS)
        own = coroutine->own_left;
    else if (host->mode == CRN_MODE_SAMPLE && coroutine->program_count)
        own = SAMPLE_SLICE;
    int program = coroutine->program_count ? coroutine->program_left : 0;
    return !own ? program : !program || own < program ? own : program;
}

/* A count event came after `installed_count` instructions: whose was it? The counter has
 * just been set anew, so a new period begins exactly here. */
static void count_split(crn_host *host, crn_coroutine *coroutine, bool *ours, bool *theirs)
{
    int passed = coroutine->installed_count;
    *ours = host->mode == CRN_MODE_SAMPLE ||
            (host->mode == CRN_MODE_TICKS && (coroutine->own_left -= passed) <= 0);
    *theirs = coroutine->program_count && (coroutine->program_left -= passed) <= 0;
    if (*ours)
        coroutine->own_left = host->period;
    if (*theirs)
        coroutine->program_left = coroutine->program_count;
    if (count_next(host, coroutine) != passed)
        crn_hook_install(host, coroutine);
}

static void hook_shared(lua_State *L, lua_Debug *ar)
{
    static const int mask_of[] = {LUA_MASKCALL, LUA_MASKRET, LUA_MASKLINE, LUA_MASKCOUNT,
                                  LUA_MASKCALL};
    crn_host *host = hook_host(L);
    if (!host)
        return;
    crn_coroutine *coroutine = host->running;
    /* An error may have ended it; no event comes from inside of it. */
    if (host->hooked == coroutine)
        host->hooked = NULL;
    bool ours = true;
    bool theirs = (coroutine->program_mask & mask_of[ar->event]) != 0;
    if (ar->event == LUA_HOOKCOUNT && coroutine->installed_count)
        count_split(host, coroutine, &ours, &theirs);
    if (ours && host->mode != CRN_MODE_SAMPLE)
        hook_plain(L, ar);
    else if (ours && crn_sampler_armed(host, L))
        crn_sampler_take(host, L, ar);
    /* Last, as it may raise an error. As far as the program knows, finalizers run with
     * hooks off. */
    lua_Hook program = coroutine->program_hook;
    if (!theirs || !program || host->finalizing)
        return;
    host->hooked = coroutine;
    program(L, ar);
    host->hooked = NULL;
}

/* A one-shot hook that the sampler's signal has armed. */
static void hook_sample(lua_State *L, lua_Debug *ar)
{
    crn_host *host = hook_host(L);
    if (host)
        crn_sampler_take(host, L, ar);
}

static int mode_mask(const crn_host *host)
{
    switch (host->mode) {
    case CRN_MODE_EXACT:
        return LUA_MASKCALL | LUA_MASKRET;
    case CRN_MODE_TICKS:
        return LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT;
    default:
        return 0;
    }
}

void crn_hook_install(crn_host *host, crn_coroutine *coroutine)
{
    int mask = mode_mask(host);
    if (coroutine->own_left <= 0)
        coroutine->own_left = host->period;
    coroutine->installed_count = count_next(host, coroutine);
    if (coroutine->program_hook)
        crn_real_sethook(coroutine->L, hook_shared, mask | coroutine->program_mask,
                         coroutine->installed_count);
    else
        crn_real_sethook(coroutine->L, mask ? hook_plain : NULL, mask, coroutine->installed_count);
}

void crn_hook_arm(crn_coroutine *coroutine)
{
    const int mask = LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT;
    if (!coroutine->program_hook)
        crn_real_sethook(coroutine->L, hook_sample, mask, 1);
    else if (!coroutine->program_count)
        crn_real_sethook(coroutine->L, hook_shared, mask | coroutine->program_mask, 1);
}
