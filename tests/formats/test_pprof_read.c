/* SPDX-License-Identifier: MIT
 *
 * test_pprof_read.c - pprof of other tools, and malformed pprof.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/pprof.h"
#include "support.h"
#include "support/cases.h"
#include "support/random.h"
#include "support/scratch.h"

/* A message with room for what the tests put into it. */
typedef struct foreign {
    Perftools__Profiles__Profile profile;
    Perftools__Profiles__ValueType types[4], *type_list[4];
    Perftools__Profiles__Function functions[4], *function_list[4];
    Perftools__Profiles__Mapping mapping, *mapping_list[1];
    Perftools__Profiles__Location locations[4], *location_list[4];
    Perftools__Profiles__Line lines[4][2], *line_list[4][2];
    Perftools__Profiles__Sample samples[4], *sample_list[4];
    uint64_t stacks[4][8];
    int64_t values[4][4];
} foreign;

/* By index; 0 must be "". */
static const char *const strings[] = {"",      "samples", "count",   "cpu",         "nanoseconds",
                                      "main",  "helper",  "inlined", "a.go",        "/bin/program",
                                      "calls", "wall",    "_Z3foov", "milliseconds"};

/* main calls helper, into which `inlined` was inlined; an address without a name. */
static void foreign_init(foreign *f)
{
    *f = (foreign){.profile = PERFTOOLS__PROFILES__PROFILE__INIT};
    perftools__profiles__mapping__init(&f->mapping);
    f->mapping.id = 1;
    f->mapping.filename = 9;
    f->mapping_list[0] = &f->mapping;
    for (int i = 0; i < 4; i++) {
        perftools__profiles__value_type__init(&f->types[i]);
        perftools__profiles__function__init(&f->functions[i]);
        perftools__profiles__location__init(&f->locations[i]);
        perftools__profiles__sample__init(&f->samples[i]);
        f->type_list[i] = &f->types[i];
        f->function_list[i] = &f->functions[i];
        f->location_list[i] = &f->locations[i];
        f->sample_list[i] = &f->samples[i];
        for (int j = 0; j < 2; j++) {
            perftools__profiles__line__init(&f->lines[i][j]);
            f->line_list[i][j] = &f->lines[i][j];
        }
        f->functions[i].id = (uint64_t)i + 10;
        f->functions[i].name = i + 5;
        f->functions[i].filename = 8;
        f->functions[i].start_line = i;
        f->locations[i].id = (uint64_t)i + 100;
        f->locations[i].mapping_id = 1;
        f->locations[i].address = 0x1000 + (uint64_t)i;
        f->locations[i].line = f->line_list[i];
        f->samples[i].location_id = f->stacks[i];
        f->samples[i].value = f->values[i];
        f->samples[i].n_value = 2;
    }
    f->types[0].type = 1, f->types[0].unit = 2;
    f->types[1].type = 3, f->types[1].unit = 4;
    f->locations[0].n_line = 1, f->lines[0][0].function_id = 10;
    f->locations[1].n_line = 2, f->lines[1][0].function_id = 12, f->lines[1][1].function_id = 11;
    f->lines[1][0].line = 77;
    f->lines[0][0].column = 8;
    f->profile.n_sample_type = 2, f->profile.sample_type = f->type_list;
    f->profile.n_function = 3, f->profile.function = f->function_list;
    f->profile.n_mapping = 1, f->profile.mapping = f->mapping_list;
    f->profile.n_location = 3, f->profile.location = f->location_list;
    f->profile.n_string_table = COUNT(strings),
    f->profile.string_table = (char **)(uintptr_t)strings;
    f->profile.n_sample = 2, f->profile.sample = f->sample_list;
    /* Innermost first. */
    f->stacks[0][0] = 101, f->stacks[0][1] = 100, f->samples[0].n_location_id = 2;
    f->stacks[1][0] = 102, f->stacks[1][1] = 101, f->stacks[1][2] = 100;
    f->samples[1].n_location_id = 3;
    f->values[0][0] = 3, f->values[0][1] = 30000;
    f->values[1][0] = 1, f->values[1][1] = 10000;
}

static uint8_t *foreign_pack(const foreign *f, size_t *size)
{
    *size = perftools__profiles__profile__get_packed_size(&f->profile);
    uint8_t *bytes = malloc(*size);
    perftools__profiles__profile__pack(&f->profile, bytes);
    return bytes;
}

static crn_profile *foreign_read(const foreign *f, crn_error *error)
{
    size_t size;
    uint8_t *bytes = foreign_pack(f, &size);
    crn_profile *profile = support_read(crn_pprof_read, bytes, size, NULL, error);
    free(bytes);
    return profile;
}

static bool has_warning(const crn_profile *profile, const char *text)
{
    for (size_t i = 0; i < profile->warning_count; i++)
        if (strstr(profile->warnings[i], text))
            return true;
    return false;
}

