/* SPDX-License-Identifier: MIT
 *
 * test_capture_texts.c - lookup of names by offset and of notes by key, compared with a linear
 * search. A capture whose names are all parts of one long text loads as fast as others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/span.h>

#include "profile/profile.h"
#include "spans/spans.h"
#include "support/cases.h"
#include "support/profiles.h"
#include "support/random.h"
#include "support/scratch.h"

static void texts_are_found_by_offset(void **state)
{
    (void)state;
    enum { SIZE = 2000 };
    random_source random = {1};
    for (uint64_t round = scale(100); round; round--) {
        char *table = calloc(SIZE + 1, 1);
        for (uint32_t i = 1; i < SIZE; i++)
            table[i] = random_chance(&random, 1, 6) ? 0 : (char)('a' + random_below(&random, 2));
        crn_bytes strings = {table, SIZE, true};
        crn_capture_texts texts = {.strings = &strings, .into = crn_interning_new()};
        const char *known[SIZE] = {NULL};
        for (int i = 0; i < 4 * SIZE; i++) {
            uint32_t offset = random_below(&random, SIZE + 100);
            const char *text = crn_capture_text_at(&texts, offset);
            assert_string_equal(text, crn_string_at(&strings, offset));
            if (offset < SIZE) {
                assert_true(!known[offset] || known[offset] == text);
                known[offset] = text;
            }
        }
        assert_string_equal(crn_capture_text_at(&texts, UINT32_MAX), "");
        crn_capture_texts_end(&texts);
        crn_interning_free(texts.into);
        free(table);
    }
}

static void the_last_value_of_a_key_holds(void **state)
{
    (void)state;
    enum { KEYS = 300 };
    random_source random = {2};
    int values[KEYS], order[KEYS], count = 0;
    crn_profile *profile = crn_profile_new();
    for (int k = 0; k < KEYS; k++)
        values[k] = -1;
    for (int i = 0; i < 2000; i++) {
        char key[16], value[16];
        int k = (int)random_below(&random, KEYS);
        snprintf(key, sizeof key, "key %d", k);
        snprintf(value, sizeof value, "%d", i);
        crn_profile_put_note(profile, key, value);
        if (values[k] < 0)
            order[count++] = k;
        values[k] = i;
    }
    assert_int_equal(profile->note_count, count);
    for (int n = 0; n < count; n++) { /* in the order in which they came */
        assert_int_equal(atoi(profile->notes[n].key + 4), order[n]);
        assert_int_equal(atoi(profile->notes[n].value), values[order[n]]);
    }
    crn_profile_free(profile);
}

/* ---- a file that was made to ---- */

typedef struct file {
    unsigned char *bytes;
    size_t size;
} file;

/* Replaces a section that exists once by these bytes, at the end of the file. */
static void replace(file *its, crn_section_kind kind, const void *bytes, size_t size)
{
    its->bytes = realloc(its->bytes, its->size + size);
    memcpy(its->bytes + its->size, bytes, size);
    crn_disk_header *header = (crn_disk_header *)(void *)its->bytes;
    crn_disk_directory *directory = (crn_disk_directory *)(void *)(its->bytes + header->directory);
    bool there = false;
    for (uint32_t i = 0; i < directory->count; i++)
        if (directory->chunks[i].kind == kind) {
            directory->chunks[i].offset = its->size;
            directory->chunks[i].size = size;
            there = true;
        }
    assert_true(there);
    header->used[kind] = size;
    its->size += size;
    header->size = its->size;
}

static file file_with_spans(const char *path)
{
    cairn_options options = path_options(path);
    options.spans = options.span_histograms = true;
    setup s = setup_open(&options, 3);
    cairn_span_begin(s.strand, 1, 0);
    cairn_span_integer(s.strand, cairn_key_add(s.profile, "key"), 1);
    cairn_span_end(s.strand);
    setup_close(&s);
    file its;
    its.bytes = scratch_read(path, &its.size);
    return its;
}

