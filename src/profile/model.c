/* SPDX-License-Identifier: MIT */
#include "profile/model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "profile/freeze.h"

static const char *intern(crn_profile *profile, const char *text)
{
    if (!text)
        text = "";
    return crn_intern_text(profile->names, text);
}

crn_profile *crn_profile_new(void)
{
    crn_profile *profile = crn_calloc(1, sizeof *profile);
    profile->names = crn_interning_new();
    profile->note_keys = crn_interning_new();
    crn_profile_put_block(profile, &(crn_block_info){.name = "[root]", .file = ""});
    for (int m = 0; m < CRN_METRIC_FIXED; m++)
        crn_profile_put_metric(profile, crn_metrics_known[m].name, crn_metrics_known[m].unit);
    return profile;
}

void crn_profile_free(crn_profile *profile)
{
    if (!profile)
        return;
    for (uint32_t i = 0; i < profile->metric_count; i++)
        crn_free(profile->values[i]);
    for (size_t i = 0; i < profile->warning_count; i++)
        crn_free(profile->warnings[i]);
    crn_free(profile->warnings);
    crn_free(profile->blocks);
    crn_free(profile->parent);
    crn_free(profile->block);
    crn_free(profile->previous);
    crn_free(profile->calls_tree);
    crn_free(profile->edges);
    crn_free(profile->notes);
    crn_interning_free(profile->note_keys);
    crn_interning_free(profile->names);
    crn_free(profile);
}

const char *crn_profile_note(const crn_profile *profile, const char *key, const char *otherwise)
{
    for (size_t i = 0; i < profile->note_count; i++)
        if (!strcmp(profile->notes[i].key, key))
            return profile->notes[i].value;
    return otherwise;
}

int crn_note_compare(const void *left, const void *right)
{
    return strcmp((*(const crn_note *const *)left)->key, (*(const crn_note *const *)right)->key);
}

uint64_t crn_profile_note_number(const crn_profile *profile, const char *key)
{
    return strtoull(crn_profile_note(profile, key, "0"), NULL, 10);
}

int crn_profile_metric(const crn_profile *profile, const char *name)
{
    for (uint32_t i = 0; i < profile->metric_count; i++)
        if (!strcmp(profile->metrics[i].name, name))
            return (int)i;
    return -1;
}

uint32_t crn_profile_put_named(crn_profile *profile, const crn_block_info *info)
{
    uint32_t count = profile->block_count;
    if ((count & (count - 1)) == 0) /* full: the capacity is a power of two */
        profile->blocks =
            crn_realloc(profile->blocks, count ? (size_t)count * 2 : 1, sizeof *profile->blocks);
    profile->blocks[count] = *info;
    return profile->block_count++;
}

uint32_t crn_profile_put_block(crn_profile *profile, const crn_block_info *info)
{
    crn_block_info block = *info;
    block.name = intern(profile, info->name);
    block.file = intern(profile, info->file);
    return crn_profile_put_named(profile, &block);
}

uint32_t crn_profile_put_metric(crn_profile *profile, const char *name, const char *unit)
{
    int found = crn_profile_metric(profile, name);
    if (found >= 0)
        return (uint32_t)found;
    if (profile->metric_count == CRN_METRIC_MAX)
        return CRN_METRIC_MAX;
    profile->metrics[profile->metric_count] =
        crn_metric_about(intern(profile, name), intern(profile, unit));
    return profile->metric_count++;
}

void crn_profile_put_note(crn_profile *profile, const char *key, const char *value)
{
    crn_profile_put_known_note(profile, intern(profile, key), intern(profile, value));
}

void crn_profile_put_known_note(crn_profile *profile, const char *key, const char *value)
{
    /* The key is interned, so its address identifies it. */
    uint32_t number =
        crn_intern_number(profile->note_keys, (const char *)(const void *)&key, sizeof key);
    if (number < profile->note_count) {
        profile->notes[number].value = value;
        return;
    }
    size_t count = profile->note_count;
    if ((count & (count - 1)) == 0) /* full: the capacity is a power of two */
        profile->notes = crn_realloc(profile->notes, count ? count * 2 : 1, sizeof *profile->notes);
    profile->notes[profile->note_count++] = (crn_note){key, value};
}

void crn_warn_of(crn_profile *profile, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    size_t size = (size_t)vsnprintf(NULL, 0, format, again) + 1;
    va_end(again);
    char *text = crn_calloc(size, 1);
    vsnprintf(text, size, format, arguments);
    crn_text_make_safe(text); /* may quote a note of a capture */
    profile->warnings =
        crn_realloc(profile->warnings, profile->warning_count + 1, sizeof *profile->warnings);
    profile->warnings[profile->warning_count++] = text;
}

void crn_warn(crn_profile *profile, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    crn_warn_of(profile, format, arguments);
    va_end(arguments);
}

void crn_profile_put_column(crn_profile *profile, uint32_t metric, uint64_t *values)
{
    uint64_t any = metric == CRN_METRIC_CALLS; /* calls always have a column */
    for (uint32_t c = 0; c < profile->context_count; c++)
        any |= values[c];
    crn_free(profile->values[metric]);
    profile->values[metric] = any ? values : NULL;
    if (!any)
        crn_free(values);
}
