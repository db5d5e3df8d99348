/* SPDX-License-Identifier: MIT
 *
 * Evaluates assertions: rewrites their shorter spellings to SQL, which SQLite evaluates.
 *
 *     calls("main" -> "parse") == 3 and self.wall("gc") / wall() < 5%
 *     cost('calls', 'main', 'parse') == 3 and
 *         self_cost('wall', 'gc') * 1.0 / cost('wall') < (5 / 100.0)
 *
 * Subqueries are copied unchanged.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "query/captures.h"
#include "query/tokens.h"

enum { NESTING_MAX = 100 };

/* An open bracket. */
typedef struct level {
    bool compared;      /* the current operand of "and" or "or" has a comparison already */
    const char *figure; /* the figure whose bracket it is, in the text; or NULL */
    size_t sql;         /* position of that figure in the SQL */
} level;

/* The place of a figure in the text, and of its SQL. */
typedef struct part {
    const char *start;
    size_t length, sql, sql_length;
} part;

typedef struct rewriting {
    const char *text;
    const crn_profile *profile;
    crn_texts out;
    crn_error *error;
    bool failed;
    int depth;
    level levels[NESTING_MAX + 1];
    size_t count;
    part parts[CRN_ASSERTION_FIGURES];
} rewriting;

#define FAIL(rewriting, at, ...)                                                                   \
    ((rewriting)->failed = true, crn_texts_fail((rewriting)->error, (rewriting)->text,             \
                                                (size_t)((at) - (rewriting)->text), __VA_ARGS__))

static void copy(rewriting *rewriting, crn_token token)
{
    crn_texts_copy(&rewriting->out, rewriting->text, (size_t)(token.at - rewriting->text),
                   token.size);
}

static void insert(rewriting *rewriting, const char *sql, crn_token token)
{
    crn_texts_insert(&rewriting->out, sql, (size_t)(token.at - rewriting->text));
}

static bool is(crn_token token, const char *operator)
{
    return token.size == strlen(operator) && memcmp(token.at, operator, token.size) == 0;
}

static void add_part(rewriting *rewriting, const char *start, const char *end, size_t sql)
{
    if (rewriting->count < CRN_ASSERTION_FIGURES)
        rewriting->parts[rewriting->count++] =
            (part){start, (size_t)(end - start), sql, rewriting->out.size - sql};
}

static void open_level(rewriting *rewriting, crn_token token, const char *figure, size_t sql)
{
    if (rewriting->depth == NESTING_MAX)
        FAIL(rewriting, token.at, "brackets nested too deeply: at most %d", NESTING_MAX);
    else
        rewriting->levels[++rewriting->depth] = (level){false, figure, sql};
}

/* ---- figures ---- */

/* Copies the name in a word or quoted word; "" if it is too long. */
static void name_of(crn_token token, char name[128])
{
    bool quoted = token.kind != CRN_TOKEN_WORD;
    size_t size = token.size - 2 * quoted;
    if (size >= 128)
        size = 0;
    memcpy(name, token.at + quoted, size);
    name[size] = 0;
}

static bool is_name(crn_token token)
{
    return token.kind == CRN_TOKEN_WORD || token.kind == CRN_TOKEN_DOUBLE_QUOTED ||
           token.kind == CRN_TOKEN_OTHER_QUOTED;
}

/* Rewrites METRIC(, self.METRIC( or inclusive.METRIC(, and opens a figure's bracket. Returns the
 * bracket; END if `first` begins no figure. */
static crn_token take_figure(rewriting *rewriting, crn_token first)
{
    const crn_token none = {CRN_TOKEN_END, first.at, 0};
    crn_token name = first, open = crn_token_after(first);
    const char *function = "cost(";
    char text[128];
    if (is(open, ".") && (crn_token_is(first, "self") || crn_token_is(first, "inclusive"))) {
        function = crn_token_is(first, "self") ? "self_cost(" : "inclusive_cost(";
        name = crn_token_after(open);
        open = crn_token_after(name);
    }
    if (!is_name(name) || open.kind != CRN_TOKEN_OPEN)
        return none;
    size_t sql = rewriting->out.size;
    name_of(name, text);
    if (name.at != first.at || crn_profile_metric(rewriting->profile, text) >= 0) {
        insert(rewriting, function, first);
        insert(rewriting, "'", name);
        for (const char *c = text; *c; c++) {
            crn_texts_put(&rewriting->out, *c, (size_t)(name.at - rewriting->text));
            if (*c == '\'')
                insert(rewriting, "'", name);
        }
        insert(rewriting, crn_token_after(open).kind == CRN_TOKEN_CLOSE ? "'" : "', ", open);
    } else if (crn_token_is(name, "contexts") || crn_token_is(name, "cycles") ||
               crn_token_is(name, "folded")) {
        copy(rewriting, name);
        copy(rewriting, open);
    } else {
        return none;
    }
    open_level(rewriting, open, first.at, sql);
    return open;
}

