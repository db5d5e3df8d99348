/* SPDX-License-Identifier: MIT
 *
 * test_async.c - asynchronous spans: parents, attributes, lanes and lengths. Each case runs this
 * program again, with a task as argument.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/async.h>

#include "support/again.h"
#include "support/cases.h"
#include "support/clock.h"

enum { MS = 1000000, MANY = 300 };

static cairn_async requests[MANY];

static void run_thread(void *(*run)(void *), void *data)
{
    pthread_t thread;
    check(pthread_create(&thread, NULL, run, data) == 0);
    check(pthread_join(thread, NULL) == 0);
}

/* Works for the first request, then ends it. */
static void *reply(void *data)
{
    CAIRN_SCOPE("server");
    {
        CAIRN_ASYNC_ADOPT(requests[0]);
        CAIRN_SCOPE("parse");
    }
    CAIRN_SCOPE_INTEGER("status", 200, cairn_async_strand(requests[0]));
    cairn_async_end(&requests[0]);
    return data;
}

/* The second request begins and ends within the first; both outlive the scope "main". */
static void overlap(void)
{
    {
        CAIRN_SCOPE("main");
        requests[0] = CAIRN_ASYNC_BEGIN("request", .iteration = 7);
        CAIRN_SCOPE("inner");
        requests[1] = CAIRN_ASYNC_BEGIN("other request");
        CAIRN_SCOPE_TEXT("of", "inner");
        CAIRN_SCOPE_TEXT("path", "/b", cairn_async_strand(requests[1]));
    }
    sleep_ms(10);
    cairn_async_end(&requests[1]);
    sleep_ms(10);
    run_thread(reply, NULL);
    cairn_async_end(&requests[0]); /* again: nothing */
    CAIRN_SCOPE("later");
    cairn_async again = CAIRN_ASYNC_BEGIN("request", .iteration = 8);
    CAIRN_SCOPE("not below");
    cairn_async_end(&again);
}

static void *end_all(void *data)
{
    for (int i = 0; i < MANY; i++)
        cairn_async_end(&requests[i]);
    return data;
}

/* Three times as many spans as are open at once. */
static void many(void)
{
    CAIRN_SCOPE("main");
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++)
            requests[i] = CAIRN_ASYNC_BEGIN("request", .iteration = i);
        run_thread(end_all, NULL);
    }
}

static void too_many(void)
{
    static cairn_async spans[CAIRN_ASYNC_MAX + 3]; /* still open at the end */
    CAIRN_SCOPE("main");
    for (int i = 0; i < CAIRN_ASYNC_MAX + 3; i++) {
        spans[i] = CAIRN_ASYNC_BEGIN("request");
        check((spans[i].strand != NULL) == (i < CAIRN_ASYNC_MAX && getenv("CAIRN_OUT")));
        CAIRN_SCOPE_INTEGER("number", i, cairn_async_strand(spans[i]));
    }
}

/* As many spans as may be open at once, of one name and, once they have ended, of another. */
static void two_names(void)
{
    static cairn_async spans[CAIRN_ASYNC_MAX];
    CAIRN_SCOPE("main");
    for (int i = 0; i < CAIRN_ASYNC_MAX; i++)
        spans[i] = CAIRN_ASYNC_BEGIN("request");
    for (int i = 0; i < CAIRN_ASYNC_MAX; i++)
        cairn_async_end(&spans[i]);
    for (int i = 0; i < CAIRN_ASYNC_MAX; i++)
        spans[i] = CAIRN_ASYNC_BEGIN("reply");
    for (int i = 0; i < CAIRN_ASYNC_MAX; i++)
        cairn_async_end(&spans[i]);
    cairn_async again = CAIRN_ASYNC_BEGIN("request");
    cairn_async_end(&again);
}

