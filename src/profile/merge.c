/* SPDX-License-Identifier: MIT */
#include "profile/merge.h"

#include <cairn/cairn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { VALUE_MAX = 400 };

typedef struct merged_note {
    char *key;
    char *value;
} merged_note;

struct crn_merge {
    crn_profile_builder *builder;
    merged_note *notes;
    size_t note_count, note_capacity;
    uint64_t count; /* number of captures, with those in merged profiles */
};

/* Rules for merging the values of a note. AGREE: lists those that differ; PARTS: adds "A of B" by
 * each number; FORGET: drops the note. */
typedef enum rule {
    RULE_AGREE,
    RULE_ADD,
    RULE_PARTS,
    RULE_EARLIEST,
    RULE_LARGEST,
    RULE_FORGET
} rule;

static rule rule_of(const char *key)
{
    static const struct {
        const char *key;
        rule rule;
    } rules[] = {{"recorded_ns", RULE_ADD},
                 {"elapsed_ns", RULE_ADD},
                 {"cost_ns", RULE_ADD},
                 {"cost_method", RULE_FORGET},
                 {"misuses", RULE_ADD},
                 {"dropped", RULE_ADD},
                 {"samples", RULE_ADD},
                 {"tick_samples", RULE_ADD},
                 {"unaccounted_ns", RULE_ADD},
                 {"lanes_open", RULE_FORGET},
                 {"lanes", RULE_ADD},
                 {"strands", RULE_ADD},
                 {"path_limit", RULE_LARGEST},
                 {"context_budget", RULE_LARGEST},
                 {"started", RULE_EARLIEST},
                 {"process", RULE_FORGET},
                 {"state", RULE_FORGET},
                 {"merged", RULE_FORGET},
                 {"stopped_by", RULE_LARGEST},
                 {"damage", RULE_LARGEST},
                 {"call_ns", RULE_FORGET},
                 {"alloc_samples", RULE_ADD},
                 {"sample_rounds", RULE_ADD},
                 {"sample_rounds_ns", RULE_ADD},
                 {"sampler_ns", RULE_ADD},
                 {"cpu_samples", RULE_ADD},
                 {"wall_squares", RULE_ADD},
                 {"cpu_squares", RULE_ADD},
                 {"sample_ns", RULE_FORGET},
                 {"trace_id", RULE_FORGET},
                 {"span_key", RULE_FORGET},
                 {"parent", RULE_FORGET},
                 {"forked_from", RULE_FORGET},
                 {"spans_dropped", RULE_ADD},
                 {"spans_limited", RULE_ADD},
                 {"spans_late", RULE_ADD},
                 {"spans_recycled", RULE_ADD},
                 {"spans_skipped", RULE_ADD},
                 {"handler_ns", RULE_ADD},
                 {"samples_lost", RULE_ADD},
                 {"samples_unplaced", RULE_ADD},
                 {"incomplete_stacks", RULE_PARTS},
                 {"async_dropped", RULE_ADD},
                 {"stops", RULE_ADD},
                 {"stopped_ns", RULE_ADD},
                 {"longest_stop_ns", RULE_LARGEST}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(key, rules[i].key) == 0)
            return rules[i].rule;
    return RULE_AGREE;
}

crn_merge *crn_merge_new(void)
{
    crn_merge *merge = crn_calloc(1, sizeof *merge);
    merge->builder = crn_profile_builder_new();
    return merge;
}

static merged_note *find_note(const crn_merge *merge, const char *key)
{
    for (size_t i = 0; i < merge->note_count; i++)
        if (strcmp(merge->notes[i].key, key) == 0)
            return &merge->notes[i];
    return NULL;
}

bool crn_merge_fits(const crn_merge *merge, const crn_profile *profile, crn_error *error)
{
    const merged_note *before = find_note(merge, CRN_NOTE_MLMON_MAGIC);
    const char *magic = crn_profile_note(profile, CRN_NOTE_MLMON_MAGIC, NULL);
    return !before || !magic || strcmp(before->value, magic) == 0 ||
           crn_error_set(error, CAIRN_E_FORMAT, "is of another MLton program (magic %s, not %s)",
                         magic, before->value);
}

