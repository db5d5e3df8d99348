/* SPDX-License-Identifier: MIT
 *
 * library.c - names of C functions, as programs find them. The standard library is scanned once in
 * a separate state, so that its names do not depend on the program and the program's state is not
 * touched.
 */
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

typedef struct known {
    lua_CFunction function;
    char name[56];
} known;

struct crn_library {
    known *list; /* in the order in which functions were added */
    size_t count, capacity;
};

/* Prefers shorter names, then alphabetical order, because tables have no order. */
static bool is_better(const char *name, const char *than)
{
    size_t length = strlen(name), than_length = strlen(than);
    return !*than || length < than_length || (length == than_length && strcmp(name, than) < 0);
}

static void name_join(char *buffer, size_t size, const char *owner, char separator,
                      const char *field)
{
    if (strcmp(owner, LUA_GNAME) == 0)
        snprintf(buffer, size, "%s", field);
    else
        snprintf(buffer, size, "%s%c%s", owner, separator, field);
}

/* Returns the key at index -2 if it is a string; a number is not converted to a string in place. */
static const char *key_string(lua_State *L)
{
    return lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
}

/* Searches the table on top of L for `function`. Makes no strings, collects no garbage: the
 * program's state does not change. */
static void search_fields(lua_State *L, lua_CFunction function, const char *owner, char separator,
                          char *best, size_t size)
{
    char name[128];
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        const char *field = key_string(L);
        if (!field || lua_tocfunction(L, -1) != function)
            continue;
        name_join(name, sizeof name, owner, separator, field);
        if (is_better(name, best))
            snprintf(best, size, "%s", name);
    }
}

/* Searches methods: registry.NAME is a metatable with __index. "FILE*" is written as in the manual:
 * file:read. */
static void search_metatable(lua_State *L, lua_CFunction function, const char *owner, char *best,
                             size_t size)
{
    const char *type = strcmp(owner, LUA_FILEHANDLE) == 0 ? "file" : owner;
    search_fields(L, function, type, ':', best, size);
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        const char *field = key_string(L);
        if (field && strcmp(field, "__index") == 0 && lua_istable(L, -1))
            search_fields(L, function, type, ':', best, size);
    }
}

static void search_tables(lua_State *L, lua_CFunction function, bool metatables, char *best,
                          size_t size)
{
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        const char *owner = key_string(L);
        if (!owner || !lua_istable(L, -1))
            continue;
        if (metatables)
            search_metatable(L, function, owner, best, size);
        else
            search_fields(L, function, owner, '.', best, size);
    }
}

/* Searches package.loaded, then the metatables of the registry. */
static bool search_state(lua_State *L, lua_CFunction function, char *best, size_t size)
{
    best[0] = '\0';
    if (!lua_checkstack(L, 12))
        return false;
    int top = lua_gettop(L);
    lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    if (lua_istable(L, -1))
        search_tables(L, function, false, best, size);
    if (!*best) {
        lua_pushvalue(L, LUA_REGISTRYINDEX);
        search_tables(L, function, true, best, size);
    }
    lua_settop(L, top);
    return *best != '\0';
}

static const known *library_find(const crn_library *library, lua_CFunction function)
{
    for (size_t i = 0; i < library->count; i++)
        if (library->list[i].function == function)
            return &library->list[i];
    return NULL;
}

static void library_add(crn_library *library, lua_CFunction function, const char *name)
{
    if (!function || library_find(library, function))
        return;
    if (library->count == library->capacity) {
        size_t capacity = library->capacity ? library->capacity * 2 : 32;
        known *list = realloc(library->list, capacity * sizeof *list);
        if (!list)
            return;
        library->list = list;
        library->capacity = capacity;
    }
    known *known = &library->list[library->count++];
    known->function = function;
    snprintf(known->name, sizeof known->name, "%s", name);
}

/* Adds functions that are in no table, because other functions return them. Each text returns
 * one. */
static void library_add_hidden(crn_library *library, lua_State *L)
{
    static const struct {
        const char *name;
        const char *text;
    } hidden[] = {
        {"ipairs iterator", "return (ipairs({}))"},
        {"string.gmatch iterator", "return (string.gmatch('', ''))"},
        {"coroutine.wrap function", "return coroutine.wrap(print)"},
        {"utf8.codes iterator", "return (utf8.codes(''))"},
        {"utf8.codes iterator", "return (utf8.codes('', true))"},
        {"io.lines iterator", "return (io.lines('/dev/null'))"},
        {"package.searchers[1]", "return package.searchers[1]"},
        {"package.searchers[2]", "return package.searchers[2]"},
        {"package.searchers[3]", "return package.searchers[3]"},
        {"package.searchers[4]", "return package.searchers[4]"},
    };
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
        if (luaL_dostring(L, hidden[i].text) == LUA_OK)
            library_add(library, lua_tocfunction(L, -1), hidden[i].name);
        lua_settop(L, 0);
    }
}

/* Adds the functions in tables of the standard library under their best name, before the program
 * can give them others. */
static void library_add_fields(crn_library *library, lua_State *L)
{
    char best[128];
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
        if (!lua_istable(L, -1))
            continue;
        for (lua_pushnil(L); lua_next(L, 3); lua_pop(L, 1)) {
            lua_CFunction function = lua_tocfunction(L, -1);
            if (function && search_state(L, function, best, sizeof best))
                library_add(library, function, best);
        }
    }
    lua_settop(L, 0);
    luaL_getmetatable(L, LUA_FILEHANDLE);
    lua_getfield(L, 1, "__index");
    for (int table = 1; table <= 2; table++)
        for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
            lua_CFunction function = lua_tocfunction(L, -1);
            if (function && search_state(L, function, best, sizeof best))
                library_add(library, function, best);
        }
    lua_settop(L, 0);
}

static int library_fill(lua_State *L)
{
    crn_library *library = lua_touserdata(L, 1);
    lua_settop(L, 0);
    luaL_openlibs(L);
    library_add_fields(library, L);
    library_add_hidden(library, L);
    return 0;
}

crn_library *crn_library_open(void)
{
    crn_library *library = calloc(1, sizeof *library);
    lua_State *L = library ? luaL_newstate() : NULL;
    if (!L) {
        free(library);
        return NULL;
    }
    lua_pushcfunction(L, library_fill);
    lua_pushlightuserdata(L, library);
    lua_pcall(L, 1, 0, 0);
    lua_close(L);
    return library;
}

void crn_library_close(crn_library *library)
{
    if (library)
        free(library->list);
    free(library);
}

const char *crn_library_name(const crn_library *library, lua_State *L, char *buffer, size_t size)
{
    lua_CFunction function = lua_tocfunction(L, -1);
    const known *known = library ? library_find(library, function) : NULL;
    if (known)
        return known->name;
    return search_state(L, function, buffer, size) ? buffer : NULL;
}
