/* SPDX-License-Identifier: MIT
 *
 * interpreter.c - does what `lua5.4 script args` does, so that a program sees no difference: arg
 * table, LUA_INIT, generational collector, messages, tracebacks, Ctrl-C, exit status.
 */
#include "interpreter.h"

#include <lauxlib.h>
#include <lualib.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Name of the interpreter for the program and in messages. */
static const char interpreter_name[] = "lua5.4";

/* ---- messages ----------------------------------------------------------------------- */

static void message_print(const char *message)
{
    fprintf(stderr, "%s: %s\n", interpreter_name, message);
    fflush(stderr);
}

/* Returns true if `status` is LUA_OK; otherwise prints the error on top of the stack. */
static bool is_well(lua_State *L, int status)
{
    if (status == LUA_OK)
        return true;
    const char *message = lua_tostring(L, -1);
    message_print(message ? message : "(error message not a string)");
    lua_pop(L, 1);
    return false;
}

int crn_interpreter_error_handler(lua_State *L)
{
    const char *message = lua_tostring(L, 1);
    if (!message) {
        if (luaL_callmeta(L, 1, "__tostring") && lua_type(L, -1) == LUA_TSTRING)
            return 1;
        message = lua_pushfstring(L, "(error object is a %s value)", luaL_typename(L, 1));
    }
    luaL_traceback(L, L, message, 1);
    return 1;
}

/* ---- Ctrl-C ------------------------------------------------------------------------- */

static lua_State *interrupted_state;

static void interrupted_hook(lua_State *L, lua_Debug *ar)
{
    (void)ar;
    lua_sethook(L, NULL, 0, 0);
    luaL_error(L, "interrupted!");
}

/* Sets the handler of SIGINT, without SA_RESTART as in lua.c: Ctrl-C also ends a waiting read. */
static void interrupt_handle(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

/* The first Ctrl-C raises an error in the main program, the second kills the process. */
static void on_interrupt(int number)
{
    (void)number;
    interrupt_handle(SIG_DFL);
    lua_sethook(interrupted_state, interrupted_hook,
                LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

/* Calls the function below its `count` arguments. */
static int protected_call(lua_State *L, int count, int results)
{
    int handler = lua_gettop(L) - count;
    lua_pushcfunction(L, crn_interpreter_error_handler);
    lua_insert(L, handler);
    interrupted_state = L;
    interrupt_handle(on_interrupt);
    int status = lua_pcall(L, count, results, handler);
    interrupt_handle(SIG_DFL);
    lua_remove(L, handler);
    return status;
}

/* ---- the script ----------------------------------------------------------------------- */

static bool init_run(lua_State *L)
{
    static const char *const names[] = {"=LUA_INIT_5_4", "=LUA_INIT"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *init = secure_getenv(names[i] + 1);
        if (!init)
            continue;
        int status = *init == '@' ? luaL_loadfile(L, init + 1)
                                  : luaL_loadbuffer(L, init, strlen(init), names[i]);
        if (status == LUA_OK)
            status = protected_call(L, 0, 0);
        return is_well(L, status);
    }
    return true;
}

static void arg_table_make(lua_State *L, const crn_script *script)
{
    lua_createtable(L, script->count - 1, 2);
    lua_pushstring(L, interpreter_name);
    lua_rawseti(L, -2, -1);
    for (int i = 0; i < script->count; i++) {
        lua_pushstring(L, script->arguments[i]);
        lua_rawseti(L, -2, i);
    }
    lua_setglobal(L, "arg");
}

/* Pushes the script's arguments from the arg table, which LUA_INIT may have changed. */
static int arguments_push(lua_State *L)
{
    if (lua_getglobal(L, "arg") != LUA_TTABLE)
        luaL_error(L, "'arg' is not a table");
    int count = (int)luaL_len(L, -1);
    luaL_checkstack(L, count + 3, "too many arguments to script");
    for (int i = 1; i <= count; i++)
        lua_rawgeti(L, -i, i);
    lua_remove(L, -count - 1);
    return count;
}

static bool script_run(lua_State *L, const char *path)
{
    int status = luaL_loadfile(L, strcmp(path, "-") == 0 ? NULL : path);
    if (status == LUA_OK)
        status = protected_call(L, arguments_push(L), LUA_MULTRET);
    return is_well(L, status);
}

/* Does everything that needs a protected call. Returns true on success. */
static int main_protected(lua_State *L)
{
    const crn_script *script = lua_touserdata(L, 1);
    luaL_checkversion(L);
    luaL_openlibs(L);
    if (script->repeatable)
        crn_repeatable_libraries(L);
    arg_table_make(L, script);
    lua_gc(L, LUA_GCGEN, 0, 0);
    script->begin(L, script->data);
    if (!init_run(L) || !script_run(L, script->arguments[0]))
        return 0;
    lua_pushboolean(L, true);
    return 1;
}

int crn_interpreter_run(const crn_script *script)
{
    if (script->repeatable)
        crn_repeatable_begin();
    lua_State *L = luaL_newstate();
    if (!L) {
        message_print("cannot create state: not enough memory");
        return EXIT_FAILURE;
    }
    lua_pushcfunction(L, main_protected);
    lua_pushlightuserdata(L, (void *)(uintptr_t)script);
    int status = lua_pcall(L, 1, 1, 0);
    bool well = lua_toboolean(L, -1) && status == LUA_OK;
    is_well(L, status);
    lua_close(L);
    return well ? EXIT_SUCCESS : EXIT_FAILURE;
}
