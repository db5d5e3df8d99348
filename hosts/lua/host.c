/* SPDX-License-Identifier: MIT
 *
 * host.c - begins a profile in a Lua state.
 */
#include <stdlib.h>
#include <unistd.h>

#include "host.h"

void crn_host_discard(crn_host *host)
{
    cairn_profile_close(host->profile);
    crn_blocks_close(host);
    crn_coroutines_close(host);
    free(host->path);
    free(host);
}

crn_host *crn_host_open(const crn_host_options *options, cairn_error *error)
{
    crn_host *host = calloc(1, sizeof *host);
    *error = CAIRN_E_MEMORY;
    if (!host)
        return NULL;
    host->mode = options->mode;
    host->period = options->period;
    host->process = getpid();
    crn_layout_prove(&host->layout);
#ifdef CRN_LUA_MODULE
    /* Without coroutine events, the rest of a counter cannot be passed on. */
    host->layout.counter = false;
#endif
    if (!crn_coroutines_open(host)) {
        crn_host_discard(host);
        return NULL;
    }
    cairn_options profile = options->profile;
    if (host->mode == CRN_MODE_TICKS)
        profile.tick_period = (uint64_t)host->period;
    *error = cairn_profile_open(&host->profile, &profile);
    if (*error == CAIRN_OK && !crn_blocks_open(host))
        *error = CAIRN_E_MEMORY;
    if (*error != CAIRN_OK) {
        crn_host_discard(host);
        return NULL;
    }
    host->lane = cairn_lane_open(host->profile, "lua");
    host->started_ns = crn_now_ns();
    return host;
}

void crn_host_start(crn_host *host, lua_State *L, const crn_frame *floor, lua_Alloc allocate,
                    void *allocate_data)
{
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    host->main = lua_tothread(L, -1);
    lua_pop(L, 1);
    crn_coroutine *main = crn_coroutine_get(host, host->main);
    host->main_record = main;
    if (main->L)
        main->frames[0] = floor;
    if (host->layout.frames)
        for (; floor; floor = crn_frame_previous(floor))
            host->main_base = floor;
    host->allocate = allocate;
    host->allocate_data = allocate_data;
    lua_setallocf(L, crn_host_allocate, host);
    crn_coroutine *running = crn_coroutine_get(host, L);
    crn_host_here = host;
    crn_coroutine_switch(host, running);
    crn_hook_install(host, main);
    if (running != main)
        crn_hook_install(host, running);
    if (host->mode == CRN_MODE_SAMPLE)
        crn_sampler_open(host);
}

void crn_host_describe(crn_host *host, const crn_host_options *options)
{
    crn_host_note(host, "host",
                  "lua" LUA_VERSION_MAJOR "." LUA_VERSION_MINOR "." LUA_VERSION_RELEASE);
    if (options->mode == CRN_MODE_EXACT)
        crn_host_note(host, "mode", "exact");
    else if (options->mode == CRN_MODE_TICKS)
        crn_host_note(host, "mode", "ticks %d", options->period);
    else
        crn_host_note(host, "mode", "sample %d Hz", options->period);
    if (options->allocations && options->alloc_mean)
        crn_host_note(host, "alloc", "%llu", (unsigned long long)options->alloc_mean);
    else if (options->allocations)
        crn_host_note(host, "alloc", "exact");
}
