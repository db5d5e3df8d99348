/* SPDX-License-Identifier: MIT
 *
 * Splits SQL into tokens as SQLite does, as far as needed to find quoted words, operators and ends
 * of statements.
 */
#include "query/tokens.h"

#include <string.h>
#include <strings.h>

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r' && c != '\v');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_of_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
           c == '$' || (c & 0x80);
}

static size_t size_of_blank(const char *at)
{
    size_t size = 0;
    while (is_blank(at[size]))
        size++;
    return size;
}

static size_t size_of_comment(const char *at)
{
    if (at[0] == '-' && at[1] == '-')
        return strcspn(at, "\n");
    if (at[0] != '/' || at[1] != '*' || !at[2])
        return 0;
    const char *end = strstr(at + 2, "*/");
    return end ? (size_t)(end - at) + 2 : strlen(at);
}

/* Returns the size of a quoted word; 0 if it is not terminated. */
static size_t size_of_quoted(const char *at)
{
    char quote = at[0] == '[' ? ']' : at[0];
    for (size_t size = 1; at[size]; size++) {
        if (at[size] != quote)
            continue;
        if (quote == ']' || at[size + 1] != quote)
            return size + 1;
        size++;
    }
    return 0;
}

/* Returns the size of a word, or of a number up to the sign of its exponent. */
static size_t size_of_word(const char *at)
{
    bool number = is_digit(at[0]) || at[0] == '.';
    size_t size = 1;
    while (is_of_word(at[size]) || (number && at[size] == '.'))
        size++;
    return size;
}

/* Returns the size of a variable: $name, or Tcl's $a::b(c). */
static size_t size_of_variable(const char *at)
{
    size_t size = 1;
    for (;; size++) {
        if (at[size] == ':' && at[size + 1] == ':') {
            size++;
        } else if (at[size] == '(' && size > 1) {
            while (at[size] && !is_blank(at[size]) && at[size] != ')')
                size++;
            return size + (at[size] == ')');
        } else if (!is_of_word(at[size])) {
            return size;
        }
    }
}

static crn_token operator_at(const char *at)
{
    static const struct {
        const char *text;
        crn_token_kind kind;
    } operators[] = {
        {"->>", CRN_TOKEN_OPERATOR},  {"->", CRN_TOKEN_OPERATOR},   {"<<", CRN_TOKEN_OPERATOR},
        {">>", CRN_TOKEN_OPERATOR},   {"||", CRN_TOKEN_OPERATOR},   {"<=", CRN_TOKEN_COMPARISON},
        {">=", CRN_TOKEN_COMPARISON}, {"<>", CRN_TOKEN_COMPARISON}, {"!=", CRN_TOKEN_COMPARISON},
        {"==", CRN_TOKEN_COMPARISON}, {"=", CRN_TOKEN_COMPARISON},  {"<", CRN_TOKEN_COMPARISON},
        {">", CRN_TOKEN_COMPARISON},  {"+", CRN_TOKEN_OPERATOR},    {"-", CRN_TOKEN_OPERATOR},
        {"*", CRN_TOKEN_OPERATOR},    {"/", CRN_TOKEN_OPERATOR},    {"%", CRN_TOKEN_OPERATOR},
        {"&", CRN_TOKEN_OPERATOR},    {"|", CRN_TOKEN_OPERATOR},    {".", CRN_TOKEN_OPERATOR},
        {"(", CRN_TOKEN_OPEN},        {")", CRN_TOKEN_CLOSE},       {",", CRN_TOKEN_COMMA},
        {";", CRN_TOKEN_SEMICOLON},
    };
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        size_t size = strlen(operators[i].text);
        if (strncmp(at, operators[i].text, size) == 0)
            return (crn_token){operators[i].kind, at, size};
    }
    return (crn_token){CRN_TOKEN_OTHER, at, 1};
}

crn_token crn_token_at(const char *at)
{
    size_t size;
    if (!*at)
        return (crn_token){CRN_TOKEN_END, at, 0};
    if ((size = size_of_blank(at)) || (size = size_of_comment(at)))
        return (crn_token){CRN_TOKEN_BLANK, at, size};
    if (strchr("\"'`[", *at)) {
        size = size_of_quoted(at);
        return size ? (crn_token){*at == '"' ? CRN_TOKEN_DOUBLE_QUOTED : CRN_TOKEN_OTHER_QUOTED, at,
                                  size}
                    : (crn_token){CRN_TOKEN_OTHER, at, strlen(at)};
    }
    if (strchr("$@:#", *at))
        return (crn_token){CRN_TOKEN_WORD, at, size_of_variable(at)};
    if (is_of_word(*at) || (*at == '.' && is_digit(at[1])))
        return (crn_token){CRN_TOKEN_WORD, at, size_of_word(at)};
    return operator_at(at);
}

crn_token crn_token_after(crn_token before)
{
    do
        before = crn_token_at(before.at + before.size);
    while (before.kind == CRN_TOKEN_BLANK);
    return before;
}

bool crn_token_is(crn_token token, const char *word)
{
    return token.kind == CRN_TOKEN_WORD && token.size == strlen(word) &&
           strncasecmp(token.at, word, token.size) == 0;
}
