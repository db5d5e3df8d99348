/* SPDX-License-Identifier: MIT
 *
 * test_kill_forks.c - a program with threads that forks is killed at any moment, with all of its
 * children: the capture of each process holds all calls and spans that ended before. Each thread
 * counts its steps in memory that it shares with the test.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/span.h>

#include "profile/profile.h"
#include "spans/spans.h"
#include "support/cases.h"
#include "support/children.h"
#include "support/profiles.h"
#include "support/random.h"
#include "support/scratch.h"

enum { THREADS = 3, PROCESSES = 8, BLOCKS = 6 /* of each thread */, CALLS = 3 /* of a step */ };

typedef struct process {
    atomic_int pid; /* 0: not begun */
    atomic_uint_least64_t steps[THREADS];
    atomic_uint_least64_t spans[THREADS]; /* that were recorded: not all are if they come fast */
} process;

/* Memory that the processes share. */
typedef struct journal {
    atomic_uint begun; /* processes */
    process processes[PROCESSES];
} journal;

static journal *shared;

typedef struct worker {
    cairn_profile *profile;
    cairn_strand *strand;
    random_source random;
    int number;
    process *process;
} worker;

static void start(worker *first);

/* Forks within a call, so that children begin with calls that do not count. Returns true in the
 * child. */
static bool fork_sometimes(worker *worker)
{
    if (!random_chance(&worker->random, 1, 300) || atomic_load(&shared->begun) >= PROCESSES)
        return false;
    unsigned number = atomic_fetch_add(&shared->begun, 1);
    if (number >= PROCESSES || fork() != 0)
        return false;
    worker->process = &shared->processes[number];
    worker->random.state += number;
    return true;
}

/* A step has two calls, and a span in the inner one, which is a call, too. */
static void step(worker *worker)
{
    cairn_block first = 1 + (cairn_block)worker->number * BLOCKS;
    cairn_enter(worker->strand, first + random_below(&worker->random, BLOCKS));
    if (worker->number == 0 && fork_sometimes(worker)) {
        cairn_leave(worker->strand);
        start(worker);
        return;
    }
    cairn_enter(worker->strand, first + random_below(&worker->random, BLOCKS));
    cairn_span_begin(worker->strand, first, 0);
    bool recorded = cairn_span_current(worker->strand) != 0;
    cairn_span_end(worker->strand);
    if (recorded)
        atomic_fetch_add_explicit(&worker->process->spans[worker->number], 1, memory_order_release);
    cairn_leave(worker->strand);
    cairn_leave(worker->strand);
    atomic_fetch_add_explicit(&worker->process->steps[worker->number], 1, memory_order_release);
}

static void *work(void *data)
{
    worker *worker = data;
    if (worker->number)
        worker->strand = cairn_strand_open(cairn_lane_open(worker->profile, "worker"));
    for (;;)
        step(worker);
    return NULL;
}

/* Starts the other threads of a process. */
static void start(worker *first)
{
    static worker others[THREADS];
    atomic_store(&first->process->pid, getpid());
    for (int i = 1; i < THREADS; i++) {
        pthread_t thread;
        others[i] = *first;
        others[i].number = i;
        others[i].random.state += (uint64_t)i << 32;
        if (pthread_create(&thread, NULL, work, &others[i]))
            _exit(1);
    }
}

static void record(const cairn_options *options, uint64_t seed)
{
    worker worker = {.random = {seed}, .process = &shared->processes[0]};
    setpgid(0, 0);
    alarm(300);
    if (cairn_profile_open(&worker.profile, options))
        _exit(1);
    setup_blocks(worker.profile, 1, THREADS * BLOCKS);
    worker.strand = cairn_strand_open(cairn_lane_open(worker.profile, "worker"));
    atomic_store(&shared->begun, 1);
    start(&worker);
    work(&worker);
}

/* ---- comparison ---- */

