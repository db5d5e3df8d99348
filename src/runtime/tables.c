/* SPDX-License-Identifier: MIT
 *
 * Writes the tables of a capture that all lanes share: strings, blocks, metrics, keys, notes.
 * Callers hold the profile's lock.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "plat/thread.h"
#include "runtime/names.h"
#include "runtime/runtime.h"

/* Appends bytes to a table. Returns their offset. Without space returns UINT32_MAX, and stores why
 * recording is incomplete. */
static uint32_t put(cairn_profile *profile, crn_section *section, const void *bytes, size_t size)
{
    uint64_t place;
    cairn_error error = crn_section_append(section, bytes, size, &place);
    if (!error && place > UINT32_MAX)
        error = CAIRN_E_LIMIT;
    if (error) {
        crn_profile_stop(profile, error);
        return UINT32_MAX;
    }
    return (uint32_t)place;
}

uint32_t crn_profile_string(cairn_profile *profile, const char *text)
{
    if (!text || !*text)
        return 0;
    uint32_t place = put(profile, &profile->strings, text, strlen(text) + 1);
    return place == UINT32_MAX ? 0 : place;
}

/* Returns the offset of a file's name. Blocks of few files follow each other, so that the last ones
 * are remembered: to store the name again with each block would make up most of the strings. */
static uint32_t file_name(cairn_profile *profile, const char *file)
{
    if (!file || !*file)
        return 0;
    uint32_t *known = &profile->files[crn_names_mix(0, file, strlen(file)) % CRN_FILES_KNOWN];
    bool there = *known && *known < profile->capture.header->used[CRN_SECTION_STRINGS];
    if (!there || strcmp(profile->strings.base + *known, file) != 0)
        *known = crn_profile_string(profile, file);
    return *known;
}

cairn_block crn_profile_add_block(cairn_profile *profile, const cairn_block_info *info)
{
    crn_disk_block block = {.name = crn_profile_string(profile, info->name),
                            .file = file_name(profile, info->file),
                            .line = info->line,
                            .column = info->column,
                            .parent = info->parent,
                            .flags = info->flags};
    if (put(profile, &profile->blocks, &block, sizeof block) == UINT32_MAX)
        return CAIRN_BLOCK_ROOT;
    return __atomic_fetch_add(&profile->block_count, 1, __ATOMIC_RELEASE);
}

cairn_metric crn_profile_find_metric(const cairn_profile *profile, const char *name)
{
    const crn_disk_metric *metrics = (const crn_disk_metric *)profile->metrics.base;
    for (cairn_metric i = CAIRN_METRIC_USER; i < profile->metric_count; i++)
        if (strcmp(profile->strings.base + metrics[i].name, name) == 0)
            return i;
    return CAIRN_METRIC_MAX;
}

cairn_metric crn_profile_add_metric(cairn_profile *profile, const char *name, const char *unit)
{
    crn_disk_metric metric = {crn_profile_string(profile, name), crn_profile_string(profile, unit)};
    if (profile->metric_count == CAIRN_METRIC_MAX ||
        put(profile, &profile->metrics, &metric, sizeof metric) == UINT32_MAX)
        return CAIRN_METRIC_MAX;
    return __atomic_fetch_add(&profile->metric_count, 1, __ATOMIC_RELAXED);
}

cairn_key crn_profile_add_key(cairn_profile *profile, const char *name)
{
    crn_disk_key key = {crn_profile_string(profile, name)};
    if (profile->key_count == CAIRN_KEY_MAX ||
        put(profile, &profile->keys, &key, sizeof key) == UINT32_MAX)
        return CAIRN_KEY_MAX;
    return profile->key_count++;
}

bool crn_profile_add_note(cairn_profile *profile, const char *key, const char *value)
{
    crn_disk_note note = {crn_profile_string(profile, key), crn_profile_string(profile, value)};
    if (!note.key || (*value && !note.value)) /* without space for both, half a note would
                                                 mislead */
        return false;
    return put(profile, &profile->notes, &note, sizeof note) != UINT32_MAX;
}

/* Adds "key=value" lines as notes. */
static void put_labels(cairn_profile *profile, const char *labels)
{
    while (labels && *labels) {
        size_t length = strcspn(labels, "\n");
        char *line = crn_try_calloc(length + 1, 1);
        if (!line)
            return;
        memcpy(line, labels, length);
        char *equals = strchr(line, '=');
        if (equals) {
            *equals = 0;
            crn_profile_add_note(profile, line, equals + 1);
        }
        crn_free(line);
        labels += length + (labels[length] != 0);
    }
}

void crn_profile_put_first(cairn_profile *profile, const cairn_options *options)
{
    put(profile, &profile->strings, "", 1);
    crn_profile_add_block(profile, &(cairn_block_info){.name = "[root]"});
    crn_profile_add_metric(profile, "calls", "count");
    crn_profile_add_metric(profile, "ticks", "instructions");
    crn_profile_add_metric(profile, "wall", "nanoseconds");
    crn_profile_add_metric(profile, "cpu", "nanoseconds");
    if (options->command)
        crn_profile_add_note(profile, "command", options->command);
    put_labels(profile, options->labels);
    if (options->spans) { /* a replay needs the number of cores */
        char cores[16];
        snprintf(cores, sizeof cores, "%u", crn_thread_cores());
        crn_profile_add_note(profile, "cores", cores);
    }
}
