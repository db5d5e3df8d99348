/* SPDX-License-Identifier: MIT
 *
 * test_pprof.c - profiles written as pprof, decoded by protobuf-c, and read back.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "formats/pprof.h"
#include "profile/profile.h"
#include "support.h"
#include "support/cases.h"
#include "support/scratch.h"

static void test_round_trip(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= scale(200); seed++) {
        crn_profile *profile = support_random(seed, 1 + (uint32_t)(seed * 7 % 300));
        size_t size, again_size;
        crn_error error;
        char *bytes = support_write(crn_pprof_write, profile, NULL, &size);
        crn_profile *back = support_read(crn_pprof_read, bytes, size, NULL, &error);
        assert_non_null(back);
        assert_int_equal(back->warning_count, 0);
        char *before = support_figures(profile, NULL), *after = support_figures(back, NULL);
        /* The only change: labels that told blocks apart have become names. */
        assert_string_equal(before, after);
        assert_string_equal(crn_profile_note(back, "command", ""),
                            "program --with arguments; and more");
        assert_string_equal(crn_profile_note(back, "label", ""), "a=b\nsecond line");
        char *again = support_write(crn_pprof_write, back, NULL, &again_size);
        assert_int_equal(again_size, size);
        assert_memory_equal(again, bytes, size);
        free(again);
        free(before);
        free(after);
        free(bytes);
        crn_profile_free(back);
        crn_profile_free(profile);
    }
}

