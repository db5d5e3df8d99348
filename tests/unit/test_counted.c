/* SPDX-License-Identifier: MIT
 *
 * test_counted.c - calls recorded by counter trees, compared with the same calls recorded by enter
 * and leave.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/host.h>

#include "profile/profile.h"
#include "support/cases.h"
#include "support/children.h"
#include "support/profiles.h"
#include "support/random.h"
#include "support/recorded.h"
#include "support/scratch.h"

enum { BLOCKS = 7, NODES_MOST = 12, TREES = 5, DEPTH = 9 };

typedef struct inlined {
    cairn_priv_node nodes[NODES_MOST];
    uint32_t count, number;
} inlined;

static void draw_tree(inlined *tree, random_source *random)
{
    tree->count = 1 + random_below(random, NODES_MOST);
    for (uint32_t i = 0; i < tree->count; i++)
        tree->nodes[i] = (cairn_priv_node){(uint16_t)random_below(random, i + 1), 0,
                                           1 + random_below(random, BLOCKS)};
    for (uint32_t i = 1; i < tree->count; i++) {
        uint16_t same = (uint16_t)random_below(random, i + 1);
        if (random_below(random, 2) && same && !tree->nodes[same - 1].same)
            tree->nodes[i].same = same;
    }
}

static uint32_t counter_of(const inlined *tree, uint32_t node)
{
    uint32_t same = tree->nodes[node - 1].same;
    return same ? same : node;
}

static void call_alone(cairn_strand *strand, const inlined *tree, uint32_t node)
{
    cairn_mark mark = cairn_strand_mark(strand);
    cairn_block path[NODES_MOST];
    uint32_t first = NODES_MOST;
    for (uint32_t at = tree->nodes[node - 1].above; at; at = tree->nodes[at - 1].above)
        path[--first] = tree->nodes[at - 1].block;
    cairn_priv_enter_path(strand, path + first, NODES_MOST - first);
    cairn_enter(strand, tree->nodes[node - 1].block);
    cairn_strand_unwind(strand, mark);
}

/* Calls the other nodes that share the node's counter, with their ancestors. */
static void call_others(cairn_strand *strand, const inlined *tree, uint32_t node)
{
    for (; node; node = tree->nodes[node - 1].above)
        for (uint32_t other = 1; other <= tree->count; other++)
            if (other != node && counter_of(tree, other) == counter_of(tree, node))
                call_alone(strand, tree, other);
}

/* Calls the ancestors of a node, then the node: the reference enters each of them. */
static void enter_all(cairn_strand *strand, const inlined *tree, uint32_t node)
{
    call_others(strand, tree, node);
    cairn_mark mark = cairn_strand_mark(strand);
    uint32_t path[NODES_MOST], length = 0;
    for (; node; node = tree->nodes[node - 1].above)
        path[length++] = node;
    while (length)
        cairn_enter(strand, tree->nodes[path[--length] - 1].block);
    cairn_strand_unwind(strand, mark);
}

static void count_all(cairn_strand *strand, const inlined *tree, uint32_t node)
{
    uint64_t *counters = cairn_priv_tree_counters(strand, tree->number);
    assert_non_null(counters);
    for (; node; node = tree->nodes[node - 1].above)
        counters[counter_of(tree, node) - 1]++;
}

/* Runs a call that is made within a node: below all ancestors of the node. */
static void call_from(cairn_strand *strand, const inlined *tree, uint32_t node, bool enters,
                      cairn_block block)
{
    cairn_block path[NODES_MOST];
    uint32_t length = NODES_MOST;
    if (enters)
        call_others(strand, tree, node);
    cairn_mark mark = cairn_strand_mark(strand);
    uint32_t chain[NODES_MOST], count = 0;
    for (uint32_t at = node; at; at = tree->nodes[at - 1].above) {
        path[--length] = tree->nodes[at - 1].block;
        chain[count++] = at;
    }
    if (enters) {
        while (count)
            cairn_enter(strand, tree->nodes[chain[--count] - 1].block);
    } else {
        count_all(strand, tree, node);
        cairn_priv_enter_path(strand, path + length, NODES_MOST - length);
        assert_int_equal(cairn_strand_mark(strand), mark + 1);
    }
    cairn_enter(strand, block);
    cairn_strand_unwind(strand, mark);
}

static void walk(setup *s, const inlined *trees, bool enters, uint64_t seed, uint32_t steps)
{
    random_source random = {seed};
    for (uint32_t i = 0; i < steps; i++) {
        const inlined *tree = &trees[random_below(&random, TREES)];
        uint32_t node = 1 + random_below(&random, tree->count);
        cairn_block block = 1 + random_below(&random, BLOCKS);
        switch (random_below(&random, 5)) {
        case 0:
            if (cairn_strand_mark(s->strand) < DEPTH)
                cairn_enter(s->strand, block);
            break;
        case 1:
            if (cairn_strand_mark(s->strand))
                cairn_leave(s->strand);
            break;
        case 2:
            call_from(s->strand, tree, node, enters, block);
            break;
        default:
            (enters ? enter_all : count_all)(s->strand, tree, node);
        }
    }
}

static bool is_the_same(void *data, const cairn_block *sequence, size_t length,
                        const cairn_cost *cost)
{
    cairn_cost other = {0};
    if (length > 1 && cost->calls) {
        assert_true(cairn_view_find(data, sequence + 1, length - 1, &other));
        assert_int_equal(other.calls, cost->calls);
    }
    return true;
}

static void compare(cairn_profile *one, cairn_profile *other)
{
    cairn_view *views[2];
    assert_int_equal(cairn_view_open(&views[0], one), CAIRN_OK);
    assert_int_equal(cairn_view_open(&views[1], other), CAIRN_OK);
    cairn_view_contexts(views[0], is_the_same, views[1]);
    cairn_view_contexts(views[1], is_the_same, views[0]);
    cairn_view_close(views[0]);
    cairn_view_close(views[1]);
    assert_int_equal(total_of(one).calls, total_of(other).calls);
}

