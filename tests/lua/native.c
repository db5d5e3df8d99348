/* SPDX-License-Identifier: MIT
 *
 * native.c - a C module that does by itself what Lua's libraries do: it resumes coroutines,
 * sets hooks, calls back, and waits in the kernel.
 */
#include <errno.h>
#include <glob.h>
#include <lauxlib.h>
#include <lua.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

__attribute__((visibility("default"))) int luaopen_native(lua_State *L);

static int counted;

static void count_hook(lua_State *L, lua_Debug *ar)
{
    (void)L;
    (void)ar;
    counted++;
}

/* watch(n): a count hook, set from C */
static int watch(lua_State *L)
{
    lua_sethook(L, count_hook, LUA_MASKCOUNT, (int)luaL_checkinteger(L, 1));
    lua_pushboolean(L, lua_gethook(L) == count_hook);
    return 1;
}

static int unwatch(lua_State *L)
{
    lua_sethook(L, NULL, 0, 0);
    lua_pushboolean(L, counted > 0 && lua_gethook(L) == NULL && lua_gethookmask(L) == 0);
    counted = 0;
    return 1;
}

/* step(thread): lua_resume without coroutine.resume */
static int step(lua_State *L)
{
    lua_State *thread = lua_tothread(L, 1);
    int results;
    int status = lua_resume(thread, L, 0, &results);
    if (status == LUA_OK || status == LUA_YIELD)
        lua_pop(thread, results);
    lua_pushinteger(L, status);
    return 1;
}

/* again(f, n): calls f n times, protected */
static int again(lua_State *L)
{
    lua_Integer times = luaL_checkinteger(L, 2);
    lua_Integer failed = 0;
    for (lua_Integer i = 0; i < times; i++) {
        lua_pushvalue(L, 1);
        failed += lua_pcall(L, 0, 0, 0) != LUA_OK;
        lua_settop(L, 2);
    }
    lua_pushinteger(L, failed);
    return 1;
}

/* nap(ms): waits in every way that a signal can cut short; how many were */
static int nap(lua_State *L)
{
    long ms = (long)luaL_checkinteger(L, 1);
    struct timespec span = {ms / 1000, ms % 1000 * 1000000};
    struct timeval wait = {ms / 1000, (int)(ms % 1000) * 1000};
    struct epoll_event event;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    int cut = 0;
    cut += nanosleep(&span, NULL) != 0;
    cut += clock_nanosleep(CLOCK_MONOTONIC, 0, &span, NULL) != 0;
    cut += usleep((useconds_t)ms * 1000) != 0;
    cut += poll(NULL, 0, (int)ms) < 0;
    cut += ppoll(NULL, 0, &span, NULL) < 0;
    cut += select(0, NULL, NULL, NULL, &wait) < 0;
    cut += pselect(0, NULL, NULL, NULL, &span, NULL) < 0;
    cut += epoll_wait(epoll, &event, 1, (int)ms) < 0;
    cut += epoll_pwait(epoll, &event, 1, (int)ms, NULL) < 0;
    close(epoll);
    lua_pushinteger(L, cut);
    return 1;
}

/* Returns how often the process's threads named `name` have waited; 0 if there is none. */
static long waits_of(const char *name)
{
    glob_t threads;
    long waits = 0;
    if (glob("/proc/self/task/*/status", 0, NULL, &threads) != 0)
        return 0;
    for (size_t i = 0; i < threads.gl_pathc; i++) {
        char line[256], found[32] = "";
        long count = 0;
        FILE *file = fopen(threads.gl_pathv[i], "re");
        while (file && fgets(line, sizeof line, file)) {
            sscanf(line, "Name: %31s", found);
            sscanf(line, "voluntary_ctxt_switches: %ld", &count);
        }
        if (file)
            fclose(file);
        if (strcmp(found, name) == 0)
            waits += count;
    }
    globfree(&threads);
    return waits;
}

/* nap_until_sampled(ms): waits, and goes on until the sampling thread has begun and ended a round:
 * it waits between rounds, so a third wait ends a round that began after the first. */
static int nap_until_sampled(lua_State *L)
{
    nap(L);
    long enough = waits_of("cairn-sampler") + 3;
    while (waits_of("cairn-sampler") < enough)
        usleep(1000);
    return 0;
}

/* fork(): returns true in the child. wait(): waits for the child. */
static int fork_process(lua_State *L)
{
    lua_pushboolean(L, fork() == 0);
    return 1;
}

static int wait_child(lua_State *L)
{
    int status = -1;
    wait(&status);
    lua_pushinteger(L, WEXITSTATUS(status));
    return 1;
}

static void sample_raise(void)
{
    raise(SIGPROF);
}

/* sample_late(): the sampler's signal comes after the state is closed, while the process exits */
static int sample_late(lua_State *L)
{
    (void)L;
    atexit(sample_raise);
    return 0;
}

int luaopen_native(lua_State *L)
{
    static const luaL_Reg functions[] = {{"watch", watch},
                                         {"unwatch", unwatch},
                                         {"step", step},
                                         {"again", again},
                                         {"nap", nap},
                                         {"fork", fork_process},
                                         {"wait", wait_child},
                                         {"sample_late", sample_late},
                                         {"nap_until_sampled", nap_until_sampled},
                                         {NULL, NULL}};
    luaL_newlib(L, functions);
    return 1;
}