/* The whole message, as protobuf-c reads it. */
static Perftools__Profiles__Profile *unpack(const char *bytes, size_t size)
{
    static unsigned char plain[1 << 22];
    z_stream stream = {.next_in = (unsigned char *)(uintptr_t)bytes,
                       .avail_in = (unsigned)size,
                       .next_out = plain,
                       .avail_out = sizeof plain};
    assert_int_equal(inflateInit2(&stream, 16 + MAX_WBITS), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    inflateEnd(&stream);
    Perftools__Profiles__Profile *message =
        perftools__profiles__profile__unpack(NULL, stream.total_out, plain);
    assert_non_null(message);
    return message;
}

static void test_messages(void **state)
{
    (void)state;
    crn_profile *profile = support_random(7, 500);
    size_t size;
    char *bytes = support_write(crn_pprof_write, profile, NULL, &size);
    assert_memory_equal(bytes + 4, "\0\0\0\0", 4); /* gzip's time */
    Perftools__Profiles__Profile *message = unpack(bytes, size);
    static const char *const types[] = {"calls", "ticks", "wall", "alloc"};
    static const char *const units[] = {"count", "instructions", "nanoseconds", "bytes"};
    assert_string_equal(message->string_table[0], "");
    assert_int_equal(message->n_sample_type, COUNT(types));
    int64_t sums[COUNT(types)] = {0};
    for (size_t i = 0; i < COUNT(types); i++) {
        assert_string_equal(message->string_table[message->sample_type[i]->type], types[i]);
        assert_string_equal(message->string_table[message->sample_type[i]->unit], units[i]);
    }
    for (size_t i = 0; i < message->n_sample; i++) {
        int64_t any = 0;
        assert_int_equal(message->sample[i]->n_value, COUNT(types));
        for (size_t j = 0; j < COUNT(types); j++) {
            sums[j] += message->sample[i]->value[j];
            any |= message->sample[i]->value[j];
        }
        assert_int_not_equal(any, 0);
        for (size_t j = 0; j < message->sample[i]->n_location_id; j++)
            assert_in_range(message->sample[i]->location_id[j], 1, message->n_location);
    }
    for (size_t j = 0; j < COUNT(types); j++)
        assert_int_equal(sums[j], support_total(profile, types[j]));
    assert_string_equal(message->string_table[message->default_sample_type], "wall");
    assert_int_equal(message->time_nanos, 1709210096000000000);
    assert_int_equal(message->duration_nanos, 1500000000);
    assert_int_equal(message->n_location, message->n_function);
    for (size_t i = 0; i < message->n_location; i++) {
        assert_int_equal(message->location[i]->id, i + 1);
        assert_int_equal(message->location[i]->n_line, 1);
        assert_int_equal(message->location[i]->line[0]->function_id, message->function[i]->id);
        assert_int_equal(message->location[i]->line[0]->line, message->function[i]->start_line);
        assert_int_equal(message->function[i]->system_name, 0);
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(message->function[i]->name, message->function[j]->name);
    }
    assert_true(message->mapping[0]->has_functions);
    perftools__profiles__profile__free_unpacked(message, NULL);
    free(bytes);
    crn_profile_free(profile);
}

static void test_without_times(void **state)
{
    (void)state;
    crn_profile *profile = support_random(8, 300);
    crn_export_options choice = {.metric = crn_export_metric(profile, false), .times = false};
    assert_int_equal(choice.metric, CRN_METRIC_TICKS);
    size_t size;
    char *bytes = support_write(crn_pprof_write, profile, &choice, &size);
    Perftools__Profiles__Profile *message = unpack(bytes, size);
    assert_int_equal(message->time_nanos, 0);
    assert_int_equal(message->duration_nanos, 0);
    assert_string_equal(message->string_table[message->default_sample_type], "ticks");
    bool command = false;
    for (size_t i = 0; i < message->n_string_table; i++) {
        assert_null(strstr(message->string_table[i], "2024"));
        assert_null(strstr(message->string_table[i], "recorded_ns"));
        assert_string_not_equal(message->string_table[i], "wall");
        command = command || strstr(message->string_table[i], "command=program");
    }
    assert_true(command);
    perftools__profiles__profile__free_unpacked(message, NULL);
    free(bytes);
    crn_profile_free(profile);
}

/* Calls along a cycle count at their target, and are read back as calls of that context. */
static void test_cycles(void **state)
{
    (void)state;
    crn_profile_builder *builder = crn_profile_builder_new();
    crn_block_info a = {.name = "a", .file = ""}, b = {.name = "b", .file = ""};
    uint32_t blocks[] = {crn_profile_builder_block(builder, &a),
                         crn_profile_builder_block(builder, &b)};
    uint32_t context = crn_profile_builder_root(builder);
    for (int i = 0; i < 10; i++)
        context = crn_profile_builder_child(builder, context, blocks[i % 2], 1);
    crn_profile *profile = crn_profile_builder_end(builder);
    assert_int_equal(profile->context_count, 4);
    assert_int_equal(profile->edge_count, 1);
    size_t size;
    crn_error error;
    char *bytes = support_write(crn_pprof_write, profile, NULL, &size);
    crn_profile *back = support_read(crn_pprof_read, bytes, size, NULL, &error);
    assert_int_equal(back->context_count, 4);
    assert_int_equal(support_value(back, "a", "calls"), 1);
    assert_int_equal(support_value(back, "a;b", "calls"), 5);
    assert_int_equal(support_value(back, "a;b;a", "calls"), 4);
    assert_int_equal(back->edge_count, 0);
    free(bytes);
    crn_profile_free(back);
    crn_profile_free(profile);
}

static void test_default_type(void **state)
{
    (void)state;
    static const char *const orders[] = {"calls", "ticks", "wall"};
    for (uint32_t last = 0; last < COUNT(orders); last++) {
        crn_profile_builder *builder = crn_profile_builder_new();
        crn_block_info a = {.name = "a", .file = ""};
        uint32_t context = crn_profile_builder_child(builder, crn_profile_builder_root(builder),
                                                     crn_profile_builder_block(builder, &a), 1);
        for (uint32_t m = 1; m <= last; m++)
            crn_profile_builder_charge(builder, context, m, 5);
        crn_profile *profile = crn_profile_builder_end(builder);
        size_t size;
        char *bytes = support_write(crn_pprof_write, profile, NULL, &size);
        Perftools__Profiles__Profile *message = unpack(bytes, size);
        assert_int_equal(message->n_sample_type, last + 1);
        assert_string_equal(message->string_table[message->default_sample_type], orders[last]);
        perftools__profiles__profile__free_unpacked(message, NULL);
        free(bytes);
        crn_profile_free(profile);
    }
}

/* Contexts folded by a limit are read back as folded. */
static void test_folded_block(void **state)
{
    (void)state;
    crn_profile_builder *builder = crn_profile_builder_new();
    crn_block_info a = {.name = "a", .file = ""};
    uint32_t context = crn_profile_builder_root(builder);
    context = crn_profile_builder_child(builder, context, UINT32_MAX, 0);
    context =
        crn_profile_builder_child(builder, context, crn_profile_builder_block(builder, &a), 4);
    crn_profile *profile = crn_profile_builder_end(builder);
    assert_int_not_equal(profile->folded_block, 0);
    size_t size;
    crn_error error;
    char *bytes = support_write(crn_pprof_write, profile, NULL, &size);
    crn_profile *back = support_read(crn_pprof_read, bytes, size, NULL, &error);
    assert_int_not_equal(back->folded_block, 0);
    assert_int_equal(support_value(back, "[folded];a", "calls"), 4);
    free(bytes);
    crn_profile_free(back);
    crn_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),    cmocka_unit_test(test_messages),
        cmocka_unit_test(test_without_times), cmocka_unit_test(test_cycles),
        cmocka_unit_test(test_default_type),  cmocka_unit_test(test_folded_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
