/* SPDX-License-Identifier: MIT
 *
 * test_mutex.c - cairn_mutex: which spans and notes it records. Each case runs this program again,
 * with a task as argument.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cairn/mutex.h>

#include "support/again.h"
#include "support/cases.h"

enum { SLEEP_NS = 20000000 };

static cairn_mutex scene = CAIRN_MUTEX("scene");
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static sem_t tried;
static bool ready;              /* under the mutex */
static pid_t contending_thread; /* set before `tried` is posted */

static void sleep_shortly(void)
{
    nanosleep(&(struct timespec){0, SLEEP_NS}, NULL);
}

/* Returns once the kernel says that the thread sleeps. */
static void await_sleep(pid_t thread)
{
    char path[64], line[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%ld/stat", (long)thread);
    do {
        usleep(1000);
        FILE *file = fopen(path, "r");
        check(file && fgets(line, sizeof line, file));
        fclose(file);
    } while (!strstr(line, ") S "));
}

/* Finds the mutex held, then waits for it. */
static void *contend(void *data)
{
    contending_thread = gettid();
    CAIRN_SCOPE("other");
    check(cairn_mutex_trylock(&scene) == EBUSY);
    sem_post(&tried);
    CAIRN_LOCK(&scene);
    CAIRN_SCOPE("inside");
    return data;
}

static void contended(void)
{
    pthread_t thread;
    sem_init(&tried, 0, 0);
    CAIRN_SCOPE("owner");
    check(cairn_mutex_lock(&scene) == 0);
    check(pthread_create(&thread, NULL, contend, NULL) == 0);
    while (sem_wait(&tried) != 0)
        ;
    await_sleep(contending_thread);
    CAIRN_SCOPE_BEGIN("left open");
    check(cairn_mutex_unlock(&scene) == 0);
    check(pthread_join(thread, NULL) == 0);
    check(cairn_mutex_trylock(&scene) == 0 && cairn_mutex_unlock(&scene) == 0);
}

static void *change(void *data)
{
    CAIRN_SCOPE("other");
    CAIRN_LOCK(&scene);
    ready = true;
    pthread_cond_signal(&changed);
    sleep_shortly();
    return data;
}

static void conditional(void)
{
    pthread_t thread;
    CAIRN_SCOPE("owner");
    check(cairn_mutex_lock(&scene) == 0);
    check(pthread_create(&thread, NULL, change, NULL) == 0);
    while (!ready)
        check(cairn_mutex_wait(&scene, &changed) == 0);
    check(cairn_mutex_unlock(&scene) == 0);
    check(pthread_join(thread, NULL) == 0);
}

/* A mutex that is not held cannot be given up. */
static void misused(void)
{
    pthread_mutexattr_t kind;
    check(pthread_mutexattr_init(&kind) == 0);
    check(pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK) == 0);
    check(pthread_mutex_init(&scene.mutex, &kind) == 0);
    CAIRN_SCOPE("owner");
    check(cairn_mutex_lock(&scene) == 0 && cairn_mutex_unlock(&scene) == 0);
    {
        CAIRN_SCOPE("without");
        check(cairn_mutex_wait(&scene, &changed) == EPERM);
        CAIRN_SCOPE("after");
    }
    check(cairn_mutex_lock(&scene) == 0 && cairn_mutex_unlock(&scene) == 0);
}

static int play(const char *name)
{
    alarm(60);
    if (strcmp(name, "contended") == 0)
        contended();
    else if (strcmp(name, "misused") == 0)
        misused();
    else
        conditional();
    return 0;
}

/* Spans of the mutex must not overlap. */
static void assert_exclusive(const recorded *recorded, const char *path, const char *other)
{
    const crn_span *one = &recorded->trace->spans[recorded_find(recorded, path)];
    const crn_span *two = &recorded->trace->spans[recorded_find(recorded, other)];
    assert_true(one->end <= two->start || two->end <= one->start);
}

static void holders_and_waiters_are_recorded(void **state)
{
    (void)state;
    recorded recorded = again_record("contended");
    assert_int_equal(recorded_count(&recorded, "owner/scene"), 2);
    assert_int_equal(recorded_count(&recorded, "owner/scene/left open"), 1);
    assert_int_equal(recorded_count(&recorded, "other/scene.wait"), 1);
    assert_int_equal(recorded_count(&recorded, "other/scene/inside"), 1);
    assert_int_equal(recorded_count(&recorded, "owner/scene.wait"), 0);
    const crn_span *wait = &recorded.trace->spans[recorded_find(&recorded, "other/scene.wait")];
    const crn_span *hold =
        &recorded.trace->spans[recorded_find(&recorded, "owner/scene/left open")];
    assert_true(wait->start <= hold->start && hold->start <= wait->end);
    assert_exclusive(&recorded, "owner/scene", "other/scene");
    assert_string_equal(crn_profile_note(recorded.profile, "lock.scene", ""), "scene.wait");
    assert_string_equal(crn_profile_note(recorded.profile, "misuses", ""), "0");
    recorded_free(&recorded);
}

static void a_condition_gives_the_mutex_up(void **state)
{
    (void)state;
    recorded recorded = again_record("conditional");
    uint32_t holds = recorded_count(&recorded, "owner/scene");
    assert_true(holds >= 2); /* more with spurious wake-ups */
    assert_int_equal(recorded_count(&recorded, "other/scene"), 1);
    assert_exclusive(&recorded, "owner/scene", "other/scene");
    assert_string_equal(crn_profile_note(recorded.profile, "misuses", ""), "0");
    recorded_free(&recorded);
}

static void a_wait_without_the_mutex_is_no_hold(void **state)
{
    (void)state;
    recorded recorded = again_record("misused");
    assert_int_equal(recorded_count(&recorded, "scene"), 2);
    assert_int_equal(recorded_count(&recorded, "owner/scene"), 2);
    assert_int_equal(recorded_count(&recorded, "owner/without/after"), 1);
    assert_string_equal(crn_profile_note(recorded.profile, "misuses", ""), "0");
    recorded_free(&recorded);
}

/* Without a profile. */
static void an_unprofiled_mutex_is_a_mutex(void **state)
{
    (void)state;
    again_run("contended", NULL, NULL, NULL, 0);
    again_run("conditional", NULL, NULL, NULL, 0);
    again_run("misused", NULL, NULL, NULL, 0);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holders_and_waiters_are_recorded),
        cmocka_unit_test(a_condition_gives_the_mutex_up),
        cmocka_unit_test(a_wait_without_the_mutex_is_no_hold),
        cmocka_unit_test(an_unprofiled_mutex_is_a_mutex),
    };
    /* The thread sanitizer would end the program for what `misused` does. */
    setenv("TSAN_OPTIONS", "report_mutex_bugs=0", 1);
    if (count > 1)
        return play(arguments[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
