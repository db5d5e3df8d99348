/* SPDX-License-Identifier: MIT
 *
 * test_cut.c - a capture that somebody cuts while spans, histograms and hand-offs are recorded on
 * several threads: the program goes on, and knows of it; what is left says why there is no more.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/span.h>

#include "analysis/profile.h"
#include "capture/format.h"
#include "support/cases.h"
#include "support/profiles.h"
#include "support/scratch.h"

enum { BLOCKS = 300, THREADS = 3, SPANS = 3000, DEEP = 5 };

typedef struct shared {
    cairn_profile *profile;
    _Atomic(cairn_handoff *) token;
    atomic_int working;
    atomic_bool cut;
} shared;

static void record(cairn_strand *strand, shared *all, int turns, uint32_t *random)
{
    cairn_key key = cairn_key_add(all->profile, "width");
    for (int i = 0; i < turns; i++) {
        const cairn_handoff *token = atomic_load(&all->token);
        if (token && i % 7 == 0)
            cairn_handoff_adopt(strand, *token);
        for (int d = 0; d < DEEP; d++) {
            *random = *random * 1664525 + 1013904223;
            cairn_span_begin(strand, 1 + (*random >> 16) % BLOCKS, i);
            cairn_span_integer(strand, key, *random >> 28);
            cairn_enter(strand, 1 + (*random >> 8) % BLOCKS);
        }
        if (i % 16 == 0) { /* from a thread's own storage, for good: a token is a value */
            cairn_handoff *own = malloc(sizeof *own);
            *own = cairn_handoff_take(strand);
            cairn_handoff *none = NULL;
            if (!atomic_compare_exchange_strong(&all->token, &none, own))
                free(own);
        }
        cairn_strand_unwind(strand, 0);
    }
}

static void *work(void *data)
{
    shared *all = data;
    uint32_t random = (uint32_t)gettid();
    cairn_lane *lane = cairn_lane_open(all->profile, "thread");
    cairn_strand *strand = cairn_strand_open(lane);
    record(strand, all, SPANS, &random);
    atomic_fetch_add(&all->working, 1);
    while (!atomic_load(&all->cut))
        record(strand, all, 1, &random);
    record(strand, all, SPANS, &random);
    cairn_lane_close(lane);
    return NULL;
}

static off_t size_of(const char *path, int part)
{
    struct stat status;
    if (part && stat(path, &status) == 0)
        return status.st_size / 4 * part + 123;
    return 0;
}

static void cut(const char *path, off_t size)
{
    if (truncate(path, size) != 0)
        abort();
}

static void run(const cairn_options *options, int part)
{
    static shared all;
    pthread_t threads[THREADS];
    setup s = setup_open(options, BLOCKS);
    all.profile = s.profile;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, &all) != 0)
            abort();
    while (atomic_load(&all.working) < THREADS)
        usleep(100);
    off_t size = size_of(options->path, part);
    cut(options->path, size);
    atomic_store(&all.cut, true);
    uint32_t random = 1;
    record(s.strand, &all, SPANS, &random);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    /* It may have been about to grow: then it is as long as before, and nothing has been missed
     * yet. Until a thread of its own has looked. */
    while (cairn_profile_status(s.profile) == CAIRN_OK) {
        cut(options->path, size);
        usleep(1000);
    }
    int status = cairn_profile_status(s.profile) == CAIRN_E_CUT ? 0 : 3;
    setup_close(&s);
    _exit(status);
}

/* In a process of its own, which the signal would end. */
static void survives(cairn_options options, int part)
{
    char path[SCRATCH_PATH];
    options.path = scratch_path(path, "cut.cairn");
    unlink(path); /* what is left of the last one may be no capture */
    pid_t child = fork();
    assert_int_not_equal(child, -1);
    if (child == 0) {
        signal(SIGBUS, SIG_DFL); /* cmocka has a handler of its own */
        signal(SIGSEGV, SIG_DFL);
        alarm(120);
        run(&options, part);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status)
        fail_msg("cut to %d/4: the status is %x", part, (unsigned)status);
}

static const cairn_options *spans(void)
{
    static cairn_options options;
    options = (cairn_options)CAIRN_OPTIONS_DEFAULT;
    options.spans = true;
    return &options;
}

static void spans_go_on(void **state)
{
    (void)state;
    for (int part = 0; part < 4; part++)
        survives(*spans(), part);
}

static void rings_of_spans_go_on(void **state)
{
    (void)state;
    cairn_options options = *spans();
    options.span_policy = CAIRN_SPANS_KEEP_LAST;
    options.span_limit = 1 << 20;
    for (int part = 0; part < 4; part++)
        survives(options, part);
}

static void histograms_and_clocks_go_on(void **state)
{
    (void)state;
    cairn_options options = *spans();
    options.span_histograms = options.span_cpu = true;
    options.wall = CAIRN_WALL_SAMPLED;
    options.cpu = CAIRN_CPU_SAMPLED;
    for (int part = 0; part < 4; part++)
        survives(options, part);
}

/* The header and the first tables are left. */
static void what_is_left_says_why(void **state)
{
    char path[SCRATCH_PATH];
    size_t size;
    (void)state;
    survives(*spans(), 3);
    unsigned char *file = scratch_read(scratch_path(path, "cut.cairn"), &size);
    assert_non_null(file);
    const crn_disk_header *header = (const void *)file;
    assert_true(size > sizeof *header);
    assert_memory_equal(header->magic, CRN_MAGIC, sizeof header->magic);
    assert_int_equal(header->state, CRN_STATE_STOPPED);
    assert_int_equal(header->stopped_by, CAIRN_E_CUT);
    free(file);
}

/* A program that never uses a profile with a file sees no handler, and one that has, none
 * afterwards. */
static void the_handler_goes_with_the_last_profile(void **state)
{
    char path[2][SCRATCH_PATH];
    struct sigaction before, now;
    (void)state;
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    sigaction(SIGBUS, NULL, &before);
    setup memory = setup_open(&options, 1);
    sigaction(SIGBUS, NULL, &now);
    assert_true(now.sa_handler == before.sa_handler);
    options.path = scratch_path(path[0], "one.cairn");
    setup one = setup_open(&options, 1);
    sigaction(SIGBUS, NULL, &now);
    assert_true(now.sa_handler != before.sa_handler);
    options.path = scratch_path(path[1], "two.cairn");
    setup two = setup_open(&options, 1);
    setup_close(&one);
    sigaction(SIGBUS, NULL, &now);
    assert_true(now.sa_handler != before.sa_handler);
    setup_close(&two);
    sigaction(SIGBUS, NULL, &now);
    assert_true(now.sa_handler == before.sa_handler);
    assert_int_equal(now.sa_flags, before.sa_flags);
    setup_close(&memory);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(spans_go_on),
        cmocka_unit_test(rings_of_spans_go_on),
        cmocka_unit_test(histograms_and_clocks_go_on),
        cmocka_unit_test(what_is_left_says_why),
        cmocka_unit_test(the_handler_goes_with_the_last_profile),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