/* Returns the thread whose block has this name, "b1" and on; -1 if it is none's. */
static int thread_of(const char *name)
{
    return name[0] == 'b' ? (atoi(name + 1) - 1) / BLOCKS : -1;
}

static void sum_calls(const char *path, uint64_t calls[THREADS])
{
    crn_error error = {0};
    crn_profile *profile = crn_profile_load(path, &error);
    if (!profile)
        fail_msg("%s", error.message);
    for (uint32_t c = 1; c < profile->context_count; c++) {
        int thread = thread_of(profile->blocks[profile->block[c]].name);
        if (thread >= 0)
            calls[thread] += profile->values[CRN_METRIC_CALLS][c];
    }
    crn_profile_free(profile);
}

static void sum_spans(const char *path, uint64_t spans[THREADS])
{
    crn_error error = {0};
    crn_trace *trace = crn_trace_load(path, &error);
    if (!trace)
        fail_msg("%s", error.message);
    for (uint32_t s = 0; s < trace->span_count; s++)
        if (!trace->spans[s].open)
            spans[(trace->spans[s].block - 1) / BLOCKS]++;
    crn_trace_free(trace);
}

static void check(const char *path, const process *process)
{
    uint64_t calls[THREADS] = {0}, spans[THREADS] = {0}, all = 0;
    for (int t = 0; t < THREADS; t++)
        all += process->steps[t];
    if (all == 0 && access(path, F_OK) != 0)
        return;
    sum_calls(path, calls);
    sum_spans(path, spans);
    for (int t = 0; t < THREADS; t++) {
        uint64_t steps = process->steps[t], ended = process->spans[t];
        if (calls[t] < CALLS * steps || calls[t] > CALLS * (steps + 1))
            fail_msg("%s, thread %d: %llu steps, %llu calls", path, t, (unsigned long long)steps,
                     (unsigned long long)calls[t]);
        if (spans[t] < ended || spans[t] > ended + 1)
            fail_msg("%s, thread %d: %llu spans of %llu", path, t, (unsigned long long)spans[t],
                     (unsigned long long)ended);
    }
    unlink(path);
}

/* Children of a process that was killed become the test's own. */
static void wait_for_all(void)
{
    int status;
    while (waitpid(-1, &status, 0) > 0)
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void kill_at_random(cairn_wall wall, uint64_t times)
{
    random_source random = {wall + 11u};
    uint64_t children = 0;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    for (uint64_t round = 0; round < times; round++) {
        char path[SCRATCH_PATH], name[64];
        cairn_options options = span_options(scratch_path(path, "killed.cairn"));
        options.wall = wall;
        options.sample_period_ns = 20000;
        shared =
            mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_true(shared != MAP_FAILED);
        pid_t child = fork();
        if (child == 0)
            record(&options, round);
        uint32_t number = random_below(&random, PROCESSES);
        while (!atomic_load(&shared->processes[number].pid))
            child_pause(child);
        usleep(random_below(&random, 1u << random_below(&random, 15)));
        kill(-child, SIGKILL);
        wait_for_all();
        check(path, &shared->processes[0]);
        for (int p = 1; p < PROCESSES; p++) {
            if (!shared->processes[p].pid)
                continue;
            snprintf(name, sizeof name, "killed.%d.cairn", shared->processes[p].pid);
            check(scratch_path(path, name), &shared->processes[p]);
            children++;
        }
        munmap(shared, sizeof *shared);
    }
    assert_true(children > 0);
}

static uint64_t rounds(void)
{
    return scale_is_long() ? 200 : scale(5);
}

static void killed(void **state)
{
    (void)state;
    kill_at_random(CAIRN_WALL_OFF, rounds());
}

static void killed_with_sampled_time(void **state)
{
    (void)state;
    kill_at_random(CAIRN_WALL_SAMPLED, rounds());
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(killed),
        cmocka_unit_test(killed_with_sampled_time),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
