/* SPDX-License-Identifier: MIT
 *
 * Keeps what the last snapshots measured, and draws it as sparklines.
 */
#include <string.h>

#include "top.h"

static void append(double values[CRN_TOP_HISTORY], double value)
{
    memmove(values, values + 1, (CRN_TOP_HISTORY - 1) * sizeof *values);
    values[CRN_TOP_HISTORY - 1] = value;
}

static double rate_of(const crn_top_look *look, uint32_t metric)
{
    if (look->profile->metrics[metric].is_level)
        return (double)crn_metric_total(look->profile, metric);
    return (double)crn_metric_total(&look->since.profile, metric) / look->interval;
}

void crn_top_history_add(crn_top_history *history, const crn_top_look *look)
{
    if (!look->profile)
        return;
    if (look->run != history->run)
        *history = (crn_top_history){.run = look->run};
    if (look->interval <= 0)
        return;
    append(history->cpu, look->cpu > 0 ? look->cpu : 0);
    for (uint32_t m = 0; m < look->profile->metric_count; m++)
        append(history->rates[m], rate_of(look, m));
    if (history->count < CRN_TOP_HISTORY)
        history->count++;
}

void crn_top_sparkline(crn_pen *pen, const crn_top_history *history, const double *values,
                       uint32_t width)
{
    uint32_t count = history->count < width ? history->count : width;
    double most = 0;
    values += CRN_TOP_HISTORY - count;
    for (uint32_t i = 0; i < count; i++)
        most = values[i] > most ? values[i] : most;
    if (count < 2 || most <= 0)
        return;
    crn_pen_text(pen, CRN_STYLE_PLAIN, "  ", 0, false);
    for (uint32_t i = 0; i < count; i++)
        crn_pen_text(pen, CRN_STYLE_WARM, crn_top_level(values[i] / most), 0, false);
}
