/* SPDX-License-Identifier: MIT
 *
 * The tables and sentences of `cairn whatif`.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/table.h"
#include "cli/common/terminal.h"
#include "whatif.h"

/* ---- reasons for distrust ---- */

typedef struct reasons {
    char *text;
    size_t used;
    uint32_t count;
} reasons;

__attribute__((format(printf, 2, 3))) static void add(reasons *reasons, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    size_t length = size < 0 ? 0 : (size_t)size < sizeof line ? (size_t)size : sizeof line - 1;
    reasons->text = crn_realloc(reasons->text, reasons->used + length + 2, 1);
    memcpy(reasons->text + reasons->used, line, length);
    memcpy(reasons->text + reasons->used + length, "\n", 2);
    reasons->used += length + 1;
    reasons->count++;
}

/* Adds the lanes with unexplained idle time; names the first few. */
static void add_lanes(const crn_whatif_report *report, reasons *reasons)
{
    enum { NAMED = 5 };
    const crn_replay_facts *facts = crn_replay_facts_of(report->replay);
    uint32_t odd = 0;
    for (uint32_t i = 0; i < facts->lane_count; i++) {
        const crn_replay_lane *lane = &facts->lanes[i];
        char length[CRN_FIGURE_SIZE], longest[CRN_FIGURE_SIZE];
        if (!crn_replay_is_odd(report->replay, lane) || ++odd > NAMED)
            continue;
        uint32_t block = report->trace->spans[lane->before].block;
        block = block < report->profile->block_count ? block : 0;
        add(reasons,
            "thread \"%.100s\" was idle for %s although its next job was ready, longest (%s) "
            "before a %.100s: it waited for something unrecorded, or another program had the "
            "processor",
            report->trace->lanes[lane->lane],
            crn_figure_alone(length, CRN_UNIT_TIME, lane->unexplained),
            crn_figure_alone(longest, CRN_UNIT_TIME, lane->longest),
            report->profile->blocks[block].name);
    }
    if (odd > NAMED)
        add(reasons, "%" PRIu32 " more threads were idle like this", odd - NAMED);
}

static const char *name_of(const crn_whatif_report *report, uint32_t block)
{
    return report->profile->blocks[block < report->profile->block_count ? block : 0].name;
}

static void add_doubt(const crn_whatif_report *report, const crn_doubt *doubt, reasons *reasons)
{
    char period[CRN_FIGURE_SIZE];
    const char *name = name_of(report, doubt->block), *other = name_of(report, doubt->other);
    crn_figure_alone(period, CRN_UNIT_TIME, doubt->period);
    switch (doubt->kind) {
    case CRN_DOUBT_STEADY:
        add(reasons,
            "\"%.100s\" is steady, every %s: by a timer, or because its work is always equal? If "
            "its self time is a wait for a timer, give the period (--timer BLOCK=16.667ms)",
            name, period);
        break;
    case CRN_DOUBT_EXCLUSIVE:
        add(reasons,
            "\"%.100s\" runs on several threads and never at once: a lock that is not recorded?",
            name);
        break;
    case CRN_DOUBT_OVERLAPS:
        add(reasons, "\"%.100s\" is noted as a lock, but its spans overlap", name);
        break;
    case CRN_DOUBT_DROPS:
        add(reasons,
            "\"%.100s\" handed off no \"%.100s\" at times, only while one was running: a queue "
            "that drops jobs?",
            name, other);
        break;
    case CRN_DOUBT_FOLLOWS:
        add(reasons,
            "\"%.100s\" goes on when \"%.100s\" of another thread ends: a wait that is not "
            "recorded?",
            name, other);
        break;
    case CRN_DOUBT_DROPPED:
        add(reasons,
            "the unscaled replay drops more or fewer jobs \"%.100s\" than the program did: does "
            "the note of their queue (queue.BLOCK) say what the program does?",
            name);
        break;
    case CRN_DOUBT_AFFECTS:
        add(reasons,
            "jobs \"%.100s\" may be dropped, but they hand jobs off, are waited for or run outside "
            "of pools: what a dropped job would have done is not simulated",
            name);
        break;
    case CRN_DOUBT_ASYNC:
        add(reasons,
            "\"%.100s\" is asynchronous: its spans keep their lengths, since nothing says what "
            "ends them",
            name);
        break;
    case CRN_DOUBT_CONDITION:
        add(reasons,
            "waits for the condition variable \"%.100s\" are known only where a thread had to "
            "wait: hand jobs off (cairn_handoff_take), or say what spans wait for",
            name);
        break;
    case CRN_DOUBT_BUSY:
        add(reasons,
            "threads were ready for %s without a free core, although those with spans did not need "
            "all cores: record again while nothing else runs",
            period);
        break;
    }
}

