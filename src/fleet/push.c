/* SPDX-License-Identifier: MIT */
#include "fleet/push.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fleet/pushing.h"

enum { PART_CONTEXTS = 8192, LEVEL_MAX = 16, SECONDS_A_DAY = 86400 };

const char *crn_push_label_of(const crn_push_options *options, const char *key,
                              const char *otherwise)
{
    for (size_t i = 0; i < options->label_count; i++)
        if (strcmp(options->labels[i].key, key) == 0)
            return options->labels[i].value;
    return otherwise;
}

/* Sets the times from the note `started` (UTC, 2026-11-23T13:56:53Z), in an imported capture from
 * the label `started`, otherwise to 1970. Reads no clock for the end: clocks may be set back while
 * a program runs. */
static void take_times(crn_pushing *pushing)
{
    struct tm started = {0};
    const char *text = crn_profile_note(pushing->profile, "started", "");
    if (!*text)
        text = crn_push_label_of(pushing->options, "started", "");
    time_t seconds = strptime(text, "%Y-%m-%dT%H:%M:%S", &started) ? timegm(&started) : 0;
    pushing->started = seconds > 0 && seconds <= UINT32_MAX ? (uint32_t)seconds : 0;
    pushing->day = (uint16_t)(pushing->started / SECONDS_A_DAY);
    pushing->recorded = crn_profile_note_number(pushing->profile, "recorded_ns");
    uint64_t at = pushing->started + pushing->recorded / 1000000000;
    pushing->at = pushing->started && at <= UINT32_MAX ? (uint32_t)at : pushing->started;
}

static uint8_t level_for(uint32_t contexts)
{
    uint8_t level = 0;
    while (level < LEVEL_MAX && contexts >> level > PART_CONTEXTS)
        level++;
    return level;
}

static void put_notes(crn_rows *rows, const crn_profile *profile)
{
    crn_rows_length(rows, profile->note_count);
    for (size_t n = 0; n < profile->note_count; n++)
        crn_rows_text(rows, profile->notes[n].key);
    crn_rows_length(rows, profile->note_count);
    for (size_t n = 0; n < profile->note_count; n++)
        crn_rows_text(rows, profile->notes[n].value);
}

static void put_labels(crn_rows *rows, const crn_push_options *options)
{
    crn_rows_length(rows, options->label_count);
    for (size_t i = 0; i < options->label_count; i++)
        crn_rows_text(rows, options->labels[i].key);
    crn_rows_length(rows, options->label_count);
    for (size_t i = 0; i < options->label_count; i++)
        crn_rows_text(rows, options->labels[i].value);
}

static void put_metrics(crn_rows *rows, const crn_profile *profile)
{
    crn_rows_length(rows, profile->metric_count);
    for (uint32_t m = 0; m < profile->metric_count; m++)
        crn_rows_text(rows, profile->metrics[m].name);
    crn_rows_length(rows, profile->metric_count);
    for (uint32_t m = 0; m < profile->metric_count; m++)
        crn_rows_text(rows, profile->metrics[m].unit);
    crn_rows_length(rows, profile->metric_count);
    for (uint32_t m = 0; m < profile->metric_count; m++)
        crn_rows_number(rows, crn_metric_total(profile, m), 8);
}

/* Writes the blocks' flags, such as whether they were only counted, with the run: rows of `blocks`
 * are shared by all runs. */
static void put_flags(crn_rows *rows, const crn_pushing *pushing)
{
    const crn_profile *profile = pushing->profile;
    uint32_t count = 0;
    for (uint32_t b = 0; b < profile->block_count; b++)
        count += profile->blocks[b].flags != 0;
    crn_rows_length(rows, count);
    for (uint32_t b = 0; b < profile->block_count; b++)
        if (profile->blocks[b].flags)
            crn_rows_id(rows, &pushing->ids.blocks[b]);
    crn_rows_length(rows, count);
    for (uint32_t b = 0; b < profile->block_count; b++)
        if (profile->blocks[b].flags)
            crn_rows_number(rows, profile->blocks[b].flags, 4);
}

static void put_lanes(crn_rows *rows, const crn_span_store *spans)
{
    crn_rows_length(rows, spans ? spans->lane_count : 0);
    for (uint32_t lane = 0; spans && lane < spans->lane_count; lane++)
        crn_rows_text(rows, spans->lanes[lane]);
}

static void push_run(crn_pushing *pushing, const crn_span_store *spans)
{
    static const crn_fleet_id none;
    const crn_profile *profile = pushing->profile;
    const crn_push_options *options = pushing->options;
    uint32_t folded = profile->folded_block;
    crn_rows *rows = &pushing->batch->tables[CRN_BATCH_RUNS];
    crn_rows_text(rows, pushing->service);
    crn_rows_text(rows, crn_push_label_of(options, "version", ""));
    crn_rows_text(rows, crn_push_label_of(options, "host", ""));
    crn_rows_id(rows, &pushing->ids.run);
    crn_rows_number(rows, pushing->day, 2);
    crn_rows_number(rows, pushing->started, 4);
    crn_rows_number(rows, crn_profile_note_number(profile, "elapsed_ns"), 8);
    crn_rows_number(rows, pushing->level, 1);
    crn_rows_id(rows, folded ? &pushing->ids.blocks[folded] : &none);
    crn_rows_number(rows, profile->context_count, 4);
    crn_rows_number(rows, spans ? spans->count : 0, 8);
    crn_rows_number(rows, spans ? spans->length : 0, 8);
    put_lanes(rows, spans);
    put_notes(rows, profile);
    put_labels(rows, options);
    crn_rows_length(rows, profile->warning_count);
    for (size_t i = 0; i < profile->warning_count; i++)
        crn_rows_text(rows, profile->warnings[i]);
    put_metrics(rows, profile);
    crn_push_lost(rows, spans);
    put_flags(rows, pushing);
    crn_rows_number(rows, pushing->recorded, 8);
    crn_rows_end(rows);
}

/* Adds all rows but that of `runs`. */
static bool push_rows(crn_pushing *pushing, const crn_profile *recorded, crn_span_store *spans)
{
    return crn_push_contexts(pushing) && (!spans || crn_push_spans(pushing, recorded, spans));
}

bool crn_push(crn_push_batch *batch, const crn_profile *profile, const crn_profile *recorded,
              crn_span_store *spans, const crn_push_options *options, crn_push_sum *sum,
              crn_error *error)
{
    crn_pushing pushing = {.batch = batch,
                           .profile = profile,
                           .options = options,
                           .error = error,
                           .service = crn_push_label_of(options, "service", ""),
                           .level = level_for(profile->context_count)};
    uint64_t rows, bytes;
    take_times(&pushing);
    pushing.total = (uint64_t)profile->context_count * 2 + (spans ? spans->count : 0);
    crn_fleet_ids_make(&pushing.ids, profile);
    if (options->state && options->state->level != pushing.level)
        crn_push_state_forget(options->state);
    crn_batch_add_state(batch, options->state);
    crn_batch_count(batch, &rows, &bytes);
    bool good = push_rows(&pushing, recorded, spans);
    *sum = (crn_push_sum){.run = pushing.ids.run};
    crn_batch_count(batch, &sum->rows, &sum->bytes);
    if (good && sum->rows > rows) {
        push_run(&pushing, spans);
        crn_batch_count(batch, &sum->rows, &sum->bytes);
    }
    sum->rows -= rows;
    sum->bytes -= bytes;
    if (!good)
        crn_batch_drop(batch);
    else if (options->state)
        options->state->level = pushing.level;
    crn_fleet_ids_free(&pushing.ids);
    return good;
}
