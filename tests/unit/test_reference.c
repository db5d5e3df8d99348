/* SPDX-License-Identifier: MIT
 *
 * test_reference.c - the reference implementation, compared with examples worked out by hand and
 * with the definition.
 */
#include <stdlib.h>
#include <string.h>

#include "support/cases.h"
#include "support/random.h"
#include "support/reference.h"
#include "support/streams.h"

/* Appends the letters of `word` one by one. The result is written over `path`. */
static uint32_t canonical(const char *word, uint32_t *path)
{
    uint32_t length = 0;
    for (; *word; word++) {
        path[length++] = (uint32_t)*word;
        length = reference_canonical_length(path, length);
    }
    return length;
}

static void words_fold_as_by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *word, *folded;
    } examples[] = {
        {"abcccdedef", "abcdef"}, {"a", "a"},           {"aaaa", "a"},
        {"abab", "ab"},           {"aba", "aba"},       {"abaab", "ab"},
        {"abcabcabc", "abc"},     {"abcb", "abcb"},     {"abcbc", "abc"},
        {"xabcbabc", "xabcbabc"}, {"abcbabcb", "abcb"},
    };
    for (size_t i = 0; i < COUNT(examples); i++) {
        uint32_t path[32];
        uint32_t length = canonical(examples[i].word, path);
        assert_int_equal(length, strlen(examples[i].folded));
        for (uint32_t j = 0; j < length; j++)
            assert_int_equal(path[j], examples[i].folded[j]);
    }
}

/* The rule is unambiguous: of a square-free path and one more block, at most one suffix repeats,
 * and dropping it leaves a square-free path. */
static void at_most_one_suffix_repeats(void **state)
{
    (void)state;
    random_source random = {7};
    for (int round = 0; round < 2000; round++) {
        uint32_t blocks = 2 + random_below(&random, 4);
        uint32_t path[61], length = 0;
        for (int step = 0; step < 60; step++) {
            path[length++] = random_below(&random, blocks);
            int repeats = 0;
            for (uint32_t k = 1; 2 * k <= length; k++)
                repeats += memcmp(path + length - k, path + length - 2 * k, 4 * k) == 0;
            assert_in_range(repeats, 0, 1);
            length = reference_canonical_length(path, length);
            assert_true(reference_is_canonical(path, length));
        }
    }
}

static void the_square_free_word_is_square_free(void **state)
{
    (void)state;
    static uint32_t word[3000];
    for (uint32_t i = 0; i < 3000; i++)
        word[i] = stream_square_free(100000 + i);
    assert_true(reference_is_canonical(word, 3000));
}

static void calls_and_returns_are_counted_on_edges(void **state)
{
    (void)state;
    reference_graph graph;
    reference_strand strand;
    reference_graph_start(&graph, 1024, 1000);
    reference_strand_start(&strand, &graph, true);
    for (int i = 0; i < 3; i++)
        reference_enter(&strand, 1, true); /* 1 calls itself twice */
    reference_tick(&strand, 5, true);
    reference_leave(&strand);
    reference_replace(&strand, 2, true);
    reference_unwind(&strand, 0);
    reference_leave(&strand); /* there is nothing to leave */
    assert_int_equal(strand.depth, 0);
    const uint32_t one[] = {0, 1}, two[] = {0, 1, 2};
    assert_int_equal(graph.context_count, 3);
    assert_int_equal(reference_graph_find(&graph, one, 2)->calls, 3);
    assert_int_equal(reference_graph_find(&graph, one, 2)->ticks, 5);
    assert_int_equal(reference_graph_find(&graph, two, 3)->calls, 1);
    assert_int_equal(reference_graph_edge(&graph, one, 1, 1)->calls, 1);
    assert_int_equal(reference_graph_edge(&graph, one, 2, 1)->calls, 2);
    assert_null(reference_graph_edge(&graph, one, 2, 3));
    reference_strand_end(&strand);
    reference_graph_end(&graph);
}

static void limits_fold(void **state)
{
    (void)state;
    reference_graph graph;
    reference_strand strand;
    reference_graph_start(&graph, 4, 1000);
    reference_strand_start(&strand, &graph, true);
    for (uint32_t block = 1; block <= 4; block++)
        reference_enter(&strand, block, true); /* the fourth would make a path of 5 */
    const uint32_t folded[] = {0, REFERENCE_FOLDED, 4};
    assert_int_equal(reference_graph_find(&graph, folded, 3)->calls, 1);
    reference_leave(&strand);
    reference_enter(&strand, 1, true); /* its nearest ancestor of the same block */
    const uint32_t one[] = {0, 1};
    assert_int_equal(reference_graph_find(&graph, one, 2)->calls, 2);
    assert_int_equal(graph.folded_edges, 2);
    reference_strand_end(&strand);
    reference_graph_end(&graph);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(words_fold_as_by_hand),
        cmocka_unit_test(at_most_one_suffix_repeats),
        cmocka_unit_test(the_square_free_word_is_square_free),
        cmocka_unit_test(calls_and_returns_are_counted_on_edges),
        cmocka_unit_test(limits_fold),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
