/* SPDX-License-Identifier: MIT
 *
 * test_lost.c - the file of a capture is cut to a random length while a program records to it. The
 * program goes on to its end, and what is left of the file is read or refused.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/span.h>

#include "profile/profile.h"
#include "support/cases.h"
#include "support/children.h"
#include "support/profiles.h"
#include "support/random.h"
#include "support/scratch.h"

enum { THREADS = 3, BLOCKS = 30, DEEPEST = 20, ROUNDS_AFTER = 2000, ROUNDS_MOST = 400 };

extern int __sigaction(int number, const struct sigaction *action, struct sigaction *before);

typedef struct page {
    atomic_uint_least64_t events; /* of all threads */
    atomic_uint_least64_t caught; /* by the program's own handler */
    atomic_bool lost;             /* recording stopped */
    atomic_bool cut;              /* the file is shorter now */
} page;

static page *shared;

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_code == BUS_ADRERR && cairn_catch_fault(info->si_addr))
        atomic_fetch_add(&shared->caught, 1);
    else
        signal(number, SIG_DFL);
}

typedef struct worker {
    cairn_profile *profile;
    random_source random;
    pthread_t thread;
    int child_every; /* rounds; 0: no children */
} worker;

static void nest(worker *worker, cairn_strand *strand, int depth)
{
    uint32_t calls = random_below(&worker->random, 3);
    for (uint32_t i = 0; i < calls && depth < DEEPEST; i++) {
        cairn_block block = 1 + random_below(&worker->random, BLOCKS);
        bool spans = random_chance(&worker->random, 1, 4);
        cairn_enter(strand, block);
        if (spans)
            cairn_span_begin(strand, block, i);
        cairn_tick(strand, 3);
        nest(worker, strand, depth + 1);
        if (spans)
            cairn_span_end(strand);
        cairn_leave(strand);
        atomic_fetch_add(&shared->events, 1);
    }
}

/* Also opens and closes lanes and strands, and adds blocks. */
static void *work(void *data)
{
    worker *worker = data;
    int after = 0;
    for (int round = 1; after < ROUNDS_AFTER; round++) {
        cairn_lane *lane = cairn_lane_open(worker->profile, "worker");
        cairn_strand *strand = cairn_strand_open(lane);
        for (int i = 0; i < 200; i++)
            nest(worker, strand, 0);
        if (worker->child_every && round % worker->child_every == 0) {
            pid_t child = fork();
            if (child == 0) {
                nest(worker, strand, 0);
                _exit(0);
            }
            int status;
            waitpid(child, &status, 0);
            if (status)
                _exit(3);
        }
        char name[32];
        snprintf(name, sizeof name, "more %u", random_below(&worker->random, 5000));
        cairn_block_add(worker->profile,
                        &(cairn_block_info){.name = name, .file = "file", .line = 1});
        cairn_lane_close(lane);
        after += shared->cut ? 100 : 0;
    }
    return NULL;
}

static void record(const cairn_options *options, uint64_t seed, int child_every, bool own_handler)
{
    static worker workers[THREADS];
    cairn_profile *profile;
    alarm(120);
    signal(SIGSEGV, SIG_DFL); /* cmocka's handlers would exit */
    signal(SIGFPE, SIG_DFL);
    signal(SIGILL, SIG_DFL);
    signal(SIGBUS, SIG_DFL);
    if (cairn_profile_open(&profile, options))
        _exit(1);
    struct sigaction own = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    if (own_handler) /* not by the sigaction of actions.c, behind which the runtime's stays */
        __sigaction(SIGBUS, &own, NULL);
    setup_blocks(profile, 1, BLOCKS);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.profile = profile,
                              .random = {seed * THREADS + (uint64_t)i},
                              .child_every = child_every};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
            _exit(1);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    shared->lost = cairn_profile_status(profile) == CAIRN_E_LOST;
    if (shared->caught && !shared->lost)
        _exit(4);
    cairn_profile_close(profile);
    _exit(0);
}

