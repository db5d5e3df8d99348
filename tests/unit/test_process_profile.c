/* SPDX-License-Identifier: MIT
 *
 * test_process_profile.c - the process's own profile. Each case runs this program again, with a
 * task as argument and an environment of its own.
 */
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cairn/scope.h>
#include <cairn/wrap.h>

#include "support/again.h"
#include "support/cases.h"
#include "support/children.h"
#include "support/recorded.h"
#include "support/scratch.h"

enum { THREADS = 8, EACH = 200 };

/* ---- the program ---- */

static const char *role;

static int left = 1000; /* until exit_deep would end by itself */

static bool is_role(const char *name)
{
    return role && strcmp(role, name) == 0;
}

__attribute__((constructor)) static void before_main(void)
{
    CAIRN_SCOPE("constructor");
}

/* None within Cairn's own code, that a signal may have interrupted. */
static cairn_strand *strand_at_exit(void)
{
    return is_role("signal") ? NULL : cairn_thread_strand();
}

__attribute__((destructor)) static void after_main(void)
{
    CAIRN_SCOPE("destructor", .strand = strand_at_exit());
}

static void at_exit(void)
{
    CAIRN_SCOPE("at exit", .strand = strand_at_exit());
}

static void turn(int64_t i)
{
    CAIRN_SCOPE("turn", .iteration = i);
}

static void *turn_often(void *barrier)
{
    if (barrier)
        pthread_barrier_wait(barrier);
    for (int64_t i = 0; i < EACH; i++)
        turn(i);
    return NULL;
}

static void race_to_open(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, turn_often, &barrier);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    pthread_barrier_destroy(&barrier);
}

static void run_one_by_one(void)
{
    turn(0);
    for (int t = 0; t < 50; t++) {
        pthread_t thread;
        pthread_create(&thread, NULL, turn_often, NULL);
        pthread_join(thread, NULL);
    }
}

static pthread_key_t keys[2];

/* Runs in each round of destructors but the last, before or after the strand's own. */
static void destroy(void *value)
{
    CAIRN_SCOPE("thread's destructor");
    uintptr_t round = (uintptr_t)value;
    if (round < 6)
        pthread_setspecific(keys[round % 2], (void *)(round + 2));
}

static void *end_by_itself(void *before)
{
    CAIRN_SCOPE("ends by itself");
    pthread_setspecific(keys[1], (void *)(uintptr_t)1);
    if (before)
        pthread_exit(NULL);
    return NULL;
}

static void end_threads(void)
{
    pthread_key_create(&keys[0], destroy);
    turn(0);
    pthread_key_create(&keys[1], destroy);
    for (int t = 0; t < 20; t++) {
        pthread_t thread;
        pthread_create(&thread, NULL, end_by_itself, t % 2 ? keys : NULL);
        pthread_join(thread, NULL);
    }
}

static atomic_int running;

static void *turn_for_ever(void *data)
{
    (void)data;
    for (int64_t i = 0;; i++) {
        {
            CAIRN_SCOPE("outer", .iteration = i);
            turn(i);
        }
        atomic_fetch_add(&running, i == 0);
    }
    return NULL;
}

static void leave_threads(void)
{
    for (int t = 0; t < 3; t++) {
        pthread_t thread;
        pthread_create(&thread, NULL, turn_for_ever, NULL);
    }
    while (atomic_load(&running) < 3)
        sched_yield();
    turn(0);
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

static void leave_by_signal(int number)
{
    (void)number;
    exit(3);
}

/* New places all the time, so that it is often Cairn's own code that is interrupted. */
static void wait_for_signal(void)
{
    signal(SIGVTALRM, leave_by_signal);
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGVTALRM};
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    long ns = 1000000 + (long)getpid() * 7919 % 4000000;
    timer_settime(timer, 0, &(struct itimerspec){.it_value = {.tv_nsec = ns}}, NULL);
    for (unsigned i = 0;; i++) {
        char name[32];
        snprintf(name, sizeof name, "place %u", i);
        cairn_scope scope = cairn_scope_begin_named(cairn_thread_strand(), name, i);
        cairn_scope_end(&scope);
    }
}

static void wait_for(pid_t child)
{
    int status = 0;
    waitpid(child, &status, 0);
    check(status == 0);
}

static void fork_some(void)
{
    CAIRN_SCOPE("forks");
    pid_t idle = fork();
    if (idle == 0)
        exit(0);
    pid_t busy = fork();
    if (busy == 0) {
        CAIRN_SCOPE("in the child");
        race_to_open();
        exit(0);
    }
    pid_t fast = fork();
    if (fast == 0)
        _exit(0);
    wait_for(idle);
    wait_for(busy);
    wait_for(fast);
}

