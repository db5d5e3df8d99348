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

enum { NESTING_MAX = 100, NAME_SIZE = 64 };

typedef struct reading {
    const crn_profile *profile;
    const char *text, *at;
    bool unknown_is_zero, failed;
    int nesting;
    crn_assertion *assertion;
    crn_error *error;
} reading;

typedef struct value {
    bool is_truth;
    long double number; /* a truth value is 0 or 1 */
} value;

static const value nothing = {false, 0};

/* Records an error at a position; the first one stays. Parsing goes on, without effect. */
__attribute__((format(printf, 3, 4))) static value fail(reading *reading, const char *at,
                                                        const char *format, ...)
{
    if (reading->failed)
        return nothing;
    reading->failed = true;
    char what[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    crn_error_set(reading->error, CAIRN_E_ARGUMENT, "column %zu: %s",
                  (size_t)(at - reading->text) + 1, what);
    return nothing;
}

/* ---- tokens ---- */

static void skip_space(reading *reading)
{
    while (isspace((unsigned char)*reading->at))
        reading->at++;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Consumes the operator or word if it comes next. */
static bool take(reading *reading, const char *token)
{
    size_t length = strlen(token);
    skip_space(reading);
    if (reading->failed || strncmp(reading->at, token, length) != 0)
        return false;
    if (is_word(*token) && is_word(reading->at[length]))
        return false;
    reading->at += length;
    return true;
}

static void expect(reading *reading, const char *token)
{
    if (!take(reading, token))
        fail(reading, reading->at, "expected %s %s", token,
             *reading->at ? "here" : "before the end");
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
    const char *start = reading->at;
    char quote = *start == '"' || *start == '\'' ? *start : 0;
    reading->at += quote != 0;
    while (*reading->at && (quote ? *reading->at != quote : is_word(*reading->at))) {
        if (length + 1 < sizeof name)
            name[length++] = *reading->at;
        reading->at++;
    }
    name[length] = 0;
    if (quote && *reading->at++ != quote) {
        reading->at = start;
        fail(reading, start, "missing closing quote");
        return CRN_METRIC_MAX;
    }
    int metric = crn_profile_metric(reading->profile, name);
    if (metric >= 0)
        return (uint32_t)metric;
    fail(reading, start,
         "unknown metric or function \"%s\": write calls, ticks, wall, self.METRIC, "
         "inclusive.METRIC, contexts, cycles or folded",
         name);
    return CRN_METRIC_MAX;
}

/* Parses a quoted block. Returns false if it is not in the profile, or on an error. */
static bool take_block(reading *reading, uint32_t *block)
{
    skip_space(reading);
    const char *start = reading->at;
    const char *end = *start == '"' || *start == '\'' ? strchr(start + 1, *start) : NULL;
    if (!end) {
        fail(reading, start,
             *start == '"' || *start == '\'' ? "the quote is not closed"
                                             : "expected a block in quotes");
        return false;
    }
    reading->at = end + 1;
    crn_error error = {0};
    if (crn_reference_block(reading->profile, start + 1, (size_t)(end - start - 1), block, &error))
        return true;
    if (!reading->unknown_is_zero || error.code != CAIRN_E_READ)
        fail(reading, start + 1, "%s", error.message);
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
            fail(reading, reading->at, "a sequence has at most %d blocks", CRN_SEQUENCE_MAX);
        if (reading->failed)
            break;
        sequence.blocks =
            crn_realloc(sequence.blocks, sequence.length + 1, sizeof *sequence.blocks);
        sequence.blocks[sequence.length++] = block;
    } while (take_arrow(reading));
    if (!reading->failed && !take(reading, ")"))
        fail(reading, reading->at, "expected ) or -> %s", *reading->at ? "here" : "before the end");
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
    const char *start = reading->at;
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
    if (reading->failed)
        return nothing;
    uint32_t metric = metric_follows ? take_metric(reading) : CRN_METRIC_CALLS;
    bool known = false;
    crn_sequence sequence = {0};
    if (!reading->failed)
        sequence = take_sequence(reading, &known);
    if ((aspect == ASPECT_FOLDED || aspect == ASPECT_CYCLES) && sequence.length)
        fail(reading, start, "this function takes no blocks");
    value value = nothing;
    if (!reading->failed) {
        if (known)
            value.number = (long double)look_up(reading->profile, aspect, metric, &sequence);
        crn_assertion *assertion = reading->assertion;
        if (assertion->count < CRN_ASSERTION_FIGURES)
            assertion->figures[assertion->count++] =
                (crn_assertion_figure){start, (size_t)(reading->at - start), value.number};
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
    const char *start = reading->at;
    long double number = strtold(start, &end);
    if (end == start || !isfinite(number))
        return fail(reading, start, "expected a number or a figure such as calls(\"f\")");
    reading->at = end;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (take(reading, units[i].unit))
            return (value){false, number * units[i].factor};
    if (is_word(*end))
        return fail(reading, end, "unknown unit: write ns, us, ms, s, B, KiB, MiB, GiB or %%");
    return (value){false, number};
}

/* ---- operators ---- */

static value read_truth(reading *reading);

static value need(reading *reading, const char *at, value given, bool truth)
{
    if (!reading->failed && given.is_truth != truth)
        return fail(reading, at, truth ? "expected a comparison" : "expected a number");
    return given;
}

static value read_unary(reading *reading)
{
    if (reading->nesting++ >= NESTING_MAX)
        return fail(reading, reading->at, "nested too deep");
    value result;
    skip_space(reading);
    const char *start = reading->at;
    if (take(reading, "-")) {
        result = need(reading, start, read_unary(reading), false);
        result.number = -result.number;
    } else if (take(reading, "(")) {
        result = read_truth(reading);
        if (!reading->failed)
            expect(reading, ")");
    } else if (isdigit((unsigned char)*start) || *start == '.') {
        result = read_number(reading);
    } else if (is_word(*start) || *start == '"' || *start == '\'') {
        result = read_figure(reading);
    } else {
        result = fail(reading, start, "expected a number or a figure such as calls(\"f\")%s",
                      *start ? "" : " before the end");
    }
    reading->nesting--;
    return result;
}

static value read_product(reading *reading)
{
    skip_space(reading);
    const char *start = reading->at;
    value left = read_unary(reading);
    for (;;) {
        bool times = take(reading, "*");
        if (!times && !take(reading, "/"))
            return left;
        need(reading, start, left, false);
        const char *at = reading->at;
        value right = need(reading, at, read_unary(reading), false);
        if (!times && !reading->failed && right.number == 0)
            return fail(reading, at, "division by zero");
        left.number = times ? left.number * right.number : left.number / right.number;
    }
}

static value read_sum(reading *reading)
{
    skip_space(reading);
    const char *start = reading->at;
    value left = read_product(reading);
    for (;;) {
        skip_space(reading);
        bool plus = take(reading, "+");
        if (!plus && (strncmp(reading->at, "->", 2) == 0 || !take(reading, "-")))
            return left;
        need(reading, start, left, false);
        value right = need(reading, reading->at, read_product(reading), false);
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
    skip_space(reading);
    const char *start = reading->at;
    value left = read_sum(reading);
    int sign = take_comparison(reading);
    if (sign < 0)
        return left;
    need(reading, start, left, false);
    long double a = left.number;
    long double b = need(reading, reading->at, read_sum(reading), false).number;
    const bool results[] = {a == b, a != b, a <= b, a >= b, a<b, a> b};
    skip_space(reading);
    start = reading->at;
    if (take_comparison(reading) >= 0)
        return fail(reading, start, "join two comparisons with \"and\"");
    return (value){true, results[sign]};
}

static value read_not(reading *reading)
{
    bool inverted = false, any = false;
    skip_space(reading);
    while (take(reading, "not") || (strncmp(reading->at, "!=", 2) != 0 && take(reading, "!"))) {
        inverted = !inverted;
        any = true;
        skip_space(reading);
    }
    const char *start = reading->at;
    value result = read_comparison(reading);
    if (any)
        result = need(reading, start, result, true);
    if (inverted)
        result.number = !result.number;
    return result;
}

static value read_and(reading *reading)
{
    skip_space(reading);
    const char *start = reading->at;
    value left = read_not(reading);
    while (take(reading, "and") || take(reading, "&&")) {
        need(reading, start, left, true);
        value right = need(reading, reading->at, read_not(reading), true);
        left.number = left.number && right.number;
    }
    return left;
}

static value read_truth(reading *reading)
{
    skip_space(reading);
    const char *start = reading->at;
    value left = read_and(reading);
    while (take(reading, "or") || take(reading, "||")) {
        need(reading, start, left, true);
        value right = need(reading, reading->at, read_and(reading), true);
        left.number = left.number || right.number;
    }
    return left;
}

bool crn_assertion_check(const crn_profile *profile, const char *text, bool unknown_is_zero,
                         crn_assertion *assertion, crn_error *error)
{
    *assertion = (crn_assertion){0};
    reading reading = {.profile = profile,
                       .text = text,
                       .at = text,
                       .unknown_is_zero = unknown_is_zero,
                       .assertion = assertion,
                       .error = error};
    value result = need(&reading, text, read_truth(&reading), true);
    skip_space(&reading);
    if (*reading.at)
        fail(&reading, reading.at, "expected the end of the expression");
    assertion->holds = result.number != 0;
    return !reading.failed;
}