static void set_value(merged_note *note, const char *value)
{
    char *copy = crn_strdup(value);
    crn_free(note->value);
    note->value = copy;
}

static void set_number(merged_note *note, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, number);
    set_value(note, text);
}

/* Returns true if the list `values`, "a | b | c", contains `value`. */
static bool holds(const char *values, const char *value)
{
    size_t length = strlen(value);
    for (const char *at = values; (at = strstr(at, value)) != NULL && length; at++) {
        bool starts = at == values || (at >= values + 3 && memcmp(at - 3, " | ", 3) == 0);
        if (starts && (!at[length] || strncmp(at + length, " | ", 3) == 0))
            return true;
    }
    return !length;
}

/* Adds "A of B" to a note of the same form. */
static void add_parts(merged_note *note, const char *value)
{
    char *old, *new, text[64];
    uint64_t part = strtoull(note->value, &old, 10) + strtoull(value, &new, 10);
    bool fits = strncmp(old, " of ", 4) == 0 && strncmp(new, " of ", 4) == 0;
    uint64_t whole = fits ? strtoull(old + 4, NULL, 10) + strtoull(new + 4, NULL, 10) : 0;
    snprintf(text, sizeof text, "%" PRIu64 " of %" PRIu64, part, whole);
    if (fits)
        set_value(note, text);
}

static void combine(merged_note *note, rule rule, const char *value)
{
    uint64_t old = strtoull(note->value, NULL, 10), new = strtoull(value, NULL, 10);
    if (rule == RULE_ADD)
        set_number(note, old + new);
    else if (rule == RULE_PARTS)
        add_parts(note, value);
    else if ((rule == RULE_LARGEST && new > old) ||
             (rule == RULE_EARLIEST && strcmp(value, note->value) < 0))
        set_value(note, value);
    else if (rule == RULE_AGREE && !holds(note->value, value) &&
             strlen(note->value) + strlen(value) < VALUE_MAX) {
        size_t size = strlen(note->value) + strlen(value) + 4;
        char *both = crn_calloc(size, 1);
        snprintf(both, size, "%s | %s", note->value, value);
        crn_free(note->value);
        note->value = both;
    }
}

static void add_note(crn_merge *merge, const char *key, const char *value)
{
    rule rule = rule_of(key);
    if (rule == RULE_FORGET)
        return;
    merged_note *note = find_note(merge, key);
    if (note) {
        combine(note, rule, value);
        return;
    }
    CRN_GROW(merge->notes, merge->note_count, merge->note_capacity);
    merge->notes[merge->note_count++] = (merged_note){crn_strdup(key), crn_strdup(value)};
}

void crn_merge_add(crn_merge *merge, const crn_profile *profile)
{
    crn_profile_builder_add(merge->builder, profile);
    for (size_t i = 0; i < profile->note_count; i++)
        add_note(merge, profile->notes[i].key, profile->notes[i].value);
    uint64_t before = strtoull(crn_profile_note(profile, "merged", "1"), NULL, 10);
    merge->count += before ? before : 1;
}

crn_profile *crn_merge_end(crn_merge *merge)
{
    char count[24];
    for (size_t i = 0; i < merge->note_count; i++) {
        crn_profile_builder_note(merge->builder, merge->notes[i].key, merge->notes[i].value);
        crn_free(merge->notes[i].key);
        crn_free(merge->notes[i].value);
    }
    snprintf(count, sizeof count, "%" PRIu64, merge->count);
    crn_profile_builder_note(merge->builder, "merged", count);
    crn_profile *profile = crn_profile_builder_end(merge->builder);
    crn_free(merge->notes);
    crn_free(merge);
    return profile;
}
