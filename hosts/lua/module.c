/* SPDX-License-Identifier: MIT
 *
 * module.c - require "cairn": for programs that embed Lua, and for scopes in any program.
 *
 *     local cairn = require "cairn"
 *     cairn.start { output = "run.cairn", mode = "exact", wall = "sampled" }
 *     do
 *         local own <close> = cairn.scope("load", {iteration = i, file = name})
 *         ...
 *     end
 *     cairn.stop()
 *
 * Under `cairn run` the program is profiled already: start and stop do nothing, and scopes go into
 * that profile.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

static const char guard_type[] = "cairn.guard";

/* Stops the profile when the state is closed. */
typedef struct guard {
    crn_host *host;
} guard;

/* ---- profiles ------------------------------------------------------------------------ */

static const char *option_string(lua_State *L, const char *key, const char *otherwise)
{
    if (lua_getfield(L, 1, key) == LUA_TNIL) {
        lua_pop(L, 1);
        return otherwise;
    }
    const char *value = lua_tostring(L, -1);
    if (!value)
        luaL_error(L, "cairn.start: %s must be a string", key);
    return value; /* stays on the stack */
}

/* Parses "exact", or the mean number of bytes between sampled allocations. */
static void alloc_read(lua_State *L, crn_host_options *options)
{
    int type = lua_getfield(L, 1, "alloc");
    options->allocations = type != LUA_TNIL;
    int is_integer = 0;
    if (type == LUA_TNUMBER)
        options->alloc_mean = (uint64_t)lua_tointegerx(L, -1, &is_integer);
    bool exact = type == LUA_TSTRING && strcmp(lua_tostring(L, -1), "exact") == 0;
    if (options->allocations && !exact && (!is_integer || lua_tointeger(L, -1) < 1))
        luaL_error(L, "cairn.start: alloc is \"exact\" or a number of bytes");
}

static void options_read(lua_State *L, crn_host_options *options)
{
    static const char *const walls[] = {"off", "sampled", "exact"};
    const char *mode = option_string(L, "mode", "exact");
    options->profile.path = option_string(L, "output", NULL);
    if (!options->profile.path)
        luaL_error(L, "cairn.start: output must name a file");
    options->profile.command = option_string(L, "command", "require \"cairn\"");
    bool ticks = strcmp(mode, "ticks") == 0;
    if (!ticks && strcmp(mode, "exact") != 0)
        luaL_error(
            L, "cairn.start: mode is \"exact\" or \"ticks\", not \"%s\"; to sample, use cairn run",
            mode);
    options->mode = ticks ? CRN_MODE_TICKS : CRN_MODE_EXACT;
    if (lua_getfield(L, 1, "period") != LUA_TNIL)
        options->period = (int)lua_tointeger(L, -1);
    else
        options->period = 1000;
    if (options->period < 1)
        luaL_error(L, "cairn.start: period must be a number of instructions");
    const char *wall = option_string(L, "wall", ticks ? "off" : "sampled");
    int kind = 0;
    while (kind < 3 && strcmp(wall, walls[kind]) != 0)
        kind++;
    if (kind == 3)
        luaL_error(L, "cairn.start: wall is \"sampled\", \"exact\" or \"off\", not \"%s\"", wall);
    options->profile.wall = (cairn_wall)kind;
    static const char *const kept[] = {"off", "first", "last"};
    const char *spans = option_string(L, "spans", ticks ? "off" : "first");
    for (kind = 0; kind < 3 && strcmp(spans, kept[kind]) != 0;)
        kind++;
    if (kind == 3)
        luaL_error(L, "cairn.start: spans is \"first\", \"last\" or \"off\", not \"%s\"", spans);
    options->profile.spans = kind > 0;
    options->profile.span_policy = kind == 2 ? CAIRN_SPANS_KEEP_LAST : CAIRN_SPANS_KEEP_FIRST;
    lua_getfield(L, 1, "cpu");
    options->profile.cpu = lua_toboolean(L, -1) ? CAIRN_CPU_SAMPLED : CAIRN_CPU_OFF;
    alloc_read(L, options);
}

