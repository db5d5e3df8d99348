/* SPDX-License-Identifier: MIT
 *
 * test_counted_hostile.c - captures with invalid trees and counters (sections 16 and 17):
 * truncated, out of range, cyclic, overlapping. The valid part is loaded, the rest is reported,
 * and loading ends soon.
 */
#include <stdlib.h>
#include <string.h>

#include <cairn/host.h>

#include "capture/reader.h"
#include "profile/profile.h"
#include "support/cases.h"
#include "support/profiles.h"
#include "support/random.h"
#include "support/scratch.h"
#include "support/soundness.h"

enum { BLOCKS = 5, NODES = 4, ENTERS = 3, ARRAY = sizeof(crn_disk_counts) + NODES * 8 };

/* Counters of the array below each context, from that of the root on: node n has n times as many.
 */
enum { FIRST = 1 + 2 + 3 + 4, SECOND = 10 * FIRST, ALL = FIRST + SECOND };

/* ---- a capture, and its bytes ---- */

typedef struct capture {
    unsigned char *bytes;
    size_t size;
    uint64_t trees, counts; /* where the sections are in the file */
} capture;

static crn_disk_chunk *chunk_of(const capture *capture, crn_section_kind kind)
{
    const crn_disk_header *header = (const void *)capture->bytes;
    crn_disk_directory *directory = (void *)(capture->bytes + header->directory);
    for (uint32_t i = 0; i < directory->count; i++)
        if (directory->chunks[i].kind == kind)
            return &directory->chunks[i];
    fail();
    return NULL;
}

static capture capture_new(void)
{
    static const cairn_priv_node nodes[NODES] = {{0, 0, 2}, {1, 0, 3}, {2, 0, 4}, {0, 0, 5}};
    char path[SCRATCH_PATH];
    capture made;
    cairn_options options = path_options(scratch_path(path, "counted.cairn"));
    setup s = setup_open(&options, BLOCKS);
    uint32_t tree = cairn_priv_tree_add(s.profile, nodes, NODES);
    for (uint64_t times = 1; times <= 10; times += 9) {
        uint64_t *counters = cairn_priv_tree_counters(s.strand, tree);
        assert_non_null(counters);
        for (uint64_t n = 0; n < NODES; n++)
            counters[n] = times * (n + 1);
        cairn_enter(s.strand, 1);
    }
    cairn_enter(s.strand, 2);
    setup_close(&s);
    made.bytes = scratch_read(path, &made.size);
    assert_non_null(made.bytes);
    made.trees = chunk_of(&made, CRN_SECTION_TREES)->offset;
    made.counts = chunk_of(&made, CRN_SECTION_COUNTS)->offset;
    return made;
}

static void capture_free(capture *capture)
{
    free(capture->bytes);
}

static crn_disk_tree *tree_of(const capture *capture)
{
    return (void *)(capture->bytes + capture->trees + 8);
}

static crn_disk_node *node_of(const capture *capture, uint32_t node)
{
    return (crn_disk_node *)(void *)(tree_of(capture) + 1) + node;
}

static crn_disk_counts *array_of(const capture *capture, uint32_t array)
{
    return (void *)(capture->bytes + capture->counts + array * (uint64_t)ARRAY);
}

/* ---- reading the damaged capture ---- */

typedef struct reading {
    uint64_t counted; /* calls, without those that were entered */
    bool damaged;
} reading;

static bool says_damaged(const crn_profile *profile)
{
    for (uint32_t w = 0; w < profile->warning_count; w++)
        if (strstr(profile->warnings[w], "damaged") || strstr(profile->warnings[w], "truncated"))
            return true;
    return false;
}

/* Live lanes are read on their own, and must not fail where the profile does not. */
static reading read_bytes(const void *bytes, size_t size)
{
    char path[SCRATCH_PATH];
    crn_error error = {0};
    difference found;
    crn_lanes lanes;
    assert_true(scratch_write(scratch_path(path, "hostile.cairn"), bytes, size));
    crn_profile *profile = crn_profile_load(path, &error);
    if (!profile)
        fail_msg("%s", error.message);
    if (!profile_is_sound(profile, &found))
        fail_msg("%s", found.text);
    assert_true(crn_lanes_load(&lanes, path, &error));
    crn_lanes_free(&lanes);
    /* the root's own call is that of its strand */
    reading its = {profile_total(profile, CRN_METRIC_CALLS) - ENTERS - 1, says_damaged(profile)};
    crn_profile_free(profile);
    return its;
}

static void assert_counted(const capture *capture, uint64_t counted, bool damaged)
{
    reading its = read_bytes(capture->bytes, capture->size);
    assert_int_equal(its.counted, counted);
    assert_int_equal(its.damaged, damaged);
}

