/* SPDX-License-Identifier: MIT
 *
 * host.c - begins and ends a profile in a Lua state.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host.h"

/* The current coroutine if no state is profiled. */
static crn_coroutine nobody;
static crn_host nowhere = {.running = &nobody};

_Thread_local crn_host *crn_host_here = &nowhere;

uint64_t crn_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The main state is about to be freed, with its counter and the stack that a late sampling signal
 * would read. */
static void main_freed(crn_host *host)
{
    crn_hook_settle(host, host->main_record);
    host->layout.counter = false;
    crn_coroutine_leave(host);
}

static void *block_move(const crn_host *host, void *block, size_t old_size, size_t new_size)
{
    if (host->allocate)
        return host->allocate(host->allocate_data, block, old_size, new_size);
    if (new_size)
        return realloc(block, new_size);
    free(block);
    return NULL;
}

void *crn_host_allocate(void *data, void *block, size_t old_size, size_t new_size)
{
    crn_host *host = data;
    if (new_size == 0 && block) {
        /* Other objects can have these sizes; unknown addresses are ignored. */
        if (old_size == host->layout.prototype_size && host->codes.slots)
            crn_block_forget(host, block);
        else if (old_size == host->layout.thread_size && host->coroutines)
            crn_coroutine_freed(host, (lua_State *)((char *)block + host->layout.thread_offset));
        else if (host->coroutines && host->main &&
                 block == lua_getextraspace(host->main)) /* a state begins here */
            main_freed(host);
    }
    uintptr_t old = (uintptr_t)block;
    bool followed = CRN_UNLIKELY(host->ledger != NULL);
    if (followed && old && new_size == 0)
        crn_ledger_remove(host, old, old_size);
    void *made = block_move(host, block, old_size, new_size);
    if (followed && made) { /* if realloc failed, the old memory remains */
        if (old)
            crn_ledger_remove(host, old, old_size);
        crn_ledger_add(host, (uintptr_t)made, new_size);
    }
    return made;
}

crn_host *crn_host_of(lua_State *L)
{
    void *data;
    return lua_getallocf(L, &data) == crn_host_allocate ? data : NULL;
}

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

void crn_host_note(crn_host *host, const char *key, const char *format, ...)
{
    char value[512];
    va_list arguments;
    va_start(arguments, format);
    /* clang 14 loses sight of va_start where it inlines this function.
     * NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    cairn_profile_note(host->profile, key, value);
}

void crn_host_stop(crn_host *host)
{
    if (host->stopped)
        return;
    crn_sampler_close(host);
    crn_ledger_close(host);
    crn_hook_settle(host, host->running);
    host->stopped = true;
    crn_host_here = &nowhere;
    cairn_profile_disable(host->profile);
    crn_host_note(host, "elapsed_ns", "%llu",
                  (unsigned long long)(crn_now_ns() - host->started_ns));
    crn_cost_note(host);
    cairn_profile_close(host->profile);
    host->profile = NULL;
    crn_blocks_close(host);
}
