/* SPDX-License-Identifier: MIT
 *
 * hook.c - handles the interpreter's call, tail call, return and count events.
 */
#include "host.h"

/* Finds the host of an event that is not in the current coroutine, and makes its coroutine current.
 * Returns NULL if the state is not profiled. */
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

/* Prepares a call whose caller is not on top of our stack, or for which there is no space. Returns
 * true if there is space now. */
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
        if (CRN_UNLIKELY(block == CAIRN_BLOCK_ROOT))
            return;
        *++coroutine->top = frame;
        cairn_enter(coroutine->strand, block);
    }
}

__attribute__((noinline)) static void returned_slowly(crn_host *host, crn_coroutine *coroutine,
                                                      lua_State *L, const lua_Debug *ar)
{
    /* Functions called while nothing was recorded are not on our stack. */
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

/* Handles a tail call: the callee uses the caller's frame. */
static void replaced(crn_host *host, crn_coroutine *coroutine, lua_State *L, lua_Debug *ar)
{
    const crn_frame *frame = crn_frame_of(ar);
    cairn_block block = crn_block_of(host, L, frame, ar);
    if (block == CAIRN_BLOCK_ROOT)
        return;
    if (*coroutine->top == frame && coroutine->top > coroutine->frames) {
        cairn_replace(coroutine->strand, block);
        return;
    }
    crn_stack_sync(host, coroutine, frame);
    /* A frame that was not on our stack has been added as the callee already. */
    if (*coroutine->top == frame)
        cairn_replace(coroutine->strand, block);
}

/* Sets the instruction counter again after a count event. */
static void count_again(crn_host *host, crn_coroutine *coroutine)
{
    if (!crn_count_set(host, coroutine) &&
        crn_count_next(host, coroutine) != coroutine->installed_count)
        crn_hook_install(host, coroutine);
}

static void counted(crn_host *host, crn_coroutine *coroutine, const lua_Debug *ar, int passed)
{
    if (*coroutine->top != crn_frame_of(ar))
        crn_stack_sync(host, coroutine, crn_frame_of(ar));
    host->count_events++;
    cairn_tick(coroutine->strand, (uint32_t)passed);
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
        counted(host, coroutine, ar, crn_count_ended(host, coroutine));
        count_again(host, coroutine);
        break;
    default:
        break;
    }
}

/* ---- with the program's own hook ----------------------------------------------- */

/* Returns true if a count event is also due for the program. */
static bool count_is_theirs(crn_coroutine *coroutine, int passed)
{
    if (!coroutine->program_count || (coroutine->program_left -= passed) > 0)
        return false;
    coroutine->program_left = coroutine->program_count;
    return true;
}

static void sampled(crn_host *host, lua_State *L, lua_Debug *ar)
{
    crn_sampler_take(host, L, ar, false);
    /* This also removes an armed hook that a thread has inherited. */
    crn_hook_install(host, host->running);
}

static void hook_shared(lua_State *L, lua_Debug *ar)
{
    static const int mask_of[] = {LUA_MASKCALL, LUA_MASKRET, LUA_MASKLINE, LUA_MASKCOUNT,
                                  LUA_MASKCALL};
    crn_host *host = hook_host(L);
    if (!host)
        return;
    crn_coroutine *coroutine = host->running;
    /* No events come while a hook runs: so an error has ended the program's. */
    if (host->hooked == coroutine) {
        host->hooked = NULL;
        crn_count_resume(host, coroutine);
    }
    bool theirs = (coroutine->program_mask & mask_of[ar->event]) != 0;
    if (ar->event == LUA_HOOKCOUNT && coroutine->installed_count) {
        int passed = crn_count_ended(host, coroutine);
        theirs = count_is_theirs(coroutine, passed);
        if (host->mode == CRN_MODE_TICKS)
            counted(host, coroutine, ar, passed);
        count_again(host, coroutine);
    } else if (host->mode != CRN_MODE_SAMPLE) {
        hook_plain(L, ar);
    }
    if (crn_sampler_armed(host, L))
        sampled(host, L, ar);
    /* The program's hook comes last, because it may raise an error. It is not called in finalizers,
     * which Lua runs with hooks off. */
    lua_Hook program = coroutine->program_hook;
    if (!theirs || !program || host->finalizing)
        return;
    host->hooked = coroutine;
    crn_count_pause(host, coroutine);
    program(L, ar);
    crn_count_resume(host, coroutine);
    host->hooked = NULL;
}

/* Handles the event after the sampler's signal, which has armed this hook for once. */
static void hook_sample(lua_State *L, lua_Debug *ar)
{
    crn_host *host = hook_host(L);
    if (host)
        sampled(host, L, ar);
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
    crn_count_settle(host, coroutine);
    coroutine->installed_count = crn_count_next(host, coroutine);
    if (coroutine->program_hook)
        crn_real_sethook(coroutine->L, hook_shared, mask | coroutine->program_mask,
                         coroutine->installed_count);
    else
        crn_real_sethook(coroutine->L, mask ? hook_plain : NULL, mask, coroutine->installed_count);
}

/* Events that take samples. */
enum { SAMPLE_MASK = LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT };

void crn_hook_arm(crn_coroutine *coroutine)
{
    if (!coroutine->program_hook)
        crn_real_sethook(coroutine->L, hook_sample, SAMPLE_MASK, 1);
    else if (!coroutine->program_count)
        crn_real_sethook(coroutine->L, hook_shared, SAMPLE_MASK | coroutine->program_mask, 1);
}

/* Setting a hook takes time proportional to the stack's depth. */
void crn_hook_arm_again(crn_coroutine *coroutine)
{
    if ((crn_real_gethookmask(coroutine->L) & SAMPLE_MASK) != SAMPLE_MASK)
        crn_hook_arm(coroutine);
}
