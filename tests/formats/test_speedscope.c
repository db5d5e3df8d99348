/* SPDX-License-Identifier: MIT
 *
 * test_speedscope.c - plays the JSON for speedscope back, and sums the time of each frame.
 * speedscope.py tests it with speedscope's own reader.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "profile/profile.h"
#include "support.h"
#include "support/cases.h"

static json_t *write_json(const crn_profile *profile)
{
    size_t size;
    json_error_t error;
    char *text = support_write(crn_speedscope_write, profile, NULL, &size);
    json_t *file = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (!file)
        fail_msg("line %d: %s", error.line, error.text);
    free(text);
    return file;
}

static uint64_t number(json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    assert_true(json_is_integer(value));
    return (uint64_t)json_integer_value(value);
}

/* Plays the events: time goes to the innermost open frame. Returns self time by frame. */
static uint64_t *play(json_t *profile, size_t frame_count)
{
    uint64_t *self = calloc(frame_count, sizeof *self);
    uint64_t stack[256], depth = 0, now = 0;
    size_t i;
    json_t *event;
    json_array_foreach(json_object_get(profile, "events"), i, event)
    {
        uint64_t frame = number(event, "frame"), at = number(event, "at");
        const char *type = json_string_value(json_object_get(event, "type"));
        assert_in_range(frame, 0, frame_count - 1);
        assert_true(at >= now);
        assert_true(depth > 0 || at == now); /* all time is in a frame */
        if (depth > 0)
            self[stack[depth - 1]] += at - now;
        now = at;
        if (strcmp(type, "O") == 0) {
            assert_true(depth < COUNT(stack));
            stack[depth++] = frame;
        } else {
            assert_string_equal(type, "C");
            assert_true(depth > 0);
            assert_int_equal(stack[--depth], frame);
        }
    }
    assert_int_equal(depth, 0);
    assert_int_equal(now, number(profile, "endValue"));
    return self;
}

static void check_metric(const crn_profile *profile, json_t *json, json_t *frames)
{
    const char *name = json_string_value(json_object_get(json, "name"));
    int metric = crn_profile_metric(profile, name);
    assert_true(metric >= 0);
    uint64_t *self = play(json, json_array_size(frames));
    crn_block_cost cost = crn_block_cost_make(profile, (uint32_t)metric, NULL);
    /* Blocks that have contexts have frames, in the same order. */
    uint8_t *used = calloc(profile->block_count, 1);
    for (uint32_t c = 0; c < profile->context_count; c++)
        used[profile->block[c]] = 1;
    size_t frame = 0;
    for (uint32_t b = 0; b < profile->block_count; b++)
        if (used[b])
            assert_int_equal(self[frame++], cost.self[b]);
    assert_int_equal(frame, json_array_size(frames));
    assert_int_equal(number(json, "endValue"), support_total(profile, name));
    crn_block_cost_free(&cost);
    free(used);
    free(self);
}

static void test_events(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        crn_profile *profile = support_random(seed, (uint32_t)seed * 10);
        json_t *file = write_json(profile);
        json_t *frames = json_object_get(json_object_get(file, "shared"), "frames");
        json_t *profiles = json_object_get(file, "profiles");
        uint64_t active = number(file, "activeProfileIndex");
        assert_string_equal(
            json_string_value(json_object_get(json_array_get(profiles, active), "name")), "wall");
        assert_string_equal(
            json_string_value(json_object_get(json_array_get(profiles, active), "unit")),
            "nanoseconds");
        size_t i;
        json_t *json;
        json_array_foreach(profiles, i, json) check_metric(profile, json, frames);
        assert_in_range(i, 3, 4);
        json_decref(file);
        crn_profile_free(profile);
    }
}

/* The file grows with the number of contexts, not with the length of their paths. */
static void test_size(void **state)
{
    (void)state;
    enum { DEPTH = 20000 };
    crn_profile *profile = support_path(DEPTH);
    size_t size;
    char *text = support_write(crn_speedscope_write, profile, NULL, &size);
    assert_true(size < DEPTH * 150);
    free(text);
    crn_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