static void add_doubts(const crn_whatif_report *report, reasons *reasons)
{
    enum { NAMED = 5 };
    const crn_replay_facts *facts = crn_replay_facts_of(report->replay);
    for (uint32_t i = 0; i < facts->doubt_count && i < NAMED; i++)
        add_doubt(report, &facts->doubts[i], reasons);
    if (facts->doubt_count > NAMED)
        add(reasons, "%" PRIu32 " more signs of waits that are not recorded",
            facts->doubt_count - NAMED);
    if (crn_replay_is_late(report->replay, report->outcome))
        add(reasons, "a detected timer would be missed, or waited for longer than ever recorded: "
                     "give its period (--timer BLOCK=PERIOD)");
    if (crn_replay_has_few(report->replay, report->outcome))
        add(reasons, "jobs are dropped and few run: the result depends on which ones these are");
}

char *crn_whatif_reasons(const crn_whatif_report *report)
{
    const crn_replay_facts *facts = crn_replay_facts_of(report->replay);
    reasons reasons = {NULL, 0, 0};
    double drift = crn_replay_drift(report->replay);
    uint64_t dropped = report->trace->dropped + report->trace->details_dropped;
    if (drift > CRN_REPLAY_TRUST)
        add(&reasons,
            "the unscaled replay takes %.1f %% longer than recorded: threads did not take the "
            "next job of their queue, or took jobs in another order",
            100 * drift);
    if (drift < -CRN_REPLAY_TRUST)
        add(&reasons,
            "the unscaled replay takes %.1f %% less than recorded: there were waits that are "
            "not recorded",
            -100 * drift);
    add_lanes(report, &reasons);
    if (facts->loosened)
        add(&reasons, "%" PRIu64 " waits would never have ended as they are recorded",
            facts->loosened);
    if (dropped)
        add(&reasons,
            "%" PRIu64 " spans, attributes or edges were dropped: what is there is not "
            "the whole program",
            dropped);
    if (report->trace->skipped)
        add(&reasons, "span trees were sampled: the work of the others is not known");
    add_doubts(report, &reasons);
    return reasons.text;
}

enum { NAME_SHOWN = 100 };

/* ---- model ---- */

static void print_count(FILE *out, const char *before, uint64_t count, const char *one,
                        const char *many)
{
    char text[CRN_FIGURE_SIZE];
    fprintf(out, "%s%s %s", before, crn_figure_alone(text, "", count), count == 1 ? one : many);
}

static void print_pools(FILE *out, const crn_whatif_report *report)
{
    enum { NAMED = 4 };
    const crn_replay_facts *facts = crn_replay_facts_of(report->replay);
    for (uint32_t p = 0; p < facts->pool_count && p < NAMED; p++) {
        const crn_replay_pool *pool = &facts->pools[p];
        print_count(out, "pool       ", pool->lanes, "thread takes", "threads take");
        for (uint32_t k = 0; k < pool->kinds && k < NAMED; k++) {
            fputs(!k ? " " : pool->by_kind ? " before " : ", ", out);
            crn_terminal_text(out, report->profile->blocks[pool->blocks[k]].name, NAME_SHOWN,
                              false);
        }
        fprintf(out, "%s%s\n", pool->kinds > NAMED ? ", ..." : "",
                pool->kinds > 1 && !pool->by_kind ? ", oldest first" : "");
    }
    if (facts->pool_count > NAMED)
        fprintf(out, "           and %" PRIu32 " more pools\n", facts->pool_count - NAMED);
    for (uint32_t t = 0; t < facts->timer_count && t < NAMED; t++) {
        char period[CRN_FIGURE_SIZE];
        fputs("timer      ", out);
        crn_terminal_text(out, name_of(report, facts->timers[t].block), NAME_SHOWN, false);
        fprintf(out, " every %s, detected\n",
                crn_figure_alone(period, CRN_UNIT_TIME, facts->timers[t].period));
    }
}

