/* SPDX-License-Identifier: MIT
 *
 * Evaluates assertions: a recursive descent parser that evaluates while it parses. Its depth is
 * bounded.
 */
#include "profile/assertion.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/cairn.h>

#include "base/memory.h"
#include "profile/figures.h"
#include "profile/reference.h"
#include "profile/text_reading.h"

enum { NESTING_MAX = 100, NAME_SIZE = 64 };

typedef struct reading {
    crn_text_reading in;
    const crn_profile *profile;
    bool unknown_is_zero;
    int nesting;
    crn_assertion *assertion;
} reading;

typedef struct value {
    bool is_truth;
    long double number; /* a truth value is 0 or 1 */
} value;

static const value nothing = {false, 0};

/* Records an error, and is a value. */
#define FAILED(...) (crn_text_fail(__VA_ARGS__), nothing)

/* ---- tokens ---- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Consumes the operator or word if it comes next. */
static bool take(reading *reading, const char *token)
{
    size_t length = strlen(token);
    crn_text_skip_space(&reading->in);
    if (reading->in.failed || strncmp(reading->in.at, token, length) != 0)
        return false;
    if (is_word(*token) && is_word(reading->in.at[length]))
        return false;
    reading->in.at += length;
    return true;
}

static void expect(reading *reading, const char *token)
{
    if (!take(reading, token))
        crn_text_fail(&reading->in, reading->in.at, "expected %s %s", token,
                      *reading->in.at ? "here" : "before the end");
}

static bool take_arrow(reading *reading)
{
    return take(reading, "->") || take(reading, "→");
}

/* ---- figures ---- */

/* Parses the name of a metric. Returns CRN_METRIC_MAX on an error. */
static uint32_t take_metric(reading *reading)
{
    char name[NAME_SIZE];
    size_t length = 0;
    const char *start = reading->in.at;
    char quote = *start == '"' || *start == '\'' ? *start : 0;
    reading->in.at += quote != 0;
    while (*reading->in.at && (quote ? *reading->in.at != quote : is_word(*reading->in.at))) {
        if (length + 1 < sizeof name)
            name[length++] = *reading->in.at;
        reading->in.at++;
    }
    name[length] = 0;
    if (quote && *reading->in.at++ != quote) {
        reading->in.at = start;
        crn_text_fail(&reading->in, start, "missing closing quote");
        return CRN_METRIC_MAX;
    }
    int metric = crn_profile_metric(reading->profile, name);
    if (metric >= 0)
        return (uint32_t)metric;
    crn_text_fail(&reading->in, start,
                  "unknown metric or function \"%s\": write calls, ticks, wall, self.METRIC, "
                  "inclusive.METRIC, contexts, cycles or folded",
                  name);
    return CRN_METRIC_MAX;
}

/* Parses a quoted block. Returns false if it is not in the profile, or on an error. */
static bool take_block(reading *reading, uint32_t *block)
{
    size_t length;
    const char *name = crn_text_quoted(&reading->in, "a block", &length);
    if (!name)
        return false;
    crn_error error = {0};
    if (crn_reference_block(reading->profile, name, length, block, &error))
        return true;
    if (!reading->unknown_is_zero || error.code != CAIRN_E_READ)
        crn_text_fail(&reading->in, name, "%s", error.message);
    return false;
}

/* Parses the sequence between brackets. `*known` becomes false if one of its blocks is not in the
 * profile. */
static crn_sequence take_sequence(reading *reading, bool *known)
{
    crn_sequence sequence = {0};
    *known = true;
    expect(reading, "(");
    if (take(reading, ")"))
        return sequence;
    do {
        uint32_t block = 0;
        *known &= take_block(reading, &block);
        if (sequence.length == CRN_SEQUENCE_MAX)
            crn_text_fail(&reading->in, reading->in.at, "a sequence has at most %d blocks",
                          CRN_SEQUENCE_MAX);
        if (reading->in.failed)
            break;
        sequence.blocks =
            crn_realloc(sequence.blocks, sequence.length + 1, sizeof *sequence.blocks);
        sequence.blocks[sequence.length++] = block;
    } while (take_arrow(reading));
    if (!reading->in.failed && !take(reading, ")"))
        crn_text_fail(&reading->in, reading->in.at, "expected ) or -> %s",
                      *reading->in.at ? "here" : "before the end");
    return sequence;
}

