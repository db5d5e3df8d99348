/* SPDX-License-Identifier: MIT
 *
 * embedded.c - a program that embeds Lua, and knows where its processor time goes.
 *
 * usage: embedded SCRIPT
 *
 * The script calls burn(ms). This adds the processor time that it uses to the Lua functions that
 * are on the stack then, as Lua itself tells them: the lines of their definitions, the youngest
 * first, 0 for the main chunk. At the end the sums are printed: "LINES NANOSECONDS".
 */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STACKS_MOST = 64, COROUTINES_MOST = 16 };

static struct {
    char lines[256];
    long long ns;
} stacks[STACKS_MOST];
static size_t stack_count;
static lua_State *resumers[COROUTINES_MOST]; /* who has resumed the present coroutine, and so on */
static size_t resumer_count;
static volatile unsigned long sink;

static long long used(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void add_lines(lua_State *L, char *lines, size_t size)
{
    lua_Debug call;
    for (int level = 0; lua_getstack(L, level, &call); level++) {
        size_t length = strlen(lines);
        lua_getinfo(L, "S", &call);
        if (*call.what != 'C')
            snprintf(lines + length, size - length, "%s%d", length ? "," : "", call.linedefined);
    }
}

static void keep(const char *lines, long long ns)
{
    size_t i = 0;
    while (i < stack_count && strcmp(stacks[i].lines, lines) != 0)
        i++;
    if (i == STACKS_MOST)
        abort();
    if (i == stack_count)
        strcpy(stacks[stack_count++].lines, lines);
    stacks[i].ns += ns;
}

static int burn(lua_State *L)
{
    char lines[sizeof stacks->lines] = "";
    add_lines(L, lines, sizeof lines);
    for (size_t i = resumer_count; i-- > 0;)
        add_lines(resumers[i], lines, sizeof lines);
    long long began = used(), end = began + luaL_checkinteger(L, 1) * 1000000;
    while (used() < end)
        for (unsigned long i = 0; i < 20000; i++)
            sink += i;
    keep(lines, used() - began);
    return 0;
}

/* Calls a function from C. */
static int apply(lua_State *L)
{
    lua_pushvalue(L, 1);
    lua_call(L, 0, 0);
    return 0;
}

/* Resumes a coroutine. */
static int resume(lua_State *L)
{
    lua_State *to = lua_tothread(L, 1);
    int results;
    resumers[resumer_count++] = L;
    int status = lua_resume(to, L, 0, &results);
    resumer_count--;
    if (status != LUA_OK && status != LUA_YIELD)
        return luaL_error(L, "%s", lua_tostring(to, -1));
    lua_settop(to, 0);
    return 0;
}

int main(int count, char **arguments)
{
    lua_State *L = luaL_newstate();
    if (count < 2 || !L)
        return 2;
    luaL_openlibs(L);
    lua_register(L, "burn", burn);
    lua_register(L, "apply", apply);
    lua_register(L, "resume", resume);
    if (luaL_dofile(L, arguments[1])) {
        fprintf(stderr, "%s\n", lua_tostring(L, -1));
        return 1;
    }
    lua_close(L);
    for (size_t i = 0; i < stack_count; i++)
        printf("%s %lld\n", stacks[i].lines, stacks[i].ns);
    return 0;
}
