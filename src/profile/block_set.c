/* SPDX-License-Identifier: MIT
 *
 * Evaluates block sets: a recursive descent parser that evaluates while it parses. Its depth is
 * bounded.
 */
#include "profile/block_set.h"

#include <ctype.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/cairn.h>

#include "base/memory.h"
#include "profile/block_reach.h"
#include "profile/figures.h"
#include "profile/nesting.h"
#include "profile/reference.h"
#include "profile/stack.h"
#include "profile/text_reading.h"

enum { NESTING_MAX = 100, WORD_SIZE = 32 };

typedef struct reading {
    crn_text_reading in;
    const crn_profile *profile;
    crn_block_set_about about;
    int nesting;
    crn_call_graph graph; /* computed on first use, like the costs */
    crn_block_cost cost;
    crn_stack stack;
} reading;

/* ---- tokens ---- */

static bool take(reading *reading, char what)
{
    crn_text_skip_space(&reading->in);
    if (*reading->in.at != what)
        return false;
    reading->in.at++;
    return true;
}

/* Parses a word; "" if none comes next. */
static const char *take_word(reading *reading, char word[WORD_SIZE])
{
    crn_text_skip_space(&reading->in);
    const char *start = reading->in.at;
    size_t length = 0;
    while (isalpha((unsigned char)*reading->in.at) || (length && *reading->in.at == '-')) {
        if (length + 1 < WORD_SIZE)
            word[length++] = *reading->in.at;
        reading->in.at++;
    }
    word[length] = 0;
    return start;
}

static bool take_this_word(reading *reading, const char *wanted)
{
    char word[WORD_SIZE];
    const char *start = take_word(reading, word);
    if (strcmp(word, wanted) == 0)
        return true;
    reading->in.at = start;
    return false;
}

/* Parses a quoted text. Returns NULL on an error. Free it with crn_free. */
static char *take_text(reading *reading)
{
    size_t length;
    const char *text = crn_text_quoted(&reading->in, "a text", &length);
    return text ? memcpy(crn_calloc(length + 1, 1), text, length) : NULL;
}

static void expect(reading *reading, char what)
{
    if (!take(reading, what))
        crn_text_fail(&reading->in, reading->in.at, "expected %c %s", what,
                      *reading->in.at ? "here" : "before the end");
}

/* ---- sets ---- */

static uint8_t *nothing(const reading *reading)
{
    return crn_calloc(reading->profile->block_count, 1);
}

static uint8_t *all_blocks(const reading *reading)
{
    uint8_t *set = nothing(reading);
    memset(set + 1, 1, reading->profile->block_count - 1);
    return set;
}

static bool matches_name(const crn_profile *profile, uint32_t block, const regex_t *expression)
{
    if (regexec(expression, profile->blocks[block].name, 0, NULL, 0) == 0)
        return true;
    if (!profile->blocks[block].parent)
        return false;
    char *name = crn_nesting_name(profile, block);
    bool matches = regexec(expression, name, 0, NULL, 0) == 0;
    crn_free(name);
    return matches;
}

static uint8_t *matching(reading *reading, bool files)
{
    uint8_t *set = nothing(reading);
    const char *start = reading->in.at;
    char *text = take_text(reading);
    regex_t expression;
    int reason = text ? regcomp(&expression, text, REG_EXTENDED | REG_NOSUB) : 0;
    if (reason) {
        char why[200];
        regerror(reason, &expression, why, sizeof why);
        crn_text_fail(&reading->in, start, "\"%.100s\" is not a regular expression: %s", text, why);
    } else if (text) {
        for (uint32_t b = 1; b < reading->profile->block_count; b++)
            set[b] = files ? regexec(&expression, reading->profile->blocks[b].file, 0, NULL, 0) == 0
                           : matches_name(reading->profile, b, &expression);
        regfree(&expression);
    }
    crn_free(text);
    return set;
}

static uint8_t *this_block(reading *reading)
{
    uint8_t *set = nothing(reading);
    const char *start = reading->in.at;
    char *text = take_text(reading);
    uint32_t block;
    crn_error error = {0};
    if (text && !crn_reference_block(reading->profile, text, strlen(text), &block, &error))
        crn_text_fail(&reading->in, start, "%s", error.message);
    else if (text && block)
        set[block] = 1;
    crn_free(text);
    return set;
}

static const uint64_t *collector_cost(reading *reading)
{
    if (!reading->stack.collector) {
        uint8_t *collectors = crn_stack_collectors(reading->profile, reading->about.collector);
        reading->stack = crn_stack_make(reading->profile, reading->about.metric, collectors, NULL);
        crn_free(collectors);
    }
    return reading->stack.collector;
}

/* Evaluates thresh, thresh-stack and thresh-gc; `which` is the part after "thresh". */
static uint8_t *above(reading *reading, const char *which)
{
    uint8_t *set = nothing(reading);
    crn_text_skip_space(&reading->in);
    const char *start = reading->in.at;
    char *end;
    double percent = strtod(start, &end);
    if (end == start || !(percent >= 0 && percent <= 100)) {
        crn_text_fail(&reading->in, start, "expected a percentage from 0 to 100");
        return set;
    }
    reading->in.at = end + (*end == '%');
    if (!reading->cost.self)
        reading->cost = crn_block_cost_make(reading->profile, reading->about.metric, NULL);
    const uint64_t *cost = strcmp(which, "-gc") == 0 ? collector_cost(reading)
                           : *which                  ? reading->cost.inclusive
                                                     : reading->cost.self;
    for (uint32_t b = 1; b < reading->profile->block_count; b++)
        set[b] = (double)cost[b] >= percent / 100 * (double)reading->cost.total;
    return set;
}

