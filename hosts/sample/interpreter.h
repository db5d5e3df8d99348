/* SPDX-License-Identifier: MIT
 *
 * interpreter.h - frames of an interpreter's functions between the native ones.
 *
 * An interpreter runs its functions in one C function, its *loop*. One call of the loop runs a
 * chain of frames: functions of the language that call each other need no C call. Before each frame
 * of the loop, a walk adds the chain's functions, as words that differ from all addresses. The
 * structures are those of certain versions of an interpreter; functions of other versions are not
 * shown.
 */
#ifndef CRN_SAMPLE_INTERPRETER_H
#define CRN_SAMPLE_INTERPRETER_H

#include <cairn/cairn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "objects.h"
#include "unwind/unwind.h"

/* State of the walk of one stack: the next Python frame or Lua call. */
typedef struct crn_python_state {
    bool found;      /* the thread's chain of frames was looked for */
    uintptr_t frame; /* the next frame of the chain; 0: none */
} crn_python_state;

typedef struct crn_lua_state {
    uintptr_t thread; /* the coroutine, lua_State; 0: none yet */
    uintptr_t call;   /* its next CallInfo; 0: none */
} crn_lua_state;

typedef struct crn_interpreters {
    crn_words words;
    crn_python_state python;
    crn_lua_state lua;
    crn_unwind_loop loops[2];
} crn_interpreters;

/* ---- interpreter.c ---- */

/* Looks for interpreters in the program and its libraries, and notes their versions. Takes the
 * loader's lock: call it once, before the program's first function and before a rule is cached. */
void crn_interpreters_find(cairn_profile *profile);

/* Lets the walk of a thread's stack add functions. `state` is used by the walk. Signal safe. */
void crn_interpreters_prepare(crn_unwind_walk *walk, crn_interpreters *state, pid_t thread);

#define CRN_PYTHON_WORD (UINT64_C(1) << 63)
#define CRN_LUA_WORD (UINT64_C(1) << 62)
#define CRN_INTERPRETED_WORD (CRN_PYTHON_WORD | CRN_LUA_WORD)

/* Returns the block, with file and line, of a word that such a walk has added. Called by one thread
 * only. */
cairn_block crn_interpreters_block(uint64_t word);

/* ---- python.c: CPython 3.11 ---- */

void crn_python_find(cairn_profile *profile);
/* Describes the interpreter's loop; its size is 0 if there is none. */
crn_unwind_loop crn_python_loop(crn_interpreters *state);
cairn_block crn_python_block(uintptr_t object);

/* ---- lua.c: Lua 5.4 ---- */

void crn_lua_find(cairn_profile *profile);
crn_unwind_loop crn_lua_loop(crn_interpreters *state);
cairn_block crn_lua_block(uintptr_t object);

/* ---- lua_trial.c ---- */

typedef struct crn_lua_trial {
    uintptr_t loop, loop_size; /* luaV_execute */
    unsigned registers;        /* bit N: register N (in DWARF) has the lua_State in the loop */
    unsigned calls;            /* number of calls by Lua code that were looked at */
    bool failed;               /* what the trial found must not be used */
} crn_lua_trial;

/* Finds the interpreter's loop, which has no public symbol: runs a few lines in a Lua state of
 * their own, and looks at the stack in the functions that they call.
 *
 * `fits` returns true if the structures of a coroutine (`thread`, a lua_State) are those that the
 * caller of crn_lua_try knows. When `fits` is called, the coroutine runs a C function that the main
 * chunk, whose name is `chunk`, has called. */
void crn_lua_try(crn_lua_trial *trial, bool (*fits)(uintptr_t thread, const char *chunk));

#endif