static void test_inlined(void **state)
{
    (void)state;
    foreign f;
    crn_error error;
    foreign_init(&f);
    f.profile.time_nanos = 1700000000123456789;
    f.profile.duration_nanos = 5;
    crn_profile *profile = foreign_read(&f, &error);
    assert_non_null(profile);
    assert_int_equal(profile->warning_count, 0);
    assert_int_equal(support_value(profile, "main;helper;inlined", "samples"), 3);
    assert_int_equal(support_value(profile, "main;helper;inlined;0x1002", "cpu"), 10000);
    assert_int_equal(support_total(profile, "calls"), 0);
    /* A call's line and column are not the function's. */
    assert_int_equal(support_block(profile, "main")->column, 0);
    assert_int_equal(support_block(profile, "inlined")->line, 2);
    assert_string_equal(support_block(profile, "main")->file, "a.go");
    assert_string_equal(support_block(profile, "0x1002")->file, "/bin/program");
    assert_string_equal(profile->metrics[crn_profile_metric(profile, "cpu")].unit, "nanoseconds");
    assert_string_equal(crn_profile_note(profile, "started", ""), "2023-11-14T22:13:20Z");
    assert_string_equal(crn_profile_note(profile, "imported", ""), "pprof");
    /* The report shows the metric that pprof shows by default. */
    assert_int_equal(crn_export_metric(profile, true), crn_profile_metric(profile, "cpu"));
    crn_profile_free(profile);
    f.profile.default_sample_type = 1;
    profile = foreign_read(&f, &error);
    assert_int_equal(crn_export_metric(profile, true), crn_profile_metric(profile, "samples"));
    crn_profile_free(profile);
}

static void test_dangling(void **state)
{
    (void)state;
    foreign f;
    crn_error error;
    foreign_init(&f);
    f.lines[0][0].function_id = 999; /* no such function */
    f.functions[1].name = 1000000;   /* no such string */
    f.functions[2].name = -5;        /* nor that one */
    f.functions[2].system_name = 12; /* the name that the linker knows */
    f.functions[2].start_line = -1;
    f.stacks[1][0] = UINT64_MAX; /* no such location */
    f.types[1].type = INT64_MIN;
    crn_profile *profile = foreign_read(&f, &error);
    assert_non_null(profile);
    assert_true(has_warning(profile, "frames had no function or location"));
    assert_int_equal(support_total(profile, "value"), 40000);
    assert_int_equal(support_value(profile, "[unknown];[unknown];_Z3foov", "samples"), 3);
    assert_int_equal(support_block(profile, "_Z3foov")->line, 0);
    crn_profile_free(profile);
}

static void test_values(void **state)
{
    (void)state;
    foreign f;
    crn_error error;
    Perftools__Profiles__Label label = PERFTOOLS__PROFILES__LABEL__INIT, *labels[] = {&label};
    foreign_init(&f);
    f.values[0][0] = -3;
    f.samples[1].n_label = 1;
    f.samples[1].label = labels;
    f.types[1].type = 11, f.types[1].unit = 13; /* wall, in milliseconds */
    crn_profile *profile = foreign_read(&f, &error);
    assert_true(has_warning(profile, "1 values were negative"));
    assert_true(has_warning(profile, "1 samples had labels"));
    assert_int_equal(support_total(profile, "samples"), 1);
    assert_int_equal(support_total(profile, "wall"), 40000 * UINT64_C(1000000));
    crn_profile_free(profile);

    foreign_init(&f);
    f.types[1] = f.types[0]; /* two of the same name */
    profile = foreign_read(&f, &error);
    assert_int_equal(support_total(profile, "samples"), 40000);
    assert_int_equal(support_total(profile, "samples (count)"), 4);
    crn_profile_free(profile);

    foreign_init(&f);
    f.samples[1].n_value = 1;
    assert_null(foreign_read(&f, &error));
    f.samples[1].n_value = 2;
    f.profile.n_sample_type = 0;
    assert_null(foreign_read(&f, &error));
}

/* Figures that add up to more than a counter holds are refused, not wrapped around. */
static void test_overflow(void **state)
{
    (void)state;
    static const int64_t types[] = {1, 10, 11}; /* samples, calls, wall in milliseconds */
    for (size_t i = 0; i < COUNT(types); i++) {
        foreign f;
        crn_error error;
        foreign_init(&f);
        f.types[0].type = types[i];
        f.types[0].unit = 13;
        f.values[0][0] = f.values[1][0] = INT64_MAX / 4 + 1;
        assert_null(foreign_read(&f, &error));
        assert_non_null(strstr(error.message, "2^62"));
    }
}

