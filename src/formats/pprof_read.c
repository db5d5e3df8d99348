/* SPDX-License-Identifier: MIT
 *
 * Reads pprof files of any tool, gzipped or not, in two passes: first the tables, then the samples
 * one at a time, so that memory does not grow with their number.
 */
#include <cairn/cairn.h>

#include "base/memory.h"
#include "formats/pprof.h"

static bool push_stack(crn_pprof_reader *reader, const Perftools__Profiles__Sample *sample)
{
    for (size_t i = sample->n_location_id; i-- > 0;) {
        const crn_pprof_location *location =
            crn_pprof_location_find(reader, sample->location_id[i]);
        if (!location) {
            crn_block_info info = {.name = "[unknown]", .file = ""};
            crn_stacks_push(&reader->stacks, crn_stacks_block(&reader->stacks, &info));
            reader->missing++;
            continue;
        }
        const crn_pprof_line *lines =
            (const crn_pprof_line *)reader->lines.items + location->first_line;
        for (size_t j = location->line_count; j-- > 0;)
            crn_stacks_push(&reader->stacks, lines[j].block);
        if (reader->stacks.length > CRN_PPROF_FRAMES_MAX)
            return crn_pprof_damaged(reader, "a stack that is too deep");
    }
    return true;
}

static bool add_values(crn_pprof_reader *reader, const Perftools__Profiles__Sample *sample)
{
    crn_pprof_type *types = reader->types.items;
    uint64_t calls = 0, values[CRN_METRIC_MAX] = {0};
    for (size_t i = 0; i < sample->n_value && i < reader->types.count; i++) {
        if (sample->value[i] < 0) {
            reader->negative++;
            continue;
        }
        uint64_t value = (uint64_t)sample->value[i];
        if (__builtin_mul_overflow(value, types[i].scale, &value) ||
            !crn_stacks_add_up(&types[i].sum, value))
            return crn_error_set(reader->error, CAIRN_E_LIMIT, "%s: its %s add up to 2^62 or more",
                                 crn_source_name(reader->source),
                                 crn_pprof_string(reader, types[i].type));
        if (types[i].metric == CRN_METRIC_CALLS)
            calls += value;
        else if (types[i].metric < CRN_METRIC_MAX)
            values[types[i].metric] += value;
    }
    uint32_t context = crn_stacks_end(&reader->stacks, calls);
    for (uint32_t m = 0; m < CRN_METRIC_MAX; m++)
        if (values[m])
            crn_profile_builder_charge(reader->builder, context, m, values[m]);
    return true;
}

static bool read_sample(crn_pprof_reader *reader, const crn_pprof_field *field)
{
    Perftools__Profiles__Sample *sample =
        crn_pprof_message(reader, field, &perftools__profiles__sample__descriptor);
    if (!sample)
        return false;
    if (sample->n_value != reader->types.count) {
        protobuf_c_message_free_unpacked(&sample->base, NULL);
        return crn_pprof_damaged(reader, "a sample with more or fewer values than there are types");
    }
    reader->labelled += sample->n_label > 0;
    bool good = push_stack(reader, sample) && add_values(reader, sample);
    protobuf_c_message_free_unpacked(&sample->base, NULL);
    return good;
}

typedef bool field_read(crn_pprof_reader *reader, const crn_pprof_field *field);

static bool read_all(crn_pprof_reader *reader, field_read *read, unsigned pass)
{
    crn_pprof_field field;
    uint64_t done, total, count = 0;
    if (!crn_source_rewind(reader->source, reader->error))
        return false;
    while (crn_pprof_next(reader, &field)) {
        if (!read(reader, &field))
            return false;
        if (reader->options->progress && ++count % 256 == 0) {
            crn_source_position(reader->source, &done, &total);
            reader->options->progress(done + pass * total, 2 * total);
        }
    }
    return reader->error->code == CAIRN_OK;
}

static bool read_sample_field(crn_pprof_reader *reader, const crn_pprof_field *field)
{
    if (field->number != CRN_PPROF_SAMPLE || field->wire != CRN_WIRE_BYTES)
        return crn_pprof_skip(reader, field);
    reader->samples++;
    return read_sample(reader, field);
}

static void warn_of(crn_pprof_reader *reader, uint64_t count, const char *what)
{
    if (count)
        crn_profile_builder_warn(reader->builder, "pprof: %llu %s", (unsigned long long)count,
                                 what);
}

static void warn(crn_pprof_reader *reader)
{
    warn_of(reader, reader->negative, "values were negative and were dropped");
    warn_of(reader, reader->missing, "frames had no function or location: [unknown]");
    warn_of(reader, reader->labelled, "samples had labels, which were dropped");
    warn_of(reader, reader->lost_types, "sample types are more than there can be metrics");
}

static bool read_profile(crn_pprof_reader *reader)
{
    if (!read_all(reader, crn_pprof_collect, 0))
        return false;
    if (reader->types.count == 0)
        return crn_pprof_damaged(reader, "it has no sample types");
    crn_pprof_resolve(reader);
    return read_all(reader, read_sample_field, 1);
}

crn_profile *crn_pprof_read(crn_source *source, const crn_import_options *options, crn_error *error)
{
    crn_pprof_reader reader = {.source = source, .options = options, .error = error};
    reader.builder = crn_profile_builder_new();
    crn_stacks_open(&reader.stacks, reader.builder);
    bool good = read_profile(&reader);
    warn(&reader);
    crn_pprof_tables_free(&reader);
    crn_stacks_close(&reader.stacks);
    return crn_import_end(reader.builder, good);
}
