/* SPDX-License-Identifier: MIT
 *
 * program.c - hooks that the profiled program sets itself (coverage, debuggers, watchdogs). Lua
 * has one hook a coroutine: ours, which calls the program's.
 */
#include "host.h"

void crn_program_sethook(crn_host *host, lua_State *L, lua_Hook hook, int mask, int count)
{
    /* The main state is not looked up, because a signal handler may call this function for it. */
    crn_coroutine *coroutine = L == host->main ? host->main_record : crn_coroutine_record(host, L);
    if (!coroutine->L)
        return;
    crn_count_settle(host, coroutine);
    bool on = hook && mask;
    coroutine->program_hook = on ? hook : NULL;
    coroutine->program_mask = on ? mask : 0;
    coroutine->program_count = on && mask & LUA_MASKCOUNT ? count : 0;
    coroutine->program_left = coroutine->program_count;
    crn_hook_install(host, coroutine);
}

void crn_program_inherit(crn_host *host, lua_State *L, lua_State *thread)
{
    const crn_coroutine *maker = crn_coroutine_find(host, L);
    if (maker && maker->program_hook)
        crn_program_sethook(host, thread, maker->program_hook, maker->program_mask,
                            maker->program_count);
}
