/* SPDX-License-Identifier: MIT
 *
 * test_capture_damage.c - captures truncated at every byte or with changed bytes: the valid part
 * is loaded, or an error of one line is reported. Under the address sanitizer this also shows that
 * nothing out of bounds is read.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "capture/format.h"
#include "capture/reader.h"
#include "graph/graph.h"
#include "profile/profile.h"
#include "support/cases.h"
#include "support/host.h"
#include "support/profiles.h"
#include "support/scratch.h"
#include "support/soundness.h"
#include "support/walker.h"

/* A capture with all kinds of data, closed or as after a kill. */
static unsigned char *make_capture(size_t *size, uint64_t *calls, bool closed)
{
    char path[SCRATCH_PATH];
    cairn_options options = path_options(scratch_path(path, "whole.cairn"));
    options.command = "test";
    options.path_limit = 16;
    setup s = setup_open(&options, 5);
    cairn_profile_note(s.profile, "key", "value");
    cairn_metric metric = cairn_metric_add(s.profile, "bytes", "byte");
    cairn_strand *other = cairn_strand_open(cairn_lane_open(s.profile, "other"));
    walker walk = {.strand = s.strand, .random = {4}, .blocks = 5};
    for (int i = 0; i < 4; i++) {
        walk.strand = i % 2 ? other : s.strand;
        walker_walk(&walk, 100);
        cairn_charge(walk.strand, metric, 10);
    }
    *calls = walk.calls + 2;
    unsigned char *bytes = NULL;
    if (!closed)
        bytes = scratch_read(path, size);
    setup_close(&s);
    return closed ? scratch_read(path, size) : bytes;
}

/* Loads the file, which may be damaged. Returns whether it could be loaded. */
static bool load(const char *path, uint64_t most_calls, uint64_t *calls)
{
    crn_error error = {0};
    difference found;
    crn_profile *profile = crn_profile_load(path, &error);
    if (!profile) {
        assert_int_not_equal(error.code, CAIRN_OK);
        assert_true(strlen(error.message) > 10);
        assert_null(strchr(error.message, '\n'));
        return false;
    }
    if (!profile_is_sound(profile, &found))
        fail_msg("%s", found.text);
    *calls = profile_total(profile, CRN_METRIC_CALLS);
    assert_true(*calls <= most_calls);
    crn_profile_free(profile);
    return true;
}

/* A packed capture: of one lane. */
static unsigned char *make_packed(size_t *size, uint64_t *calls)
{
    char path[SCRATCH_PATH];
    cairn_options options = path_options(scratch_path(path, "packed.cairn"));
    setup s = setup_open(&options, 5);
    walker walk = {.strand = s.strand, .random = {4}, .blocks = 5};
    walker_walk(&walk, 200);
    *calls = walk.calls + 1;
    setup_close(&s);
    return scratch_read(path, size);
}

/* Takes the bytes of a capture with `expected` calls. */
static void cut_at_every_byte(unsigned char *bytes, size_t size, uint64_t expected)
{
    char path[SCRATCH_PATH];
    uint64_t calls, last = UINT64_MAX;
    assert_non_null(bytes);
    assert_true(scratch_write(scratch_path(path, "cut.cairn"), bytes, size));
    free(bytes);
    assert_true(load(path, expected, &calls));
    assert_int_equal(calls, expected);
    /* Far from where anything is, one byte in many is enough for the fast tier. */
    uint64_t step = scale_is_long() ? 1 : 1 + size / scale(10000);
    size_t loaded = 0;
    for (size_t length = size; length-- > 0;) {
        size_t in_page = length % CRN_PAGE;
        if (length % step != 0 && in_page > 2 && in_page < CRN_PAGE - 2)
            continue;
        assert_int_equal(truncate(path, (off_t)length), 0);
        bool whole = load(path, expected, &calls);
        if (!whole)
            calls = 0;
        loaded += whole;
        assert_true(calls <= last); /* counts decrease with the length */
        last = calls;
    }
    assert_true(loaded > 0);
    assert_int_equal(last, 0);
}

static void cut_at_every_byte_when_closed(void **state)
{
    (void)state;
    size_t size;
    uint64_t expected;
    unsigned char *bytes = make_capture(&size, &expected, true);
    cut_at_every_byte(bytes, size, expected);
}

static void cut_at_every_byte_when_live(void **state)
{
    (void)state;
    size_t size;
    uint64_t expected;
    unsigned char *bytes = make_capture(&size, &expected, false);
    cut_at_every_byte(bytes, size, expected);
}

static void cut_at_every_byte_when_packed(void **state)
{
    (void)state;
    size_t size;
    uint64_t expected;
    test_has_host = true;
    unsigned char *bytes = make_packed(&size, &expected);
    uint32_t version;
    memcpy(&version, bytes + offsetof(crn_disk_header, format_version), sizeof version);
    /* With tiny limits, tables behind the records leave nothing to gain. */
    assert_int_equal(version, CRN_FIRST(CRN_FORMAT_PACKED, CRN_FORMAT_VERSION));
    cut_at_every_byte(bytes, size, expected);
}

