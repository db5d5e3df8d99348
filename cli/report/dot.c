/* SPDX-License-Identifier: MIT
 *
 * Writes the call graph for Graphviz: a node for each shown block, darker with more time on the
 * stack; dashed arrows for indirect calls.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/text.h"
#include "profile/profile.h"
#include "report.h"

/* Writes a string in UTF-8. Escapes what Graphviz interprets: quotes, backslashes, HTML's
 * entities. */
static void write_escaped(FILE *out, const char *text)
{
    char *safe = crn_text_copy(text, true);
    for (const char *at = safe; *at; at++) {
        if (*at == '"' || *at == '\\')
            putc('\\', out);
        if (*at == '&')
            fputs("&amp;", out);
        else
            putc(*at, out);
    }
    crn_free(safe);
}

/* Writes a node, coloured from white to deep orange, or to black with legible text. */
static void write_node(FILE *out, const crn_report *report, uint32_t block,
                       const crn_block_cost *cost)
{
    const crn_block_info *info = &report->profile->blocks[block];
    double inclusive = crn_percent(cost->inclusive[block], cost->total);
    double shade = inclusive > 100 ? 1 : inclusive / 100;
    fprintf(out, "  b%" PRIu32 " [label=\"", block);
    char *name = crn_nesting_name(report->profile, block);
    write_escaped(out, name);
    crn_free(name);
    fputs("\\n", out);
    if (*info->file) {
        write_escaped(out, crn_path_name(info->file));
        if (info->line)
            fprintf(out, ":%" PRIu32, info->line);
        fputs("\\n", out);
    }
    const char *unit = report->profile->metrics[report->metrics[0]].unit;
    char self[CRN_FIGURE_SIZE], all[CRN_FIGURE_SIZE];
    fprintf(out, "self %s (%.1f %%)\\ninclusive %s (%.1f %%)\", ",
            crn_figure_alone(self, unit, cost->self[block]),
            crn_percent(cost->self[block], cost->total),
            crn_figure_alone(all, unit, cost->inclusive[block]), inclusive);
    unsigned gray = (unsigned)(255 - 255 * shade);
    if (report->gray) /* legible on the shade */
        fprintf(out, "fillcolor=\"#%02x%02x%02x\", fontcolor=\"%s\"];\n", gray, gray, gray,
                gray < 128 ? "white" : "black");
    else
        fprintf(out, "fillcolor=\"#%02x%02x%02x\"];\n", 255, (unsigned)(255 - 105 * shade),
                (unsigned)(255 - 200 * shade));
}

static void write_arrow(FILE *out, const crn_shown_arrow *arrow)
{
    char calls[CRN_FIGURE_SIZE];
    fprintf(out, "  b%" PRIu32 " -> b%" PRIu32 " [", arrow->caller, arrow->callee);
    if (arrow->calls)
        fprintf(out, "label=\" %s\"%s", crn_figure_alone(calls, "", arrow->calls),
                arrow->indirect ? ", " : "");
    fprintf(out, "%s];\n", arrow->indirect ? "style=dashed" : "");
}

/* Returns, by block, 1 if it is requested and has at least the threshold's share. */
static uint8_t *choose_nodes(const crn_report *report, const crn_block_cost *cost)
{
    uint8_t *shown = crn_calloc(report->profile->block_count, 1);
    for (uint32_t b = 1; b < report->profile->block_count; b++)
        shown[b] = crn_report_shows(report, b) && cost->inclusive[b] &&
                   (double)cost->inclusive[b] >= report->threshold * (double)cost->total;
    return shown;
}

void crn_report_dot(FILE *out, const crn_report *report)
{
    const crn_profile *profile = report->profile;
    uint8_t *kept = crn_report_kept(report);
    crn_block_cost cost = crn_block_cost_make(profile, report->metrics[0], kept);
    uint8_t *shown = choose_nodes(report, &cost);
    crn_shown_graph graph = crn_shown_graph_make(profile, shown, kept);
    fputs("digraph cairn {\n  label=\"", out);
    write_escaped(out, report->title ? report->title : report->path);
    if (!report->title) {
        fputs(": ", out);
        write_escaped(out, profile->metrics[report->metrics[0]].name);
    }
    fputs("\";\n"
          "  fontname=\"Helvetica\";\n"
          "  node [shape=box, style=filled, fontname=\"Helvetica\", fontsize=11];\n"
          "  edge [fontname=\"Helvetica\", fontsize=9];\n",
          out);
    for (uint32_t b = 1; b < profile->block_count; b++)
        if (shown[b])
            write_node(out, report, b, &cost);
    for (uint32_t i = 0; i < graph.count; i++)
        write_arrow(out, &graph.arrows[i]);
    fputs("}\n", out);
    crn_shown_graph_free(&graph);
    crn_block_cost_free(&cost);
    crn_free(shown);
    crn_free(kept);
}
