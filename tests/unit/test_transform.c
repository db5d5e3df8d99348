/* SPDX-License-Identifier: MIT
 *
 * Transforms of paths: compared with the same operations on explicit lists of blocks.
 */
#include <string.h>

#include "base/memory.h"
#include "profile/profile.h"
#include "support/cases.h"
#include "support/random_profile.h"

enum { BLOCKS = 7, EVENTS = 3000, PROFILES = 60 };

/* ---- the reference ---- */

typedef struct path {
    uint32_t length;
    bool gone;
    uint32_t *blocks;
} path;

static bool is_chosen(const crn_profile *profile, const crn_transform *transform, uint32_t block)
{
    bool whole_file = transform->kind != CRN_TRANSFORM_MERGE &&
                      transform->kind != CRN_TRANSFORM_COLLAPSE &&
                      *profile->blocks[transform->block].file;
    return block && (whole_file ? strcmp(profile->blocks[block].file,
                                         profile->blocks[transform->block].file) == 0
                                : block == transform->block);
}

/* Applies a transform to the list of blocks. */
static void apply(const crn_profile *profile, const crn_transform *transform, path *path)
{
    uint32_t kept = 0, first = 0;
    if (transform->kind == CRN_TRANSFORM_FOCUS_FILE) {
        while (first < path->length && !is_chosen(profile, transform, path->blocks[first]))
            first++;
        path->gone = path->gone || first == path->length;
    }
    for (uint32_t i = first; i < path->length; i++) {
        bool is = is_chosen(profile, transform, path->blocks[i]);
        bool below = i > first && is_chosen(profile, transform, path->blocks[i - 1]);
        if (transform->kind == CRN_TRANSFORM_COLLAPSE && below)
            break;
        bool merged = (transform->kind == CRN_TRANSFORM_MERGE ||
                       transform->kind == CRN_TRANSFORM_MERGE_FILE) &&
                      is;
        bool collapsed = transform->kind == CRN_TRANSFORM_COLLAPSE_FILE && is && below;
        if (!merged && !collapsed)
            path->blocks[kept++] = path->blocks[i];
    }
    path->length = kept;
}

/* Writes the path without the root. Returns its length. */
static uint32_t path_below_root(const crn_profile *profile, uint32_t context, uint32_t *blocks)
{
    uint32_t length = profile_path(profile, context, blocks) - 1;
    memmove(blocks, blocks + 1, length * sizeof *blocks);
    return length;
}

static uint32_t find_path(const crn_profile *profile, const path *wanted)
{
    uint32_t *path = crn_calloc(profile->context_count + 1, sizeof *path);
    uint32_t found = CRN_CONTEXT_NONE;
    for (uint32_t c = 0; c < profile->context_count && found == CRN_CONTEXT_NONE; c++)
        if (path_below_root(profile, c, path) == wanted->length &&
            memcmp(path, wanted->blocks, wanted->length * sizeof *path) == 0)
            found = c;
    crn_free(path);
    return found;
}

/* Compares the ticks of each path. */
static void assert_same(const crn_profile *profile, const crn_profile *made,
                        const crn_transform *transforms, size_t count)
{
    uint64_t *expected = crn_calloc(made->context_count, sizeof *expected);
    for (uint32_t c = 0; c < profile->context_count; c++) {
        path path = {.blocks = crn_calloc(profile->context_count + 1, sizeof *path.blocks)};
        path.length = path_below_root(profile, c, path.blocks);
        for (size_t i = 0; i < count; i++)
            apply(profile, &transforms[i], &path);
        if (!path.gone) {
            uint32_t context = find_path(made, &path);
            assert_int_not_equal(context, CRN_CONTEXT_NONE);
            expected[context] += crn_self(profile, CRN_METRIC_TICKS, c);
        }
        crn_free(path.blocks);
    }
    for (uint32_t c = 0; c < made->context_count; c++)
        assert_int_equal(crn_self(made, CRN_METRIC_TICKS, c), expected[c]);
    crn_free(expected);
}

static uint64_t calls_of(const crn_profile *profile, uint32_t block)
{
    uint64_t calls = 0;
    for (uint32_t c = 1; c < profile->context_count; c++)
        calls += profile->block[c] == block ? crn_self(profile, CRN_METRIC_CALLS, c) : 0;
    return calls;
}

/* ---- cases ---- */

/* Two of three blocks are in one file. */
static crn_profile *make_profile(random_source *random)
{
    crn_profile *profile =
        random_profile(random, BLOCKS, EVENTS, &(profile_source){.directory = "src"});
    for (uint32_t b = 1; b < profile->block_count; b++)
        profile->blocks[b].file = b % 3 ? "src/one.c" : "src/two.c";
    return profile;
}

static void transforms_are_those_of_lists(void **state)
{
    (void)state;
    random_source random = {17};
    for (int i = 0; i < PROFILES; i++) {
        crn_profile *profile = make_profile(&random);
        crn_transform transforms[2];
        size_t count = 1 + random_below(&random, 2);
        for (size_t t = 0; t < count; t++)
            transforms[t] = (crn_transform){(crn_transform_kind)random_below(&random, 5),
                                            1 + random_below(&random, profile->block_count - 1)};
        crn_profile *made = crn_profile_transform(profile, transforms, count);
        assert_int_equal(made->block_count, profile->block_count);
        assert_same(profile, made, transforms, count);
        crn_profile_free(made);
        crn_profile_free(profile);
    }
}

