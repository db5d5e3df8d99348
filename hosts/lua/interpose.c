/* SPDX-License-Identifier: MIT
 *
 * interpose.c - what cairn-lua5.4 interposes between the program and the interpreter. The linker's
 * --wrap redirects calls of Lua's own libraries, and the version script (cairn-lua.map) those of C
 * modules. Lua itself is as Debian built it.
 */
#include "host.h"

/* Exports __wrap_lua_NAME to C modules as lua_NAME. */
#define EXPORT(name) __asm__(".symver __wrap_" #name ", " #name "@LUA_5.4")

int __real_lua_resume(lua_State *L, lua_State *from, int arguments, int *results);
int __real_lua_resetthread(lua_State *L);
lua_State *__real_lua_newthread(lua_State *L);
lua_Hook __real_lua_gethook(lua_State *L);
int __real_lua_gethookmask(lua_State *L);
int __real_lua_gethookcount(lua_State *L);

CAIRN_API int __wrap_lua_resume(lua_State *L, lua_State *from, int arguments, int *results);
CAIRN_API int __wrap_lua_resetthread(lua_State *L);
CAIRN_API lua_State *__wrap_lua_newthread(lua_State *L);
CAIRN_API void __wrap_lua_sethook(lua_State *L, lua_Hook hook, int mask, int count);
CAIRN_API lua_Hook __wrap_lua_gethook(lua_State *L);
CAIRN_API int __wrap_lua_gethookmask(lua_State *L);
CAIRN_API int __wrap_lua_gethookcount(lua_State *L);

EXPORT(lua_resume);
EXPORT(lua_resetthread);
EXPORT(lua_newthread);
EXPORT(lua_sethook);
EXPORT(lua_gethook);
EXPORT(lua_gethookmask);
EXPORT(lua_gethookcount);

/* ---- coroutines ------------------------------------------------------------------- */

static void go_on(crn_host *host, crn_coroutine *to)
{
    crn_coroutine *from = host->running;
    crn_coroutine_switch(host, to);
    crn_sampler_move(host, from, to);
}

int __wrap_lua_resume(lua_State *L, lua_State *from, int arguments, int *results)
{
    crn_host *host = crn_host_live(L);
    if (!host || lua_status(L) > LUA_YIELD) /* status of a coroutine that died of an error */
        return __real_lua_resume(L, from, arguments, results);
    crn_coroutine *resumer = host->running;
    /* A coroutine made before the profile began has no hook yet. */
    bool known = crn_coroutine_find(host, L) != NULL;
    crn_coroutine *coroutine = crn_coroutine_get(host, L);
    if (!known && __real_lua_gethook(L) == NULL)
        crn_hook_install(host, coroutine);
    go_on(host, coroutine);
    int status = __real_lua_resume(L, from, arguments, results);
    if (host->stopped)
        return status;
    go_on(host, resumer);
    /* The coroutine has returned or died of an error. If only the resume failed, it lives on. */
    if (status == LUA_OK || (status != LUA_YIELD && lua_status(L) == status))
        crn_coroutine_end(host, coroutine);
    return status;
}

int __wrap_lua_resetthread(lua_State *L)
{
    crn_host *host = crn_host_live(L);
    if (!host)
        return __real_lua_resetthread(L);
    /* To-be-closed variables are closed on the coroutine's own stack. */
    crn_coroutine *closer = host->running;
    crn_coroutine *coroutine = crn_coroutine_find(host, L);
    if (coroutine && coroutine->strand)
        go_on(host, coroutine);
    int status = __real_lua_resetthread(L);
    if (host->stopped)
        return status;
    go_on(host, closer);
    coroutine = crn_coroutine_find(host, L);
    if (coroutine && coroutine != closer)
        crn_coroutine_end(host, coroutine);
    return status;
}

lua_State *__wrap_lua_newthread(lua_State *L)
{
    lua_State *thread = __real_lua_newthread(L);
    crn_host *host = crn_host_live(L);
    if (host)
        crn_program_inherit(host, L, thread);
    return thread;
}

/* ---- hooks ------------------------------------------------------------------------ */

/* Returns the record that has the program's own hook of L; NULL without one. Sets `*ours` to true
 * if L is profiled: the hook that the interpreter has is then the host's. */
static const crn_coroutine *program_of(lua_State *L, bool *ours)
{
    crn_host *host = crn_host_live(L);
    *ours = host != NULL;
    return host ? crn_coroutine_find(host, L) : NULL;
}

void __wrap_lua_sethook(lua_State *L, lua_Hook hook, int mask, int count)
{
    crn_host *host = crn_host_live(L);
    if (host)
        crn_program_sethook(host, L, hook, mask, count);
    else
        crn_real_sethook(L, hook, mask, count);
}

lua_Hook __wrap_lua_gethook(lua_State *L)
{
    bool ours;
    const crn_coroutine *coroutine = program_of(L, &ours);
    return !ours ? __real_lua_gethook(L) : coroutine ? coroutine->program_hook : NULL;
}

int __wrap_lua_gethookmask(lua_State *L)
{
    bool ours;
    const crn_coroutine *coroutine = program_of(L, &ours);
    return !ours ? __real_lua_gethookmask(L) : coroutine ? coroutine->program_mask : 0;
}

int __wrap_lua_gethookcount(lua_State *L)
{
    bool ours;
    const crn_coroutine *coroutine = program_of(L, &ours);
    return !ours ? __real_lua_gethookcount(L) : coroutine ? coroutine->program_count : 0;
}