static setup open_with(inlined *trees, const char *path)
{
    cairn_options options = path_options(path);
    setup s = setup_open(&options, BLOCKS);
    for (int i = 0; i < TREES; i++) {
        trees[i].number = cairn_priv_tree_add(s.profile, trees[i].nodes, trees[i].count);
        assert_int_not_equal(trees[i].number, 0);
    }
    return s;
}

static void counters_count_as_enters_do(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        char path[SCRATCH_PATH];
        random_source random = {seed};
        inlined trees[TREES];
        for (int i = 0; i < TREES; i++)
            draw_tree(&trees[i], &random);
        setup reference = setup_open(NULL, BLOCKS);
        setup s = open_with(trees, scratch_path(path, "counted.cairn"));
        walk(&reference, trees, true, seed, 4000);
        walk(&s, trees, false, seed, 4000);
        compare(reference.profile, s.profile);
        cairn_profile_reset(reference.profile);
        cairn_profile_reset(s.profile);
        assert_int_equal(total_of(s.profile).calls, 1);
        walk(&reference, trees, true, seed + 100, 1000);
        walk(&s, trees, false, seed + 100, 1000);
        compare(reference.profile, s.profile);
        char copy[SCRATCH_PATH];
        assert_int_equal(cairn_profile_snapshot(s.profile, scratch_path(copy, "copy.cairn")),
                         CAIRN_OK);
        uint64_t calls = total_of(s.profile).calls;
        setup_close(&reference);
        setup_close(&s);
        const char *const captures[] = {path, copy};
        for (int i = 0; i < 2; i++) {
            crn_profile *profile = recorded_profile(captures[i]);
            uint64_t loaded = 0;
            for (uint32_t c = 0; c < profile->context_count; c++)
                loaded += profile->values[CRN_METRIC_CALLS][c];
            assert_int_equal(loaded, calls);
            crn_profile_free(profile);
        }
    }
}

static void nothing_is_counted_that_cannot_be(void **state)
{
    (void)state;
    setup s = setup_open(NULL, BLOCKS);
    const cairn_priv_node wrong[] = {{0, 0, 1}, {2, 0, 1}}, right[] = {{0, 0, 1}, {1, 0, 2}};
    const cairn_priv_node later[] = {{0, 2, 1}, {1, 0, 2}};
    const cairn_priv_node twice[] = {{0, 0, 1}, {1, 1, 2}, {1, 2, 3}};
    assert_int_equal(cairn_priv_tree_add(s.profile, wrong, 2), 0);
    assert_int_equal(cairn_priv_tree_add(s.profile, later, 2), 0);
    assert_int_equal(cairn_priv_tree_add(s.profile, twice, 3), 0);
    assert_int_equal(cairn_priv_tree_add(s.profile, right, 0), 0);
    assert_int_equal(cairn_priv_tree_add(NULL, right, 2), 0);
    uint32_t number = cairn_priv_tree_add(s.profile, right, 2);
    cairn_profile_disable(s.profile);
    assert_null(cairn_priv_tree_counters(s.strand, number));
    cairn_profile_enable(s.profile);
    uint64_t *counters = cairn_priv_tree_counters(s.strand, number);
    assert_non_null(counters);
    assert_ptr_equal(counters, cairn_priv_tree_counters(s.strand, number));
    counters[1] = 3;
    assert_int_equal(cost_at(s.profile, "1 2").calls, 3);
    assert_int_equal(cost_at(s.profile, "1").calls, 0);
    setup_close(&s);
}

static uint64_t calls_of(const char *path)
{
    crn_error error = {0};
    crn_profile *profile = crn_profile_load(path, &error);
    uint64_t calls = 0;
    for (uint32_t c = 0; profile && c < profile->context_count; c++)
        calls += profile->values[CRN_METRIC_CALLS][c];
    crn_profile_free(profile);
    return calls;
}

/* Functions that are active at a fork keep the addresses of their counters. */
static void counters_keep_their_address_in_a_child(void **state)
{
    (void)state;
    char path[SCRATCH_PATH], own[SCRATCH_PATH + 16];
    inlined trees[TREES];
    random_source random = {7};
    for (int i = 0; i < TREES; i++)
        draw_tree(&trees[i], &random);
    setup s = open_with(trees, scratch_path(path, "forked.cairn"));
    cairn_enter(s.strand, 1);
    cairn_enter(s.strand, 2);
    uint64_t *counters = cairn_priv_tree_counters(s.strand, trees[0].number);
    uint32_t nodes = 0; /* nodes that share the first counter */
    for (uint32_t node = 1; node <= trees[0].count; node++)
        nodes += counter_of(&trees[0], node) == 1;
    counters[0] += 5;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        counters[0] += 2;         /* before there is a capture */
        cairn_enter(s.strand, 3); /* now there is one */
        cairn_leave(s.strand);
        counters[0] += 4;
        bool same = cairn_priv_tree_counters(s.strand, trees[0].number) == counters;
        cairn_profile_close(s.profile);
        _exit(same ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    child_path(own, path, child);
    assert_int_equal(calls_of(own), 1 + 1 + 6 * nodes); /* the root, 3, and the inlined functions */
    counters[0]++;
    setup_close(&s);
    assert_int_equal(calls_of(path), 1 + 2 + 6 * nodes);
    unlink(own);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(counters_count_as_enters_do),
        cmocka_unit_test(nothing_is_counted_that_cannot_be),
        cmocka_unit_test(counters_keep_their_address_in_a_child),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
