/* SPDX-License-Identifier: MIT
 *
 * hook.c - Lua linked as in cairn-lua5.4 and set up as in lua5.4, with a hook.
 *
 * The empty hook is a baseline: it costs what Lua itself takes to call one. The recording hook
 * writes the calls of the main coroutine as a stream (bench/stream.h), with a tick a call.
 *
 * Usage: bench-lua-hook call|count|record=FILE SCRIPT [ARGUMENT...]
 */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "stream.h"

enum { PERIOD = 1000, BLOCKS = 1 << 14, DEPTH = 200000 };

static void nothing(lua_State *L, lua_Debug *ar)
{
    (void)L;
    (void)ar;
}

/* ---- recording ---- */

static FILE *out;
static lua_State *main_coroutine;
static uint32_t depth; /* open frames */

/* A function: of Lua by source and line, of C by address. */
typedef struct function {
    const void *place;
    int line;
    uint32_t block;
} function;

static uint32_t block_of(lua_State *L, lua_Debug *ar)
{
    static function table[BLOCKS];
    static uint32_t used;
    lua_getinfo(L, "Sf", ar);
    const void *place = ar->what[0] == 'C' ? (const void *)lua_tocfunction(L, -1) : ar->source;
    lua_pop(L, 1);
    size_t at = ((uintptr_t)place >> 3) * 31 + (size_t)(ar->linedefined + 1) * 2654435761u;
    for (;; at++) {
        function *entry = &table[at % BLOCKS];
        if (!entry->block && used < BLOCKS - 1)
            *entry = (function){place, ar->linedefined, ++used};
        if (!entry->block || (entry->place == place && entry->line == ar->linedefined))
            return entry->block;
    }
}

static void put(uint32_t kind, uint32_t value)
{
    uint32_t word = kind << 30 | value;
    fwrite(&word, sizeof word, 1, out);
}

/* Errors end frames without an event: they are left at the return of the function that caught the
 * error. */
static void record(lua_State *L, lua_Debug *ar)
{
    static const void *frames[DEPTH];
    if (L != main_coroutine)
        return;
    const void *frame = ar->i_ci;
    if (ar->event == LUA_HOOKRET) {
        uint32_t own = depth;
        while (own && frames[own - 1] != frame)
            own--;
        for (; own && depth >= own; depth--)
            put(STREAM_LEAVE, 0);
    } else if (ar->event == LUA_HOOKTAILCALL && depth) {
        put(STREAM_REPLACE, block_of(L, ar));
        put(STREAM_TICK, 1);
    } else if (depth < DEPTH) {
        frames[depth++] = frame;
        put(STREAM_ENTER, block_of(L, ar));
        put(STREAM_TICK, 1);
    }
}

int main(int argc, char **argv)
{
    lua_State *L = main_coroutine = luaL_newstate();
    if (argc < 3 || !L)
        return 2;
    lua_Hook hook = nothing;
    if (strncmp(argv[1], "record=", 7) == 0) {
        hook = record;
        out = fopen(argv[1] + 7, "wb");
        if (!out)
            return 2;
        put(STREAM_TICK, STREAM_STRAND_START);
    }
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
    lua_sethook(L, hook, mask, PERIOD);
    if (luaL_dofile(L, argv[2]) != LUA_OK) {
        fprintf(stderr, "%s\n", lua_tostring(L, -1));
        return 1;
    }
    lua_sethook(L, NULL, 0, 0);
    if (out) {
        while (depth--)
            put(STREAM_LEAVE, 0);
        if (fclose(out))
            return 1;
    }
    lua_close(L);
    return 0;
}