static void cut(const char *path, bool all, random_source *random)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    uint32_t pages = (uint32_t)(status.st_size / 4096);
    off_t length = all || random_chance(random, 1, 4) ? 0 : random_below(random, pages + 1) * 4096;
    assert_int_equal(truncate(path, length), 0);
}

static void load(const char *path)
{
    crn_error error = {0};
    crn_profile *profile = crn_profile_load(path, &error);
    assert_true(profile || error.message[0]);
    crn_profile_free(profile);
}

static void cut_at_random(cairn_options options, int child_every)
{
    random_source random = {options.wall + 7u};
    uint64_t times = scale_is_long() ? 300 : scale(8), lost = 0, caught = 0;
    /* Further rounds if the loss was not yet found by a fault in both kinds of programs: it may be
     * found when the file is grown. */
    for (uint64_t round = 0; round < times || (round < ROUNDS_MOST && (!caught || caught == lost));
         round++) {
        char path[SCRATCH_PATH];
        options.path = scratch_path(path, "lost.cairn");
        shared =
            mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_true(shared != MAP_FAILED);
        pid_t child = fork();
        if (child == 0)
            record(&options, round, child_every, round % 2);
        uint64_t enough = random_below(&random, 1u << random_below(&random, 18));
        while (atomic_load(&shared->events) <= enough)
            child_pause(child);
        for (uint32_t times_cut = random_below(&random, 2); times_cut < 2; times_cut++)
            cut(path, round < 2, &random);
        shared->cut = true;
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (status)
            fail_msg("round %d: the program ended with %x", (int)round, (unsigned)status);
        lost += shared->lost;
        caught += shared->caught > 0;
        load(path);
        munmap(shared, sizeof *shared);
        unlink(path);
    }
    assert_true(lost > 0 && caught > 0 && caught < lost);
}

static cairn_options options_for(cairn_wall wall, bool spans)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.wall = wall;
    options.sample_period_ns = 20000;
    options.spans = spans;
    options.span_histograms = spans;
    return options;
}

static void counts(void **state)
{
    (void)state;
    cut_at_random(options_for(CAIRN_WALL_OFF, false), 0);
}

static void exact_time_and_spans(void **state)
{
    (void)state;
    cut_at_random(options_for(CAIRN_WALL_EXACT, true), 0);
}

static void sampled_time_and_a_ring_of_spans(void **state)
{
    (void)state;
    cairn_options options = options_for(CAIRN_WALL_SAMPLED, true);
    options.span_policy = CAIRN_SPANS_KEEP_LAST;
    options.span_limit = 1 << 16;
    cut_at_random(options, 0);
}

static void children(void **state)
{
    (void)state;
    cut_at_random(options_for(CAIRN_WALL_OFF, true), 50);
}

/* A program that ignores SIGBUS when it opens the profile, and no longer when the file is cut. */
static void ignored_at_first(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = options_for(CAIRN_WALL_OFF, false);
    options.path = scratch_path(path, "ignored.cairn");
    pid_t child = fork();
    if (child == 0) {
        cairn_profile *profile;
        struct sigaction kernel;
        child_begin(60);
        signal(SIGBUS, SIG_IGN);
        if (cairn_profile_open(&profile, &options))
            _exit(1);
        setup_blocks(profile, 1, BLOCKS);
        cairn_strand *strand = cairn_strand_open(cairn_lane_open(profile, "lane"));
        if (__sigaction(SIGBUS, NULL, &kernel) != 0 || kernel.sa_handler != SIG_IGN)
            _exit(2);
        if (signal(SIGBUS, SIG_DFL) != SIG_IGN || truncate(path, 0) != 0)
            _exit(3);
        cairn_enter(strand, 1);
        cairn_leave(strand);
        _exit(cairn_profile_status(profile) == CAIRN_E_LOST ? 0 : 4);
    }
    child_await(child);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(counts),
        cmocka_unit_test(exact_time_and_spans),
        cmocka_unit_test(sampled_time_and_a_ring_of_spans),
        cmocka_unit_test(children),
        cmocka_unit_test(ignored_at_first),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
