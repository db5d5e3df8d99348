/* SPDX-License-Identifier: MIT
 *
 * Jobs that carry a hand-off to the thread that runs them.
 */
#include <cairn/scope.h>
#include <cairn/wrap.h>

#include <errno.h>

#include "base/memory.h"
#include "runtime/runtime.h"

typedef struct job {
    cairn_handoff handoff;
    void (*run)(void *argument);
    void *argument;
} job;

/* Ends the adoption, also if the job ends by the end of its thread. */
static void leave(void *adoption)
{
    cairn_adoption_end(adoption);
}

static void run_adopted(const job *job)
{
    cairn_adoption adoption = cairn_adoption_begin(cairn_thread_strand(), job->handoff);
    pthread_cleanup_push(leave, &adoption);
    job->run(job->argument);
    pthread_cleanup_pop(1);
}

static void run_once(void *data)
{
    job own = *(job *)data;
    crn_free(data);
    run_adopted(&own);
}

static void run_shared(void *data)
{
    job own = *(job *)data; /* a copy, because the job may free `data` while it runs */
    run_adopted(&own);
}

static cairn_work wrap(void (*runner)(void *), void (*run)(void *), void *argument)
{
    cairn_work plain = {run, argument};
    cairn_strand *strand = cairn_thread_strand();
    if (!strand || !run)
        return plain;
    int saved = errno;
    job *made = crn_try_calloc(1, sizeof *made);
    errno = saved;
    if (!made)
        return plain;
    *made = (job){cairn_handoff_take(strand), run, argument};
    return (cairn_work){runner, made};
}

cairn_work cairn_wrap(void (*run)(void *argument), void *argument)
{
    return wrap(run_once, run, argument);
}

cairn_work cairn_wrap_shared(void (*run)(void *argument), void *argument)
{
    return wrap(run_shared, run, argument);
}

void cairn_wrap_drop(cairn_work work)
{
    if (work.run == run_once || work.run == run_shared)
        crn_free(work.argument);
}
