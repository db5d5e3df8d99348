/* SPDX-License-Identifier: MIT
 *
 * scope.c - scopes with attributes, and hand-offs, in Lua.
 *
 *     local own <close> = cairn.scope("render", {iteration = i, image = name})
 *
 * A scope is an entry of the coroutine's stack above the frame that opened it. It ends when it is
 * closed, or with that frame. If the profile records spans, each scope is a span.
 */
#include <string.h>

#include <cairn/traceparent.h>

#include "host.h"

static const char scope_type[] = "cairn.scope";
static const char handoff_type[] = "cairn.handoff";
static const char keys_place[] = "cairn.keys"; /* registry key of the table from names to keys */

/* An open scope or adoption: its entry on a coroutine's stack. */
typedef struct scope {
    lua_State *L;
    const crn_frame *entry;
    size_t height; /* 0: closed */
} scope;

/* Returns the host, and makes L current; NULL if L's scopes are not recorded. */
static crn_host *host_here(lua_State *L)
{
    crn_host *host = crn_host_of(L);
    if (!host || host->stopped || host->mode == CRN_MODE_SAMPLE)
        return NULL;
    crn_coroutine *coroutine = crn_coroutine_get(host, L);
    if (coroutine != host->running)
        crn_coroutine_switch(host, coroutine);
    return host;
}

/* ---- attributes ---------------------------------------------------------------------- */

/* Returns the key of the name at the top of the stack, which stays there. */
static cairn_key key_find(crn_host *host, lua_State *L)
{
    host->naming++;
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, keys_place) != LUA_TTABLE) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, keys_place);
    }
    lua_pushvalue(L, -2);
    if (lua_rawget(L, -2) == LUA_TNIL) {
        lua_pop(L, 1);
        lua_pushvalue(L, -2);
        lua_pushinteger(L, cairn_key_add(host->profile, lua_tostring(L, -3)));
        lua_rawset(L, -3);
        lua_pushvalue(L, -2);
        lua_rawget(L, -2);
    }
    cairn_key key = (cairn_key)lua_tointeger(L, -1);
    lua_pop(L, 2);
    host->naming--;
    return key;
}

void crn_scope_forget_keys(lua_State *L)
{
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, keys_place);
}

static bool is_attribute(lua_State *L, int value)
{
    int type = lua_type(L, value);
    return type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TBOOLEAN;
}

/* Sets an attribute of the innermost open span: the name is at the top of the stack, the value at
 * `value`. */
static void attribute_put(crn_host *host, lua_State *L, int value)
{
    cairn_strand *strand = host->running->strand;
    cairn_key key = key_find(host, L);
    if (lua_isinteger(L, value))
        cairn_span_integer(strand, key, lua_tointeger(L, value));
    else if (lua_type(L, value) == LUA_TNUMBER)
        cairn_span_number(strand, key, lua_tonumber(L, value));
    else if (lua_type(L, value) == LUA_TSTRING)
        cairn_span_text(strand, key, lua_tostring(L, value));
    else
        cairn_span_text(strand, key, lua_toboolean(L, value) ? "true" : "false");
}

/* Checks the options of scope(), profiled or not. Returns the iteration. */
static int64_t options_check(lua_State *L)
{
    int64_t iteration = CAIRN_ITERATION_NONE;
    if (lua_isnoneornil(L, 2))
        return iteration;
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) {
        if (lua_type(L, 3) != LUA_TSTRING)
            luaL_error(L, "cairn.scope: attributes have names");
        const char *name = lua_tostring(L, 3);
        bool is_iteration = strcmp(name, "iteration") == 0;
        if (is_iteration && !lua_isinteger(L, 4))
            luaL_error(L, "cairn.scope: iteration is an integer, not a %s", luaL_typename(L, 4));
        if (!is_attribute(L, 4))
            luaL_error(L, "cairn.scope: %s is a number, a string or a boolean, not a %s", name,
                       luaL_typename(L, 4));
        iteration = is_iteration ? lua_tointeger(L, 4) : iteration;
    }
    return iteration;
}

