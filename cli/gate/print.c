/* SPDX-License-Identifier: MIT
 *
 * Prints what a gate found: for a terminal, in Markdown for a merge request, and in JSON.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/figure.h"
#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "cli/diff/why.h"
#include "gate.h"

enum { SHOWN = 12, CAUSES = 4 };
#define CAUSE_LEAST 0.02 /* share of the change that a cause needs */

static const char *unit_of(const crn_gate *gate, const char *what)
{
    int metric = crn_profile_metric(gate->reduced, what);
    return metric < 0 ? "" : gate->reduced->metrics[metric].unit;
}

static void figure_of(char text[CRN_FIGURE_SIZE], const crn_gate *gate,
                      const crn_gate_change *change, int side)
{
    crn_figure_alone(text, unit_of(gate, change->what), change->figures[side]);
}

static void percent_of(char text[32], const uint64_t figures[CRN_SIDES])
{
    double before = (double)figures[CRN_BEFORE], after = (double)figures[CRN_AFTER];
    if (before > 0)
        snprintf(text, 32, "%+.1f %%", 100 * (after / before - 1));
    else
        snprintf(text, 32, "new");
}

typedef struct texts {
    char before[CRN_FIGURE_SIZE], after[CRN_FIGURE_SIZE], percent[32];
} texts;

static texts texts_of(const crn_gate *gate, const crn_gate_change *change)
{
    texts texts;
    figure_of(texts.before, gate, change, CRN_BEFORE);
    figure_of(texts.after, gate, change, CRN_AFTER);
    percent_of(texts.percent, change->figures);
    return texts;
}

static crn_why why_of(const crn_gate *gate)
{
    const crn_profile *sides[] = {gate->baseline->profile, gate->reduced};
    return crn_why_make(
        &(crn_why_input){{&sides[CRN_BEFORE], &sides[CRN_AFTER]}, {1, 1}, gate->baseline->metric});
}

/* Writes a name as code; replaces what Markdown would interpret. */
static void write_code(FILE *out, const char *text)
{
    putc('`', out);
    for (; *text; text++)
        if (*text == '`')
            putc('\'', out);
        else if (*text == '|')
            fputs("\\|", out);
        else
            putc((unsigned char)*text < ' ' ? ' ' : *text, out);
    putc('`', out);
}

static void write_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("\\`*_{}[]<>#|~&!", *text))
            putc('\\', out);
        putc((unsigned char)*text < ' ' ? ' ' : *text, out);
    }
}

static void verdict(FILE *out, const crn_gate *gate)
{
    char before[CRN_FIGURE_SIZE], after[CRN_FIGURE_SIZE], percent[32];
    const char *unit = unit_of(gate, gate->baseline->metric);
    percent_of(percent, gate->total);
    fprintf(out, "%s to %s %s (%s)", crn_figure_alone(before, unit, gate->total[CRN_BEFORE]),
            crn_figure_alone(after, unit, gate->total[CRN_AFTER]), gate->baseline->metric, percent);
    if (gate->worse)
        fprintf(out, ", %zu figure%s above the tolerance of %g %%", gate->worse,
                gate->worse == 1 ? "" : "s", 100 * gate->baseline->tolerance);
    else if (gate->count)
        fprintf(out, ", %zu figure%s better than the baseline: renew it", gate->count,
                gate->count == 1 ? "" : "s");
    else
        fprintf(out, ", within %g %%", 100 * gate->baseline->tolerance);
}

static void print_why(FILE *out, const crn_gate *gate, bool markdown)
{
    crn_why why = why_of(gate);
    for (size_t i = 0; i < why.cause_count && i < CAUSES; i++) {
        if (fabs(crn_why_share(&why, &why.causes[i])) < CAUSE_LEAST)
            continue;
        char *sentence = crn_why_sentence(&why, &why.causes[i]);
        fputs(markdown ? "- " : "  ", out);
        if (markdown)
            write_text(out, sentence);
        else
            crn_terminal_text(out, sentence, 0, false);
        fprintf(out, ": %.0f %% of the change\n", 100 * crn_why_share(&why, &why.causes[i]));
        free(sentence);
    }
    crn_why_free(&why);
}

