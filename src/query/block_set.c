/* SPDX-License-Identifier: MIT
 *
 * Evaluates sets of blocks: rewrites MLton's words for sets to SQL, which SQLite evaluates.
 *
 *     "RE"            (nested_name(id) regexp 'RE' or name regexp 'RE')
 *     file("RE")      ifnull(file, '') regexp 'RE'
 *     is("BLOCK")     id = block('BLOCK')
 *     all             1
 *     to(S)           in_set(id, (select to_set(id) from blocks where id and (S)))
 *     thresh(N)       thresh(id, N)
 *     (and S S)       ((S) and (S))
 *
 * The rewriting is a recursive descent parser of bounded depth. It copies all text between these
 * words, "and", "or", "not" and brackets, which is SQL.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "query/captures.h"
#include "query/tokens.h"

enum { NESTING_MAX = 100 };

typedef struct rewriting {
    const char *text;
    crn_token next; /* the next token; neither blank nor a comment */
    crn_texts out;
    crn_error *error;
    bool failed;
    bool prefix; /* within MLton's (and S S ...), where no word stands between terms */
    int nesting;
} rewriting;

/* ---- tokens ---- */

#define FAIL(rewriting, ...)                                                                       \
    do {                                                                                           \
        if (!(rewriting)->failed)                                                                  \
            crn_texts_fail((rewriting)->error, (rewriting)->text, here(rewriting), __VA_ARGS__);   \
        (rewriting)->failed = true;                                                                \
    } while (0)

static size_t here(const rewriting *rewriting)
{
    return (size_t)(rewriting->next.at - rewriting->text);
}

static void insert(rewriting *rewriting, const char *sql)
{
    crn_texts_insert(&rewriting->out, sql, here(rewriting));
}

static void skip(rewriting *rewriting)
{
    rewriting->next = crn_token_after(rewriting->next);
}

/* Copies the token and a blank, so that words stay apart. */
static void copy(rewriting *rewriting)
{
    crn_texts_copy(&rewriting->out, rewriting->text, here(rewriting), rewriting->next.size);
    insert(rewriting, " ");
    skip(rewriting);
}

static bool is_quoted(crn_token token)
{
    return token.kind == CRN_TOKEN_DOUBLE_QUOTED ||
           (token.kind == CRN_TOKEN_OTHER_QUOTED && *token.at == '\'');
}

/* Returns true where no term can begin. */
static bool ends(crn_token token)
{
    return token.kind == CRN_TOKEN_END || token.kind == CRN_TOKEN_CLOSE ||
           token.kind == CRN_TOKEN_SEMICOLON || token.kind == CRN_TOKEN_COMMA ||
           crn_token_is(token, "and") || crn_token_is(token, "or");
}

static bool take_word(rewriting *rewriting, const char *word)
{
    if (!crn_token_is(rewriting->next, word))
        return false;
    skip(rewriting);
    return true;
}

static void expect_close(rewriting *rewriting)
{
    if (rewriting->next.kind != CRN_TOKEN_CLOSE)
        FAIL(rewriting, "expected ) %s", *rewriting->next.at ? "here" : "before the end");
    else
        skip(rewriting);
    insert(rewriting, ")");
}

/* Copies a quoted text as an SQL text. */
static void take_text(rewriting *rewriting)
{
    if (is_quoted(rewriting->next)) {
        crn_texts_quote(&rewriting->out, rewriting->text, here(rewriting), rewriting->next.size);
        skip(rewriting);
    } else if (*rewriting->next.at == '"' || *rewriting->next.at == '\'') {
        FAIL(rewriting, "the quote is not closed");
    } else {
        FAIL(rewriting, "expected a text in quotes");
    }
}

/* ---- SQL ---- */