typedef enum aspect {
    ASPECT_USUAL,
    ASPECT_SELF,
    ASPECT_INCLUSIVE,
    ASPECT_CONTEXTS,
    ASPECT_FOLDED,
    ASPECT_CYCLES
} aspect;

static uint64_t look_up(const crn_profile *profile, aspect aspect, uint32_t metric,
                        const crn_sequence *sequence)
{
    if (aspect == ASPECT_FOLDED)
        return crn_folded_calls(profile);
    if (aspect == ASPECT_CYCLES)
        return crn_cycle_calls_total(profile);
    if (aspect == ASPECT_CONTEXTS && !sequence->length)
        return profile->context_count;
    if (!sequence->length)
        return crn_metric_total(profile, metric);
    if (aspect == ASPECT_CONTEXTS)
        return crn_sequence_count(profile, sequence);
    crn_sequence_cost cost = crn_sequence_measure(profile, sequence, metric, NULL);
    return aspect == ASPECT_SELF                                      ? cost.self
           : metric == CRN_METRIC_CALLS && aspect != ASPECT_INCLUSIVE ? cost.calls
                                                                      : cost.inclusive;
}

static value read_figure(reading *reading)
{
    static const struct {
        const char *word;
        aspect aspect;
        bool metric; /* a dot and a metric follow the word */
    } forms[] = {{"self", ASPECT_SELF, true},
                 {"inclusive", ASPECT_INCLUSIVE, true},
                 {"contexts", ASPECT_CONTEXTS, false},
                 {"folded", ASPECT_FOLDED, false},
                 {"cycles", ASPECT_CYCLES, false}};
    const char *start = reading->in.at;
    aspect aspect = ASPECT_USUAL;
    bool metric_follows = true;
    for (size_t i = 0; i < sizeof forms / sizeof *forms && aspect == ASPECT_USUAL; i++) {
        if (!take(reading, forms[i].word))
            continue;
        aspect = forms[i].aspect;
        metric_follows = forms[i].metric;
        if (metric_follows)
            expect(reading, ".");
    }
    if (reading->in.failed)
        return nothing;
    uint32_t metric = metric_follows ? take_metric(reading) : CRN_METRIC_CALLS;
    bool known = false;
    crn_sequence sequence = {0};
    if (!reading->in.failed)
        sequence = take_sequence(reading, &known);
    if ((aspect == ASPECT_FOLDED || aspect == ASPECT_CYCLES) && sequence.length)
        crn_text_fail(&reading->in, start, "this function takes no blocks");
    value value = nothing;
    if (!reading->in.failed) {
        if (known)
            value.number = (long double)look_up(reading->profile, aspect, metric, &sequence);
        crn_assertion *assertion = reading->assertion;
        if (assertion->count < CRN_ASSERTION_FIGURES)
            assertion->figures[assertion->count++] =
                (crn_assertion_figure){start, (size_t)(reading->in.at - start), value.number};
    }
    crn_sequence_free(&sequence);
    return value;
}

static value read_number(reading *reading)
{
    static const struct {
        const char *unit;
        long double factor;
    } units[] = {{"ns", 1}, {"us", 1e3L},  {"µs", 1e3L},     {"ms", 1e6L},        {"s", 1e9L},
                 {"B", 1},  {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}, {"%", 0.01L}};
    char *end;
    const char *start = reading->in.at;
    long double number = strtold(start, &end);
    if (end == start || !isfinite(number))
        return FAILED(&reading->in, start, "expected a number or a figure such as calls(\"f\")");
    reading->in.at = end;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (take(reading, units[i].unit))
            return (value){false, number * units[i].factor};
    if (is_word(*end))
        return FAILED(&reading->in, end,
                      "unknown unit: write ns, us, ms, s, B, KiB, MiB, GiB or %%");
    return (value){false, number};
}

/* ---- operators ---- */

static value read_truth(reading *reading);

static value need(reading *reading, const char *at, value given, bool truth)
{
    if (!reading->in.failed && given.is_truth != truth)
        return FAILED(&reading->in, at, truth ? "expected a comparison" : "expected a number");
    return given;
}