/* Going through the text for each name of it would take minutes. */
static void one_long_text_may_be_all_names(void **state)
{
    (void)state;
    enum { LENGTH = 4 << 20, COUNT_OF_ALL = 60000 };
    char path[SCRATCH_PATH], *strings = calloc(LENGTH + 2, 1);
    file its = file_with_spans(scratch_path(path, "long.cairn"));
    memset(strings + 1, 'x', LENGTH);
    crn_disk_block *blocks = calloc(COUNT_OF_ALL, sizeof *blocks);
    crn_disk_key *keys = calloc(COUNT_OF_ALL, sizeof *keys);
    crn_disk_note *notes = calloc(COUNT_OF_ALL, sizeof *notes);
    for (uint32_t i = 0; i < COUNT_OF_ALL; i++) {
        blocks[i] = (crn_disk_block){.name = 1, .file = 1, .line = i};
        keys[i] = (crn_disk_key){1};
        notes[i] = (crn_disk_note){1, 1};
    }
    replace(&its, CRN_SECTION_STRINGS, strings, LENGTH + 2);
    replace(&its, CRN_SECTION_BLOCKS, blocks, COUNT_OF_ALL * sizeof *blocks);
    replace(&its, CRN_SECTION_KEYS, keys, COUNT_OF_ALL * sizeof *keys);
    replace(&its, CRN_SECTION_NOTES, notes, COUNT_OF_ALL * sizeof *notes);
    assert_true(scratch_write(path, its.bytes, its.size));
    crn_error error = {0};
    crn_profile *profile = crn_profile_load(path, &error);
    assert_int_equal(profile->block_count, COUNT_OF_ALL);
    assert_string_equal(profile->blocks[COUNT_OF_ALL - 1].file, strings + 1);
    assert_string_equal(crn_profile_note(profile, strings + 1, ""), strings + 1);
    crn_profile_free(profile);
    crn_trace *trace = crn_trace_load(path, &error);
    crn_span_store *store = crn_store_open(path, &error);
    assert_string_equal(trace->keys[COUNT_OF_ALL - 1], strings + 1);
    assert_string_equal(store->keys[COUNT_OF_ALL - 1], strings + 1);
    crn_store_close(store);
    crn_trace_free(trace);
    crn_spreads *spreads = crn_spreads_load(path, &error);
    assert_string_equal(spreads->keys[COUNT_OF_ALL - 1], strings + 1);
    crn_spreads_free(spreads);
    free(notes);
    free(keys);
    free(blocks);
    free(its.bytes);
    free(strings);
}

/* As many note keys as fit. */
static void there_may_be_many_notes(void **state)
{
    (void)state;
    enum { NOTES = 400000, KEY = 8 };
    char path[SCRATCH_PATH], *strings = calloc(NOTES, KEY);
    file its = file_with_spans(scratch_path(path, "notes.cairn"));
    crn_disk_note *notes = calloc(NOTES, sizeof *notes);
    for (uint32_t i = 0; i < NOTES; i++) {
        snprintf(strings + (size_t)i * KEY, KEY, "%07x", i);
        notes[i] = (crn_disk_note){i * KEY, 0};
    }
    strings[0] = 0;
    replace(&its, CRN_SECTION_STRINGS, strings, (size_t)NOTES * KEY);
    replace(&its, CRN_SECTION_NOTES, notes, NOTES * sizeof *notes);
    assert_true(scratch_write(path, its.bytes, its.size));
    crn_error error = {0};
    crn_profile *profile = crn_profile_load(path, &error);
    assert_true(profile->note_count >= NOTES);
    assert_non_null(crn_profile_note(profile, "0061a7f", NULL)); /* the last */
    crn_profile_free(profile);
    free(notes);
    free(its.bytes);
    free(strings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_found_by_offset),
        cmocka_unit_test(the_last_value_of_a_key_holds),
        cmocka_unit_test(one_long_text_may_be_all_names),
        cmocka_unit_test(there_may_be_many_notes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
