/* SPDX-License-Identifier: MIT
 *
 * Figures of end-to-end latencies.
 */
#include "latency.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "cli/common/cli.h"

const double crn_latency_shares[CRN_LATENCY_SHARES] = {0.5, 0.9, 0.99};

bool crn_latency_find(const crn_span_source *source, const char *from, const char *to,
                      const uint8_t *kept, crn_latencies *latencies)
{
    uint8_t *inputs = crn_span_source_named(source, from);
    uint8_t *results = inputs ? crn_span_source_named(source, to) : NULL;
    for (uint32_t s = 0; results && kept && s < source->trace->span_count; s++)
        results[s] &= kept[s];
    if (results)
        *latencies = crn_latencies_make(source->trace, inputs, results);
    bool found = results;
    crn_free(inputs);
    crn_free(results);
    return found;
}

void crn_latency_fail_unlinked(const crn_span_source *source, const char *from, const char *to)
{
    crn_cli_fail("%s: no \"%s\" leads to a \"%s\": hand work off inside of the input's span, or "
                 "record cairn_span_follows; see cairn-latency(1)",
                 source->path, from, to);
}

static int compare_lengths(const void *left, const void *right, void *data)
{
    const crn_latency_row *rows = data;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return CRN_ORDER(rows[b].length, rows[a].length) ?: CRN_ORDER(a, b);
}

static int compare_parts(const void *left, const void *right)
{
    const crn_latency_part *a = left, *b = right;
    return CRN_ORDER(b->length, a->length) ?: CRN_ORDER(a->block, b->block);
}

static void add_parts(const crn_latency_report *report, const crn_latency_row *row,
                      crn_latency_part *by_block)
{
    uint32_t count;
    crn_latency_stage *stages =
        crn_latency_stages(report->source->trace, &report->latencies, row, &count);
    for (uint32_t i = 0; i < count; i++) {
        crn_latency_part *part = &by_block[report->source->trace->spans[stages[i].span].block];
        part->count++;
        part->length += stages[i].length;
    }
    crn_free(stages);
}

static void measure_parts(crn_latency_report *report)
{
    uint32_t blocks = report->source->profile->block_count;
    report->parts = crn_calloc(blocks + (size_t)1, sizeof *report->parts);
    for (uint32_t i = 0; i < report->latencies.count; i++)
        add_parts(report, &report->latencies.rows[i], report->parts);
    for (uint32_t b = 0; b < blocks; b++) {
        report->parts[b].block = b;
        if (report->parts[b].count)
            report->parts[report->part_count++] = report->parts[b];
    }
    qsort(report->parts, report->part_count, sizeof *report->parts, compare_parts);
}

void crn_latency_measure(crn_latency_report *report)
{
    const crn_latencies *latencies = &report->latencies;
    uint32_t count = latencies->count;
    uint64_t *lengths = crn_calloc(count + (size_t)1, sizeof *lengths);
    uint64_t *ages = crn_calloc(count + (size_t)1, sizeof *ages);
    report->slowest = crn_calloc(count + (size_t)1, sizeof *report->slowest);
    report->least = count ? UINT64_MAX : 0;
    for (uint32_t i = 0; i < count; i++) {
        const crn_latency_row *row = &latencies->rows[i];
        lengths[i] = row->length;
        ages[i] = row->age;
        report->slowest[i] = i;
        report->sum += row->length;
        report->missed += report->deadline && row->length > report->deadline;
        report->least = row->length < report->least ? row->length : report->least;
        report->most = row->length > report->most ? row->length : report->most;
        report->oldest = row->age > report->oldest ? row->age : report->oldest;
    }
    crn_store_ranks(lengths, count, crn_latency_shares, report->ranks, CRN_LATENCY_SHARES);
    crn_store_ranks(ages, count, crn_latency_shares, report->ages, CRN_LATENCY_SHARES);
    qsort_r(report->slowest, count, sizeof *report->slowest, compare_lengths, latencies->rows);
    measure_parts(report);
    crn_free(lengths);
    crn_free(ages);
}

void crn_latency_report_free(crn_latency_report *report)
{
    crn_latencies_free(&report->latencies);
    crn_free(report->parts);
    crn_free(report->slowest);
}