static void merging_keeps_the_calls_of_others(void **state)
{
    (void)state;
    random_source random = {18};
    for (int i = 0; i < PROFILES; i++) {
        crn_profile *profile = make_profile(&random);
        const crn_transform merge = {CRN_TRANSFORM_MERGE, 1 + random_below(&random, BLOCKS)};
        crn_profile *made = crn_profile_transform(profile, &merge, 1);
        for (uint32_t b = 1; b < profile->block_count; b++)
            assert_int_equal(calls_of(made, b), b == merge.block ? 0 : calls_of(profile, b));
        assert_int_equal(crn_metric_total(made, CRN_METRIC_TICKS),
                         crn_metric_total(profile, CRN_METRIC_TICKS));
        crn_profile_free(made);
        crn_profile_free(profile);
    }
}

/* The blocks that are not kept are merged one after another. */
static void blocks_that_are_not_kept_are_merged(void **state)
{
    (void)state;
    random_source random = {19};
    for (int i = 0; i < PROFILES; i++) {
        crn_profile *profile = make_profile(&random);
        crn_transform *merges = crn_calloc(profile->block_count, sizeof *merges);
        uint8_t *kept = crn_calloc(profile->block_count, 1);
        size_t count = 0;
        for (uint32_t b = 1; b < profile->block_count; b++) {
            kept[b] = random_chance(&random, 1, 2);
            if (!kept[b])
                merges[count++] = (crn_transform){CRN_TRANSFORM_MERGE, b};
        }
        crn_profile *made = crn_profile_keep_blocks(profile, kept);
        assert_same(profile, made, merges, count);
        for (uint32_t b = 1; b < profile->block_count; b++)
            assert_int_equal(calls_of(made, b), kept[b] ? calls_of(profile, b) : 0);
        crn_profile_free(made);
        crn_free(kept);
        crn_free(merges);
        crn_profile_free(profile);
    }
}

/* a calls b, which calls itself through c. */
static void a_collapsed_recursion_is_one_call(void **state)
{
    (void)state;
    crn_profile_builder *builder = crn_profile_builder_new();
    uint32_t context = crn_profile_builder_root(builder), b_context = 0;
    for (const char *name = "abc"; *name; name++) {
        char text[2] = {*name, 0};
        uint32_t block = crn_profile_builder_block(
            builder, &(crn_block_info){.name = text, .file = *name == 'a' ? "a.c" : "b.c"});
        context = crn_profile_builder_child(builder, context, block, 3);
        b_context = *name == 'b' ? context : b_context;
        crn_profile_builder_charge(builder, context, CRN_METRIC_TICKS, 10);
    }
    crn_profile_builder_edge(builder, context, b_context, 5, false);
    crn_profile *profile = crn_profile_builder_end(builder);
    assert_int_equal(calls_of(profile, 2), 8);
    for (int kind = CRN_TRANSFORM_COLLAPSE; kind <= CRN_TRANSFORM_COLLAPSE_FILE; kind++) {
        crn_profile *made =
            crn_profile_transform(profile, &(crn_transform){(crn_transform_kind)kind, 2}, 1);
        assert_int_equal(made->context_count, 3);
        assert_int_equal(calls_of(made, 2), 3);
        assert_int_equal(crn_self(made, CRN_METRIC_TICKS, 2), 20);
        crn_profile_free(made);
    }
    crn_profile_free(profile);
}

static void assert_parsed(const crn_profile *profile, const char *text, crn_transform_kind kind,
                          uint32_t block)
{
    crn_transform transform;
    crn_error error = {0};
    if (!crn_transform_parse(profile, text, &transform, &error))
        fail_msg("%s: %s", text, error.message);
    assert_int_equal(transform.kind, kind);
    assert_string_equal(profile->blocks[transform.block].file, profile->blocks[block].file);
    if (kind == CRN_TRANSFORM_MERGE || kind == CRN_TRANSFORM_COLLAPSE)
        assert_int_equal(transform.block, block);
}

static void texts_are_parsed(void **state)
{
    (void)state;
    random_source random = {19};
    crn_profile *profile = make_profile(&random);
    assert_parsed(profile, "merge:#2", CRN_TRANSFORM_MERGE, 2);
    assert_parsed(profile, "collapse:b3", CRN_TRANSFORM_COLLAPSE, 3);
    assert_parsed(profile, "merge-file:one.c", CRN_TRANSFORM_MERGE_FILE, 1);
    assert_parsed(profile, "focus-file:src/two.c", CRN_TRANSFORM_FOCUS_FILE, 3);
    assert_parsed(profile, "collapse-file:#3", CRN_TRANSFORM_COLLAPSE_FILE, 3);
    static const char *const bad[] = {"",       "merge",      "merge:",           "merg:#1",
                                      "merge:", "merge:#999", "merge-file:ne.c",  "merge-file:",
                                      ":#1",    "join:#1",    "focus-file:three", "mergee:#1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        crn_transform transform;
        crn_error error = {0};
        if (crn_transform_parse(profile, bad[i], &transform, &error))
            fail_msg("\"%s\" is accepted", bad[i]);
    }
    crn_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(transforms_are_those_of_lists),
        cmocka_unit_test(merging_keeps_the_calls_of_others),
        cmocka_unit_test(blocks_that_are_not_kept_are_merged),
        cmocka_unit_test(a_collapsed_recursion_is_one_call),
        cmocka_unit_test(texts_are_parsed),
    };
    return cmocka_run_group_tests_name("transform", cases, NULL, NULL);
}
