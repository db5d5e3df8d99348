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

/* Notes that a block is freed. Other objects can have these sizes; unknown addresses are
 * ignored. */
static void block_freed(crn_host *host, void *block, size_t old_size)
{
    if (old_size == host->layout.prototype_size && host->codes.slots)
        crn_block_forget(host, block);
    else if (old_size == host->layout.thread_size && host->coroutines)
        crn_coroutine_freed(host, (lua_State *)((char *)block + host->layout.thread_offset));
    else if (host->coroutines && host->main &&
             block == lua_getextraspace(host->main)) /* where the state's memory begins */
        main_freed(host);
}

/* Does what crn_host_allocate does, for a block that the host may have to know about. */
__attribute__((noinline)) static void *allocate_known(crn_host *host, void *block, size_t old_size,
                                                      size_t new_size)
{
    if (new_size == 0 && block)
        block_freed(host, block, old_size);
    uintptr_t old = (uintptr_t)block;
    bool followed = host->ledger != NULL;
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

/* Returns true if the size or the address of a block is that of code or of a coroutine. */
static inline bool may_be_known(const crn_host *host, const void *block, size_t size)
{
    return size == host->layout.prototype_size || size == host->layout.thread_size ||
           (host->main && block == lua_getextraspace(host->main));
}

/* Lua calls this for each object: the usual path compares, and goes on in the C library. */
void *crn_host_allocate(void *data, void *block, size_t old_size, size_t new_size)
{
    crn_host *host = data;
    if (CRN_UNLIKELY(host->ledger || host->allocate))
        return allocate_known(host, block, old_size, new_size);
    if (new_size)
        return realloc(block, new_size);
    if (block && CRN_UNLIKELY(may_be_known(host, block, old_size)))
        return allocate_known(host, block, old_size, new_size);
    free(block);
    return NULL;
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