/* Another process that has the same environment, as this one records. */
static void start_another(void)
{
    CAIRN_SCOPE("starts another");
    pid_t child = fork();
    if (child == 0)
        again_begin("turn");
    wait_for(child);
}

static void turn_once(void)
{
    turn(0);
}

/* Until all others have started, too. */
static void turn_and_rest(void)
{
    char byte = 0;
    turn(0);
    CAIRN_SCOPE("rest");
    check(write(STDOUT_FILENO, &byte, 1) == 1 && read(STDIN_FILENO, &byte, 1) == 0);
}

/* 0 if nothing is profiled, and nothing was done to find out. */
static void see_nothing(void)
{
    CAIRN_SCOPE("nothing");
    CAIRN_SCOPE_INTEGER("nothing", 1);
    cairn_work work = cairn_wrap(free, &work);
    check(!cairn_process_profile() && !cairn_thread_strand() && work.run == free &&
          work.argument == &work);
}

static void exit_deep(void)
{
    CAIRN_SCOPE("deeper");
    if (--left == 990)
        exit(0);
    if (left)
        exit_deep();
}

static const again_role roles[] = {
    {"see nothing", see_nothing},   {"turn", turn_once},          {"race", race_to_open},
    {"one by one", run_one_by_one}, {"end threads", end_threads}, {"leave threads", leave_threads},
    {"signal", wait_for_signal},    {"fork", fork_some},          {"another", start_another},
    {"exit deep", exit_deep},       {"rest", turn_and_rest},
};

static int play(const char *name)
{
    role = name;
    atexit(at_exit);
    return again_play(roles, COUNT(roles), name);
}

/* ---- the cases ------------------------------------------------------------------------ */

static void without_a_capture_there_is_no_profile(void **state)
{
    (void)state;
    again_run("see nothing", NULL, "CAIRN_WALL", "exact", 0);
    again_run("see nothing", "", NULL, NULL, 0);
    again_run("see nothing", "/nowhere/at/all.cairn", NULL, NULL, 0);
}

static void it_is_opened_before_main_and_closed_after_it(void **state)
{
    (void)state;
    recorded recorded = again_record("turn");
    assert_int_equal(recorded_count(&recorded, "constructor"), 1);
    assert_int_equal(recorded_count(&recorded, "turn"), 1);
    assert_int_equal(recorded_count(&recorded, "at exit"), 1);
    assert_int_equal(recorded_count(&recorded, "destructor"), 1);
    assert_int_equal(recorded.trace->lane_count, 1);
    assert_string_equal(recorded.trace->lanes[0], "main");
    assert_non_null(strstr(crn_profile_note(recorded.profile, "command", ""), "turn turn"));
    recorded_free(&recorded);
}

static void threads_that_come_at_once_have_one(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < scale(20); i++) {
        recorded recorded = again_record("race");
        assert_int_equal(recorded_count(&recorded, "turn") + recorded.trace->dropped,
                         THREADS * EACH);
        assert_int_equal(recorded_calls(&recorded, "turn"), THREADS * EACH);
        recorded_free(&recorded);
    }
}

static void a_thread_that_has_ended_gives_its_lane_to_the_next(void **state)
{
    (void)state;
    recorded recorded = again_record("one by one");
    assert_int_equal(recorded_count(&recorded, "turn") + recorded.trace->dropped, 50 * EACH + 1);
    assert_int_equal(recorded.trace->lane_count, 2);
    assert_string_equal(crn_profile_note(recorded.profile, "strands", ""), "51");
    recorded_free(&recorded);
}

static void destructors_of_threads_come_before_the_strand_ends(void **state)
{
    (void)state;
    recorded recorded = again_record("end threads");
    assert_int_equal(recorded_count(&recorded, "ends by itself"), 20);
    assert_in_range(recorded_count(&recorded, "thread's destructor"), 2 * 20, 4 * 20);
    assert_int_equal(recorded.trace->lane_count, 2);
    recorded_free(&recorded);
}

static void threads_that_outlive_main_do_no_harm(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < scale(10); i++) {
        recorded recorded = again_record("leave threads");
        assert_true(recorded_count(&recorded, "outer") > 0);
        assert_int_equal(recorded_count(&recorded, "destructor"), 1);
        recorded_free(&recorded);
    }
}

static void exit_may_come_at_any_moment(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    scratch_path(path, "signal.cairn");
    for (uint64_t i = 0; !SANITIZED && i < scale(40); i++) {
        again_run("signal", path, NULL, NULL, 3);
        recorded recorded = recorded_load(path);
        recorded_free(&recorded);
        unlink(path);
    }
}

