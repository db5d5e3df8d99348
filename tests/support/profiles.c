/* SPDX-License-Identifier: MIT
 *
 * profiles.c - see profiles.h.
 */
#include "support/profiles.h"

#include <stdio.h>
#include <stdlib.h>

#include "profile/profile.h"
#include "support/cases.h"
#include "support/compare.h"

cairn_options path_options(const char *path)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path = path;
    return options;
}

cairn_options span_options(const char *path)
{
    cairn_options options = path_options(path);
    options.spans = true;
    return options;
}

void setup_blocks(cairn_profile *profile, uint32_t first, uint32_t last)
{
    for (uint32_t block = first; block <= last; block++) {
        char name[24];
        snprintf(name, sizeof(name), "b%u", block);
        assert_int_equal(cairn_block_add(profile, &(cairn_block_info){.name = name}), block);
    }
}

setup setup_open(const cairn_options *options, uint32_t block_count)
{
    cairn_options otherwise = CAIRN_OPTIONS_DEFAULT;
    setup opened;
    assert_int_equal(cairn_profile_open(&opened.profile, options ? options : &otherwise), CAIRN_OK);
    setup_blocks(opened.profile, 1, block_count);
    opened.lane = cairn_lane_open(opened.profile, "main");
    opened.strand = cairn_strand_open(opened.lane);
    assert_non_null(opened.strand);
    return opened;
}

void setup_close(setup *opened)
{
    cairn_profile_close(opened->profile);
    *opened = (setup){NULL, NULL, NULL};
}

static size_t read_sequence(const char *text, cairn_block *blocks, size_t room)
{
    size_t length = 0;
    for (char *end; length < room; text = end) {
        blocks[length] = (cairn_block)strtoul(text, &end, 10);
        if (end == text)
            break;
        length++;
    }
    return length;
}

cairn_view *view_of(cairn_profile *profile)
{
    cairn_view *view;
    assert_int_equal(cairn_view_open(&view, profile), CAIRN_OK);
    return view;
}

cairn_cost cost_at(cairn_profile *profile, const char *path)
{
    cairn_block blocks[64];
    size_t length = read_sequence(path, blocks, COUNT(blocks));
    cairn_view *view = view_of(profile);
    cairn_cost cost = {0};
    if (!cairn_view_find(view, blocks, length, &cost))
        cost = (cairn_cost){0};
    cairn_view_close(view);
    return cost;
}

uint64_t calls_ending_in(cairn_profile *profile, const char *sequence)
{
    cairn_block blocks[64];
    size_t length = read_sequence(sequence, blocks, COUNT(blocks));
    cairn_view *view = view_of(profile);
    uint64_t calls = cairn_view_calls(view, blocks, length);
    cairn_view_close(view);
    return calls;
}

uint32_t contexts_in(cairn_profile *profile)
{
    cairn_view *view = view_of(profile);
    uint32_t count = view_context_count(view);
    cairn_view_close(view);
    return count;
}

cairn_cost total_of(cairn_profile *profile)
{
    cairn_view *view = view_of(profile);
    cairn_cost total = view_total(view);
    cairn_view_close(view);
    return total;
}

uint64_t note_of(const char *path, const char *key)
{
    crn_error error = {0};
    crn_profile *profile = crn_profile_load(path, &error);
    if (!profile)
        fail_msg("%s", error.message);
    uint64_t value = crn_profile_note_number(profile, key);
    crn_profile_free(profile);
    return value;
}