/* Recursion folds, and calls are counted if the file has them. */
static void test_canonical(void **state)
{
    (void)state;
    foreign f;
    crn_error error;
    foreign_init(&f);
    f.types[0].type = 10; /* calls */
    for (int i = 0; i < 6; i++)
        f.stacks[0][i] = 100;
    f.samples[0].n_location_id = 6;
    f.samples[1].n_location_id = 0;
    crn_profile *profile = foreign_read(&f, &error);
    assert_int_equal(profile->context_count, 2);
    assert_int_equal(support_value(profile, "main", "calls"), 3);
    assert_int_equal(profile->values[CRN_METRIC_CALLS][0], 1);
    assert_int_equal(support_total(profile, "cpu"), 40000);
    crn_profile_free(profile);
}

/* Variants that protobuf allows: unpacked numbers, fields in another order, unknown fields, two
 * concatenated messages. */
static void test_encodings(void **state)
{
    (void)state;
    static const uint8_t profile_bytes[] = {
        0x32, 0,                                          /* string "" */
        0x12, 10,                                         /* sample */
        0x08, 2,  0x08, 1,    0x10, 7,                    /* locations 2, 1, not packed; value */
        0x58, 1,  0x60, 2,                                /* unknown to Sample */
        0x8a, 1,  2,    'h',  'i',                        /* field 17, bytes */
        0xf9, 1,  1,    2,    3,    4,   5,    6, 7,   8, /* field 31, 64 bits */
        0x22, 6,  0x08, 1,    0x22, 2,   0x08, 1,         /* location 1, line of function 1 */
        0x22, 6,  0x08, 2,    0x22, 2,   0x08, 2,         /* location 2 */
        0x2a, 4,  0x08, 2,    0x10, 1,                    /* function 2 is "f" */
        0x2a, 4,  0x08, 1,    0x10, 2,                    /* function 1 is "g" */
        0x0a, 4,  0x08, 3,    0x10, 3,                    /* sample type "n" in "n" */
        0x32, 1,  'f',  0x32, 1,    'g', 0x32, 1, 'n',
    };
    uint8_t twice[2 * sizeof profile_bytes];
    memcpy(twice, profile_bytes, sizeof profile_bytes);
    memcpy(twice + sizeof profile_bytes, profile_bytes, sizeof profile_bytes);
    crn_error error;
    assert_true(crn_pprof_recognise((const char *)profile_bytes, sizeof profile_bytes));
    crn_profile *profile =
        support_read(crn_pprof_read, profile_bytes, sizeof profile_bytes, NULL, &error);
    if (!profile)
        fail_msg("%s", error.message);
    assert_int_equal(support_value(profile, "g;f", "n"), 7);
    crn_profile_free(profile);
    /* Two concatenated messages have two sample types, so samples have too few values. */
    assert_null(support_read(crn_pprof_read, twice, sizeof twice, NULL, &error));
}

static void test_cut_and_changed(void **state)
{
    (void)state;
    foreign f;
    crn_error error;
    size_t size;
    foreign_init(&f);
    uint8_t *bytes = foreign_pack(&f, &size);
    uint32_t whole = 0;
    for (size_t cut = 0; cut < size; cut++) {
        crn_profile *profile = support_read(crn_pprof_read, bytes, cut, NULL, &error);
        whole += profile != NULL;
        crn_profile_free(profile);
    }
    /* A prefix is valid only if it ends at the end of a field. */
    assert_true(whole < 40);
    random_source random = {3};
    for (uint64_t i = 0; i < scale(5000); i++) {
        uint8_t *copy = malloc(size);
        memcpy(copy, bytes, size);
        for (uint32_t changes = 1 + random_below(&random, 4); changes > 0; changes--)
            copy[random_below(&random, (uint32_t)size)] = (uint8_t)random_next(&random);
        crn_profile_free(support_read(crn_pprof_read, copy, size, NULL, &error));
        free(copy);
    }
    free(bytes);
}

static void test_recognise(void **state)
{
    (void)state;
    foreign f;
    size_t size;
    foreign_init(&f);
    uint8_t *bytes = foreign_pack(&f, &size);
    assert_true(crn_pprof_recognise((const char *)bytes, size));
    free(bytes);
    static const char *const others[] = {
        "a;b;c 12\n", "\n\n",          "*x;y 3\n", "\"name\";f 12\n",
        "2;3 4\n",    "CAIRN\r\n\x1a", "",         "\177ELF\2\1\1"};
    for (size_t i = 0; i < COUNT(others); i++)
        assert_false(crn_pprof_recognise(others[i], strlen(others[i])));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inlined),   cmocka_unit_test(test_dangling),
        cmocka_unit_test(test_values),    cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_canonical), cmocka_unit_test(test_encodings),
        cmocka_unit_test(test_recognise), cmocka_unit_test(test_cut_and_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
