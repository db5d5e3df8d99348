/* SPDX-License-Identifier: MIT
 *
 * module.c - require "cairn": for a program that embeds Lua, and for scopes in any.
 *
 *     local cairn = require "cairn"
 *     cairn.start { output = "run.cairn", mode = "exact", wall = "sampled" }
 *     do
 *         local own <close> = cairn.scope "load"
 *         ...
 *     end
 *     cairn.stop()
 *
 * Under `cairn run` the program is profiled already: start and stop leave that as it is,
 * and scopes go into it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

static const char scope_type[] = "cairn.scope";
static const char guard_type[] = "cairn.guard";

/* A scope that is open: which entry of which stack it is. */
typedef struct scope {
    lua_State *L;
    const crn_frame *entry;
    size_t height; /* 0: it is closed */
} scope;

/* Stops the profile when the state is closed. */
typedef struct guard {
    crn_host *host;
} guard;

static crn_host *host_live(lua_State *L)
{
    crn_host *host = crn_host_of(L);
    return host && !host->stopped ? host : NULL;
}

/* ---- scopes ------------------------------------------------------------------------- */

static int scope_open(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);
    crn_host *host = host_live(L);
    scope *scope = lua_newuserdatauv(L, sizeof *scope, 0);
    memset(scope, 0, sizeof *scope);
    luaL_setmetatable(L, scope_type);
    lua_Debug ar;
    if (!host || host->mode == CRN_MODE_SAMPLE || !lua_getstack(L, 1, &ar))
        return 1;
    crn_coroutine *coroutine = crn_coroutine_get(host, L);
    if (coroutine != host->running)
        crn_coroutine_switch(host, coroutine);
    const crn_frame *frame = crn_frame_of(&ar);
    lua_getinfo(L, "Sl", &ar);
    const char *file = *ar.source == '@' ? ar.source + 1 : ar.short_src;
    cairn_block block =
        crn_block_scope(host, name, file, ar.currentline > 0 ? (uint32_t)ar.currentline : 0);
    crn_stack_sync(host, coroutine, frame);
    if (block == CAIRN_BLOCK_ROOT ||
        (coroutine->top + 1 >= coroutine->limit && !crn_coroutine_grow(coroutine)))
        return 1;
    *++coroutine->top = (const crn_frame *)((uintptr_t)frame | CRN_SCOPE_BIT);
    cairn_enter(coroutine->strand, block);
    scope->L = L;
    scope->entry = *coroutine->top;
    scope->height = (size_t)(coroutine->top - coroutine->frames);
    return 1;
}

/* However it was left: an error may have taken its entry away already, and others that were
 * opened later and never closed go with it. */
static int scope_close(lua_State *L)
{
    scope *scope = luaL_checkudata(L, 1, scope_type);
    crn_host *host = host_live(L);
    crn_coroutine *coroutine = host && scope->height ? crn_coroutine_find(host, scope->L) : NULL;
    if (coroutine && (size_t)(coroutine->top - coroutine->frames) >= scope->height &&
        coroutine->frames[scope->height] == scope->entry)
        crn_stack_drop(coroutine, scope->height - 1);
    scope->height = 0;
    return 0;
}

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
}

/* The host program's own function at the bottom of the main stack, if nothing names it. */
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

/* Returns true, or false and why not. */
static int profile_start(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    if (host_live(L)) {
        lua_pushboolean(L, false);
        lua_pushstring(L, "this program is being profiled already");
        return 2;
    }
    crn_host_options options = {CAIRN_OPTIONS_DEFAULT, CRN_MODE_EXACT, 0};
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
    crn_host_describe(host, &options);
    hide_own(host);
    void *data;
    lua_Alloc allocate = lua_getallocf(L, &data);
    crn_host_start(host, L, floor_find(L), allocate, data);
    lua_pushboolean(L, true);
    return 1;
}

/* What start began; a profile of `cairn run` has no guard. */
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
    /* Whoever has put an allocator around ours keeps calling it. */
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
    lua_pushboolean(L, host_live(L) != NULL);
    return 1;
}

static void hide_own(crn_host *host)
{
    static const lua_CFunction own[] = {scope_open,   scope_close,   profile_start,
                                        profile_stop, guard_collect, profile_running};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        crn_block_hide(host, own[i]);
}

CAIRN_API int luaopen_cairn(lua_State *L)
{
    static const luaL_Reg functions[] = {{"start", profile_start},
                                         {"stop", profile_stop},
                                         {"running", profile_running},
                                         {"scope", scope_open},
                                         {NULL, NULL}};
    luaL_newmetatable(L, scope_type);
    lua_pushcfunction(L, scope_close);
    lua_setfield(L, -2, "__close");
    luaL_newmetatable(L, guard_type);
    lua_pushcfunction(L, guard_collect);
    lua_setfield(L, -2, "__gc");
    crn_host *host = host_live(L);
    if (host)
        hide_own(host);
    luaL_newlib(L, functions);
    lua_pushstring(L, CAIRN_VERSION);
    lua_setfield(L, -2, "version");
    return 1;
}