static void complete_arrays_count(void **state)
{
    (void)state;
    capture its = capture_new();
    assert_int_equal(array_of(&its, 0)->tree, 1);
    assert_int_equal(tree_of(&its)->count, NODES);
    assert_counted(&its, ALL, false);
    capture_free(&its);
}

/* ---- trees ---- */

static void trees_that_are_none(void **state)
{
    (void)state;
    static const uint32_t numbers[] = {2, 3, 6, 1000, 1u << 31, UINT32_MAX - 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        capture its = capture_new();
        array_of(&its, 1)->tree = numbers[i]; /* in the midst of one, behind the last, none */
        reading read = read_bytes(its.bytes, its.size);
        if (numbers[i] > 5) { /* as nodes are numbers like others, one may look like a tree */
            assert_int_equal(read.counted, FIRST);
            assert_true(read.damaged);
        }
        capture_free(&its);
    }
}

static void trees_of_so_many_nodes(void **state)
{
    (void)state;
    static const uint32_t counts[] = {0, NODES + 1, 8191, 8192, 1u << 16, 1u << 31, UINT32_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        capture its = capture_new();
        tree_of(&its)->count = counts[i];
        reading read = read_bytes(its.bytes, its.size);
        assert_true(read.damaged);
        if (counts[i] != NODES + 1) /* there the next array's head is a number like others */
            assert_int_equal(read.counted, 0);
        capture_free(&its);
    }
}

/* `above` must be an earlier node; otherwise there could be a cycle. */
static void nodes_above_themselves_are_invalid(void **state)
{
    (void)state;
    for (uint32_t node = 0; node < NODES; node++)
        for (uint32_t above = 0; above <= NODES + 1; above++) {
            capture its = capture_new();
            node_of(&its, node)->above = above == NODES + 1 ? UINT16_MAX : (uint16_t)above;
            bool right = above <= node;
            assert_counted(&its, right ? ALL : 0, !right);
            capture_free(&its);
        }
}

/* `same` must be an earlier node; a later one may be missing. */
static void nodes_sharing_later_counters_are_invalid(void **state)
{
    (void)state;
    for (uint32_t node = 0; node < NODES; node++)
        for (uint32_t same = 1; same <= NODES + 1; same++) {
            capture its = capture_new();
            node_of(&its, node)->same = same == NODES + 1 ? UINT16_MAX : (uint16_t)same;
            bool right = same <= node;
            uint64_t all = ALL - 11 * (node + 1) + 11 * same; /* of both arrays */
            assert_counted(&its, right ? all : 0, !right);
            capture_free(&its);
        }
}

/* The same contexts as if they had been entered. */
static void blocks_that_are_none(void **state)
{
    (void)state;
    static const uint32_t blocks[] = {0, BLOCKS + 1, 1u << 31, UINT32_MAX - 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        for (uint32_t node = 0; node < NODES; node++) {
            capture its = capture_new();
            node_of(&its, node)->block = blocks[i];
            assert_int_equal(read_bytes(its.bytes, its.size).counted, ALL);
            capture_free(&its);
        }
}

/* ---- counters ---- */

static void records_that_are_none(void **state)
{
    (void)state;
    static const uint32_t records[] = {0, 1 + 1 + ENTERS, 1000, 1u << 31, UINT32_MAX};
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        capture its = capture_new();
        array_of(&its, 0)->record = records[i];
        assert_counted(&its, SECOND, records[i] != 0); /* 0: it is being made */
        capture_free(&its);
    }
}

static void counters_up_to_the_limit(void **state)
{
    (void)state;
    capture its = capture_new();
    uint64_t *counters = (uint64_t *)(void *)(array_of(&its, 0) + 1);
    memset(counters, 0xff, NODES * sizeof *counters);
    assert_counted(&its, SECOND - (uint64_t)NODES, false); /* modulo 2^64 */
    capture_free(&its);
}

/* In a truncated group, the complete arrays count. */
static void sections_that_are_cut(void **state)
{
    (void)state;
    for (uint64_t size = 0; size <= 2 * ARRAY + 8; size++) {
        capture its = capture_new();
        uint64_t left = size % ARRAY;
        chunk_of(&its, CRN_SECTION_COUNTS)->size = size;
        uint64_t counted = size < ARRAY ? 0 : size < 2 * (uint64_t)ARRAY ? FIRST : ALL;
        assert_counted(&its, counted, left >= 8 && size < 2 * (uint64_t)ARRAY);
        capture_free(&its);
    }
    uint64_t tree = 8 + 8 + NODES * sizeof(crn_disk_node);
    for (uint64_t size = 0; size <= tree + 8; size++) {
        capture its = capture_new();
        chunk_of(&its, CRN_SECTION_TREES)->size = size;
        bool there = size >= tree;
        assert_counted(&its, there ? ALL : 0, !there && size);
        capture_free(&its);
    }
}