/* Copies a subquery and adds it as a figure. Returns its last token; END if `open` begins no
 * subquery. */
static crn_token take_subquery(rewriting *rewriting, crn_token open)
{
    const crn_token none = {CRN_TOKEN_END, open.at, 0};
    crn_token now = crn_token_after(open);
    if (open.kind != CRN_TOKEN_OPEN || !(crn_token_is(now, "select") || crn_token_is(now, "with")))
        return none;
    int depth = 0;
    size_t sql = rewriting->out.size;
    for (now = open; now.kind != CRN_TOKEN_END; now = crn_token_at(now.at + now.size)) {
        copy(rewriting, now);
        depth += (now.kind == CRN_TOKEN_OPEN) - (now.kind == CRN_TOKEN_CLOSE);
        if (!depth) {
            add_part(rewriting, open.at, now.at + now.size, sql);
            return now;
        }
    }
    FAIL(rewriting, now.at, "expected ) before the end");
    return now;
}

/* ---- numbers ---- */

static bool ends_operand(crn_token token)
{
    return token.kind == CRN_TOKEN_END || token.kind == CRN_TOKEN_CLOSE ||
           token.kind == CRN_TOKEN_COMMA || token.kind == CRN_TOKEN_COMPARISON ||
           token.kind == CRN_TOKEN_OPERATOR || crn_token_is(token, "and") ||
           crn_token_is(token, "or");
}

static bool begins_number(crn_token token)
{
    return token.kind == CRN_TOKEN_WORD && (isdigit((unsigned char)*token.at) || *token.at == '.');
}

/* Rewrites a number and its unit. Returns the last token that it read. */
static crn_token take_number(rewriting *rewriting, crn_token first)
{
    static const struct {
        const char *unit, *sql;
    } units[] = {{"ns", "*1.0"},     {"us", "*1e3"},        {"µs", "*1e3"},
                 {"ms", "*1e6"},     {"s", "*1e9"},         {"B", "*1.0"},
                 {"KiB", "*1024.0"}, {"MiB", "*1048576.0"}, {"GiB", "*1073741824.0"},
                 {"%", "/100.0"}};
    char *end;
    strtod(first.at, &end);
    size_t size = (size_t)(end - first.at);
    crn_token digits = {CRN_TOKEN_WORD, first.at, size};
    crn_token unit = crn_token_at(end);
    bool joined = unit.kind == CRN_TOKEN_WORD;
    if (unit.kind == CRN_TOKEN_BLANK)
        unit = crn_token_after(unit);
    bool possible =
        unit.kind == CRN_TOKEN_WORD || (is(unit, "%") && ends_operand(crn_token_after(unit)));
    for (size_t i = 0; possible && i < sizeof units / sizeof *units; i++) {
        if (!is(unit, units[i].unit))
            continue;
        insert(rewriting, "(", first);
        copy(rewriting, digits);
        insert(rewriting, units[i].sql, unit);
        insert(rewriting, ")", unit);
        return unit;
    }
    if (joined)
        FAIL(rewriting, end, "unknown unit: write ns, us, ms, s, B, KiB, MiB, GiB or %%");
    copy(rewriting, digits);
    return digits;
}

/* ---- operators ---- */

static void compare(rewriting *rewriting, crn_token token)
{
    level *level = &rewriting->levels[rewriting->depth];
    if (level->compared)
        FAIL(rewriting, token.at, "join two comparisons with \"and\"");
    level->compared = true;
    copy(rewriting, token);
}

static void join(rewriting *rewriting, crn_token token, const char *sql)
{
    rewriting->levels[rewriting->depth].compared = false;
    insert(rewriting, sql, token);
}

static void close_level(rewriting *rewriting, crn_token token)
{
    copy(rewriting, token);
    if (!rewriting->depth) {
        FAIL(rewriting, token.at, "no bracket is open");
        return;
    }
    const level *level = &rewriting->levels[rewriting->depth--];
    if (level->figure)
        add_part(rewriting, level->figure, token.at + token.size, level->sql);
}

static crn_token take_operator(rewriting *rewriting, crn_token token)
{
    bool in_figure = rewriting->levels[rewriting->depth].figure != NULL;
    if (in_figure && (is(token, "->") || is(token, "→")))
        insert(rewriting, ",", token);
    else if (is(token, "/"))
        insert(rewriting, "*1.0/", token);
    else if (is(token, "||"))
        join(rewriting, token, " or ");
    else if (is(token, "&") && token.at[1] == '&') {
        token.size = 2;
        join(rewriting, token, " and ");
    } else if (is(token, "!"))
        insert(rewriting, " not ", token);
    else
        copy(rewriting, token);
    return token;
}