static void print_head(FILE *out, const crn_whatif_report *report)
{
    const crn_replay_facts *facts = crn_replay_facts_of(report->replay);
    char recorded[CRN_FIGURE_SIZE], replayed[CRN_FIGURE_SIZE];
    print_count(out, "recorded   ", report->trace->span_count, "span", "spans");
    print_count(out, " on ", report->trace->lane_count, "thread", "threads");
    if (facts->cores)
        print_count(out, " of ", facts->cores, "processor", "processors");
    else
        fprintf(out, ", an unknown number of processors");
    if (facts->jobs)
        print_count(out, "; ", facts->jobs, "job handed off", "jobs handed off");
    if (facts->waits)
        print_count(out, "; ", facts->waits, "wait", "waits");
    putc('\n', out);
    print_pools(out, report);
    fprintf(out, "total      %s; unscaled replay %s: %+.1f %%\n",
            crn_figure_alone(recorded, CRN_UNIT_TIME, facts->recorded),
            crn_figure_alone(replayed, CRN_UNIT_TIME, facts->replayed),
            100 * crn_replay_drift(report->replay));
}

bool crn_whatif_knows_ready(const crn_whatif_report *report)
{
    return report->trace->ready || !crn_metric_empty(report->profile, CRN_METRIC_CPU);
}

static void print_trust(FILE *out, const crn_whatif_report *report)
{
    if (!report->reasons) {
        if (!crn_whatif_knows_ready(report))
            fprintf(out, "This prediction holds if no other program needed the processors; "
                         "cairn run --off-core records that.\n");
        return;
    }
    crn_terminal_style(out, CRN_STYLE_WARM);
    fprintf(out, "This prediction is not to be trusted:\n");
    for (const char *at = report->reasons; *at;) {
        size_t length = strcspn(at, "\n");
        crn_terminal_format(out, "  %.*s\n", (int)length, at);
        at += length + (at[length] == '\n');
    }
    crn_terminal_style(out, CRN_STYLE_PLAIN);
}

/* ---- prediction ---- */

static void print_row(FILE *out, const char *what, const char *unit, uint64_t before,
                      uint64_t after)
{
    char left[CRN_FIGURE_SIZE], right[CRN_FIGURE_SIZE];
    double change = before ? 100 * ((double)after - (double)before) / (double)before : 0;
    crn_figure_alone(left, unit, before);
    crn_figure_alone(right, unit, after);
    fprintf(out, "  %-22s %12s %12s %+9.1f %%\n", what, left, right, change);
}

static void print_rate(FILE *out, const crn_whatif_report *report)
{
    double before = report->recorded.throughput, after = report->predicted.throughput;
    char left[CRN_FIGURE_SIZE], right[CRN_FIGURE_SIZE];
    crn_figure_fixed(left, before, before < 100 ? 2 : 0);
    crn_figure_fixed(right, after, after < 100 ? 2 : 0);
    fprintf(out, "  %-22s %12s %12s %+9.1f %%\n", "a second", left, right,
            before > 0 ? 100 * (after - before) / before : 0);
}

static void print_prediction(FILE *out, const crn_whatif_report *report)
{
    const crn_replay_facts *facts = crn_replay_facts_of(report->replay);
    const crn_latency *before = &report->recorded, *after = &report->predicted;
    const char *name =
        report->block == UINT32_MAX ? "root spans" : report->profile->blocks[report->block].name;
    fprintf(out, "\n  %-22s %12s %12s %11s\n", "", "recorded", "predicted", "change");
    print_row(out, "end to end", CRN_UNIT_TIME, facts->recorded, report->outcome->length);
    if (before->count) {
        crn_terminal_text(out, name, NAME_SHOWN, false);
        fprintf(out, " (%" PRIu32 " span%s, each with all work that it asked for)\n", before->count,
                before->count == 1 ? "" : "s");
        print_rate(out, report);
        print_row(out, "median latency", CRN_UNIT_TIME, before->median, after->median);
        print_row(out, "90th percentile", CRN_UNIT_TIME, before->p90, after->p90);
        print_row(out, "99th percentile", CRN_UNIT_TIME, before->p99, after->p99);
        print_row(out, "longest", CRN_UNIT_TIME, before->max, after->max);
    }
    if (report->outcome->loosened > facts->loosened)
        fprintf(out,
                "%" PRIu64
                " waits never ended in the replay, and were cut short: the prediction is not to be "
                "trusted\n",
                report->outcome->loosened);
}

/* ---- table of savings ---- */

static void row_gain(FILE *out, crn_row *row, uint64_t before, uint64_t after)
{
    crn_row_figure(out, row, before > after ? before - after : 0);
}

