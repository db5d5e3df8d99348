/* SPDX-License-Identifier: MIT
 *
 * OTLP profiles (v1development) in protobuf: a Profile for each metric, a Stack for each context
 * with any cost. The first entry of each table is empty, as the protocol wants it.
 */
#include <cairn/cairn.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "formats/formats.h"
#include "formats/names.h"
#include "formats/otlp_parts.h"

enum { CONTEXTS_A_PART = 20000 };

typedef struct writer {
    const crn_profile *profile;
    const crn_otlp_options *options;
    crn_names names;
    int32_t *numbers; /* by block: its function and location; 0 without contexts */
    char **strings;
    size_t string_count, string_room;
    /* Shared by all parts of the profile: */
    Otlp__Function *functions, **function_items;
    Otlp__Line *lines, **line_items;
    Otlp__Location *locations, **location_items;
} writer;

static int32_t string_add(writer *writer, const char *text)
{
    CRN_GROW(writer->strings, writer->string_count, writer->string_room);
    writer->strings[writer->string_count] = crn_text_copy(text, false);
    return (int32_t)writer->string_count++;
}

/* Makes a function and a location for each block, with the same number, from 1. */
static void make_functions(writer *writer)
{
    size_t count = writer->names.used_count + (size_t)1;
    writer->functions = crn_calloc(count, sizeof *writer->functions);
    writer->function_items = crn_calloc(count, sizeof *writer->function_items);
    writer->lines = crn_calloc(count, sizeof *writer->lines);
    writer->line_items = crn_calloc(count, sizeof *writer->line_items);
    writer->locations = crn_calloc(count, sizeof *writer->locations);
    writer->location_items = crn_calloc(count, sizeof *writer->location_items);
    writer->numbers = crn_calloc(writer->profile->block_count, sizeof *writer->numbers);
    string_add(writer, "");
    for (size_t i = 0; i < count; i++) {
        otlp__function__init(writer->function_items[i] = &writer->functions[i]);
        otlp__line__init(writer->line_items[i] = &writer->lines[i]);
        otlp__location__init(writer->location_items[i] = &writer->locations[i]);
        if (i == 0)
            continue;
        uint32_t block = writer->names.used[i - 1];
        const crn_block_info *info = &writer->profile->blocks[block];
        writer->numbers[block] = (int32_t)i;
        writer->functions[i].name_strindex = string_add(writer, writer->names.labels[block]);
        writer->functions[i].filename_strindex = *info->file ? string_add(writer, info->file) : 0;
        writer->functions[i].start_line = info->line;
        writer->lines[i].function_index = (int32_t)i;
        writer->lines[i].line = info->line;
        writer->lines[i].column = info->column;
        writer->locations[i].n_lines = 1;
        writer->locations[i].lines = &writer->line_items[i];
    }
}

/* The stacks of a part. Each begins with its innermost function. */
typedef struct stacks {
    Otlp__Stack *all, **items;
    uint32_t *contexts; /* by stack, from 1 */
    size_t count;       /* including the empty stack 0 */
} stacks;

static void stacks_make(stacks *stacks, const writer *writer, uint32_t first, uint32_t until)
{
    const crn_profile *profile = writer->profile;
    size_t room = until - first + (size_t)1;
    stacks->all = crn_calloc(room, sizeof *stacks->all);
    stacks->items = crn_calloc(room, sizeof *stacks->items);
    stacks->contexts = crn_calloc(room, sizeof *stacks->contexts);
    otlp__stack__init(stacks->items[0] = &stacks->all[0]);
    stacks->count = 1;
    for (uint32_t c = first; c < until; c++) {
        bool any = false;
        size_t depth = 1;
        for (uint32_t m = 0; m < profile->metric_count; m++)
            any |= profile->values[m] && crn_self(profile, m, c);
        if (!any)
            continue;
        for (uint32_t up = c; up; up = profile->parent[up])
            depth++;
        Otlp__Stack *stack = stacks->items[stacks->count] = &stacks->all[stacks->count];
        otlp__stack__init(stack);
        stack->location_indices = crn_calloc(depth, sizeof *stack->location_indices);
        for (uint32_t up = c; up; up = profile->parent[up])
            stack->location_indices[stack->n_location_indices++] =
                writer->numbers[profile->block[up]];
        stack->location_indices[stack->n_location_indices++] = writer->numbers[profile->block[0]];
        stacks->contexts[stacks->count++] = c;
    }
}

static void stacks_free(stacks *stacks)
{
    for (size_t i = 0; i < stacks->count; i++)
        crn_free(stacks->all[i].location_indices);
    crn_free(stacks->all);
    crn_free((void *)stacks->items);
    crn_free(stacks->contexts);
}

/* One metric's samples. */
typedef struct metric {
    Otlp__Profile profile;
    Otlp__ValueType type;
    Otlp__Sample *samples, **items;
    int64_t *values;
} metric;

