/* SPDX-License-Identifier: MIT
 *
 * stack.c - keeps the strand's stack in step with the interpreter's.
 *
 * Lua sends no return events for frames that an error unwinds, and none while hooks are off (in
 * finalizers, in the program's own hooks). So each event first checks that the caller's frame is
 * on top of our stack; if not, the chain of frames is walked.
 */
#include <stdlib.h>
#include <string.h>

#include "host.h"

static const crn_frame *entry_frame(const crn_frame *entry)
{
    return (const crn_frame *)((uintptr_t)entry & ~CRN_ENTRY_BITS);
}

const crn_frame *crn_stack_caller(const crn_host *host, lua_State *L, const lua_Debug *ar)
{
    if (host->layout.frames)
        return crn_frame_previous(crn_frame_of(ar));
    lua_Debug caller;
    return lua_getstack(L, 1, &caller) ? crn_frame_of(&caller) : NULL;
}

static void leave_scope(cairn_strand *strand, uintptr_t entry)
{
    if (entry & CRN_ADOPTED_BIT)
        cairn_handoff_leave(strand);
    else if (entry & CRN_SPAN_BIT)
        cairn_span_end(strand);
    else
        cairn_leave(strand);
}

void crn_stack_drop(crn_coroutine *coroutine, size_t height)
{
    while ((size_t)(coroutine->top - coroutine->frames) > height) {
        uintptr_t entry = (uintptr_t)*coroutine->top--;
        if (CRN_LIKELY(!(entry & CRN_ENTRY_BITS)))
            cairn_leave(coroutine->strand);
        else
            leave_scope(coroutine->strand, entry);
    }
}

/* Moves `ar` to the caller's frame. Returns false below the lowest profiled frame. `*level` is used
 * for interpreters whose frames cannot be read. */
static bool chain_down(const crn_host *host, const crn_coroutine *coroutine, lua_Debug *ar,
                       int *level)
{
    const crn_frame *floor = coroutine->L == host->main ? coroutine->frames[0] : NULL;
    if (host->layout.frames) {
        const crn_frame *previous = crn_frame_previous(crn_frame_of(ar));
        ar->i_ci = (struct CallInfo *)(void *)(uintptr_t)previous;
        /* The base of a stack is a frame without a function. */
        return previous && previous != floor && crn_frame_previous(previous);
    }
    return lua_getstack(coroutine->L, ++*level, ar) && crn_frame_of(ar) != floor;
}

static bool is_base(const crn_host *host, const crn_frame *frame)
{
    return !frame || (host->layout.frames && !crn_frame_previous(frame));
}

/* Puts the chain's blocks into host->path, and its frames into `frames` if that is not NULL. */
static size_t chain_read(crn_host *host, crn_coroutine *coroutine, lua_Debug ar, int level,
                         const crn_frame ***frames)
{
    size_t length = 0;
    size_t frame_room = 0;
    do {
        if (length == host->path_room) {
            size_t room = host->path_room ? host->path_room * 2 : CRN_FIRST_SIZE(256, 1);
            cairn_block *path = malloc(room * sizeof *path);
            if (!path)
                break;
            /* The path is filled from its end, because the walk begins at the innermost frame. */
            if (host->path)
                memcpy(path + room - length, host->path, length * sizeof *path);
            free(host->path);
            host->path = path;
            host->path_room = room;
        }
        if (frames && frame_room < host->path_room) {
            const crn_frame **grown = realloc((void *)*frames, host->path_room * sizeof *grown);
            if (!grown)
                break;
            *frames = grown;
            frame_room = host->path_room;
        }
        lua_Debug here = ar;
        cairn_block block = crn_block_of(host, coroutine->L, crn_frame_of(&ar), &here);
        if (block == CAIRN_BLOCK_ROOT)
            continue;
        length++;
        host->path[host->path_room - length] = block;
        if (frames)
            (*frames)[length - 1] = crn_frame_of(&ar);
    } while (chain_down(host, coroutine, &ar, &level));
    return length;
}

/* Rebuilds our stack from the chain; the common part stays. */
static void rebuild(crn_host *host, crn_coroutine *coroutine, const crn_frame *frame)
{
    lua_Debug ar;
    memset(&ar, 0, sizeof ar);
    int level = 0;
    if (host->layout.frames)
        ar.i_ci = (struct CallInfo *)(void *)(uintptr_t)frame;
    else
        while (lua_getstack(coroutine->L, level, &ar) && crn_frame_of(&ar) != frame)
            level++;
    const crn_frame **frames = NULL;
    size_t length = chain_read(host, coroutine, ar, level, &frames);
    const cairn_block *path = length ? host->path + host->path_room - length : NULL;

    size_t kept = 0; /* number of our entries to keep, scopes included */
    size_t same = 0; /* number of equal frames, from the bottom */
    size_t height = (size_t)(coroutine->top - coroutine->frames);
    while (kept < height) {
        const crn_frame *entry = coroutine->frames[kept + 1];
        bool scope = ((uintptr_t)entry & CRN_SCOPE_BIT) != 0;
        if (!scope && (same == length || frames[length - 1 - same] != entry))
            break;
        if (!scope)
            same++;
        kept++;
    }
    crn_stack_drop(coroutine, kept);
    for (; same < length; same++) {
        if (coroutine->top + 1 >= coroutine->limit && !crn_coroutine_grow(coroutine))
            break;
        *++coroutine->top = frames[length - 1 - same];
        cairn_enter(coroutine->strand, path[same]);
    }
    free((void *)frames);
}

bool crn_stack_holds(const crn_coroutine *coroutine, const crn_frame *frame)
{
    const crn_frame **at = coroutine->top;
    while (at > coroutine->frames && entry_frame(*at) != frame)
        at--;
    return entry_frame(*at) == frame;
}

void crn_stack_sync(crn_host *host, crn_coroutine *coroutine, const crn_frame *frame)
{
    const crn_frame **at = coroutine->top;
    while (at > coroutine->frames && entry_frame(*at) != frame)
        at--;
    if (entry_frame(*at) == frame) {
        crn_stack_drop(coroutine, (size_t)(at - coroutine->frames));
    } else if (is_base(host, frame)) {
        crn_stack_drop(coroutine, 0);
        if (coroutine->L != host->main || !coroutine->frames[0])
            coroutine->frames[0] = frame;
    } else {
        rebuild(host, coroutine, frame);
    }
}

size_t crn_stack_path(crn_host *host, crn_coroutine *coroutine, const lua_Debug *ar, int skip,
                      const cairn_block **path)
{
    lua_Debug from = *ar;
    int level = 0;
    bool more = true;
    while (skip-- > 0 && more)
        more = chain_down(host, coroutine, &from, &level);
    size_t length = more ? chain_read(host, coroutine, from, level, NULL) : 0;
    *path = length ? host->path + host->path_room - length : NULL;
    return length;
}
