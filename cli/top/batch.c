/* SPDX-License-Identifier: MIT
 *
 * Prints the tables of `cairn top` as text, one below the other.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/common/cli.h"
#include "profile/profile.h"
#include "top.h"

static void put(crn_pen *pen, crn_style style, const char *text)
{
    FILE *out = pen->out;
    if (style != CRN_STYLE_PLAIN)
        crn_terminal_style(out, style);
    fputs(text, out);
    if (style != CRN_STYLE_PLAIN)
        crn_terminal_style(out, CRN_STYLE_PLAIN);
}

static void end_line(crn_pen *pen)
{
    putc('\n', pen->out);
    pen->used = 0;
}

static void print(FILE *out, const char *path, const crn_top_look *look, crn_top_choice *choice)
{
    crn_pen pen = {.put = put, .out = out, .width = crn_terminal_get()->width};
    crn_top_rows rows = crn_top_rows_make(look, choice);
    crn_top_header header = {.path = path, .look = look, .choice = choice, .rows = &rows};
    for (int line = 0; line < CRN_TOP_HEADER_LINES; line++)
        if (crn_top_header_line(&pen, line, &header))
            end_line(&pen);
    if (rows.count) {
        end_line(&pen);
        crn_top_titles(&pen, &rows, choice);
        end_line(&pen);
    }
    for (uint32_t i = 0; i < rows.count; i++) {
        crn_top_row_draw(&pen, &rows, &rows.rows[i]);
        end_line(&pen);
    }
    if (rows.hidden && choice->most)
        fprintf(out, "%" PRIu64 " more: --top 0 shows all\n", rows.hidden);
    if (rows.small)
        fprintf(out, "%" PRIu64 " more with less than 0.3 %% each\n", rows.small);
    if (*rows.remark && look->profile) {
        putc('\n', out);
        crn_terminal_format(out, "%s\n", rows.remark);
    }
    crn_top_rows_free(&rows);
}

/* Checks the names given as options. Keys can choose only existing names. */
static int check(const char *path, const crn_top_look *look, const crn_top_choice *choice)
{
    uint32_t block;
    crn_error error = {0};
    const crn_profile *profile = look->profile;
    if (*choice->metric && crn_profile_metric(profile, choice->metric) < 0)
        return crn_cli_fail("%s: has no metric \"%s\"; cairn report --metric all shows its metrics",
                            path, choice->metric);
    if (*choice->focus &&
        !crn_reference_block(profile, choice->focus, strlen(choice->focus), &block, &error))
        return crn_cli_fail("%s: %s", path, error.message);
    return CRN_EXIT_OK;
}

static void wait_for(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

/* Prints a table for each snapshot. The first has figures since the start. */
int crn_top_batch(FILE *out, const crn_top_options *options, crn_top_choice *choice)
{
    crn_top_look look = {0};
    crn_symbols_cache *names = crn_symbols_cache_new();
    int status = CRN_EXIT_OK;
    for (uint64_t i = 0; !options->count || i < options->count; i++) {
        if (i) {
            wait_for(crn_top_wait(choice, look.cost));
            putc('\n', out);
        }
        const crn_top_needs needs = {choice->view, &options->deadlines};
        crn_top_look next = crn_top_look_take(options->path, i ? &look : NULL, needs, names);
        if (!next.profile) { /* ends at the first snapshot that cannot be read */
            status = crn_cli_fail("%s", next.problem);
            crn_top_look_free(&next);
            break;
        }
        crn_top_look_free(&look);
        look = next;
        if (!i && (status = check(options->path, &look, choice)) != CRN_EXIT_OK)
            break;
        print(out, options->path, &look, choice);
        if (fflush(out) != 0 || (look.state >= CRN_TOP_STOPPED && !options->count))
            break; /* nobody reads the output, or nothing more will come */
    }
    crn_top_look_free(&look);
    crn_symbols_cache_free(names);
    return status;
}