static bool metric_make(metric *metric, writer *writer, const stacks *stacks, uint32_t m)
{
    const crn_profile *profile = writer->profile;
    otlp__profile__init(&metric->profile);
    otlp__value_type__init(&metric->type);
    if (!profile->values[m])
        return false;
    metric->samples = crn_calloc(stacks->count, sizeof *metric->samples);
    metric->items = crn_calloc(stacks->count, sizeof *metric->items);
    metric->values = crn_calloc(stacks->count, sizeof *metric->values);
    size_t count = 0;
    for (size_t s = 1; s < stacks->count; s++) {
        uint64_t value = crn_self(profile, m, stacks->contexts[s]);
        if (!value)
            continue;
        Otlp__Sample *sample = metric->items[count] = &metric->samples[count];
        otlp__sample__init(sample);
        metric->values[count] = value < INT64_MAX ? (int64_t)value : INT64_MAX;
        sample->stack_index = (int32_t)s;
        sample->n_values = 1;
        sample->values = &metric->values[count++];
    }
    metric->type.type_strindex = string_add(writer, profile->metrics[m].name);
    metric->type.unit_strindex = string_add(writer, profile->metrics[m].unit);
    metric->profile.sample_type = &metric->type;
    metric->profile.n_samples = count;
    metric->profile.samples = metric->items;
    int64_t start = 0, length = 0;
    crn_export_span(profile, &start, &length);
    metric->profile.time_unix_nano = (uint64_t)start;
    metric->profile.duration_nano = (uint64_t)length;
    return count > 0;
}

static void metric_free(metric *metric)
{
    crn_free(metric->samples);
    crn_free((void *)metric->items);
    crn_free(metric->values);
}

static bool hand_on(const writer *writer, stacks *stacks, Otlp__Profile **profiles, size_t count)
{
    crn_otlp_list attributes = {0};
    Otlp__Mapping mapping = OTLP__MAPPING__INIT, *mappings = &mapping;
    Otlp__Link link = OTLP__LINK__INIT, *links = &link;
    Otlp__Attribute attribute = OTLP__ATTRIBUTE__INIT, *attribute_items = &attribute;
    Otlp__ProfilesDictionary dictionary = OTLP__PROFILES_DICTIONARY__INIT;
    Otlp__Scope scope = OTLP__SCOPE__INIT;
    Otlp__ScopeProfiles scoped = OTLP__SCOPE_PROFILES__INIT, *scopes = &scoped;
    Otlp__Resource resource = OTLP__RESOURCE__INIT;
    Otlp__ResourceProfiles its = OTLP__RESOURCE_PROFILES__INIT, *resources = &its;
    Otlp__ProfilesRequest request = OTLP__PROFILES_REQUEST__INIT;
    size_t functions = writer->names.used_count + (size_t)1;
    crn_otlp_add_resource(&attributes, writer->options);
    dictionary.n_mapping_table = dictionary.n_link_table = dictionary.n_attribute_table = 1;
    dictionary.mapping_table = &mappings;
    dictionary.link_table = &links;
    dictionary.attribute_table = &attribute_items;
    dictionary.n_location_table = dictionary.n_function_table = functions;
    dictionary.location_table = writer->location_items;
    dictionary.function_table = writer->function_items;
    dictionary.n_string_table = writer->string_count;
    dictionary.string_table = writer->strings;
    dictionary.n_stack_table = stacks->count;
    dictionary.stack_table = stacks->items;
    scope.name = (char *)(uintptr_t) "cairn";
    scope.version = (char *)(uintptr_t)CAIRN_VERSION;
    scoped.scope = &scope;
    scoped.n_profiles = count;
    scoped.profiles = profiles;
    resource.n_attributes = attributes.count;
    resource.attributes = attributes.items;
    its.resource = &resource;
    its.n_scope_profiles = 1;
    its.scope_profiles = &scopes;
    request.n_resource_profiles = 1;
    request.resource_profiles = &resources;
    request.dictionary = &dictionary;
    bool good = crn_otlp_hand_on(&request.base, writer->options);
    crn_otlp_list_free(&attributes);
    return good;
}

static bool put_part(writer *writer, uint32_t first, uint32_t until)
{
    stacks stacks;
    uint32_t metrics = writer->profile->metric_count;
    metric *all = crn_calloc(metrics, sizeof *all);
    Otlp__Profile **items = crn_calloc(metrics, sizeof *items);
    size_t count = 0, strings = writer->string_count;
    stacks_make(&stacks, writer, first, until);
    for (uint32_t m = 0; m < metrics; m++)
        if (metric_make(&all[m], writer, &stacks, m))
            items[count++] = &all[m].profile;
    bool good = !count || hand_on(writer, &stacks, items, count);
    for (uint32_t m = 0; m < metrics; m++)
        metric_free(&all[m]);
    while (writer->string_count > strings)
        crn_free(writer->strings[--writer->string_count]);
    stacks_free(&stacks);
    crn_free((void *)items);
    crn_free(all);
    return good;
}

bool crn_otlp_profiles(const crn_profile *profile, const crn_otlp_options *options)
{
    writer writer = {.profile = profile, .options = options};
    bool good = true;
    crn_names_open(&writer.names, profile);
    make_functions(&writer);
    for (uint32_t c = 0; good && c < profile->context_count; c += CONTEXTS_A_PART) {
        uint32_t left = profile->context_count - c;
        good = put_part(&writer, c, c + (left < CONTEXTS_A_PART ? left : CONTEXTS_A_PART));
    }
    for (size_t i = 0; i < writer.string_count; i++)
        crn_free(writer.strings[i]);
    crn_free((void *)writer.strings);
    crn_free(writer.functions);
    crn_free((void *)writer.function_items);
    crn_free(writer.lines);
    crn_free((void *)writer.line_items);
    crn_free(writer.locations);
    crn_free((void *)writer.location_items);
    crn_free(writer.numbers);
    crn_names_close(&writer.names);
    return good;
}
