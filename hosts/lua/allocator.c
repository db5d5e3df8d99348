/* SPDX-License-Identifier: MIT
 *
 * allocator.c - the allocator that wraps a state's own: it leads to the host, and tells the host
 * what is freed.
 */
#include <stdlib.h>

#include "host.h"

/* The current coroutine of a thread on which no profiled state runs. */
static crn_coroutine nobody;
static crn_host nowhere = {.running = &nobody};

_Thread_local crn_host *crn_host_here = &nowhere;

void crn_host_leave(void)
{
    crn_host_here = &nowhere;
}

/* Called before the main state is freed, with its counter and the stack that a late sampling signal
 * would read. */
static void main_freed(crn_host *host)
{
    crn_count_settle(host, host->main_record);
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
                 block == lua_getextraspace(host->main)) /* where the state's memory begins */
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

crn_host *crn_host_live(lua_State *L)
{
    crn_host *host = crn_host_of(L);
    return host && !host->stopped ? host : NULL;
}
