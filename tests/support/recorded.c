/* SPDX-License-Identifier: MIT
 *
 * recorded.c - see recorded.h.
 */
#include "support/recorded.h"

#include <inttypes.h>
#include <string.h>

#include "support/cases.h"
#include "support/difference.h"
#include "support/soundness.h"

crn_profile *recorded_profile(const char *path)
{
    crn_error error = {0};
    difference found;
    crn_profile *profile = crn_profile_load(path, &error);
    if (!profile)
        fail_msg("%s", error.message);
    if (!profile_is_sound(profile, &found))
        fail_msg("%s: %s", path, found.text);
    return profile;
}

crn_trace *recorded_trace(const char *path)
{
    crn_error error = {0};
    crn_trace *trace = crn_trace_load(path, &error);
    if (!trace)
        fail_msg("%s", error.message);
    return trace;
}

recorded recorded_load(const char *path)
{
    return (recorded){recorded_profile(path), recorded_trace(path)};
}

void recorded_free(recorded *recorded)
{
    crn_trace_free(recorded->trace);
    crn_profile_free(recorded->profile);
}

static const char *name_of(const recorded *recorded, uint32_t span)
{
    uint32_t block = recorded->trace->spans[span].block;
    return block < recorded->profile->block_count ? recorded->profile->blocks[block].name : "";
}

/* Compares the innermost block first. */
static bool is_path(const recorded *recorded, uint32_t span, const char *path)
{
    const char *end = path + strlen(path);
    bool whole = strchr(path, '/') != NULL;
    for (;;) {
        const char *begin = end;
        while (begin > path && begin[-1] != '/')
            begin--;
        const char *name = name_of(recorded, span);
        if (strlen(name) != (size_t)(end - begin) || memcmp(name, begin, strlen(name)) != 0)
            return false;
        span = recorded->trace->spans[span].parent;
        if (begin == path)
            return !whole || span == CRN_SPAN_NONE;
        if (span == CRN_SPAN_NONE)
            return false;
        end = begin - 1;
    }
}

uint32_t recorded_count(const recorded *recorded, const char *path)
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < recorded->trace->span_count; s++)
        count += is_path(recorded, s, path);
    return count;
}

uint32_t recorded_find(const recorded *recorded, const char *path)
{
    for (uint32_t s = 0; s < recorded->trace->span_count; s++)
        if (is_path(recorded, s, path))
            return s;
    return CRN_SPAN_NONE;
}

const char *recorded_attribute(const recorded *recorded, uint32_t span, const char *key)
{
    static char text[64];
    uint32_t count;
    const crn_attribute *attributes = crn_trace_attributes(recorded->trace, span, &count);
    for (uint32_t i = 0; i < count; i++) {
        const crn_attribute *attribute = &attributes[i];
        if (strcmp(recorded->trace->keys[attribute->key], key) != 0)
            continue;
        if (attribute->kind == CRN_ATTRIBUTE_TEXT)
            return attribute->value.text;
        if (attribute->kind == CRN_ATTRIBUTE_NUMBER)
            snprintf(text, sizeof text, "%g", attribute->value.number);
        else
            snprintf(text, sizeof text, "%" PRId64, attribute->value.integer);
        return text;
    }
    return "";
}

uint32_t recorded_edges(const recorded *recorded, uint32_t from, uint32_t to, crn_edge_kind kind)
{
    uint32_t count = 0;
    for (uint32_t e = 0; e < recorded->trace->edge_count; e++) {
        const crn_span_edge *edge = &recorded->trace->edges[e];
        count += edge->from == from && edge->to == to && edge->kind == kind;
    }
    return count;
}

uint64_t recorded_calls(const recorded *recorded, const char *name)
{
    uint64_t calls = 0;
    const crn_profile *profile = recorded->profile;
    for (uint32_t c = 0; c < profile->context_count; c++)
        if (strcmp(profile->blocks[profile->block[c]].name, name) == 0)
            calls += profile->values[CRN_METRIC_CALLS][c];
    return calls;
}