static value read_unary(reading *reading)
{
    if (reading->nesting++ >= NESTING_MAX)
        return FAILED(&reading->in, reading->in.at, "nested too deep");
    value result;
    crn_text_skip_space(&reading->in);
    const char *start = reading->in.at;
    if (take(reading, "-")) {
        result = need(reading, start, read_unary(reading), false);
        result.number = -result.number;
    } else if (take(reading, "(")) {
        result = read_truth(reading);
        if (!reading->in.failed)
            expect(reading, ")");
    } else if (isdigit((unsigned char)*start) || *start == '.') {
        result = read_number(reading);
    } else if (is_word(*start) || *start == '"' || *start == '\'') {
        result = read_figure(reading);
    } else {
        result = FAILED(&reading->in, start, "expected a number or a figure such as calls(\"f\")%s",
                        *start ? "" : " before the end");
    }
    reading->nesting--;
    return result;
}

static value read_product(reading *reading)
{
    crn_text_skip_space(&reading->in);
    const char *start = reading->in.at;
    value left = read_unary(reading);
    for (;;) {
        bool times = take(reading, "*");
        if (!times && !take(reading, "/"))
            return left;
        need(reading, start, left, false);
        const char *at = reading->in.at;
        value right = need(reading, at, read_unary(reading), false);
        if (!times && !reading->in.failed && right.number == 0)
            return FAILED(&reading->in, at, "division by zero");
        left.number = times ? left.number * right.number : left.number / right.number;
    }
}

static value read_sum(reading *reading)
{
    crn_text_skip_space(&reading->in);
    const char *start = reading->in.at;
    value left = read_product(reading);
    for (;;) {
        crn_text_skip_space(&reading->in);
        bool plus = take(reading, "+");
        if (!plus && (strncmp(reading->in.at, "->", 2) == 0 || !take(reading, "-")))
            return left;
        need(reading, start, left, false);
        value right = need(reading, reading->in.at, read_product(reading), false);
        left.number = plus ? left.number + right.number : left.number - right.number;
    }
}

static int take_comparison(reading *reading)
{
    static const char *const signs[] = {"==", "!=", "<=", ">=", "<", ">"};
    for (int i = 0; i < 6; i++)
        if (take(reading, signs[i]))
            return i;
    return -1;
}

static value read_comparison(reading *reading)
{
    crn_text_skip_space(&reading->in);
    const char *start = reading->in.at;
    value left = read_sum(reading);
    int sign = take_comparison(reading);
    if (sign < 0)
        return left;
    need(reading, start, left, false);
    long double a = left.number;
    long double b = need(reading, reading->in.at, read_sum(reading), false).number;
    const bool results[] = {a == b, a != b, a <= b, a >= b, a<b, a> b};
    crn_text_skip_space(&reading->in);
    start = reading->in.at;
    if (take_comparison(reading) >= 0)
        return FAILED(&reading->in, start, "join two comparisons with \"and\"");
    return (value){true, results[sign]};
}

static value read_not(reading *reading)
{
    bool inverted = false, any = false;
    crn_text_skip_space(&reading->in);
    while (take(reading, "not") || (strncmp(reading->in.at, "!=", 2) != 0 && take(reading, "!"))) {
        inverted = !inverted;
        any = true;
        crn_text_skip_space(&reading->in);
    }
    const char *start = reading->in.at;
    value result = read_comparison(reading);
    if (any)
        result = need(reading, start, result, true);
    if (inverted)
        result.number = !result.number;
    return result;
}

static value read_and(reading *reading)
{
    crn_text_skip_space(&reading->in);
    const char *start = reading->in.at;
    value left = read_not(reading);
    while (take(reading, "and") || take(reading, "&&")) {
        need(reading, start, left, true);
        value right = need(reading, reading->in.at, read_not(reading), true);
        left.number = left.number && right.number;
    }
    return left;
}

static value read_truth(reading *reading)
{
    crn_text_skip_space(&reading->in);
    const char *start = reading->in.at;
    value left = read_and(reading);
    while (take(reading, "or") || take(reading, "||")) {
        need(reading, start, left, true);
        value right = need(reading, reading->in.at, read_and(reading), true);
        left.number = left.number || right.number;
    }
    return left;
}

bool crn_assertion_check(const crn_profile *profile, const char *text, bool unknown_is_zero,
                         crn_assertion *assertion, crn_error *error)
{
    *assertion = (crn_assertion){0};
    reading reading = {.in = {.text = text, .at = text, .error = error},
                       .profile = profile,
                       .unknown_is_zero = unknown_is_zero,
                       .assertion = assertion};
    value result = need(&reading, text, read_truth(&reading), true);
    crn_text_skip_space(&reading.in);
    if (*reading.in.at)
        crn_text_fail(&reading.in, reading.in.at, "expected the end of the expression");
    assertion->holds = result.number != 0;
    return !reading.in.failed;
}
