/* SPDX-License-Identifier: MIT */
#include "figure.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct step {
    double divisor;
    const char *unit;
} step;

static const step time_steps[] = {{1, "ns"}, {1e3, "µs"}, {1e6, "ms"}, {1e9, "s"}};
static const step byte_steps[] = {{1, "B"}, {1024, "KiB"}, {1048576, "MiB"}, {1073741824, "GiB"}};
enum { STEPS = 4 };

static const step *steps_of(const char *unit)
{
    if (strcmp(unit, "nanoseconds") == 0 || strcmp(unit, "ns") == 0)
        return time_steps;
    return strcmp(unit, "bytes") == 0 ? byte_steps : NULL;
}

crn_scale crn_scale_for(const char *unit, uint64_t largest)
{
    const step *steps = steps_of(unit);
    if (!steps)
        return (crn_scale){1, 0, ""};
    /* The largest gets three to five digits before the point, so that a thousandth of it
     * still shows. */
    int i = 0;
    while (i + 1 < STEPS && (double)largest >= 100 * steps[i + 1].divisor)
        i++;
    int decimals = i == 0 ? 0 : (double)largest < 1000 * steps[i].divisor ? 2 : 1;
    return (crn_scale){steps[i].divisor, decimals, steps[i].unit};
}

/* Puts commas between thousands of a number as printf gives it. */
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

size_t crn_figure(char text[CRN_FIGURE_SIZE], crn_scale scale, uint64_t value)
{
    char number[32];
    if (scale.divisor == 1)
        snprintf(number, sizeof number, "%llu", (unsigned long long)value);
    else
        snprintf(number, sizeof number, "%.*f", scale.decimals, (double)value / scale.divisor);
    return group(text, number);
}

size_t crn_figure_change(char text[CRN_FIGURE_SIZE], crn_scale scale, uint64_t from, uint64_t to)
{
    char magnitude[CRN_FIGURE_SIZE];
    size_t length = crn_figure(magnitude, scale, to >= from ? to - from : from - to);
    bool shows = strspn(magnitude, "0.") < length; /* "+0.0" says nothing */
    return (size_t)snprintf(text, CRN_FIGURE_SIZE, "%s%.46s",
                            !shows       ? ""
                            : to >= from ? "+"
                                         : "-",
                            magnitude);
}

const char *crn_figure_alone(char text[CRN_FIGURE_SIZE], const char *unit, uint64_t value)
{
    const step *steps = steps_of(unit);
    if (!steps) {
        crn_figure(text, (crn_scale){1, 0, ""}, value);
        return text;
    }
    int i = 0;
    while (i + 1 < STEPS && (double)value >= steps[i + 1].divisor)
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
