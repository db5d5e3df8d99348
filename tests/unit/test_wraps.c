/* SPDX-License-Identifier: MIT
 *
 * test_wraps.c - jobs and threads that carry a hand-off token. Each case runs this program again,
 * with a task as argument.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cairn/scope.h>
#include <cairn/wrap.h>

#include "support/again.h"
#include "support/cases.h"

enum { EACH = 200 };

static atomic_int running;
static int left = 1000; /* times that a job has itself done again */

static void convert(void *image)
{
    CAIRN_SCOPE("convert");
    CAIRN_SCOPE_TEXT("image", image);
}

static void *work_off(void *work)
{
    const cairn_work *job = work;
    CAIRN_SCOPE("worker");
    job->run(job->argument);
    return NULL;
}

static void run_in_thread(cairn_work *work)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work_off, work);
    pthread_join(thread, NULL);
}

/* Wraps jobs: the requesters have returned before they run; one job is dropped; one runs several
 * times. */
static void wrap_some(void)
{
    char foo[] = "foo", bar[] = "bar", both[] = "both";
    cairn_work works[4];
    {
        CAIRN_SCOPE("foo");
        works[0] = cairn_wrap(convert, foo);
    }
    {
        CAIRN_SCOPE("bar");
        works[1] = cairn_wrap(convert, bar);
        works[2] = cairn_wrap(convert, foo);
    }
    {
        CAIRN_SCOPE("both");
        works[3] = cairn_wrap_shared(convert, both);
    }
    cairn_wrap_drop(works[2]);
    run_in_thread(&works[0]);
    run_in_thread(&works[1]);
    for (int i = 0; i < 3; i++)
        run_in_thread(&works[3]);
    cairn_wrap_drop(works[3]);
    cairn_wrap_drop((cairn_work){convert, foo}); /* not allocated by cairn_wrap */
}

/* A job that has itself done again. */

static void again(void *next)
{
    CAIRN_SCOPE("again");
    if (--left > 0)
        *(cairn_work *)next = cairn_wrap(again, next);
}

static void resubmit(void)
{
    cairn_work next = {NULL, NULL};
    {
        CAIRN_SCOPE("begin");
        next = cairn_wrap(again, &next);
    }
    while (left > 0) {
        cairn_work now = next;
        now.run(now.argument);
    }
}

static void *sleep_a_while(void *how)
{
    CAIRN_SCOPE("sleep");
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (how)
        pthread_exit(how);
    return how;
}

static void *turn_and_tell(void *data)
{
    for (int64_t i = 0; i < EACH; i++) {
        CAIRN_SCOPE("turn", .iteration = i);
    }
    atomic_fetch_add(&running, 1);
    return data;
}

static void *wait_to_be_cancelled(void *data)
{
    (void)data;
    CAIRN_SCOPE("wait");
    while (!SANITIZED)
        pause();
    return PTHREAD_CANCELED;
}

static void create_and_join(void)
{
    pthread_t threads[4];
    void *result = NULL;
    CAIRN_SCOPE("creator");
    for (int i = 0; i < 2; i++)
        check(cairn_pthread_create(&threads[i], NULL, sleep_a_while, i ? &left : NULL,
                                   i ? "ends" : "returns") == 0);
    check(cairn_pthread_create(&threads[2], NULL, wait_to_be_cancelled, NULL, NULL) == 0);
    check(pthread_create(&threads[3], NULL, sleep_a_while, NULL) == 0);
    pthread_attr_t detached;
    pthread_t nobody;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    check(cairn_pthread_create(&nobody, &detached, turn_and_tell, NULL, "detached") == 0);
    pthread_attr_destroy(&detached);
    for (int i = 0; i < 2; i++)
        check(cairn_pthread_join(threads[i], &result) == 0 && result == (i ? &left : NULL));
    check(SANITIZED || pthread_cancel(threads[2]) == 0);
    check(cairn_pthread_join(threads[2], &result) == 0 && result == PTHREAD_CANCELED);
    check(cairn_pthread_join(threads[3], NULL) == 0);
    while (!atomic_load(&running))
        sched_yield();
}

static void *do_nothing(void *data)
{
    return data;
}

/* Threads that get the pthread_t of a joined one. */
static void mix_joins(void)
{
    pthread_t old, next;
    int same = 0;
    CAIRN_SCOPE("mixes");
    for (int i = 0; i < EACH; i++) {
        check(cairn_pthread_create(&old, NULL, do_nothing, NULL, "old") == 0);
        check(pthread_join(old, NULL) == 0);
        check(pthread_create(&next, NULL, do_nothing, NULL) == 0);
        same += pthread_equal(old, next) != 0;
        check(cairn_pthread_join(next, NULL) == 0);
    }
    CAIRN_SCOPE_INTEGER("same", same);
}

/* A child has none of its parent's threads; the parent's are still there. */
static void fork_between(void)
{
    pthread_t old, next;
    int status = WRONG;
    CAIRN_SCOPE("forks");
    check(cairn_pthread_create(&old, NULL, sleep_a_while, NULL, "old") == 0);
    pid_t child = fork();
    if (child == 0) {
        check(cairn_pthread_create(&next, NULL, do_nothing, NULL, "new") == 0);
        check(cairn_pthread_join(next, NULL) == 0);
        exit(0);
    }
    check(waitpid(child, &status, 0) == child && status == 0);
    check(cairn_pthread_join(old, NULL) == 0);
}

typedef struct holder {
    pthread_t *thread; /* freed by it */
    pthread_t self;
    sem_t told;
} holder;