/* Returns true if the token continues an SQL expression on its left. */
static bool continues(crn_token token)
{
    static const char *const words[] = {"like", "glob",   "regexp",  "match", "between", "in",
                                        "is",   "isnull", "notnull", "not",   "collate"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (crn_token_is(token, words[i]))
            return true;
    return token.kind == CRN_TOKEN_COMPARISON || token.kind == CRN_TOKEN_OPERATOR;
}

/* Copies SQL up to "and", "or", a closing bracket or the end. The "and" of "between", and "and" or
 * "or" from "case" to "end", do not end it. */
static void take_sql(rewriting *rewriting)
{
    int depth = 0, cases = 0, betweens = 0;
    while (!rewriting->failed) {
        crn_token next = rewriting->next;
        bool joins = crn_token_is(next, "and") || crn_token_is(next, "or");
        if (next.kind == CRN_TOKEN_END || next.kind == CRN_TOKEN_SEMICOLON ||
            (next.kind == CRN_TOKEN_CLOSE && !depth))
            return;
        if (joins && !depth && !cases && !(betweens && crn_token_is(next, "and")))
            return;
        if (next.kind == CRN_TOKEN_OTHER && strchr("\"'`[", *next.at))
            FAIL(rewriting, "the quote is not closed");
        depth += (next.kind == CRN_TOKEN_OPEN) - (next.kind == CRN_TOKEN_CLOSE);
        cases += crn_token_is(next, "case") - (cases && crn_token_is(next, "end"));
        if (!depth && !cases)
            betweens += crn_token_is(next, "between") - (betweens && crn_token_is(next, "and"));
        copy(rewriting);
    }
}

/* ---- sets ---- */

static void take_or(rewriting *rewriting);
static void take_term(rewriting *rewriting);

/* Takes the text up to the closing bracket, perhaps in MLton's prefix form (and S S ...). */
static void take_bracketed(rewriting *rewriting)
{
    bool both = take_word(rewriting, "and");
    if (!both && !take_word(rewriting, "or")) {
        bool prefix = rewriting->prefix;
        rewriting->prefix = false;
        take_or(rewriting);
        rewriting->prefix = prefix;
        return;
    }
    bool prefix = rewriting->prefix;
    rewriting->prefix = true;
    take_term(rewriting);
    while (!rewriting->failed && rewriting->next.kind != CRN_TOKEN_END &&
           rewriting->next.kind != CRN_TOKEN_CLOSE) {
        insert(rewriting, both ? " and " : " or ");
        take_term(rewriting);
    }
    rewriting->prefix = prefix;
}

static void take_pattern(rewriting *rewriting)
{
    size_t at = here(rewriting), size = rewriting->next.size;
    insert(rewriting, "(nested_name(id) regexp ");
    take_text(rewriting);
    insert(rewriting, " or name regexp ");
    if (!rewriting->failed)
        crn_texts_quote(&rewriting->out, rewriting->text, at, size);
    insert(rewriting, ")");
}

static void take_percentage(rewriting *rewriting)
{
    char *end;
    const char *start = rewriting->next.at;
    double percent = strtod(start, &end);
    if (end == start || !(percent >= 0 && percent <= 100)) {
        FAIL(rewriting, "expected a percentage from 0 to 100");
        return;
    }
    char number[40];
    snprintf(number, sizeof number, "%.17g", percent);
    insert(rewriting, number);
    rewriting->next = crn_token_after((crn_token){CRN_TOKEN_OTHER, start, (size_t)(end - start)});
    if (rewriting->next.kind == CRN_TOKEN_OPERATOR && *rewriting->next.at == '%')
        skip(rewriting);
}

typedef enum word_kind { WORD_ALL, WORD_RELATION, WORD_THRESHOLD, WORD_FILE, WORD_IS } word_kind;

typedef struct set_word {
    const char *word;
    word_kind kind;
    const char *before, *after; /* SQL around the argument */
} set_word;

#define IN_SET(word)                                                                               \
    {                                                                                              \
#word, WORD_RELATION, "in_set(id, (select " #word "_set(id) from blocks where id and (",   \
            ")))"                                                                                  \
    }

/* Longer words come before words that they begin with. */
static const set_word set_words[] = {
    {"all", WORD_ALL, "1", ""},
    IN_SET(pred),
    IN_SET(succ),
    IN_SET(to),
    IN_SET(from),
    {"thresh-stack", WORD_THRESHOLD, "thresh_stack(id, ", ")"},
    {"thresh-gc", WORD_THRESHOLD, "thresh_gc(id, ", ")"},
    {"thresh", WORD_THRESHOLD, "thresh(id, ", ")"},
    {"file", WORD_FILE, "ifnull(file, '') regexp ", ""},
    {"is", WORD_IS, "id = block(", ")"},
    {0},
};

/* Returns the token after the word, which may be several tokens of SQL, as "thresh-gc" is. */
static crn_token after_word(crn_token first, const set_word *word)
{
    return crn_token_after((crn_token){CRN_TOKEN_WORD, first.at, strlen(word->word)});
}

/* Returns the word for sets at the next token; NULL if the token is SQL, such as the column
 * `file`. */
static const set_word *find_word(const rewriting *rewriting)
{
    crn_token first = rewriting->next;
    for (const set_word *word = set_words; word->word; word++) {
        size_t length = strlen(word->word);
        char end = strncmp(first.at, word->word, length) == 0 ? first.at[length] : '_';
        if (isalnum((unsigned char)end) || end == '_' || end == '-')
            continue;
        crn_token then = after_word(first, word), inside = crn_token_after(then);
        bool bracket = then.kind == CRN_TOKEN_OPEN;
        bool is_sql = word->kind == WORD_THRESHOLD ? bracket && crn_token_is(inside, "id")
                      : word->kind == WORD_FILE || word->kind == WORD_IS
                          ? !bracket && !is_quoted(then)
                          : false;
        if (!is_sql)
            return word;
    }
    return NULL;
}

static void take_argument(rewriting *rewriting, word_kind kind, bool bracket)
{
    if (kind == WORD_THRESHOLD)
        take_percentage(rewriting);
    else if (kind == WORD_FILE || kind == WORD_IS)
        take_text(rewriting);
    else if (bracket)
        take_bracketed(rewriting);
    else
        take_term(rewriting);
}

/* Takes WORD(argument) or WORD argument: brackets may be around both. */
static void take_function(rewriting *rewriting, const set_word *word)
{
    rewriting->next = after_word(rewriting->next, word);
    insert(rewriting, word->before);
    if (word->kind == WORD_ALL)
        return;
    bool bracket = rewriting->next.kind == CRN_TOKEN_OPEN;
    if (bracket) {
        insert(rewriting, "(");
        skip(rewriting);
    }
    take_argument(rewriting, word->kind, bracket);
    if (bracket)
        expect_close(rewriting);
    insert(rewriting, word->after);
}

/* Takes one set or piece of SQL. The caller puts it in brackets. */
static void take_one(rewriting *rewriting)
{
    crn_token next = rewriting->next, then = crn_token_after(next);
    const set_word *word = find_word(rewriting);
    if (take_word(rewriting, "not")) {
        insert(rewriting, "not ");
        take_term(rewriting);
    } else if (next.kind == CRN_TOKEN_OPEN && !crn_token_is(then, "select") &&
               !crn_token_is(then, "with")) {
        insert(rewriting, "(");
        skip(rewriting);
        take_bracketed(rewriting);
        expect_close(rewriting);
        if (!rewriting->prefix && continues(rewriting->next))
            take_sql(rewriting);
    } else if (is_quoted(next) && (rewriting->prefix || !continues(then))) {
        take_pattern(rewriting);
    } else if (word) {
        take_function(rewriting, word);
    } else if (ends(next)) {
        FAIL(rewriting,
             "expected SQL over the columns of blocks, a name in quotes, all, pred(), succ(), "
             "to(), from(), thresh(), thresh-stack(), thresh-gc(), file() or is()");
    } else {
        take_sql(rewriting);
    }
}

static void take_term(rewriting *rewriting)
{
    if (rewriting->failed)
        return;
    if (++rewriting->nesting > NESTING_MAX) {
        FAIL(rewriting, "nested too deeply: at most %d", NESTING_MAX);
        return;
    }
    insert(rewriting, "(");
    take_one(rewriting);
    insert(rewriting, ")");
    rewriting->nesting--;
}

static void take_or(rewriting *rewriting)
{
    take_term(rewriting);
    while (!rewriting->failed &&
           (crn_token_is(rewriting->next, "and") || crn_token_is(rewriting->next, "or"))) {
        copy(rewriting);
        take_term(rewriting);
    }
}

/* ---- entry ---- */

static bool rewrite(rewriting *rewriting)
{
    insert(rewriting, "select id from blocks where id and (\n");
    rewriting->next = crn_token_after((crn_token){CRN_TOKEN_BLANK, rewriting->text, 0});
    take_or(rewriting);
    if (rewriting->next.kind != CRN_TOKEN_END)
        FAIL(rewriting, "expected \"and\", \"or\" or the end of the expression");
    insert(rewriting, "\n)");
    crn_texts_end(&rewriting->out, here(rewriting));
    return !rewriting->failed;
}

uint8_t *crn_block_set_make(const crn_profile *profile, crn_block_set_about about,
                            const char *expression, crn_error *error)
{
    crn_query_file file = {.profile = profile};
    crn_error unused;
    error = error ? error : &unused;
    rewriting rewriting = {.text = expression, .error = error};
    crn_query *query = rewrite(&rewriting) ? crn_query_open(&file, 1, error) : NULL;
    crn_statement *statement = NULL;
    uint8_t *set = NULL;
    if (query) {
        query->about = about;
        statement = crn_statement_of(query, expression, &rewriting.out, error);
    }
    if (statement) {
        set = crn_calloc(profile->block_count, 1);
        if (!crn_statement_collect(statement, set, profile->block_count, error)) {
            crn_free(set);
            set = NULL;
        }
    }
    crn_statement_free(statement);
    crn_query_close(query);
    crn_texts_free(&rewriting.out);
    return set;
}
