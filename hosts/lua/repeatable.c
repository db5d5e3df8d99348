/* SPDX-License-Identifier: MIT
 *
 * repeatable.c - makes runs repeatable. Lua seeds its string hash (and so the order of pairs),
 * math.random and the pivots of large sorts with addresses and times. If instructions are counted,
 * these seeds are fixed. What the program requests itself (os.time, os.clock, math.randomseed())
 * is unchanged.
 */
#include "interpreter.h"

#include <lauxlib.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "host.h"

enum { SEED = 0x5ca1ab1e };

static bool fixed;
static lua_CFunction sort;

/* --wrap redirects only calls from another file of Lua. Of luaS_hash there is one: it makes the
 * seed of a new state. */
unsigned __real_luaS_hash(const char *text, size_t length, unsigned seed);
unsigned __wrap_luaS_hash(const char *text, size_t length, unsigned seed);
time_t __real_time(time_t *now);
time_t __wrap_time(time_t *now);
clock_t __real_clock(void);
clock_t __wrap_clock(void);

unsigned __wrap_luaS_hash(const char *text, size_t length, unsigned seed)
{
    return fixed ? SEED : __real_luaS_hash(text, length, seed);
}

/* Returns true for table.sort, which asks the clocks for a pivot; all other callers get the
 * time. */
static bool is_sorting(void)
{
    lua_State *L = crn_host_here->running->L;
    lua_Debug ar;
    if (!L || !lua_getstack(L, 0, &ar) || !lua_checkstack(L, 1))
        return false;
    lua_getinfo(L, "f", &ar);
    bool is_sort = lua_tocfunction(L, -1) == sort;
    lua_pop(L, 1);
    return is_sort;
}

time_t __wrap_time(time_t *now)
{
    return fixed && is_sorting() ? SEED : __real_time(now);
}

clock_t __wrap_clock(void)
{
    return fixed && is_sorting() ? SEED : __real_clock();
}

void crn_repeatable_begin(void)
{
    fixed = true;
}

void crn_repeatable_libraries(lua_State *L)
{
    int top = lua_gettop(L);
    lua_getglobal(L, "table");
    lua_getfield(L, -1, "sort");
    sort = lua_tocfunction(L, -1);
    lua_getglobal(L, "math");
    lua_getfield(L, -1, "randomseed");
    lua_pushinteger(L, SEED);
    lua_pcall(L, 1, 0, 0);
    lua_settop(L, top);
}