static bool separates(crn_token token)
{
    static const char *const words[] = {"and", "or", "case", "when", "then", "else", "end"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (crn_token_is(token, words[i]))
            return true;
    return token.kind == CRN_TOKEN_COMMA;
}

/* Rewrites a token and those that belong to it. Returns the last token that it read. */
static crn_token take(rewriting *rewriting, crn_token token)
{
    crn_token last = take_subquery(rewriting, token);
    if (last.size || rewriting->failed)
        return last;
    if (begins_number(token))
        return take_number(rewriting, token);
    last = take_figure(rewriting, token);
    if (last.size || rewriting->failed)
        return last;
    if (separates(token))
        rewriting->levels[rewriting->depth].compared = false;
    switch (token.kind) {
    case CRN_TOKEN_COMPARISON:
        compare(rewriting, token);
        break;
    case CRN_TOKEN_OPEN:
        copy(rewriting, token);
        open_level(rewriting, token, NULL, 0);
        break;
    case CRN_TOKEN_CLOSE:
        close_level(rewriting, token);
        break;
    case CRN_TOKEN_DOUBLE_QUOTED:
        if (crn_token_after(token).kind != CRN_TOKEN_OPEN) {
            crn_texts_quote(&rewriting->out, rewriting->text, (size_t)(token.at - rewriting->text),
                            token.size);
            break;
        }
        copy(rewriting, token);
        break;
    case CRN_TOKEN_SEMICOLON:
        FAIL(rewriting, token.at, "expected the end of the expression");
        break;
    case CRN_TOKEN_OTHER:
        if (strchr("\"'`[", *token.at)) {
            FAIL(rewriting, token.at, "the quote is not closed");
            break;
        }
        return take_operator(rewriting, token);
    default:
        return take_operator(rewriting, token);
    }
    return token;
}

static void rewrite(rewriting *rewriting)
{
    crn_token token = crn_token_at(rewriting->text);
    for (; token.kind != CRN_TOKEN_END && !rewriting->failed;
         token = crn_token_at(token.at + token.size))
        token = take(rewriting, token);
    if (!rewriting->failed && rewriting->depth)
        FAIL(rewriting, token.at, "expected ) before the end");
}

/* ---- evaluation ---- */

/* Evaluates `length` bytes of the SQL from `start` on. Returns false on an error. */
static bool evaluate(crn_query *query, const rewriting *rewriting, size_t start, size_t length,
                     crn_value *value, crn_error *error)
{
    crn_texts sql = {0};
    crn_texts_insert(&sql, "select (\n", 0);
    for (size_t i = start; i < start + length; i++)
        crn_texts_put(&sql, rewriting->out.sql[i], rewriting->out.from[i]);
    crn_texts_insert(&sql, "\n)", strlen(rewriting->text));
    crn_texts_end(&sql, strlen(rewriting->text));
    crn_statement *statement = crn_statement_of(query, rewriting->text, &sql, error);
    bool good = statement && crn_statement_step(statement, error) >= 0;
    if (good)
        *value = crn_statement_value(statement, 0);
    crn_statement_free(statement);
    crn_texts_free(&sql);
    return good;
}

static bool check(crn_query *query, rewriting *rewriting, crn_assertion *assertion)
{
    crn_value value;
    crn_error *error = rewriting->error;
    if (!evaluate(query, rewriting, 0, rewriting->out.size, &value, error))
        return false;
    if (value.kind == CRN_VALUE_NULL)
        return crn_error_set(error, CAIRN_E_ARGUMENT,
                             "neither true nor false: it divides by zero, or a value is missing");
    if (value.kind != CRN_VALUE_INTEGER || value.integer < 0 || value.integer > 1)
        return crn_error_set(error, CAIRN_E_ARGUMENT,
                             "expected a comparison, such as calls(\"f\") == 3");
    assertion->holds = value.integer;
    for (size_t i = 0; i < rewriting->count && !assertion->holds; i++) {
        const part *part = &rewriting->parts[i];
        if (!evaluate(query, rewriting, part->sql, part->sql_length, &value, error))
            return false;
        double number = value.kind == CRN_VALUE_INTEGER ? (double)value.integer : value.number;
        assertion->figures[assertion->count++] =
            (crn_assertion_figure){part->start, part->length, number};
    }
    return true;
}

bool crn_assertion_check(crn_query *query, const char *text, bool unknown_is_zero,
                         crn_assertion *assertion, crn_error *error)
{
    *assertion = (crn_assertion){0};
    rewriting rewriting = {.text = text, .profile = query->captures[0].profile, .error = error};
    query->unknown_is_zero = unknown_is_zero;
    rewrite(&rewriting);
    bool good = !rewriting.failed && check(query, &rewriting, assertion);
    query->unknown_is_zero = false;
    crn_texts_free(&rewriting.out);
    return good;
}
