/* SPDX-License-Identifier: MIT
 *
 * sample.c - takes samples of the stack: charges the time since the last sample to the current
 * context.
 */
#include "host.h"

/* Samples take at most 1 / SHARE of the time: on very deep stacks the rate falls. Of a sample that
 * lost its core, at most LOST times its processor time counts: after the whole time, the next
 * sample would come SHARE times as late. */
enum { SHARE = 40, LOST = 8 };

bool crn_sampler_armed(const crn_host *host, const lua_State *L)
{
    return host->sampler && host->sampler->armed && host->sampler->armed->L == L;
}

/* Returns the context of a path; with `collecting`, that of <gc> below the path. */
static cairn_context context_of(crn_host *host, const cairn_block *path, size_t length,
                                bool collecting)
{
    cairn_context context = CAIRN_CONTEXT_ROOT;
    for (size_t i = 0; i < length; i++)
        context = cairn_context_step(host->lane, context, path[i]);
    if (collecting)
        context = cairn_context_step(host->lane, context, crn_block_collector(host));
    return context;
}

void crn_sampler_take(crn_host *host, lua_State *L, lua_Debug *ar, bool collecting)
{
    crn_sampler *sampler = host->sampler;
    crn_coroutine *coroutine = host->running;
    if (crn_sampler_armed(host, L)) {
        uint64_t now = crn_now_ns(), used = crn_used_ns();
        /* At a call event the callee has not run yet: the time was the caller's. */
        const cairn_block *path;
        size_t length = crn_stack_path(host, coroutine, ar, ar->event == LUA_HOOKCALL, &path);
        cairn_context context = context_of(host, path, length, collecting);
        cairn_context_charge(host->lane, context, CAIRN_METRIC_WALL, now - sampler->last_ns);
        cairn_context_charge(host->lane, context, sampler->samples, 1);
        sampler->last_ns = now;
        uint64_t taken = crn_now_ns() - now, most = LOST * (crn_used_ns() - used);
        taken = taken < most ? taken : most;
        sampler->cost_ns += taken;
        sampler->rest_until_ns = now + taken * SHARE;
        sampler->count++;
        sampler->armed = NULL;
    }
}

uint64_t crn_sampler_cost_ns(const crn_host *host)
{
    return host->sampler ? host->sampler->cost_ns : 0;
}

uint64_t crn_sampler_signals(const crn_host *host)
{
    return host->sampler ? host->sampler->signals : 0;
}
