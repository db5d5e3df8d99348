/* SPDX-License-Identifier: MIT
 *
 * Writes text, amounts and bars on a line.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/common/figure.h"
#include "top.h"

void crn_pen_text(crn_pen *pen, crn_style style, const char *text, size_t limit, bool keep_end)
{
    char safe[2048];
    if (pen->width) {
        size_t left = pen->width > pen->used ? pen->width - pen->used : 0;
        if (!left)
            return;
        limit = limit && limit < left ? limit : left;
    }
    pen->used += crn_terminal_fit(safe, sizeof safe, text, limit, keep_end);
    pen->put(pen, style, safe);
}

void crn_pen_format(crn_pen *pen, crn_style style, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    crn_pen_text(pen, style, text, 0, false);
}

void crn_pen_to(crn_pen *pen, size_t column)
{
    if (column > pen->used)
        crn_pen_format(pen, CRN_STYLE_PLAIN, "%*s", (int)(column - pen->used), "");
}

/* ---- figures ---- */

/* Formats three digits of `amount` in the largest unit of which it is at least 1. */
static const char *put_steps(char *text, double amount, const crn_unit_step *steps,
                             const char *space)
{
    int i = 0;
    while (steps[i + 1].unit && amount >= 0.9995 * steps[i + 1].divisor)
        i++;
    double shown = amount / steps[i].divisor;
    bool whole = i == 0 && amount == floor(amount);
    int decimals = whole || shown >= 99.95 ? 0 : shown >= 9.995 ? 1 : 2;
    snprintf(text, CRN_AMOUNT_SIZE, "%.*f%s%s", decimals, shown, space, steps[i].unit);
    return text;
}

static const char *put_time(char *text, double ns)
{
    double seconds = ns / 1e9;
    if (seconds < 99.95)
        return put_steps(text, ns, crn_unit_steps(CRN_UNIT_TIME), " ");
    unsigned long long whole = (unsigned long long)(seconds + 0.5);
    if (whole < 6000)
        snprintf(text, CRN_AMOUNT_SIZE, "%llu:%02llu", whole / 60, whole % 60);
    else if (whole < 360000)
        snprintf(text, CRN_AMOUNT_SIZE, "%lluh%02llum", whole / 3600, whole / 60 % 60);
    else
        snprintf(text, CRN_AMOUNT_SIZE, "%llud%02lluh", whole / 86400, whole / 3600 % 24);
    return text;
}

const char *crn_top_amount(char text[CRN_AMOUNT_SIZE], const char *unit, double amount)
{
    static const crn_unit_step counts[] = {{1, ""},     {1e3, "k"},  {1e6, "M"},  {1e9, "G"},
                                           {1e12, "T"}, {1e15, "P"}, {1e18, "E"}, {0, NULL}};
    const crn_unit_step *steps = crn_unit_steps(unit);
    if (amount <= 0)
        return strcpy(text, "-");
    if (steps == crn_unit_steps(CRN_UNIT_TIME))
        return put_time(text, amount);
    return put_steps(text, amount, steps ? steps : counts, steps ? " " : "");
}

/* ---- bars ---- */

const char *crn_top_level(double part)
{
    const crn_glyphs *glyphs = crn_terminal_get()->glyphs;
    int level = part <= 0 ? 0 : part >= 1 ? 8 : 1 + (int)(part * 8);
    return glyphs->levels[level > 8 ? 8 : level];
}

void crn_top_meter(crn_pen *pen, double part, uint32_t width)
{
    uint32_t full = part >= 1 ? width : part > 0 ? (uint32_t)(part * width + 0.5) : 0;
    crn_style style = part > 0.9 ? CRN_STYLE_HOT : CRN_STYLE_WARM;
    if (width == 1) {
        crn_pen_text(pen, style, crn_top_level(part), 0, false);
        return;
    }
    for (uint32_t i = 0; i < width; i++)
        crn_pen_text(pen, style, i < full ? crn_top_level(1) : crn_top_level(0), 0, false);
}