static void scopes_that_exit_leaves_end_there(void **state)
{
    (void)state;
    recorded recorded = again_record("exit deep");
    assert_int_equal(recorded_count(&recorded, "deeper"), 10);
    for (uint32_t s = 0; s < recorded.trace->span_count; s++)
        assert_false(recorded.trace->spans[s].open);
    recorded_free(&recorded);
}

/* x.PID.cairn beside x.cairn: captures of processes that the process of x.cairn started, with any
 * number. */
static void find_childs(glob_t *found, const char *path)
{
    char pattern[SCRATCH_PATH + 8];
    int stem = (int)(strlen(path) - strlen(".cairn"));
    snprintf(pattern, sizeof pattern, "%.*s.*.cairn", stem, path);
    int status = glob(pattern, 0, NULL, found);
    assert_true(status == 0 || status == GLOB_NOMATCH);
}

static void children_have_their_own(void **state)
{
    (void)state;
    skip_where_emulated();
    char path[SCRATCH_PATH], childs[SCRATCH_PATH] = "";
    again_run("fork", scratch_path(path, "forks.cairn"), NULL, NULL, 0);
    glob_t found_files;
    find_childs(&found_files, path);
    assert_in_range(found_files.gl_pathc, 1, 2); /* the idle one runs its destructors */
    for (size_t i = 0; i < found_files.gl_pathc; i++) {
        recorded recorded = recorded_load(found_files.gl_pathv[i]);
        if (recorded_count(&recorded, "in the child")) {
            assert_int_equal(recorded_count(&recorded, "turn"), THREADS * EACH);
            strcpy(childs, found_files.gl_pathv[i]);
        }
        recorded_free(&recorded);
    }
    globfree(&found_files);
    recorded own = recorded_load(path), recorded = recorded_load(childs);
    assert_int_equal(recorded_count(&own, "turn"), 0);
    assert_string_equal(crn_profile_note(own.profile, "trace_id", "a"),
                        crn_profile_note(recorded.profile, "trace_id", "b"));
    uint32_t asked = recorded_find(&recorded, "in the child");
    bool found = false;
    for (uint32_t r = 0; r < recorded.trace->remote_count; r++)
        found |= recorded.trace->remotes[r].span == asked &&
                 recorded.trace->remotes[r].parent ==
                     (own.trace->processes[0].span_key ^
                      (own.trace->origins[0] + recorded_find(&own, "forks")));
    assert_true(found);
    recorded_free(&own);
    recorded_free(&recorded);
}

static void a_started_process_does_not_touch_the_parents_file(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    again_run("another", scratch_path(path, "another.cairn"), NULL, NULL, 0);
    recorded own = recorded_load(path);
    assert_int_equal(recorded_count(&own, "starts another"), 1);
    assert_int_equal(recorded_count(&own, "turn"), 0);
    recorded_free(&own);
    glob_t childs;
    find_childs(&childs, path);
    assert_int_equal(childs.gl_pathc, 1);
    recorded other = recorded_load(childs.gl_pathv[0]);
    assert_int_equal(recorded_count(&other, "turn"), 1);
    recorded_free(&other);
    globfree(&childs);
    again_run("turn", path, NULL, NULL, 0); /* that one has ended: it is replaced */
    own = recorded_load(path);
    assert_int_equal(recorded_count(&own, "turn"), 1);
    recorded_free(&own);
}

static pid_t start_behind(const char *path, const int gate[2], int told, int over)
{
    char byte;
    pid_t child = fork();
    if (child != 0)
        return child;
    close(gate[1]);
    setenv("CAIRN_OUT", path, 1);
    if (dup2(over, STDIN_FILENO) == STDIN_FILENO && dup2(told, STDOUT_FILENO) == STDOUT_FILENO &&
        read(gate[0], &byte, 1) == 0)
        again_begin("rest");
    _exit(WRONG);
}

static void start_at_once(const char *path, pid_t children[THREADS])
{
    int gate[2], told[2], over[2], status;
    char byte;
    assert_int_equal(pipe2(gate, O_CLOEXEC) | pipe2(told, O_CLOEXEC) | pipe2(over, O_CLOEXEC), 0);
    for (int c = 0; c < THREADS; c++)
        children[c] = start_behind(path, gate, told[1], over[0]);
    close(gate[0]);
    close(gate[1]);
    close(told[1]);
    close(over[0]);
    for (int c = 0; c < THREADS; c++)
        assert_int_equal(read(told[0], &byte, 1), 1);
    close(over[1]);
    close(told[0]);
    for (int c = 0; c < THREADS; c++) {
        assert_int_equal(waitpid(children[c], &status, 0), children[c]);
        assert_int_equal(status, 0);
    }
}