static void attributes_put(crn_host *host, lua_State *L)
{
    if (!lua_istable(L, 2) || !cairn_span_current(host->running->strand))
        return;
    for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) {
        lua_pushvalue(L, -2);
        if (strcmp(lua_tostring(L, -1), "iteration") != 0)
            attribute_put(host, L, -2);
        lua_pop(L, 1);
    }
}

/* ---- scopes -------------------------------------------------------------------------- */

static scope *scope_new(lua_State *L)
{
    scope *scope = lua_newuserdatauv(L, sizeof *scope, 0);
    memset(scope, 0, sizeof *scope);
    luaL_setmetatable(L, scope_type);
    return scope;
}

/* Pushes an entry with these bits above the calling frame. Returns NULL without memory. */
static crn_coroutine *entry_push(crn_host *host, lua_State *L, scope *scope, uintptr_t bits,
                                 const lua_Debug *caller)
{
    crn_coroutine *coroutine = host->running;
    const crn_frame *frame = crn_frame_of(caller);
    crn_stack_sync(host, coroutine, frame);
    if (coroutine->top + 1 >= coroutine->limit && !crn_coroutine_grow(coroutine))
        return NULL;
    *++coroutine->top = (const crn_frame *)((uintptr_t)frame | CRN_SCOPE_BIT | bits);
    scope->L = L;
    scope->entry = *coroutine->top;
    scope->height = (size_t)(coroutine->top - coroutine->frames);
    return coroutine;
}

static int scope_open(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);
    int64_t iteration = options_check(L);
    crn_host *host = host_here(L);
    scope *scope = scope_new(L);
    lua_Debug ar;
    if (!host || !lua_getstack(L, 1, &ar))
        return 1;
    lua_getinfo(L, "Sl", &ar);
    const char *file = *ar.source == '@' ? ar.source + 1 : ar.short_src;
    cairn_block block =
        crn_block_scope(host, name, file, ar.currentline > 0 ? (uint32_t)ar.currentline : 0);
    if (block == CAIRN_BLOCK_ROOT || !entry_push(host, L, scope, CRN_SPAN_BIT, &ar))
        return 1;
    cairn_span_begin(host->running->strand, block, iteration);
    attributes_put(host, L);
    return 1;
}

/* Returns the scope's coroutine; NULL if it was closed or an error has removed its entry. */
static crn_coroutine *scope_find(lua_State *L, const scope *scope)
{
    crn_host *host = crn_host_of(L);
    if (!host || host->stopped || !scope->height)
        return NULL;
    crn_coroutine *coroutine = crn_coroutine_find(host, scope->L);
    if (coroutine && (size_t)(coroutine->top - coroutine->frames) >= scope->height &&
        coroutine->frames[scope->height] == scope->entry)
        return coroutine;
    return NULL;
}

/* Closes the scope, and the scopes above it that were not closed. */
static int scope_close(lua_State *L)
{
    scope *scope = luaL_checkudata(L, 1, scope_type);
    crn_coroutine *coroutine = scope_find(L, scope);
    if (coroutine)
        crn_stack_drop(coroutine, scope->height - 1);
    scope->height = 0;
    return 0;
}

/* scope:set(name, value): sets an attribute of the innermost span; returns the scope. */
static int scope_set(lua_State *L)
{
    const scope *scope = luaL_checkudata(L, 1, scope_type);
    luaL_checkstring(L, 2);
    luaL_argcheck(L, is_attribute(L, 3), 3, "expected a number, a string or a boolean");
    crn_coroutine *coroutine = scope_find(L, scope);
    crn_host *host = coroutine ? host_here(L) : NULL;
    lua_settop(L, 3);
    if (host && host->running == coroutine && coroutine->frames[scope->height] == scope->entry) {
        lua_Debug ar;
        if (lua_getstack(L, 1, &ar))
            crn_stack_sync(host, coroutine, crn_frame_of(&ar));
        lua_pushvalue(L, 2);
        if (cairn_span_current(coroutine->strand))
            attribute_put(host, L, 3);
    }
    lua_settop(L, 1);
    return 1;
}