static const crn_call_graph *graph_of(reading *reading)
{
    if (!reading->graph.arrows)
        reading->graph = crn_call_graph_make(reading->profile, reading->about.metric, NULL);
    return &reading->graph;
}

/* ---- expressions ---- */

static uint8_t *read_or(reading *reading);
static uint8_t *read_term(reading *reading);

static void join(const reading *reading, uint8_t *set, uint8_t *other, bool both)
{
    for (uint32_t b = 0; b < reading->profile->block_count; b++)
        set[b] = both ? set[b] & other[b] : set[b] | other[b];
    crn_free(other);
}

/* Parses up to the closing bracket; also MLton's prefix form (and S S ...). */
static uint8_t *read_bracketed(reading *reading)
{
    bool both = take_this_word(reading, "and");
    uint8_t *set;
    if (both || take_this_word(reading, "or")) {
        set = read_term(reading);
        while (!reading->in.failed && (crn_text_skip_space(&reading->in), *reading->in.at) &&
               *reading->in.at != ')')
            join(reading, set, read_term(reading), both);
    } else {
        set = read_or(reading);
    }
    return set;
}

typedef enum operation { PRED, SUCC, TO, FROM } operation;

static uint8_t *apply(reading *reading, operation operation, bool in_brackets)
{
    uint8_t *set = in_brackets ? read_bracketed(reading) : read_term(reading);
    if (reading->in.failed)
        return set;
    const crn_call_graph *graph = graph_of(reading);
    uint32_t blocks = reading->profile->block_count;
    if (operation == TO || operation == FROM) {
        crn_block_reach(graph, blocks, set, operation == TO);
        return set;
    }
    uint8_t *beside = crn_block_neighbours(graph, blocks, set, operation == PRED);
    crn_free(set);
    return beside;
}

/* Evaluates a named set and its arguments. Returns NULL if there is no such name. */
static uint8_t *read_named(reading *reading, const char *word, bool in_brackets)
{
    static const char *const operations[] = {"pred", "succ", "to", "from"};
    static const char *const thresholds[] = {"thresh", "thresh-stack", "thresh-gc"};
    for (int i = 0; i < 4; i++)
        if (strcmp(word, operations[i]) == 0)
            return apply(reading, (operation)i, in_brackets);
    for (int i = 0; i < 3; i++)
        if (strcmp(word, thresholds[i]) == 0)
            return above(reading, word + strlen("thresh"));
    return strcmp(word, "file") == 0 ? matching(reading, true)
           : strcmp(word, "is") == 0 ? this_block(reading)
                                     : NULL;
}

/* Parses NAME(arguments), or without brackets: they may be around both. */
static uint8_t *read_function(reading *reading)
{
    char word[WORD_SIZE];
    const char *start = take_word(reading, word);
    if (strcmp(word, "all") == 0)
        return all_blocks(reading);
    bool in_brackets = take(reading, '(');
    uint8_t *set = read_named(reading, word, in_brackets);
    if (!set) {
        crn_text_fail(&reading->in, start,
                      "expected a name in quotes, all, pred(), succ(), to(), from(), thresh(), "
                      "thresh-stack(), thresh-gc(), file() or is()");
        return nothing(reading);
    }
    if (in_brackets)
        expect(reading, ')');
    return set;
}

static uint8_t *read_term(reading *reading)
{
    if (reading->in.failed)
        return nothing(reading);
    if (++reading->nesting > NESTING_MAX) {
        crn_text_fail(&reading->in, reading->in.at, "nested too deeply: at most %d", NESTING_MAX);
        return nothing(reading);
    }
    uint8_t *set;
    crn_text_skip_space(&reading->in);
    if (take_this_word(reading, "not")) {
        set = read_term(reading);
        for (uint32_t b = 1; b < reading->profile->block_count; b++)
            set[b] = !set[b];
    } else if (take(reading, '(')) {
        set = read_bracketed(reading);
        expect(reading, ')');
    } else if (*reading->in.at == '"' || *reading->in.at == '\'') {
        set = matching(reading, false);
    } else {
        set = read_function(reading);
    }
    reading->nesting--;
    return set;
}

static uint8_t *read_and(reading *reading)
{
    uint8_t *set = read_term(reading);
    while (!reading->in.failed && take_this_word(reading, "and"))
        join(reading, set, read_term(reading), true);
    return set;
}

static uint8_t *read_or(reading *reading)
{
    uint8_t *set = read_and(reading);
    while (!reading->in.failed && take_this_word(reading, "or"))
        join(reading, set, read_and(reading), false);
    return set;
}

uint8_t *crn_block_set_make(const crn_profile *profile, crn_block_set_about about,
                            const char *expression, crn_error *error)
{
    reading reading = {.in = {.text = expression, .at = expression, .error = error},
                       .profile = profile,
                       .about = about};
    uint8_t *set = read_or(&reading);
    crn_text_skip_space(&reading.in);
    if (*reading.in.at)
        crn_text_fail(&reading.in, reading.in.at,
                      "expected \"and\", \"or\" or the end of the expression");
    crn_call_graph_free(&reading.graph);
    crn_block_cost_free(&reading.cost);
    crn_stack_free(&reading.stack);
    if (!reading.in.failed)
        return set;
    crn_free(set);
    return NULL;
}