/* Returns the frame of the embedding program's C function at the bottom of the main stack, if it
 * has no name; otherwise NULL. */
static const crn_frame *floor_find(lua_State *L)
{
    lua_Debug ar, bottom;
    int level = 0;
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    lua_State *main = lua_tothread(L, -1);
    lua_pop(L, 1);
    while (lua_getstack(main, level, &ar)) {
        bottom = ar;
        level++;
    }
    if (level == 0)
        return NULL;
    lua_getinfo(main, "Sn", &bottom);
    return *bottom.what == 'C' && !bottom.name ? crn_frame_of(&bottom) : NULL;
}

static void hide_own(crn_host *host);

/* cairn.start(options): returns true, or false and the reason. */
static int profile_start(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    if (crn_host_live(L)) {
        lua_pushboolean(L, false);
        lua_pushstring(L, "this program is already profiled");
        return 2;
    }
    crn_host_options options = {.profile = CAIRN_OPTIONS_DEFAULT, .mode = CRN_MODE_EXACT};
    options_read(L, &options);
    guard *guard = lua_newuserdatauv(L, sizeof *guard, 0);
    guard->host = NULL;
    luaL_setmetatable(L, guard_type);
    lua_rawsetp(L, LUA_REGISTRYINDEX, guard_type);
    cairn_error error;
    crn_host *host = crn_host_open(&options, &error);
    if (!host) {
        lua_pushboolean(L, false);
        lua_pushfstring(L, "%s: %s", options.profile.path, cairn_error_text(error));
        return 2;
    }
    guard->host = host;
    crn_scope_forget_keys(L); /* keys of an earlier profile */
    crn_host_describe(host, &options);
    hide_own(host);
    void *data;
    lua_Alloc allocate = lua_getallocf(L, &data);
    crn_host_start(host, L, floor_find(L), allocate, data);
    if (options.allocations)
        crn_ledger_open(host, options.alloc_mean, options.profile.seed);
    lua_pushboolean(L, true);
    return 1;
}

/* cairn.stop(): stops what start began; a profile of `cairn run` has no guard. Returns true if
 * there was one to stop. */
static int profile_stop(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, guard_type);
    guard *guard = luaL_testudata(L, -1, guard_type);
    crn_host *host = guard ? guard->host : NULL;
    lua_pushboolean(L, host != NULL);
    if (!host)
        return 1;
    guard->host = NULL;
    crn_real_sethook(host->main, NULL, 0, 0);
    crn_real_sethook(L, NULL, 0, 0);
    crn_host_stop(host);
    /* The host is not freed if another allocator wraps its allocator, and so still calls it. */
    if (crn_host_of(L) == host) {
        lua_setallocf(L, host->allocate, host->allocate_data);
        crn_host_discard(host);
    }
    return 1;
}

static int guard_collect(lua_State *L)
{
    guard *guard = luaL_checkudata(L, 1, guard_type);
    if (guard->host) {
        lua_rawgetp(L, LUA_REGISTRYINDEX, guard_type);
        bool current = lua_touserdata(L, -1) == guard;
        lua_pop(L, 1);
        if (current)
            return profile_stop(L);
    }
    return 0;
}

static int profile_running(lua_State *L)
{
    lua_pushboolean(L, crn_host_live(L) != NULL);
    return 1;
}

static void hide_own(crn_host *host)
{
    static const lua_CFunction own[] = {profile_start, profile_stop, guard_collect,
                                        profile_running};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        crn_block_hide(host, own[i]);
    crn_scope_hide(host);
}

CAIRN_API int luaopen_cairn(lua_State *L)
{
    static const luaL_Reg functions[] = {{"start", profile_start},
                                         {"stop", profile_stop},
                                         {"running", profile_running},
                                         {NULL, NULL}};
    luaL_newmetatable(L, guard_type);
    lua_pushcfunction(L, guard_collect);
    lua_setfield(L, -2, "__gc");
    crn_host *host = crn_host_live(L);
    if (host)
        hide_own(host);
    luaL_newlib(L, functions);
    crn_scope_functions(L);
    lua_pushstring(L, CAIRN_VERSION);
    lua_setfield(L, -2, "version");
    return 1;
}