static void *free_and_tell(void *data)
{
    holder *own = data;
    free(own->thread);
    own->self = pthread_self();
    sem_post(&own->told);
    return NULL;
}

/* Threads that run this at the same time reuse each other's numbers. */
static void *create_many(void *data)
{
    CAIRN_SCOPE("many");
    for (int i = 0; i < EACH; i++) {
        holder own = {.thread = malloc(sizeof *own.thread)};
        sem_init(&own.told, 0, 0);
        check(own.thread &&
              cairn_pthread_create(own.thread, NULL, free_and_tell, &own, "one") == 0);
        while (sem_wait(&own.told) != 0)
            ;
        check(cairn_pthread_join(own.self, NULL) == 0);
        pthread_t thread;
        check(cairn_pthread_create(&thread, NULL, do_nothing, NULL, "one") == 0);
        check(cairn_pthread_join(thread, NULL) == 0);
    }
    return data;
}

static void join_many(void)
{
    pthread_t threads[4];
    for (size_t i = 0; i < COUNT(threads); i++)
        check(pthread_create(&threads[i], NULL, create_many, NULL) == 0);
    for (size_t i = 0; i < COUNT(threads); i++)
        check(pthread_join(threads[i], NULL) == 0);
}

static const again_role roles[] = {{"wrap", wrap_some},       {"resubmit", resubmit},
                                   {"join", create_and_join}, {"mix", mix_joins},
                                   {"fork", fork_between},    {"many", join_many}};

static void a_wrapped_job_belongs_to_its_wrapper(void **state)
{
    (void)state;
    recorded recorded = again_record("wrap");
    assert_int_equal(recorded_count(&recorded, "foo/convert"), 1);
    assert_int_equal(recorded_count(&recorded, "bar/convert"), 1);
    assert_int_equal(recorded_count(&recorded, "both/convert"), 3);
    assert_int_equal(recorded_count(&recorded, "worker"), 5);
    assert_string_equal(
        recorded_attribute(&recorded, recorded_find(&recorded, "bar/convert"), "image"), "bar");
    assert_string_equal(crn_profile_note(recorded.profile, "misuses", ""), "0");
    recorded_free(&recorded);
}

static void a_job_that_submits_itself_again_folds(void **state)
{
    (void)state;
    recorded recorded = again_record("resubmit");
    assert_int_equal(recorded_count(&recorded, "again"), 1000);
    assert_true(recorded.profile->context_count < 10);
    assert_int_equal(recorded_calls(&recorded, "again"), 1000);
    recorded_free(&recorded);
}

static void joining_records_the_wait(void **state)
{
    (void)state;
    recorded recorded = again_record("join");
    uint32_t creator = recorded_find(&recorded, "creator");
    static const char *const joined[] = {"creator/returns", "creator/ends", "creator/thread"};
    for (size_t i = 0; i < COUNT(joined); i++) {
        uint32_t span = recorded_find(&recorded, joined[i]);
        assert_int_not_equal(span, CRN_SPAN_NONE);
        assert_false(recorded.trace->spans[span].open);
        assert_int_equal(recorded_edges(&recorded, creator, span, CRN_EDGE_WAITS), 1);
    }
    assert_int_equal(recorded_count(&recorded, "creator/returns/sleep"), 1);
    assert_int_equal(recorded_count(&recorded, "creator/thread/wait"), 1);
    assert_int_equal(recorded_count(&recorded, "creator/detached"), 1);
    assert_int_equal(recorded.trace->edge_count, 3);
    recorded_free(&recorded);
}

static void threads_with_a_reused_id_are_distinguished(void **state)
{
    (void)state;
    recorded recorded = again_record("mix");
    uint32_t mixes = recorded_find(&recorded, "mixes");
    assert_int_equal(recorded_count(&recorded, "mixes/old"), EACH);
    assert_string_not_equal(recorded_attribute(&recorded, mixes, "same"), "0");
    assert_int_equal(recorded.trace->edge_count, 0);
    recorded_free(&recorded);
}

static void a_child_has_its_own_threads(void **state)
{
    (void)state;
    skip_where_emulated();
#ifdef __SANITIZE_ADDRESS__
    return; /* its allocator may have been in the midst of something */
#endif
    recorded recorded = again_record("fork");
    assert_int_equal(recorded.trace->edge_count, 1);
    assert_int_equal(recorded_edges(&recorded, recorded_find(&recorded, "forks"),
                                    recorded_find(&recorded, "forks/old"), CRN_EDGE_WAITS),
                     1);
    recorded_free(&recorded);
}

static void each_that_is_joined_was_waited_for(void **state)
{
    (void)state;
    recorded recorded = again_record("many");
    const crn_trace *trace = recorded.trace;
    assert_int_equal(recorded_count(&recorded, "many/one"), 8 * EACH);
    assert_int_equal(trace->edge_count, 8 * EACH);
    for (uint32_t e = 0; e < trace->edge_count; e++)
        assert_int_equal(trace->spans[trace->edges[e].to].parent, trace->edges[e].from);
    recorded_free(&recorded);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrapped_job_belongs_to_its_wrapper),
        cmocka_unit_test(a_job_that_submits_itself_again_folds),
        cmocka_unit_test(joining_records_the_wait),
        cmocka_unit_test(threads_with_a_reused_id_are_distinguished),
        cmocka_unit_test(a_child_has_its_own_threads),
        cmocka_unit_test(each_that_is_joined_was_waited_for),
    };
    if (count > 1)
        return again_play(roles, COUNT(roles), arguments[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
