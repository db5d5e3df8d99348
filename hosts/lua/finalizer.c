/* SPDX-License-Identifier: MIT
 *
 * finalizer.c - __gc metamethods. Lua runs them between any two instructions that allocate,
 * with hooks off: left to itself, their time would count as that of whoever allocated.
 * Here they run below the block <gc>, with our hook on (and the program's off, as ever).
 */
#include <stddef.h>

#include "host.h"

typedef void protected_function(lua_State *L, void *data);

int __real_luaD_pcall(lua_State *L, protected_function *function, void *data, ptrdiff_t top,
                      ptrdiff_t handler);
int __wrap_luaD_pcall(lua_State *L, protected_function *function, void *data, ptrdiff_t top,
                      ptrdiff_t handler);

static unsigned char *allow_hook(lua_State *L)
{
    return (unsigned char *)L + CRN_STATE_ALLOW_HOOK;
}

/* The collector is the one that hands the protected call nothing and no handler, with hooks
 * switched off. */
static crn_host *finalizing_host(lua_State *L, const void *data, ptrdiff_t handler)
{
    if (data || handler)
        return NULL;
    crn_host *host = crn_host_of(L);
    if (!host || host->stopped || !host->layout.allow_hook || *allow_hook(L) != 0 ||
        host->mode == CRN_MODE_SAMPLE || host->running->L != L)
        return NULL;
    /* Inside of the program's hook nothing is watched, finalizers included. */
    return host->hooked == host->running ? NULL : host;
}

int __wrap_luaD_pcall(lua_State *L, protected_function *function, void *data, ptrdiff_t top,
                      ptrdiff_t handler)
{
    crn_host *host = finalizing_host(L, data, handler);
    if (!host)
        return __real_luaD_pcall(L, function, data, top, handler);

    crn_coroutine *coroutine = host->running;
    lua_Debug ar;
    const crn_frame *frame = host->main_base;
    if (lua_getstack(L, 0, &ar))
        frame = crn_frame_of(&ar);
    else if (L != host->main)
        frame = coroutine->frames[0];
    else if (lua_iscfunction(L, -2)) /* the state is closing: the libraries' own things */
        return __real_luaD_pcall(L, function, data, top, handler);
    crn_stack_sync(host, coroutine, frame);
    size_t height = (size_t)(coroutine->top - coroutine->frames);
    if (coroutine->top + 1 < coroutine->limit || crn_coroutine_grow(coroutine)) {
        *++coroutine->top = (const crn_frame *)((uintptr_t)frame | CRN_SCOPE_BIT);
        cairn_enter(coroutine->strand, crn_block_collector(host));
    }
    host->finalizing++;
    *allow_hook(L) = 1;
    int status = __real_luaD_pcall(L, function, data, top, handler);
    *allow_hook(L) = 0;
    host->finalizing--;
    if (!host->stopped)
        crn_stack_drop(coroutine, height);
    return status;
}