static int turned_and_rested(const char *path)
{
    if (!scratch_exists(path))
        return 0;
    recorded recorded = recorded_load(path);
    assert_string_equal(crn_profile_note(recorded.profile, "state", ""), "closed");
    assert_int_equal(recorded_count(&recorded, "turn"), 1);
    assert_int_equal(recorded_count(&recorded, "rest"), 1);
    recorded_free(&recorded);
    return 1;
}

/* One has the path, and the others have their own beside it: where nothing was, where there is a
 * capture to be replaced, and where an empty file is. */
static void processes_started_at_once_have_a_capture_each(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < 20; round++) {
        char path[SCRATCH_PATH], other[SCRATCH_PATH], file[64];
        pid_t children[THREADS];
        snprintf(file, sizeof file, "at-once-%d.cairn", (int)round);
        scratch_path(path, file);
        if (round % 3 == 1)
            again_run("turn", path, NULL, NULL, 0);
        else if (round % 3 == 2)
            assert_true(scratch_write(path, "", 0));
        start_at_once(path, children);
        assert_int_equal(turned_and_rested(path), 1);
        int beside = 0;
        for (int c = 0; c < THREADS; c++)
            beside += turned_and_rested(child_path(other, path, children[c]));
        assert_int_equal(beside, THREADS - 1);
    }
}

static void the_environment_sets_options(void **state)
{
    (void)state;
    static const struct {
        const char *variable, *value, *note, *noted;
    } variables[] = {
        {"CAIRN_WALL", "exact", "wall", "exact"},
        {"CAIRN_WALL", "off", "wall", "off"},
        {"CAIRN_CPU", "sampled", "cpu", "sampled"},
        {"CAIRN_PERIOD", "123000", "sample_period_ns", "123000"},
        {"CAIRN_TICKS", "77", "tick_period", "77"},
        {"CAIRN_PATH_LIMIT", "9", "path_limit", "9"},
        {"CAIRN_CONTEXT_BUDGET", "99", "context_budget", "99"},
        {"CAIRN_LABELS", "branch=main\nother=1", "branch", "main"},
        {"CAIRN_WALL", "fast", "not_understood", "CAIRN_WALL"},
        {"CAIRN_TICKS", "0", "not_understood", "CAIRN_TICKS"},
        {"CAIRN_TICKS", "-1", "not_understood", "CAIRN_TICKS"},
        {"CAIRN_FILE_LIMIT", "99999999999999999999", "not_understood", "CAIRN_FILE_LIMIT"},
        {"CAIRN_SPAN_RATE", "nan", "not_understood", "CAIRN_SPAN_RATE"},
        {"CAIRN_SPANS", "", "not_understood", ""},
        {"CAIRN_SPAN_CPU", "1", "not_understood", ""},
        {"CAIRN_SPAN_CPU", "yes", "not_understood", "CAIRN_SPAN_CPU"},
    };
    char path[SCRATCH_PATH];
    scratch_path(path, "options.cairn");
    for (size_t i = 0; i < COUNT(variables); i++) {
        again_run("turn", path, variables[i].variable, variables[i].value, 0);
        recorded recorded = recorded_load(path);
        assert_string_equal(crn_profile_note(recorded.profile, variables[i].note, ""),
                            variables[i].noted);
        assert_int_equal(recorded_count(&recorded, "turn"), 1);
        recorded_free(&recorded);
    }
    again_run("turn", path, "CAIRN_SPANS", "off", 0);
    recorded recorded = recorded_load(path);
    assert_int_equal(recorded.trace->span_count, 0);
    assert_int_equal(recorded_calls(&recorded, "turn"), 1);
    recorded_free(&recorded);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_capture_there_is_no_profile),
        cmocka_unit_test(it_is_opened_before_main_and_closed_after_it),
        cmocka_unit_test(threads_that_come_at_once_have_one),
        cmocka_unit_test(a_thread_that_has_ended_gives_its_lane_to_the_next),
        cmocka_unit_test(destructors_of_threads_come_before_the_strand_ends),
        cmocka_unit_test(threads_that_outlive_main_do_no_harm),
        cmocka_unit_test(exit_may_come_at_any_moment),
        cmocka_unit_test(scopes_that_exit_leaves_end_there),
        cmocka_unit_test(children_have_their_own),
        cmocka_unit_test(a_started_process_does_not_touch_the_parents_file),
        cmocka_unit_test(processes_started_at_once_have_a_capture_each),
        cmocka_unit_test(the_environment_sets_options),
    };
    if (count > 1)
        return play(arguments[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
