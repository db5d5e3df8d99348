/* SPDX-License-Identifier: MIT
 *
 * test_process_space.c - disk space of the process's own profile, with threads that have few spans
 * each, and after the end of the process: the case runs this program again. And page faults of a
 * thread that records spans.
 */
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cairn/scope.h>

#include "runtime/runtime.h"
#include "support/again.h"
#include "support/cases.h"
#include "support/profiles.h"
#include "support/recorded.h"
#include "support/scratch.h"

enum { FEW = 32, THREADS = 96, KIB = 1024, MIB = 1024 * KIB };

static pthread_barrier_t together;

static void *turn_twice(void *data)
{
    (void)data;
    {
        CAIRN_SCOPE("turn", .iteration = 0);
    }
    pthread_barrier_wait(&together);
    {
        CAIRN_SCOPE("turn", .iteration = 1);
    }
    pthread_barrier_wait(&together);
    return NULL;
}

/* The preparing thread sees all of them at once, after they have begun. */
static int play(void)
{
    pthread_t threads[THREADS];
    alarm(120);
    pthread_barrier_init(&together, NULL, THREADS);
    for (int t = 0; t < THREADS; t++)
        if (pthread_create(&threads[t], NULL, turn_twice, NULL) != 0)
            return 1;
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    return 0;
}

static void many_threads_with_few_spans_take_little(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    struct stat file;
    again_run("play", scratch_path(path, "many.cairn"), NULL, NULL, 0);
    recorded recorded = recorded_load(path);
    assert_int_equal(recorded_calls(&recorded, "turn"), 2 * THREADS);
    assert_int_equal(recorded_count(&recorded, "turn") + recorded.trace->dropped, 2 * THREADS);
    recorded_free(&recorded);
    assert_int_equal(stat(path, &file), 0);
    /* The first have space for a burst; of the others each has one chunk of each kind. */
    assert_true((uint64_t)file.st_size < (uint64_t)FEW * 4 * MIB + (THREADS - FEW) * 512 * KIB);
    /* Unused space was released. */
    assert_true((uint64_t)file.st_blocks * 512 < (uint64_t)THREADS * 128 * KIB + MIB);
}

/* ---- page faults ---- */

static long faults_of_thread(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt + usage.ru_majflt;
}

/* A thread makes its first space itself. From then on another thread does that, page faults
 * included: of a chunk that has none of its pages it would be 64. */
static void a_thread_with_spans_does_not_fault(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* the sanitizer's own memory */
#endif
    skip_where_emulated(); /* the emulator's own memory */
    enum { CHUNKS = 40 };
    char path[SCRATCH_PATH];
    cairn_options options = span_options(scratch_path(path, "faults.cairn"));
    setup s = setup_open(&options, 1);
    cairn_span_begin(s.strand, 1, 0);
    cairn_span_end(s.strand);
    usleep(1000);
    long before = faults_of_thread();
    while (s.lane->spans.taken < CHUNKS) { /* until the other thread has made as many */
        for (int i = 0; i < CAIRN_PRIV_SPAN_CHUNK; i++) {
            cairn_span_begin(s.strand, 1, i);
            cairn_span_end(s.strand);
        }
        usleep(1000);
    }
    assert_in_range(faults_of_thread() - before, 0, CHUNKS - 1);
    setup_close(&s);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_threads_with_few_spans_take_little),
        cmocka_unit_test(a_thread_with_spans_does_not_fault),
    };
    (void)arguments;
    if (count > 1)
        return play();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
