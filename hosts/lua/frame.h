/* SPDX-License-Identifier: MIT
 *
 * frame.h - read the interpreter's own frames.
 *
 * Lua's public API tells which function a frame runs by pushing a closure or by copying
 * strings, tens of nanoseconds a question. The frame itself says it in two loads. The
 * offsets are those of Lua 5.4 and are used only after crn_frame_prove has watched this
 * very interpreter use them (layout.c); else everything goes through lua_getinfo.
 */
#ifndef CRN_LUA_FRAME_H
#define CRN_LUA_FRAME_H

#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

/* Lua's CallInfo. Its address says which frame of a coroutine is meant: there is one at
 * each depth, used again by the next call at that depth. */
typedef struct crn_frame crn_frame;

enum {
    CRN_FRAME_FUNCTION = 0,  /* CallInfo: the stack slot of the function */
    CRN_FRAME_PREVIOUS = 16, /* CallInfo: the frame that called */
    CRN_VALUE_TAG = 8,       /* TValue */
    CRN_CLOSURE_CODE = 24,   /* of a Lua closure its prototype, of a C closure its function */
    CRN_STATE_ALLOW_HOOK = 11,
    CRN_STATE_COUNT_BASE = 184, /* lua_State: what the counter begins anew with */
    CRN_STATE_COUNTER = 188,    /* instructions until the next count event */
    CRN_TAG_MASK = 0x3f,        /* without the bit that says "collectable" */
    CRN_TAG_TYPE_MASK = 0x0f,
    CRN_TAG_LIGHT_C = LUA_TFUNCTION | 1 << 4
};

#define CRN_FIELD(type, object, offset) (*(type *)((const char *)(object) + (offset)))

static inline const crn_frame *crn_frame_of(const lua_Debug *ar)
{
    return (const crn_frame *)(const void *)ar->i_ci;
}

static inline const crn_frame *crn_frame_previous(const crn_frame *frame)
{
    return CRN_FIELD(const crn_frame *const, frame, CRN_FRAME_PREVIOUS);
}

/* What is profiled: the prototype of a Lua function, the address of a C function. NULL if
 * the frame has no function (the base of a stack). */
static inline const void *crn_frame_code(const crn_frame *frame)
{
    const char *slot = CRN_FIELD(const char *const, frame, CRN_FRAME_FUNCTION);
    unsigned tag = CRN_FIELD(const unsigned char, slot, CRN_VALUE_TAG) & CRN_TAG_MASK;
    const char *object = CRN_FIELD(const char *const, slot, 0);
    if (tag == CRN_TAG_LIGHT_C)
        return object;
    if ((tag & CRN_TAG_TYPE_MASK) != LUA_TFUNCTION)
        return NULL;
    return CRN_FIELD(const void *const, object, CRN_CLOSURE_CODE);
}

/* What a look at the interpreter found out. */
typedef struct crn_layout {
    bool frames;           /* the offsets above hold */
    bool allow_hook;       /* CRN_STATE_ALLOW_HOOK holds */
    bool counter;          /* CRN_STATE_COUNTER holds, and may be set */
    size_t prototype_size; /* of the blocks that the collector frees; 0 if unknown */
    size_t thread_size;    /* likewise; the lua_State is inside, at thread_offset */
    size_t thread_offset;
} crn_layout;

/* Runs a few functions in a state of its own and compares what frames hold with what the
 * API says. CAIRN_LUA_LAYOUT=api in the environment makes it fail, for tests. */
void crn_layout_prove(crn_layout *layout);

#endif
