/* SPDX-License-Identifier: MIT */
#include "interpreter.h"

#include <unistd.h>

void crn_interpreters_find(cairn_profile *profile)
{
    crn_python_find(profile);
    crn_lua_find(profile);
}

void crn_interpreters_prepare(crn_unwind_walk *walk, crn_interpreters *state, pid_t thread)
{
    *state = (crn_interpreters){.words = {.thread = thread, .own = thread == gettid()}};
    state->loops[0] = crn_python_loop(state);
    state->loops[1] = crn_lua_loop(state);
    walk->loops = state->loops;
    walk->loop_count = sizeof state->loops / sizeof *state->loops;
}

cairn_block crn_interpreters_block(uint64_t word)
{
    uintptr_t object = (uintptr_t)(word & ~CRN_INTERPRETED_WORD);
    return word & CRN_PYTHON_WORD ? crn_python_block(object) : crn_lua_block(object);
}
