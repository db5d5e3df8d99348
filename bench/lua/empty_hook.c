/* SPDX-License-Identifier: MIT
 *
 * empty_hook.c - the baseline: Lua linked as in cairn-lua and set up as in lua5.4, with a
 * hook that does nothing. What it costs is Lua's own, not the profiler's.
 *
 * Usage: bench-lua-empty-hook call|count SCRIPT [ARGUMENT...]
 */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>

enum { PERIOD = 1000 };

static void nothing(lua_State *L, lua_Debug *ar)
{
    (void)L;
    (void)ar;
}

int main(int argc, char **argv)
{
    lua_State *L = luaL_newstate();
    if (argc < 3 || !L)
        return 2;
    luaL_openlibs(L);
    lua_newtable(L);
    for (int i = 2; i < argc; i++) {
        lua_pushstring(L, argv[i]);
        lua_rawseti(L, -2, i - 2);
    }
    lua_setglobal(L, "arg");
    lua_gc(L, LUA_GCGEN, 0, 0);
    int mask = LUA_MASKCALL | LUA_MASKRET;
    if (strcmp(argv[1], "count") == 0)
        mask |= LUA_MASKCOUNT;
    lua_sethook(L, nothing, mask, PERIOD);
    if (luaL_dofile(L, argv[2]) != LUA_OK) {
        fprintf(stderr, "%s\n", lua_tostring(L, -1));
        return 1;
    }
    lua_close(L);
    return 0;
}