/* cairn.counter(name, value): the counter has this value from now on. */
static int counter_set(lua_State *L)
{
    luaL_checkstring(L, 1);
    double value = luaL_checknumber(L, 2);
    crn_host *host = host_here(L);
    lua_settop(L, 1);
    if (host)
        cairn_counter_set(host->running->strand, key_find(host, L), value);
    return 0;
}

/* cairn.event(text): notes what happens now. */
static int event_add(lua_State *L)
{
    const char *text = luaL_checkstring(L, 1);
    crn_host *host = host_here(L);
    if (host)
        cairn_log_add(host->running->strand, CAIRN_LEVEL_NONE, text);
    return 0;
}

/* cairn.log(level, line): a line of a log; level is "debug", "info", "warning" or "error". */
static int log_add(lua_State *L)
{
    static const char *const levels[] = {"debug", "info", "warning", "error", NULL};
    int level = luaL_checkoption(L, 1, NULL, levels);
    const char *line = luaL_checkstring(L, 2);
    crn_host *host = host_here(L);
    if (host)
        cairn_log_add(host->running->strand, (cairn_level)(CAIRN_LEVEL_DEBUG + level), line);
    return 0;
}

/* ---- hand-offs ------------------------------------------------------------------------ */

/* cairn.handoff(): a token for the current work; nil if nothing is recorded. */
static int handoff_take(lua_State *L)
{
    crn_host *host = host_here(L);
    if (!host) {
        lua_pushnil(L);
        return 1;
    }
    cairn_handoff *handoff = lua_newuserdatauv(L, sizeof *handoff, 0);
    *handoff = cairn_handoff_take(host->running->strand);
    luaL_setmetatable(L, handoff_type);
    return 1;
}

/* cairn.traceparent(): a token for another process, as text; nil if no span is open. */
static int handoff_write(lua_State *L)
{
    char text[CAIRN_TRACEPARENT_SIZE] = "";
    crn_host *host = host_here(L);
    if (host && cairn_traceparent_write(host->running->strand, text))
        lua_pushstring(L, text);
    else
        lua_pushnil(L);
    return 1;
}

/* cairn.adopt(token): makes work a child of the token's taker until the result is closed. The token
 * is from handoff() or a traceparent; nil has no effect. */
static int handoff_adopt(lua_State *L)
{
    cairn_handoff handoff = {.span = 0};
    bool given = !lua_isnoneornil(L, 1);
    if (given && lua_type(L, 1) == LUA_TSTRING)
        given = cairn_traceparent_read(lua_tostring(L, 1), &handoff);
    else if (given)
        handoff = *(cairn_handoff *)luaL_checkudata(L, 1, handoff_type);
    crn_host *host = given ? host_here(L) : NULL;
    scope *scope = scope_new(L);
    lua_Debug ar;
    if (host && lua_getstack(L, 1, &ar) && entry_push(host, L, scope, CRN_ADOPTED_BIT, &ar))
        cairn_handoff_adopt(host->running->strand, handoff);
    return 1;
}

/* ---- the module's part ------------------------------------------------------------------ */

static const luaL_Reg functions[] = {{"scope", scope_open},     {"begin", scope_open},
                                     {"finish", scope_close},   {"counter", counter_set},
                                     {"event", event_add},      {"log", log_add},
                                     {"handoff", handoff_take}, {"traceparent", handoff_write},
                                     {"adopt", handoff_adopt},  {NULL, NULL}};

void crn_scope_functions(lua_State *L)
{
    luaL_newmetatable(L, handoff_type);
    lua_pop(L, 1);
    luaL_newmetatable(L, scope_type);
    lua_pushcfunction(L, scope_close);
    lua_setfield(L, -2, "__close");
    lua_newtable(L);
    lua_pushcfunction(L, scope_close);
    lua_setfield(L, -2, "finish");
    lua_pushcfunction(L, scope_set);
    lua_setfield(L, -2, "set");
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    luaL_setfuncs(L, functions, 0);
}

void crn_scope_hide(crn_host *host)
{
    for (const luaL_Reg *function = functions; function->name; function++)
        crn_block_hide(host, function->func);
    crn_block_hide(host, scope_set);
}
