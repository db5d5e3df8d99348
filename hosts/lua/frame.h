/* SPDX-License-Identifier: MIT
 *
 * frame.h - reads the interpreter's own frames.
 *
 * Lua's public API tells which function a frame runs by pushing a closure or copying strings,
 * which takes tens of ns. The frame itself tells it in two loads. The offsets are those of Lua
 * 5.4, and are used only after crn_layout_prove has verified them on the running interpreter
 * (layout.c); otherwise lua_getinfo is used.
 */
#ifndef CRN_LUA_FRAME_H
#define CRN_LUA_FRAME_H

#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

/* Lua's CallInfo. Its address identifies a frame of a coroutine: there is one for each depth,
 * reused by the next call at that depth. */
typedef struct crn_frame crn_frame;

enum {
    CRN_FRAME_FUNCTION = 0,     /* CallInfo: stack slot of the function */
    CRN_FRAME_PREVIOUS = 16,    /* CallInfo: the caller's frame */
    CRN_VALUE_TAG = 8,          /* TValue: its type */
    CRN_CLOSURE_CODE = 24,      /* of a Lua closure: its prototype; of a C closure: its function */
    CRN_STATE_ALLOW_HOOK = 11,  /* lua_State: a byte, 0 while hooks are off */
    CRN_STATE_COUNT_BASE = 184, /* lua_State: start value of the instruction counter */
    CRN_STATE_COUNTER = 188,    /* instructions until the next count event */
    CRN_TAG_MASK = 0x3f,        /* without the "collectable" bit */
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

/* Returns the profiled code: the prototype of a Lua function, the address of a C function. NULL if
 * the frame has no function (base of a stack). */
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

/* Facts about the interpreter that crn_layout_prove has verified. */
typedef struct crn_layout {
    bool frames;           /* the offsets above are valid */
    bool allow_hook;       /* CRN_STATE_ALLOW_HOOK is valid */
    bool counter;          /* CRN_STATE_COUNTER is valid and may be written */
    size_t prototype_size; /* size of prototypes as the collector frees them; 0 if unknown */
    size_t thread_size;    /* size of threads likewise; the lua_State is at thread_offset in it */
    size_t thread_offset;
} crn_layout;

/* Runs some functions in a separate state and compares frames with the results of the API.
 * CAIRN_LUA_LAYOUT=api in the environment makes it fail, for tests. */
void crn_layout_prove(crn_layout *layout);

#endif
