/* SPDX-License-Identifier: MIT
 *
 * collector.c - puts the garbage collector's work and __gc metamethods below the block <gc>. Lua
 * runs both inside of any allocating instruction, with hooks off: otherwise their time would count
 * for the function that allocates. Finalizers run with our hook on and the program's off, as
 * usual.
 */
#include <stddef.h>

#include "host.h"

typedef void protected_function(lua_State *L, void *data);

int __real_luaD_pcall(lua_State *L, protected_function *function, void *data, ptrdiff_t top,
                      ptrdiff_t handler);
int __wrap_luaD_pcall(lua_State *L, protected_function *function, void *data, ptrdiff_t top,
                      ptrdiff_t handler);
void __real_luaC_step(lua_State *L);
void __wrap_luaC_step(lua_State *L);
void __real_luaC_fullgc(lua_State *L, int emergency);
void __wrap_luaC_fullgc(lua_State *L, int emergency);
void __real_lua_close(lua_State *L);
void __wrap_lua_close(lua_State *L);

static unsigned char *allow_hook(lua_State *L)
{
    return (unsigned char *)L + CRN_STATE_ALLOW_HOOK;
}

/* Returns the host if L can be followed now. Within the program's hook nothing is recorded, the
 * collector included. */
static crn_host *host_following(lua_State *L)
{
    crn_host *host = crn_host_of(L);
    if (!host || host->stopped || host->running->L != L || host->hooked == host->running)
        return NULL;
    return host;
}

/* ---- <gc> on the strand's stack ----------------------------------------------------- */

/* Finds the frame that <gc> is put above. Returns false if there is none: the state is closing and
 * runs finalizers of libraries. */
static bool frame_running(const crn_host *host, lua_State *L, bool finalizer,
                          const crn_frame **frame)
{
    lua_Debug ar;
    *frame = host->main_base;
    if (lua_getstack(L, 0, &ar))
        *frame = crn_frame_of(&ar);
    else if (L != host->main)
        *frame = host->running->frames[0];
    else if (finalizer && lua_iscfunction(L, -2))
        return false;
    return true;
}

/* Enters <gc> and returns the height of the stack before. Leaves out a frame whose call event is
 * still to come, because an error may come first. */
static size_t collector_enter(crn_host *host, const crn_frame *frame)
{
    crn_coroutine *coroutine = host->running;
    while (host->layout.frames && frame && !crn_stack_holds(coroutine, frame) &&
           crn_frame_previous(frame))
        frame = crn_frame_previous(frame);
    crn_stack_sync(host, coroutine, frame);
    size_t height = (size_t)(coroutine->top - coroutine->frames);
    if (coroutine->top + 1 < coroutine->limit || crn_coroutine_grow(coroutine)) {
        *++coroutine->top = (const crn_frame *)((uintptr_t)frame | CRN_SCOPE_BIT);
        cairn_enter(coroutine->strand, crn_block_collector(host));
    }
    host->collecting++;
    return height;
}

static void collector_leave(crn_host *host, crn_coroutine *coroutine, size_t height)
{
    host->collecting--;
    if (!host->stopped)
        crn_stack_drop(coroutine, height);
}

/* ---- collector ---------------------------------------------------------------------- */

typedef struct work {
    crn_host *host; /* NULL: not recorded */
    crn_coroutine *coroutine;
    size_t height;
} work;

/* Enters <gc> if this call is the outermost: finalizers can run inside it. Records nothing if hooks
 * are off: a hook is running, perhaps ours, and the stack is being changed. */
static work work_begin(lua_State *L)
{
    work work = {host_following(L), NULL, 0};
    const crn_frame *frame;
    if (!work.host || work.host->collecting || !work.host->layout.allow_hook ||
        *allow_hook(L) == 0 || !frame_running(work.host, L, false, &frame)) {
        work.host = NULL;
        return work;
    }
    work.coroutine = work.host->running;
    if (work.host->mode == CRN_MODE_SAMPLE)
        work.host->collecting++;
    else
        work.height = collector_enter(work.host, frame);
    return work;
}

static void work_end(const work *work, lua_State *L, bool names)
{
    if (!work->host)
        return;
    if (work->host->mode != CRN_MODE_SAMPLE) {
        collector_leave(work->host, work->coroutine, work->height);
        return;
    }
    lua_Debug ar;
    work->host->collecting--;
    if (names && crn_sampler_armed(work->host, L) && lua_getstack(L, 0, &ar)) {
        ar.event = LUA_HOOKCOUNT;
        crn_sampler_take(work->host, L, &ar, true);
        crn_hook_install(work->host, work->host->running);
    }
}

void __wrap_luaC_step(lua_State *L)
{
    work work = work_begin(L);
    __real_luaC_step(L);
    work_end(&work, L, true);
}

/* In an emergency collection the state is inconsistent: names cannot be looked up. */
void __wrap_luaC_fullgc(lua_State *L, int emergency)
{
    work work = work_begin(L);
    __real_luaC_fullgc(L, emergency);
    work_end(&work, L, !emergency);
}

/* Ends the ledger before the state frees everything: live memory at the end is what is live
 * here. */
void __wrap_lua_close(lua_State *L)
{
    crn_host *host = crn_host_of(L);
    if (host && !host->stopped)
        crn_ledger_close(host);
    __real_lua_close(L);
}

/* ---- finalizers --------------------------------------------------------------------- */

/* Recognises finalizers: the collector's protected calls have no argument and no handler, and hooks
 * are off. */
static crn_host *host_finalizing(lua_State *L, const void *data, ptrdiff_t handler)
{
    if (data || handler)
        return NULL;
    crn_host *host = host_following(L);
    return host && host->layout.allow_hook && *allow_hook(L) == 0 && host->mode != CRN_MODE_SAMPLE
               ? host
               : NULL;
}

int __wrap_luaD_pcall(lua_State *L, protected_function *function, void *data, ptrdiff_t top,
                      ptrdiff_t handler)
{
    crn_host *host = host_finalizing(L, data, handler);
    const crn_frame *frame;
    if (!host || !frame_running(host, L, true, &frame))
        return __real_luaD_pcall(L, function, data, top, handler);

    crn_coroutine *coroutine = host->running;
    bool inside = host->collecting > 0; /* <gc> is on the stack already */
    size_t height = (size_t)(coroutine->top - coroutine->frames);
    if (!inside)
        height = collector_enter(host, frame);
    host->finalizing++;
    *allow_hook(L) = 1;
    int status = __real_luaD_pcall(L, function, data, top, handler);
    *allow_hook(L) = 0;
    host->finalizing--;
    if (!inside)
        collector_leave(host, coroutine, height);
    else if (!host->stopped)
        crn_stack_drop(coroutine, height);
    return status;
}
