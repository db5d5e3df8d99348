/* SPDX-License-Identifier: MIT
 *
 * test_redact.c - maps of pseudonyms as files: unusual names, and files that are no maps.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"
#include "spans/spans.h"
#include "support/cases.h"
#include "support/scratch.h"

/* Names with each character that a line of the map escapes, and one with neither. */
static const char *const names[] = {"tab\there", "line\nend", "back\\slash\\n", "plain"};
enum { NAMES = sizeof names / sizeof *names };

static crn_profile *profile_with(const char *file, uint32_t first)
{
    crn_profile_builder *builder = crn_profile_builder_new();
    for (uint32_t i = first; i < NAMES; i++) {
        crn_block_info info = {.name = names[i], .file = file, .line = i};
        uint32_t block = crn_profile_builder_block(builder, &info);
        crn_profile_builder_child(builder, crn_profile_builder_root(builder), block, 1);
    }
    crn_profile_builder_warn(builder, "%s is missing", file);
    return crn_profile_builder_end(builder);
}

static void names_of_a_map_survive_its_file(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    crn_error error = {0};
    crn_redact_map *written = crn_redact_map_new(), *read = crn_redact_map_new();
    crn_profile *profile = profile_with("a.lua", 1), *all = profile_with("a.lua", 0);
    crn_profile *first = crn_redact(profile, written);
    assert_int_equal(first->warning_count, 1);
    assert_null(strstr(first->warnings[0], "a.lua"));
    assert_true(crn_redact_map_write(written, scratch_path(path, "names.map"), &error));
    assert_true(crn_redact_map_read(read, path, &error));
    crn_profile *second = crn_redact(all, read);
    assert_int_equal(second->block_count, NAMES + 1);
    for (uint32_t i = 1; i < NAMES; i++)
        assert_string_equal(second->blocks[i + 1].name, first->blocks[i].name);
    assert_string_equal(second->blocks[1].name, "f4"); /* not in the file: the next number */
    crn_profile_free(second);
    crn_profile_free(first);
    crn_profile_free(all);
    crn_profile_free(profile);
    crn_redact_map_free(read);
    crn_redact_map_free(written);
}

/* An extension stays if it can only tell the language. */
static void extensions_of_files_stay_if_they_are_short_words(void **state)
{
    (void)state;
    static const char *const files[][2] = {{"src/a.lua", ".lua"},
                                           {"notes.of-project", ""},
                                           {"secret.averylongextension", ""},
                                           {"Makefile", ""}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        crn_profile *profile = profile_with(files[i][0], 0), *redacted = crn_redact(profile, NULL);
        char expected[32];
        snprintf(expected, sizeof expected, "file1%s", files[i][1]);
        assert_string_equal(redacted->blocks[1].file, expected);
        crn_profile_free(redacted);
        crn_profile_free(profile);
    }
}

static void other_files_are_no_maps(void **state)
{
    (void)state;
    static const char *const texts[] = {"no tab\n", "g1\tname\n", "file\tname\n", "f1\tname\n\n"};
    char path[SCRATCH_PATH];
    crn_error error = {0};
    crn_redact_map *map = crn_redact_map_new();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_true(scratch_write(scratch_path(path, "no.map"), texts[i], strlen(texts[i])));
        assert_false(crn_redact_map_read(map, path, &error));
        assert_non_null(strstr(error.message, "is not a pseudonym"));
    }
    assert_false(crn_redact_map_read(map, "/dev/null/map", &error));
    assert_int_equal(error.code, CAIRN_E_READ);
    assert_false(crn_redact_map_write(map, "/nowhere/at/all", &error));
    assert_int_equal(error.code, CAIRN_E_OPEN);
    assert_true(crn_redact_map_read(map, scratch_path(path, "none.map"), &error));
    crn_redact_map_free(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_a_map_survive_its_file),
        cmocka_unit_test(extensions_of_files_stay_if_they_are_short_words),
        cmocka_unit_test(other_files_are_no_maps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