/* Prints which rows have a replay that misses a detected timer: the program might act otherwise. */
static void print_late(FILE *out, const crn_whatif_report *report)
{
    uint32_t shown = 0;
    for (uint32_t i = 0; i < report->effects->count; i++) {
        const crn_effect *effect = &report->effects->rows[i];
        bool late = false;
        for (int column = 0; column < CRN_EFFECTS; column++)
            late |= effect->late[column];
        if (!late)
            continue;
        fputs(shown++ ? ", "
                      : "Not to be trusted, as a detected timer would be missed or waited for "
                        "longer than recorded, or jobs are dropped and few run: ",
              out);
        crn_terminal_text(out, name_of(report, effect->block), NAME_SHOWN, false);
    }
    if (shown)
        fputs("\n", out);
}

static void print_effects(FILE *out, const crn_whatif_report *report)
{
    static const char *const titles[CRN_EFFECTS] = {"10 % less:", "50 % less:", "100 % less:"};
    const crn_effects *effects = report->effects;
    crn_table table = {.profile = report->profile};
    uint64_t work = 0;
    fprintf(out, "\nIf a span name's self time were shorter%s, the whole would be shorter by\n\n",
            report->changed ? " besides" : "");
    for (uint32_t i = 0; i < effects->count; i++) {
        work = work < effects->rows[i].work ? effects->rows[i].work : work;
        crn_table_measure(&table, "", &report->profile->blocks[effects->rows[i].block], "");
    }
    table.rank = 1;
    crn_table_figure(&table, "self", CRN_UNIT_TIME, work, false);
    table.rank = 0;
    for (int column = 0; column < CRN_EFFECTS; column++)
        crn_table_figure(&table, titles[column], CRN_UNIT_TIME, effects->length, true);
    crn_table_head(out, &table, "span name");
    for (uint32_t i = 0; i < effects->count; i++) {
        const crn_effect *effect = &effects->rows[i];
        crn_row row = crn_row_begin(&table);
        crn_row_figure(out, &row, effect->work);
        for (int column = 0; column < CRN_EFFECTS; column++)
            row_gain(out, &row, effects->length, effect->length[column]);
        crn_row_block(out, &row, "", &report->profile->blocks[effect->block], "");
    }
    crn_table_foot(out, &table);
    print_late(out, report);
    crn_terminal_style(out, CRN_STYLE_DIM);
    if (effects->hidden)
        fprintf(out, "%" PRIu32 " more span name%s with less self time: --top 0 shows all\n",
                effects->hidden, effects->hidden == 1 ? "" : "s");
    crn_terminal_style(out, CRN_STYLE_PLAIN);
}

/* ---- notes ---- */

static void print_notes(FILE *out, const crn_whatif_report *report)
{
    const crn_replay_facts *facts = crn_replay_facts_of(report->replay);
    char text[CRN_FIGURE_SIZE];
    crn_terminal_style(out, CRN_STYLE_DIM);
    if (facts->guessed)
        fprintf(out, "%s %s: record it with cairn_span_waits_for\n",
                crn_figure_alone(text, "", facts->guessed),
                facts->guessed == 1
                    ? "span is assumed to have waited for the work that it handed off"
                    : "spans are assumed to have waited for the work that they handed off");
    if (facts->undated)
        fprintf(out, "%s %s: taken to be when the span that asked for %s began\n",
                crn_figure_alone(text, "", facts->undated),
                facts->undated == 1 ? "job has no recorded hand-off time"
                                    : "jobs have no recorded hand-off time",
                facts->undated == 1 ? "it" : "them");
    if (facts->contradicted)
        fprintf(out, "%s %s contradicted by the recorded times, and left out\n",
                crn_figure_alone(text, "", facts->contradicted),
                facts->contradicted == 1 ? "edge is" : "edges are");
    if (report->trace->recycled)
        fprintf(
            out,
            "earlier spans were overwritten by later ones: this covers only the end of the run\n");
    if (facts->idle)
        fprintf(out, "%s of self time used no processor and is not scaled\n",
                crn_figure_alone(text, CRN_UNIT_TIME, facts->idle));
    if (facts->shared && facts->cores)
        fprintf(out, "at times more threads ran than there are processors: the replay shares these "
                     "evenly\n");
    crn_terminal_style(out, CRN_STYLE_PLAIN);
}

void crn_whatif_text(FILE *out, const crn_whatif_report *report)
{
    print_head(out, report);
    print_trust(out, report);
    if (report->changed)
        print_prediction(out, report);
    if (report->effects)
        print_effects(out, report);
    print_notes(out, report);
}