/* Damages only parts with data: a capture has long stretches of zeros. */
static size_t *find_content(const unsigned char *bytes, size_t size, size_t *count)
{
    size_t *places = malloc(size * sizeof(*places));
    *count = 0;
    for (size_t i = 0; i < size; i++) {
        bool near = bytes[i] != 0;
        for (size_t j = i > 8 ? i - 8 : 0; j < i + 8 && j < size && !near; j++)
            near = bytes[j] != 0;
        if (near)
            places[(*count)++] = i;
    }
    return places;
}

static void damage(random_source *random, unsigned char *bytes, size_t size, size_t place)
{
    static const uint64_t favourites[] = {0,
                                          1,
                                          2,
                                          7,
                                          255,
                                          4095,
                                          4096,
                                          65536,
                                          INT32_MAX,
                                          UINT32_MAX,
                                          (uint64_t)1 << 32,
                                          (uint64_t)1 << 40,
                                          INT64_MAX,
                                          UINT64_MAX,
                                          UINT64_MAX - 4095};
    uint64_t value = random_chance(random, 1, 3)
                         ? random_next(random)
                         : favourites[random_below(random, COUNT(favourites))];
    size_t width = (size_t)1 << random_below(random, 4);
    if (random_chance(random, 1, 4)) {
        bytes[place] ^= (unsigned char)(1u << random_below(random, 8));
    } else if (random_chance(random, 1, 3)) {
        bytes[place] = (unsigned char)(bytes[place] + random_below(random, 5) - 2);
    } else {
        place -= place % width;
        if (place + width <= size)
            memcpy(bytes + place, &value, width);
    }
}

/* Damages the file, of which `most` bytes are used: small changes anywhere, more often in header
 * and directory. */
static void anything_may_be_damaged(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    size_t size, count;
    uint64_t expected, calls;
    scratch_path(path, "damaged.cairn");
    random_source random = {2026};
    for (int closed = 0; closed < 2; closed++) {
        unsigned char *bytes = make_capture(&size, &expected, closed);
        unsigned char *damaged = malloc(size);
        size_t *places = find_content(bytes, size, &count);
        assert_true(scratch_write(path, bytes, size));
        int file = open(path, O_RDWR | O_CLOEXEC);
        uint64_t loaded = 0;
        for (uint64_t round = 0; round < scale(10000); round++) {
            memcpy(damaged, bytes, size);
            for (uint32_t i = 1 + random_below(&random, 3); i > 0; i--) {
                size_t place = random_chance(&random, 1, 3)
                                   ? random_below(&random, 1200)
                                   : places[random_below(&random, (uint32_t)count)];
                damage(&random, damaged, size, place);
            }
            for (size_t page = 0; page < size; page += CRN_PAGE) {
                size_t end = page + CRN_PAGE < size ? CRN_PAGE : size - page;
                if (memcmp(damaged + page, bytes + page, end) != 0 || round == 0)
                    assert_int_equal(pwrite(file, damaged + page, end, (off_t)page), end);
            }
            loaded += load(path, UINT64_MAX, &calls);
            for (size_t page = 0; page < size; page += CRN_PAGE) {
                size_t end = page + CRN_PAGE < size ? CRN_PAGE : size - page;
                if (memcmp(damaged + page, bytes + page, end) != 0)
                    assert_int_equal(pwrite(file, bytes + page, end, (off_t)page), end);
            }
        }
        assert_true(loaded > 0); /* the damage was not all at the door */
        close(file);
        free(places);
        free(damaged);
        free(bytes);
    }
}

static void other_files_are_refused(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    crn_error error = {0};
    random_source random = {8};
    scratch_path(path, "garbage");
    static unsigned char garbage[20000];
    for (size_t size = 0; size < sizeof(garbage); size = size * 2 + 1) {
        for (size_t i = 0; i < size; i++)
            garbage[i] = (unsigned char)random_next(&random);
        assert_true(scratch_write(path, garbage, size));
        assert_null(crn_profile_load(path, &error));
        assert_true(error.code == CAIRN_E_FORMAT || error.code == CAIRN_E_TRUNCATED);
    }
    assert_null(crn_profile_load("/", &error));
    assert_int_not_equal(error.code, CAIRN_OK);
    assert_null(crn_profile_load("/nowhere/at/all", &error));
    assert_int_equal(error.code, CAIRN_E_READ);
    assert_non_null(strstr(error.message, "/nowhere/at/all"));
    assert_null(crn_profile_load("/dev/null", &error));
    assert_null(crn_profile_load("", &error));
}

static void hold_refused(uint32_t version)
{
    char path[SCRATCH_PATH];
    size_t size;
    uint64_t expected;
    unsigned char *bytes = make_capture(&size, &expected, true);
    crn_disk_header header;
    memcpy(&header, bytes, sizeof(header));
    header.format_version = version;
    memcpy(bytes, &header, sizeof(header));
    assert_true(scratch_write(scratch_path(path, "newer.cairn"), bytes, size));
    free(bytes);
    crn_error error = {0};
    assert_null(crn_profile_load(path, &error));
    assert_int_equal(error.code, CAIRN_E_VERSION);
}

