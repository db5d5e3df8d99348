/* SPDX-License-Identifier: MIT
 *
 * test_query.c - functions by which a host queries its profile.
 */
#include <string.h>

#include "support/cases.h"
#include "support/profiles.h"

static void blocks_are_described_as_they_were_added(void **state)
{
    (void)state;
    setup s = setup_open(NULL, 0);
    char name[] = "walk", file[] = "tree.lua";
    cairn_block outer = cairn_block_add(s.profile, &(cairn_block_info){name, file, 12, 3, 0, 0});
    memset(name, 'x', 4); /* the strings were copied */
    memset(file, 'x', 4);
    cairn_block inner =
        cairn_block_add(s.profile, &(cairn_block_info){"step", NULL, 0, 0, outer, 0});
    cairn_block same =
        cairn_block_add(s.profile, &(cairn_block_info){"step", NULL, 0, 0, outer, 0});
    assert_int_equal(outer, 1);
    assert_int_equal(inner, 2);
    assert_int_equal(same, 3); /* not deduplicated */
    cairn_view *view = view_of(s.profile);
    const cairn_block_info *info = cairn_view_block(view, outer);
    assert_string_equal(info->name, "walk");
    assert_string_equal(info->file, "tree.lua");
    assert_int_equal(info->line, 12);
    assert_int_equal(info->column, 3);
    assert_int_equal(info->parent, CAIRN_BLOCK_ROOT);
    info = cairn_view_block(view, inner);
    assert_string_equal(info->name, "step");
    assert_int_equal(info->line, 0);
    assert_int_equal(info->parent, outer);
    assert_true(!info->file || !*info->file);
    assert_non_null(cairn_view_block(view, CAIRN_BLOCK_ROOT));
    assert_null(cairn_view_block(view, 4));
    assert_null(cairn_view_block(view, CAIRN_BLOCK_FOLDED - 1));
    cairn_view_close(view);
    setup_close(&s);
}

static void many_blocks_with_awkward_names(void **state)
{
    (void)state;
    setup s = setup_open(NULL, 0);
    enum { MANY = 50000 };
    static char long_name[70000];
    memset(long_name, 'n', sizeof(long_name) - 1);
    for (cairn_block block = 1; block <= MANY; block++) {
        const char *name = block % 3 == 0 ? "" : block % 1000 == 1 ? long_name : "naïve\n\"λ\"";
        assert_int_equal(cairn_block_add(s.profile, &(cairn_block_info){name, "f", block, 0, 0, 0}),
                         block);
    }
    cairn_view *view = view_of(s.profile);
    for (cairn_block block = 1; block <= MANY; block++)
        assert_int_equal(cairn_view_block(view, block)->line, block);
    assert_string_equal(cairn_view_block(view, 3)->name, "");
    assert_string_equal(cairn_view_block(view, 1001)->name, long_name);
    assert_string_equal(cairn_view_block(view, 2)->name, "naïve\n\"λ\"");
    cairn_view_close(view);
    setup_close(&s);
}

static void run_example(setup *s)
{
    /* 1 calls 2 three times; the last 2 calls 1 again, which calls 2: a cycle. */
    cairn_enter(s->strand, 1);
    cairn_enter(s->strand, 2);
    cairn_leave(s->strand);
    cairn_enter(s->strand, 2);
    cairn_leave(s->strand);
    cairn_enter(s->strand, 2);
    cairn_enter(s->strand, 1);
    cairn_enter(s->strand, 2);
    cairn_strand_unwind(s->strand, 0);
}

static void calls_are_asked_by_how_they_end(void **state)
{
    (void)state;
    setup s = setup_open(NULL, 3);
    run_example(&s);
    assert_int_equal(calls_ending_in(s.profile, "1"), 2);
    assert_int_equal(calls_ending_in(s.profile, "2"), 4);
    assert_int_equal(calls_ending_in(s.profile, "1 2"), 4);
    assert_int_equal(calls_ending_in(s.profile, "2 1"), 1);
    assert_int_equal(calls_ending_in(s.profile, "0 1 2"), 3);
    assert_int_equal(calls_ending_in(s.profile, "2 1 2"), 1); /* over the back edge */
    assert_int_equal(calls_ending_in(s.profile, "0 1 2 1 2"), 1);
    assert_int_equal(calls_ending_in(s.profile, "3"), 0);
    assert_int_equal(calls_ending_in(s.profile, "3 1"), 0);
    assert_int_equal(calls_ending_in(s.profile, "777"), 0);
    setup_close(&s);
}

