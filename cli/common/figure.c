/* SPDX-License-Identifier: MIT */
#include "figure.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const crn_unit_step time_steps[] = {
    {1, "ns"}, {1e3, "µs"}, {1e6, "ms"}, {1e9, "s"}, {0, NULL}};
static const crn_unit_step byte_steps[] = {{1, "B"},        {0x1p10, "KiB"}, {0x1p20, "MiB"},
                                           {0x1p30, "GiB"}, {0x1p40, "TiB"}, {0x1p50, "PiB"},
                                           {0x1p60, "EiB"}, {0, NULL}};

const crn_unit_step *crn_unit_steps(const char *unit)
{
    if (strcmp(unit, CRN_UNIT_TIME) == 0 || strcmp(unit, "ns") == 0)
        return time_steps;
    return strcmp(unit, CRN_UNIT_BYTES) == 0 ? byte_steps : NULL;
}

crn_scale crn_scale_for(const char *unit, uint64_t largest)
{
    const crn_unit_step *steps = crn_unit_steps(unit);
    if (!steps)
        return (crn_scale){1, 0, ""};
    /* Takes the largest unit of which the largest figure has 100 or more, so that a thousandth of
     * it is visible. */
    int i = 0;
    while (steps[i + 1].unit && (double)largest >= 100 * steps[i + 1].divisor)
        i++;
    int decimals = i == 0 ? 0 : (double)largest < 1000 * steps[i].divisor ? 2 : 1;
    return (crn_scale){steps[i].divisor, decimals, steps[i].unit};
}

/* Inserts commas between thousands of a number printed by printf. */
static size_t group(char *text, const char *number)
{
    size_t digits = strspn(number, "0123456789"), used = 0;
    for (size_t i = 0; number[i]; i++) {
        if (i && i < digits && (digits - i) % 3 == 0)
            text[used++] = ',';
        text[used++] = number[i];
    }
    text[used] = 0;
    return used;
}

/* Prints an integer with commas. Optimised, because tables can have millions of rows. */
static size_t put_whole(char *text, uint64_t value)
{
    char reversed[32];
    size_t length = 0, digits = 0;
    do {
        if (digits && digits % 3 == 0)
            reversed[length++] = ',';
        reversed[length++] = (char)('0' + value % 10);
        value /= 10;
        digits++;
    } while (value);
    for (size_t i = 0; i < length; i++)
        text[i] = reversed[length - 1 - i];
    text[length] = 0;
    return length;
}

size_t crn_figure_fixed(char text[CRN_FIGURE_SIZE], double value, int decimals)
{
    static const uint64_t powers[] = {1, 10, 100, 1000};
    uint64_t power = powers[decimals];
    double scaled = rint(value * (double)power);
    if (!(scaled < 0x1p53)) {
        char number[CRN_FIGURE_SIZE];
        snprintf(number, 32, "%.*f", decimals, value);
        return group(text, number);
    }
    size_t length = put_whole(text, (uint64_t)scaled / power);
    if (!decimals)
        return length;
    text[length++] = '.';
    for (uint64_t rest = (uint64_t)scaled % power; power > 1; rest %= power) {
        power /= 10;
        text[length++] = (char)('0' + rest / power);
    }
    text[length] = 0;
    return length;
}

size_t crn_figure(char text[CRN_FIGURE_SIZE], crn_scale scale, uint64_t value)
{
    if (scale.divisor == 1)
        return put_whole(text, value);
    return crn_figure_fixed(text, (double)value / scale.divisor, scale.decimals);
}

/* Prints an end of an interval, rounded outwards. */
static void put_end(char text[CRN_FIGURE_SIZE], crn_scale scale, double value, bool up)
{
    char number[32];
    value /= scale.divisor;
    int most = scale.divisor == 1 ? 0 : scale.decimals;
    int decimals = value > 0 ? 1 - (int)floor(log10(value)) : 0;
    decimals = decimals > most ? most : decimals;
    double step = pow(10, -decimals), steps = value / step;
    /* A floating-point error must not round a whole number of steps to the next one. */
    double nearest = round(steps);
    if (fabs(steps - nearest) > 1e-9 * steps)
        nearest = up ? ceil(steps) : floor(steps);
    snprintf(number, sizeof number, "%.*f", nearest && decimals > 0 ? decimals : 0, nearest * step);
    group(text, number);
}

void crn_figure_interval(char text[CRN_FIGURE_SIZE], crn_scale scale, crn_interval interval,
                         const char *to)
{
    char low[CRN_FIGURE_SIZE], high[CRN_FIGURE_SIZE];
    put_end(low, scale, interval.low, false);
    put_end(high, scale, interval.high, true);
    snprintf(text, CRN_FIGURE_SIZE, "%.28s%s%.28s", low, to, high);
}

size_t crn_figure_change(char text[CRN_FIGURE_SIZE], crn_scale scale, uint64_t from, uint64_t to)
{
    char magnitude[CRN_FIGURE_SIZE];
    size_t length = crn_figure(magnitude, scale, to >= from ? to - from : from - to);
    bool shows = strspn(magnitude, "0.") < length; /* not "+0.0" */
    return (size_t)snprintf(text, CRN_FIGURE_SIZE, "%s%.46s",
                            !shows       ? ""
                            : to >= from ? "+"
                                         : "-",
                            magnitude);
}

const char *crn_figure_alone(char text[CRN_FIGURE_SIZE], const char *unit, uint64_t value)
{
    const crn_unit_step *steps = crn_unit_steps(unit);
    if (!steps) {
        crn_figure(text, (crn_scale){1, 0, ""}, value);
        return text;
    }
    int i = 0;
    while (steps[i + 1].unit && (double)value >= steps[i + 1].divisor)
        i++;
    double scaled = (double)value / steps[i].divisor;
    int decimals = i == 0 || scaled >= 1000 ? 0 : scaled >= 100 ? 1 : scaled >= 10 ? 2 : 3;
    char number[32];
    size_t length = (size_t)snprintf(number, sizeof number, "%.*f", decimals, scaled);
    while (decimals-- && number[length - 1] == '0')
        number[--length] = 0;
    if (number[length - 1] == '.')
        number[length - 1] = 0;
    length = group(text, number);
    snprintf(text + length, CRN_FIGURE_SIZE - length, " %s", steps[i].unit);
    return text;
}

double crn_percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}
