/* SPDX-License-Identifier: MIT
 *
 * cost.c - estimates the cost of profiling: number of events times the cost of one, which is
 * measured after the program's end with a small Lua program, with and without our hook, on this
 * machine and with these options.
 */
#include <lualib.h>
#include <signal.h>
#include <stdlib.h>

#include "host.h"

enum { ROUNDS = 5, CALLS = 4000, TURNS = 20000, SIGNALS = 100 };

static double round_ns(lua_State *L, int function, int times)
{
    uint64_t before = crn_now_ns();
    lua_pushvalue(L, function);
    lua_pushinteger(L, times);
    lua_pcall(L, 1, 0, 0);
    return (double)(crn_now_ns() - before);
}

static double best_ns(lua_State *L, int function, int times)
{
    double best = round_ns(L, function, times);
    for (int i = 1; i < ROUNDS; i++) {
        double again = round_ns(L, function, times);
        best = again < best ? again : best;
    }
    return best;
}

/* Measures ns per call or return event, and ns per instruction with a count hook. */
static bool measure(const crn_host *of, double *event_ns, double *tick_ns)
{
    static const char text[] = "local function leaf() end\n"
                               "return function(n) for i = 1, n do leaf() end end,\n"
                               "       function(n) local x = 0 for i = 1, n do x = x + i end end";
    lua_State *L = luaL_newstate();
    if (!L)
        return false;
    crn_host_options options = {
        .profile = CAIRN_OPTIONS_DEFAULT, .mode = of->mode, .period = of->period};
    cairn_error error;
    crn_host *host = NULL;
    bool loaded = luaL_dostring(L, text) == LUA_OK;
    int functions = lua_gettop(L);
    if (loaded) {
        double calls = best_ns(L, functions - 1, CALLS);
        double turns = best_ns(L, functions, TURNS);
        crn_host *here = crn_host_here;
        host = crn_host_open(&options, &error);
        if (host) {
            crn_host_start(host, L, NULL, NULL, NULL);
            calls = best_ns(L, functions - 1, CALLS) - calls;
            turns = best_ns(L, functions, TURNS) - turns;
            /* One iteration of that loop is two instructions. */
            *event_ns = calls > 0 ? calls / (2.0 * CALLS) : 0;
            *tick_ns = turns > 0 && of->mode == CRN_MODE_TICKS ? turns / (2.0 * TURNS) : 0;
        }
        crn_host_here = here;
    }
    lua_close(L);
    if (host)
        crn_host_discard(host);
    return host != NULL;
}

static void on_signal(int number)
{
    (void)number;
}

static double signal_ns(void)
{
    struct sigaction action = {.sa_handler = on_signal}, before;
    sigaction(SIGPROF, &action, &before);
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < SIGNALS; i++) {
        uint64_t start = crn_now_ns();
        raise(SIGPROF);
        uint64_t taken = crn_now_ns() - start;
        least = taken < least ? taken : least;
    }
    sigaction(SIGPROF, &before, NULL);
    return (double)least;
}

void crn_cost_note(crn_host *host)
{
    double event_ns = 0, tick_ns = 0, cost;
    if (host->mode == CRN_MODE_SAMPLE) {
        double each = signal_ns();
        double signals = (double)crn_sampler_signals(host);
        cost = (double)crn_sampler_cost_ns(host) + signals * each;
        crn_host_note(host, "cost_method",
                      "time taken by the stack walks, and %.0f signals of %.0f ns", signals, each);
    } else {
        if (!measure(host, &event_ns, &tick_ns))
            return;
        double instructions = (double)host->count_events * host->period;
        cost = (double)host->events * event_ns + instructions * tick_ns;
        if (host->mode == CRN_MODE_TICKS)
            crn_host_note(host, "cost_method",
                          "%llu events of %.1f ns and %.0f instructions of %.2f ns, as measured "
                          "on a loop after the run",
                          (unsigned long long)host->events, event_ns, instructions, tick_ns);
        else
            crn_host_note(host, "cost_method",
                          "%llu events of %.1f ns, as measured on a loop after the run",
                          (unsigned long long)host->events, event_ns);
    }
    crn_host_note(host, "cost_ns", "%.0f", cost);
}