/* A child ends its parent's span, which changes nothing, and has one of its own. */
static void fork_between(void)
{
    CAIRN_SCOPE("main");
    cairn_async span = CAIRN_ASYNC_BEGIN("request");
    pid_t child = fork();
    if (child == 0) {
        cairn_async_end(&span);
        cairn_async own = CAIRN_ASYNC_BEGIN("request");
        check(own.strand || !getenv("CAIRN_OUT"));
        cairn_async_end(&own);
        _exit(0);
    }
    int status;
    check(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    sleep_ms(20);
    cairn_async_end(&span);
}

static cairn_scope moved;

static void *end_moved(void *data)
{
    CAIRN_SCOPE("ends");
    check(!cairn_scope_aim(&moved)); /* an attribute is refused */
    cairn_scope_end(&moved);
    CAIRN_SCOPE("goes on");
    return data;
}

/* A scope that another thread ends: it stays open up to the end of the enclosing one. */
static void stray(void)
{
    CAIRN_SCOPE("main");
    {
        CAIRN_SCOPE("outer");
        moved = CAIRN_SCOPE_BEGIN("moved");
        run_thread(end_moved, NULL);
        CAIRN_SCOPE_INTEGER("still", 1);
        sleep_ms(5);
    }
    CAIRN_SCOPE("after");
}

static const again_role roles[] = {{"overlap", overlap},   {"many", many},
                                   {"too many", too_many}, {"two names", two_names},
                                   {"fork", fork_between}, {"stray", stray}};

static const crn_span *span_of(const recorded *recorded, const char *path)
{
    uint32_t span = recorded_find(recorded, path);
    assert_int_not_equal(span, CRN_SPAN_NONE);
    return &recorded->trace->spans[span];
}

static double length_ms(const crn_span *span)
{
    return (double)(span->end - span->start) / MS;
}

static void spans_overlap_and_outlive_their_scope(void **state)
{
    (void)state;
    recorded recorded = again_record("overlap");
    const crn_span *first = span_of(&recorded, "main/request");
    const crn_span *second = span_of(&recorded, "main/inner/other request");
    const crn_span *outer = span_of(&recorded, "main");
    assert_int_equal(first->iteration, 7);
    assert_true(length_ms(first) >= 20 && length_ms(second) >= 10);
    assert_true(second->end < first->end && outer->end < second->end);
    assert_int_not_equal(first->lane, second->lane);
    assert_int_not_equal(first->lane, outer->lane);
    assert_string_equal(recorded.trace->lanes[first->lane], "request");
    assert_int_equal(recorded_count(&recorded, "main/request/parse"), 1);
    assert_int_equal(recorded_count(&recorded, "later/not below"), 1);
    const crn_span *later = span_of(&recorded, "later/request");
    assert_int_equal(later->iteration, 8);
    assert_int_equal(later->lane, first->lane);
    assert_int_equal(recorded_calls(&recorded, "request"), 2);
    assert_string_equal(crn_profile_note(recorded.profile, "misuses", ""), "0");
    assert_string_equal(crn_profile_note(recorded.profile, "async.request", ""), "1");
    recorded_free(&recorded);
}

static void attributes_are_those_of_the_span(void **state)
{
    (void)state;
    recorded recorded = again_record("overlap");
    uint32_t first = recorded_find(&recorded, "main/request");
    uint32_t second = recorded_find(&recorded, "main/inner/other request");
    assert_string_equal(recorded_attribute(&recorded, first, "status"), "200");
    assert_string_equal(recorded_attribute(&recorded, second, "path"), "/b");
    assert_string_equal(recorded_attribute(&recorded, second, "of"), "");
    assert_string_equal(recorded_attribute(&recorded, recorded_find(&recorded, "main/inner"), "of"),
                        "inner");
    assert_string_equal(recorded_attribute(&recorded, recorded_find(&recorded, "server"), "status"),
                        "");
    recorded_free(&recorded);
}

static void lanes_are_used_again(void **state)
{
    (void)state;
    recorded recorded = again_record("many");
    assert_int_equal(recorded_count(&recorded, "main/request"), 3 * MANY);
    uint32_t lanes = 0;
    for (uint32_t l = 0; l < recorded.trace->lane_count; l++)
        lanes += strcmp(recorded.trace->lanes[l], "request") == 0;
    assert_int_equal(lanes, MANY);
    for (uint32_t s = 0; s < recorded.trace->span_count; s++)
        assert_false(recorded.trace->spans[s].open);
    recorded_free(&recorded);
}

static void spans_beyond_the_limit_are_counted(void **state)
{
    (void)state;
    recorded recorded = again_record("too many");
    assert_int_equal(recorded_count(&recorded, "main/request"), CAIRN_ASYNC_MAX);
    assert_string_equal(crn_profile_note(recorded.profile, "async_dropped", ""), "3");
    recorded_free(&recorded);
}

static void only_open_spans_count_for_the_limit(void **state)
{
    (void)state;
    recorded recorded = again_record("two names");
    assert_int_equal(recorded_count(&recorded, "main/request"), CAIRN_ASYNC_MAX + 1);
    assert_int_equal(recorded_count(&recorded, "main/reply"), CAIRN_ASYNC_MAX);
    assert_null(crn_profile_note(recorded.profile, "async_dropped", NULL));
    recorded_free(&recorded);
}

static void a_child_does_not_end_its_parents_span(void **state)
{
    (void)state;
    skip_where_emulated();
    recorded recorded = again_record("fork");
    assert_int_equal(recorded_count(&recorded, "main/request"), 1);
    assert_true(length_ms(span_of(&recorded, "main/request")) >= 20);
    recorded_free(&recorded);
}

static void a_scope_that_another_thread_ends_is_named(void **state)
{
    (void)state;
    recorded recorded = again_record("stray");
    const char *note = crn_profile_note(recorded.profile, "stray", "");
    assert_non_null(strstr(note, "\"moved\""));
    assert_non_null(strstr(note, "test_async.c:"));
    assert_string_equal(crn_profile_note(recorded.profile, "misuses", ""), "2");
    uint32_t inner = recorded_find(&recorded, "main/outer/moved");
    assert_string_equal(recorded_attribute(&recorded, inner, "still"), "1");
    assert_true(length_ms(&recorded.trace->spans[inner]) >= 5);
    assert_true(recorded.trace->spans[inner].end <= span_of(&recorded, "main/outer")->end);
    assert_int_equal(recorded_count(&recorded, "ends/goes on"), 1);
    assert_int_equal(recorded_count(&recorded, "main/after"), 1);
    recorded_free(&recorded);
}

static void without_a_profile_nothing_happens(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(roles); i++)
        again_run(roles[i].name, NULL, NULL, NULL, 0);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_overlap_and_outlive_their_scope),
        cmocka_unit_test(attributes_are_those_of_the_span),
        cmocka_unit_test(lanes_are_used_again),
        cmocka_unit_test(spans_beyond_the_limit_are_counted),
        cmocka_unit_test(only_open_spans_count_for_the_limit),
        cmocka_unit_test(a_child_does_not_end_its_parents_span),
        cmocka_unit_test(a_scope_that_another_thread_ends_is_named),
        cmocka_unit_test(without_a_profile_nothing_happens),
    };
    if (count > 1)
        return again_play(roles, COUNT(roles), arguments[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
