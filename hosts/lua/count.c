/* SPDX-License-Identifier: MIT
 *
 * count.c - counts instructions.
 *
 * The runtime says after how many instructions it takes its next sample of ticks. The interpreter's
 * counter is set to that: by lua_sethook, which visits every frame of the stack, or by a store if
 * layout.c has found the counter. Each coroutine has its own counter; what is left of it is passed
 * to the next coroutine that runs. If the counter was not found, each coroutine counts periods of
 * its own, and one that ends within its first period is not counted.
 */
#include <limits.h>

#include "host.h"

static int *counter_of(const crn_coroutine *coroutine)
{
    return &CRN_FIELD(int, coroutine->L, CRN_STATE_COUNTER);
}

/* Instructions between two checks for a sample, while the program has a count hook of its own: the
 * sampler then does not set the counter when it wants a sample. */
enum { SAMPLE_SLICE = 1000 };

int crn_count_next(const crn_host *host, const crn_coroutine *coroutine)
{
    int own = 0;
    if (host->mode == CRN_MODE_TICKS && host->layout.counter && coroutine->strand) {
        uint32_t due = cairn_tick_due(coroutine->strand);
        own = due < INT_MAX ? (int)due + 1 : INT_MAX;
    } else if (host->mode == CRN_MODE_TICKS) {
        own = host->period;
    } else if (host->mode == CRN_MODE_SAMPLE && coroutine->program_count) {
        own = SAMPLE_SLICE;
    }
    int program = coroutine->program_count ? coroutine->program_left : 0;
    return !own ? program : !program || own < program ? own : program;
}

bool crn_count_set(const crn_host *host, crn_coroutine *coroutine)
{
    if (!host->layout.counter || !coroutine->L)
        return false;
    coroutine->installed_count = crn_count_next(host, coroutine);
    *counter_of(coroutine) = coroutine->installed_count;
    return true;
}

int crn_count_ended(const crn_host *host, crn_coroutine *coroutine)
{
    int passed = coroutine->installed_count ? coroutine->installed_count : host->period;
    if (host->layout.counter)
        coroutine->installed_count = *counter_of(coroutine);
    return passed;
}

/* A counter is above its start value if Lua has reset it while no event could come. The
 * instructions before the reset are unknown and not charged. */
void crn_count_settle(crn_host *host, crn_coroutine *coroutine)
{
    if (!host->layout.counter || !coroutine->L || !coroutine->installed_count)
        return;
    int passed = coroutine->installed_count - *counter_of(coroutine);
    if (passed <= 0)
        return;
    coroutine->installed_count -= passed;
    if (coroutine->program_count)
        coroutine->program_left -= passed;
    if (host->mode == CRN_MODE_TICKS)
        cairn_tick(coroutine->strand, (uint32_t)passed);
}

void crn_count_move(crn_host *host, crn_coroutine *from, crn_coroutine *to)
{
    if (from == to || !host->layout.counter)
        return;
    crn_count_settle(host, from);
    crn_count_set(host, to);
}

/* No events come within the program's hook: a counter that runs out there would be lost.
 * Instructions there count for the program's next event, as under lua5.4, but are not charged. */
void crn_count_pause(crn_host *host, crn_coroutine *coroutine)
{
    if (host->mode != CRN_MODE_TICKS || !host->layout.counter)
        return;
    crn_count_settle(host, coroutine);
    *counter_of(coroutine) = coroutine->installed_count = INT_MAX;
}

void crn_count_resume(crn_host *host, crn_coroutine *coroutine)
{
    /* If it has another value, the hook has set the counter, or resumed another coroutine. */
    if (coroutine->installed_count != INT_MAX)
        return;
    int passed = INT_MAX - *counter_of(coroutine);
    if (coroutine->program_count)
        coroutine->program_left =
            coroutine->program_left > passed ? coroutine->program_left - passed : 1;
    crn_count_set(host, coroutine);
}