static void other_formats_are_refused(void **state)
{
    (void)state;
    hold_refused(CRN_FORMAT_PACKED + 1);
    hold_refused(1000);
}

/* Every 16 bytes are a directory that claims everything behind it and continues at the next 16. */
static void directories_that_overlap_are_not_read_again(void **state)
{
    (void)state;
    enum { SIZE = 17 * CRN_PAGE };
    char path[SCRATCH_PATH];
    size_t size;
    uint64_t expected;
    unsigned char *made = make_capture(&size, &expected, true), *bytes = calloc(SIZE, 1);
    crn_disk_header header;
    memcpy(&header, made, sizeof header);
    header.size = SIZE;
    memcpy(bytes, &header, sizeof header);
    for (uint64_t at = header.directory; at < SIZE; at += sizeof(crn_disk_directory)) {
        crn_disk_directory directory = {.next = at + sizeof directory, .count = UINT32_MAX};
        memcpy(bytes + at, &directory, sizeof directory);
    }
    assert_true(scratch_write(scratch_path(path, "overlap.cairn"), bytes, SIZE));
    free(made);
    free(bytes);
    crn_error error = {0};
    crn_reader reader;
    assert_true(crn_reader_open(&reader, path, &error));
    assert_true(reader.chunk_count > 0);
    assert_true(reader.chunk_count <= SIZE / sizeof(crn_disk_chunk));
    crn_reader_close(&reader);
    load(path, UINT64_MAX, &expected);
}

/* The rest of the directory becomes lanes that all have the same bytes: those of lane 0, up to the
 * end of the file. */
static void lanes_that_overlap_are_not_read_again(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    size_t size;
    uint64_t calls;
    unsigned char *bytes = make_capture(&size, &calls, true);
    crn_disk_header *header = (crn_disk_header *)(void *)bytes;
    crn_disk_directory *directory = (crn_disk_directory *)(void *)(bytes + header->directory);
    crn_disk_chunk repeated[2] = {{0}};
    for (uint32_t i = 0; i < directory->count; i++)
        for (int k = 0; k < 2; k++)
            if (directory->chunks[i].kind == (k ? CRN_SECTION_RECORDS : CRN_SECTION_LANE) &&
                directory->chunks[i].lane == 0 && directory->chunks[i].place == 0)
                repeated[k] = directory->chunks[i];
    crn_disk_lane *lane = (crn_disk_lane *)(void *)(bytes + repeated[0].offset);
    lane->used = UINT32_MAX;
    for (uint32_t number = 10; directory->count + 2 <= directory->capacity; number++)
        for (int k = 0; k < 2; k++) {
            repeated[k].lane = number;
            repeated[k].size = size - repeated[k].offset;
            directory->chunks[directory->count++] = repeated[k];
        }
    assert_true(scratch_write(scratch_path(path, "lanes.cairn"), bytes, size));
    free(bytes);
    crn_error error = {0};
    assert_null(crn_profile_load(path, &error));
    assert_int_equal(error.code, CAIRN_E_FORMAT);
    assert_non_null(strstr(error.message, "its lanes overlap"));
    crn_lanes lanes;
    assert_false(crn_lanes_load(&lanes, path, &error));
    assert_int_equal(error.code, CAIRN_E_FORMAT);
}

/* The statistics of the only lane are counted once. */
static void a_lane_without_a_root_has_its_statistics(void **state)
{
    (void)state;
    enum { STRANDS = 3 };
    char path[SCRATCH_PATH];
    size_t size;
    cairn_options options = path_options(scratch_path(path, "rootless.cairn"));
    setup s = setup_open(&options, 2);
    for (int i = 1; i < STRANDS; i++)
        cairn_strand_open(s.lane);
    setup_close(&s);
    unsigned char *bytes = scratch_read(path, &size);
    crn_reader reader;
    crn_error error = {0};
    assert_true(crn_reader_open(&reader, path, &error));
    uint64_t at = reader.chunks[crn_reader_find(&reader, CRN_SECTION_LANE, 0)].offset;
    crn_reader_close(&reader);
    crn_link *links = (crn_link *)(void *)(bytes + at + sizeof(crn_disk_lane));
    assert_int_equal(note_of(path, "strands"), STRANDS);
    links[CRN_RECORD_ROOT].depth = 7;
    assert_true(scratch_write(path, bytes, size));
    free(bytes);
    assert_int_equal(note_of(path, "strands"), STRANDS);
    assert_int_equal(note_of(path, "lanes"), 1);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(cut_at_every_byte_when_closed),
        cmocka_unit_test(cut_at_every_byte_when_live),
        cmocka_unit_test(cut_at_every_byte_when_packed),
        cmocka_unit_test(anything_may_be_damaged),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(directories_that_overlap_are_not_read_again),
        cmocka_unit_test(lanes_that_overlap_are_not_read_again),
        cmocka_unit_test(a_lane_without_a_root_has_its_statistics),
        cmocka_unit_test(other_formats_are_refused),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