void crn_gate_text(FILE *out, const crn_gate *gate)
{
    fputs(gate->worse ? "failed: " : "passed: ", out);
    verdict(out, gate);
    putc('\n', out);
    for (size_t i = 0; i < gate->count && i < SHOWN; i++) {
        const crn_gate_change *change = &gate->changes[i];
        texts texts = texts_of(gate, change);
        fprintf(out, "  %-6s %10s to %10s %-9s %8s  ", change->worse ? "worse" : "better",
                texts.before, texts.after, change->what, texts.percent);
        crn_terminal_text(out, change->path, 0, false);
        putc('\n', out);
    }
    if (gate->count > SHOWN)
        fprintf(out, "  %zu more\n", gate->count - SHOWN);
    if (!gate->worse)
        return;
    fputs("why:\n", out);
    print_why(out, gate, false);
}

static void write_commands(FILE *out, const crn_gate *gate)
{
    const char *capture = gate->imported ? "imported.cairn" : gate->capture_path;
    fputs("\nTo look closer:\n\n```\n", out);
    if (gate->imported)
        fprintf(out, "cairn import %s -o %s\n", gate->capture_path, capture);
    fprintf(out, "cairn report %s --tree\ncairn view %s\ncairn gate --baseline %s --update %s\n",
            capture, capture, gate->baseline_path, gate->capture_path);
    fputs("```\n", out);
}

void crn_gate_markdown(FILE *out, const crn_gate *gate)
{
    fprintf(out, "### Performance: %s\n\n", gate->worse ? "worse" : "good");
    verdict(out, gate);
    fputs(".\n\n", out);
    if (gate->worse)
        print_why(out, gate, true);
    if (gate->count) {
        fputs("\n| | figure | before | after | change |\n| --- | --- | ---: | ---: | ---: |\n",
              out);
        for (size_t i = 0; i < gate->count && i < SHOWN; i++) {
            const crn_gate_change *change = &gate->changes[i];
            texts texts = texts_of(gate, change);
            fputs("| ", out);
            write_code(out, change->path);
            fprintf(out, " | %s | %s | %s | %s |\n", change->what, texts.before, texts.after,
                    texts.percent);
        }
        if (gate->count > SHOWN)
            fprintf(out, "\n%zu more.\n", gate->count - SHOWN);
    }
    write_commands(out, gate);
}

void crn_gate_json(FILE *out, const crn_gate *gate)
{
    fputs("{\"schema\":\"cairn-gate/1\"", out);
    crn_json_write_member(out, "passed", json_boolean(!gate->worse));
    crn_json_write_member(out, "metric", crn_json_text(gate->baseline->metric));
    crn_json_write_member(out, "tolerance", json_real(gate->baseline->tolerance));
    crn_json_write_member(out, "before", crn_json_number(gate->total[CRN_BEFORE]));
    crn_json_write_member(out, "after", crn_json_number(gate->total[CRN_AFTER]));
    fputs(",\n\"changes\":[", out);
    for (size_t i = 0; i < gate->count; i++) {
        const crn_gate_change *change = &gate->changes[i];
        json_t *json = json_object();
        json_object_set_new(json, "path", crn_json_text(change->path));
        json_object_set_new(json, "figure", crn_json_text(change->what));
        json_object_set_new(json, "before", crn_json_number(change->figures[CRN_BEFORE]));
        json_object_set_new(json, "after", crn_json_number(change->figures[CRN_AFTER]));
        json_object_set_new(json, "tolerance", json_real(change->tolerance));
        json_object_set_new(json, "worse", json_boolean(change->worse));
        crn_json_write_element(out, i, json);
    }
    fputs("]}\n", out);
}