static void a_sequence_need_not_be_canonical(void **state)
{
    (void)state;
    setup s = setup_open(NULL, 3);
    run_example(&s);
    cairn_view *view = view_of(s.profile);
    cairn_cost cost;
    assert_true(cairn_view_find(view, NULL, 0, &cost));
    assert_int_equal(cost.calls, 1);
    const cairn_block cycle[] = {1, 2, 1, 2};
    assert_true(cairn_view_find(view, cycle, 4, &cost));
    assert_int_equal(cost.calls, 4);
    assert_true(cairn_view_find(view, cycle, 3, &cost));
    assert_int_equal(cost.calls, 1);
    assert_false(cairn_view_find(view, cycle + 1, 1, &cost)); /* 2 was not called at the root */
    const cairn_block unknown[] = {1, 99};
    assert_false(cairn_view_find(view, unknown, 2, &cost));
    cairn_view_close(view);
    setup_close(&s);
}

static bool stop_at_second(void *data, const cairn_block *sequence, size_t length,
                           const cairn_cost *cost)
{
    (void)sequence;
    (void)length;
    (void)cost;
    return ++*(int *)data < 2;
}

static bool stop_at_first(void *data, const cairn_block *sequence, size_t length, cairn_block block,
                          size_t target_length, uint64_t calls)
{
    (void)sequence;
    (void)length;
    (void)block;
    (void)target_length;
    (void)calls;
    ++*(int *)data;
    return false;
}

static void a_visitor_can_stop_the_visit(void **state)
{
    (void)state;
    setup s = setup_open(NULL, 3);
    run_example(&s);
    cairn_view *view = view_of(s.profile);
    int visits = 0;
    cairn_view_contexts(view, stop_at_second, &visits);
    assert_int_equal(visits, 2);
    visits = 0;
    cairn_view_edges(view, stop_at_first, &visits);
    assert_int_equal(visits, 1);
    cairn_view_close(view);
    setup_close(&s);
}

typedef struct looking {
    const cairn_view *view;
    bool again, same;
} looking;

/* Finds the context by the path that it is visited with; perhaps visits all contexts in between. */
static bool look(void *data, const cairn_block *sequence, size_t length, const cairn_cost *cost)
{
    looking *l = data;
    cairn_cost found = {0};
    l->same &=
        cairn_view_find(l->view, sequence + 1, length - 1, &found) && found.calls == cost->calls;
    if (l->again)
        cairn_view_contexts(l->view, look, &(looking){.view = l->view, .same = true});
    return true;
}

static void a_visitor_can_visit_the_view_again(void **state)
{
    (void)state;
    setup s = setup_open(NULL, 5);
    /* A short path is visited between two longer ones that have a context in common. */
    const cairn_block paths[][4] = {{1, 3, 4}, {2}, {1, 3, 5}, {2, 3, 4}};
    for (size_t i = 0; i < COUNT(paths); i++) {
        for (const cairn_block *at = paths[i]; *at; at++)
            cairn_enter(s.strand, *at);
        cairn_strand_unwind(s.strand, 0);
    }
    cairn_view *view = view_of(s.profile);
    for (int again = 0; again < 2; again++) {
        looking l = {.view = view, .again = again, .same = true};
        cairn_view_contexts(view, look, &l);
        assert_true(l.same);
    }
    cairn_view_close(view);
    setup_close(&s);
}

static void a_view_is_a_snapshot(void **state)
{
    (void)state;
    setup s = setup_open(NULL, 3);
    run_example(&s);
    cairn_view *before = view_of(s.profile);
    run_example(&s);
    cairn_enter(s.strand, 3);
    cairn_view *after = view_of(s.profile);
    const cairn_block one = 1, three = 3;
    assert_int_equal(cairn_view_calls(before, &one, 1), 2);
    assert_int_equal(cairn_view_calls(after, &one, 1), 4);
    assert_int_equal(cairn_view_calls(before, &three, 1), 0);
    cairn_view_close(after);
    cairn_view_close(before);
    setup_close(&s);
}

static void errors_have_words(void **state)
{
    (void)state;
    for (int error = -3; error < 40; error++) {
        const char *text = cairn_error_text((cairn_error)error);
        assert_non_null(text);
        assert_true(strlen(text) > 3);
        assert_null(strchr(text, '\n'));
    }
    assert_string_not_equal(cairn_error_text(CAIRN_E_SPACE), cairn_error_text(CAIRN_E_MEMORY));
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(blocks_are_described_as_they_were_added),
        cmocka_unit_test(many_blocks_with_awkward_names),
        cmocka_unit_test(calls_are_asked_by_how_they_end),
        cmocka_unit_test(a_sequence_need_not_be_canonical),
        cmocka_unit_test(a_visitor_can_stop_the_visit),
        cmocka_unit_test(a_visitor_can_visit_the_view_again),
        cmocka_unit_test(a_view_is_a_snapshot),
        cmocka_unit_test(errors_have_words),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