static void files_that_are_cut(void **state)
{
    (void)state;
    capture its = capture_new();
    for (uint64_t size = its.trees; size < its.trees + 64; size++)
        assert_int_equal(read_bytes(its.bytes, size).counted, 0);
    for (uint64_t size = its.counts; size < its.counts + 2 * ARRAY + 64 && size < its.size;
         size++) {
        reading read = read_bytes(its.bytes, size);
        assert_true(read.counted == 0 || read.counted == FIRST || read.counted == ALL);
        assert_true(read.damaged);
    }
    capture_free(&its);
}

/* Bytes of the file belong to one group. A file of 100 KB would else have gigabytes of counters. */
static void groups_that_are_the_same_bytes(void **state)
{
    (void)state;
    capture its = capture_new();
    crn_disk_header *header = (void *)its.bytes;
    crn_disk_directory *directory = (void *)(its.bytes + header->directory);
    crn_disk_chunk chunk = *chunk_of(&its, CRN_SECTION_COUNTS);
    uint64_t groups = 1;
    chunk.size =
        its.size - chunk.offset < CRN_COUNTS_GROUP ? its.size - chunk.offset : CRN_COUNTS_GROUP;
    chunk_of(&its, CRN_SECTION_COUNTS)->size = chunk.size;
    for (; directory->count < directory->capacity; groups++) {
        chunk.metric++;
        directory->chunks[directory->count++] = chunk;
    }
    uint64_t most = its.size / chunk.size;
    assert_true(groups > most);
    assert_counted(&its, most * ALL, true);
    capture_free(&its);
}

/* The deepest tree, below the longest path that the file allows. */
static void a_tree_that_is_a_long_chain(void **state)
{
    (void)state;
    enum { DEEP = 4096 };
    static cairn_priv_node nodes[DEEP];
    static const uint32_t limits[] = {0, 1024, UINT32_MAX};
    char path[SCRATCH_PATH];
    random_source random = {7};
    for (uint32_t n = 0; n < DEEP; n++)
        nodes[n] = (cairn_priv_node){(uint16_t)n, 0, 1 + random_below(&random, BLOCKS)};
    cairn_options options = path_options(scratch_path(path, "chain.cairn"));
    setup s = setup_open(&options, BLOCKS);
    uint32_t tree = cairn_priv_tree_add(s.profile, nodes, DEEP);
    for (int i = 0; i < ENTERS; i++) {
        uint64_t *counters = cairn_priv_tree_counters(s.strand, tree);
        for (uint32_t n = 0; counters && n < DEEP; n++)
            counters[n] = 1;
        cairn_enter(s.strand, 1 + (cairn_block)i);
    }
    setup_close(&s);
    size_t size;
    unsigned char *bytes = scratch_read(path, &size);
    assert_non_null(bytes);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        ((crn_disk_header *)(void *)bytes)->path_limit = limits[i];
        assert_int_equal(read_bytes(bytes, size).counted, ENTERS * DEEP);
    }
    free(bytes);
}

/* For any value, the loaded profile satisfies its invariants. */
static void random_contents_are_read_safely(void **state)
{
    (void)state;
    random_source random = {8};
    for (uint64_t round = scale(1500); round; round--) {
        capture its = capture_new();
        for (uint32_t i = 1 + random_below(&random, 6); i; i--) {
            bool trees = random_chance(&random, 1, 2);
            uint64_t at = trees ? its.trees + 4 * (uint64_t)random_below(&random, 14)
                                : its.counts + 4 * (uint64_t)random_below(&random, 26);
            uint32_t value = random_chance(&random, 2, 3) ? random_below(&random, 8)
                                                          : (uint32_t)random_next(&random);
            memcpy(its.bytes + at, &value, sizeof value);
        }
        read_bytes(its.bytes, its.size);
        capture_free(&its);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(complete_arrays_count),
        cmocka_unit_test(trees_that_are_none),
        cmocka_unit_test(trees_of_so_many_nodes),
        cmocka_unit_test(nodes_above_themselves_are_invalid),
        cmocka_unit_test(nodes_sharing_later_counters_are_invalid),
        cmocka_unit_test(blocks_that_are_none),
        cmocka_unit_test(records_that_are_none),
        cmocka_unit_test(counters_up_to_the_limit),
        cmocka_unit_test(sections_that_are_cut),
        cmocka_unit_test(files_that_are_cut),
        cmocka_unit_test(groups_that_are_the_same_bytes),
        cmocka_unit_test(a_tree_that_is_a_long_chain),
        cmocka_unit_test(random_contents_are_read_safely),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
