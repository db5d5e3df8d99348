/* SPDX-License-Identifier: MIT
 *
 * Tokenises SQL like SQLite, as far as needed to find the end of a statement and quoted words.
 */
#include "query/texts.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"

typedef enum token_kind {
    TOKEN_END,
    TOKEN_BLANK, /* or a comment */
    TOKEN_WORD,  /* or a number */
    TOKEN_DOUBLE_QUOTED,
    TOKEN_OTHER_QUOTED,
    TOKEN_COMPARISON,
    TOKEN_OPERATOR, /* continues the expression on its left; also the point of a qualified name */
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_COMMA,
    TOKEN_SEMICOLON,
    TOKEN_OTHER
} token_kind;

typedef struct token {
    token_kind kind;
    const char *at;
    size_t size;
} token;

/* ---- tokens ---- */

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

/* Returns 0 if it is not terminated. */
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

/* Numbers may contain points; signs of exponents do not matter here. */
static size_t size_of_word(const char *at)
{
    bool number = is_digit(at[0]) || at[0] == '.';
    size_t size = 1;
    while (is_of_word(at[size]) || (number && at[size] == '.'))
        size++;
    return size;
}

/* $name, and Tcl's $a::b(c). */
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

static token operator_at(const char *at)
{
    static const struct {
        const char *text;
        token_kind kind;
    } operators[] = {
        {"->>", TOKEN_OPERATOR},  {"->", TOKEN_OPERATOR},   {"<<", TOKEN_OPERATOR},
        {">>", TOKEN_OPERATOR},   {"||", TOKEN_OPERATOR},   {"<=", TOKEN_COMPARISON},
        {">=", TOKEN_COMPARISON}, {"<>", TOKEN_COMPARISON}, {"!=", TOKEN_COMPARISON},
        {"==", TOKEN_COMPARISON}, {"=", TOKEN_COMPARISON},  {"<", TOKEN_COMPARISON},
        {">", TOKEN_COMPARISON},  {"+", TOKEN_OPERATOR},    {"-", TOKEN_OPERATOR},
        {"*", TOKEN_OPERATOR},    {"/", TOKEN_OPERATOR},    {"%", TOKEN_OPERATOR},
        {"&", TOKEN_OPERATOR},    {"|", TOKEN_OPERATOR},    {".", TOKEN_OPERATOR},
        {"(", TOKEN_OPEN},        {")", TOKEN_CLOSE},       {",", TOKEN_COMMA},
        {";", TOKEN_SEMICOLON},
    };
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        size_t size = strlen(operators[i].text);
        if (strncmp(at, operators[i].text, size) == 0)
            return (token){operators[i].kind, at, size};
    }
    return (token){TOKEN_OTHER, at, 1};
}

static token token_at(const char *at)
{
    size_t size;
    if (!*at)
        return (token){TOKEN_END, at, 0};
    if ((size = size_of_blank(at)) || (size = size_of_comment(at)))
        return (token){TOKEN_BLANK, at, size};
    if (strchr("\"'`[", *at)) {
        size = size_of_quoted(at);
        return size ? (token){*at == '"' ? TOKEN_DOUBLE_QUOTED : TOKEN_OTHER_QUOTED, at, size}
                    : (token){TOKEN_OTHER, at, strlen(at)};
    }
    if (strchr("$@:#", *at))
        return (token){TOKEN_WORD, at, size_of_variable(at)};
    if (is_of_word(*at) || (*at == '.' && is_digit(at[1])))
        return (token){TOKEN_WORD, at, size_of_word(at)};
    return operator_at(at);
}

static token token_after(token before)
{
    do
        before = token_at(before.at + before.size);
    while (before.kind == TOKEN_BLANK);
    return before;
}

static bool is_word(token token, const char *word)
{
    return token.kind == TOKEN_WORD && token.size == strlen(word) &&
           strncasecmp(token.at, word, token.size) == 0;
}

/* ---- which words are texts ---- */

static bool compares(token token, bool after_is)
{
    return token.kind == TOKEN_COMPARISON || is_word(token, "like") || is_word(token, "glob") ||
           is_word(token, "is") || (after_is && is_word(token, "not"));
}

/* Returns true if the word is the whole operand of the comparison, not just its begin. */
static bool is_whole(token word)
{
    token_kind next = token_after(word).kind;
    return next != TOKEN_OPERATOR && next != TOKEN_OPEN;
}

static bool is_element(token word)
{
    token_kind next = token_after(word).kind;
    return next == TOKEN_COMMA || next == TOKEN_CLOSE;
}

/* Returns true for a list, false for a subquery. */
static bool opens_list(token open, token before)
{
    token next = token_after(open);
    return is_word(before, "in") && !is_word(next, "select") && !is_word(next, "with") &&
           !is_word(next, "values");
}

static void add(crn_texts *texts, char byte, size_t from)
{
    if (texts->size + 1 >= texts->room) {
        texts->room = texts->room ? texts->room * 2 : 256;
        texts->sql = crn_realloc(texts->sql, texts->room, 1);
        texts->from = crn_realloc(texts->from, texts->room, sizeof *texts->from);
    }
    texts->sql[texts->size] = byte;
    texts->from[texts->size] = (uint32_t)from;
    texts->size += byte != 0;
}

static void add_text(crn_texts *texts, token word, size_t from)
{
    add(texts, '\'', from);
    for (size_t i = 1; i + 1 < word.size; i++) {
        add(texts, word.at[i], from + i);
        if (word.at[i] == '\'')
            add(texts, '\'', from + i);
        i += word.at[i] == '"'; /* a doubled quote */
    }
    add(texts, '\'', from + word.size - 1);
}

crn_texts crn_texts_make(const char *sql, size_t most)
{
    crn_texts texts = {0};
    bool *lists = NULL; /* by depth of parentheses: it is the list of an IN */
    size_t depth = 0, room = 0;
    token now = token_at(sql), before = {.kind = TOKEN_SEMICOLON};
    bool compared = false;
    for (; now.kind != TOKEN_END && texts.size <= most; now = token_at(now.at + now.size)) {
        size_t from = (size_t)(now.at - sql);
        bool listed =
            depth && lists[depth - 1] && (before.kind == TOKEN_OPEN || before.kind == TOKEN_COMMA);
        if (now.kind == TOKEN_DOUBLE_QUOTED &&
            ((compared && is_whole(now)) || (listed && is_element(now))))
            add_text(&texts, now, from);
        else
            for (size_t i = 0; i < now.size && texts.size <= most; i++)
                add(&texts, now.at[i], from + i);
        if (now.kind == TOKEN_BLANK)
            continue;
        if (now.kind == TOKEN_SEMICOLON && before.kind != TOKEN_SEMICOLON) {
            now.at += now.size;
            break;
        }
        if (now.kind == TOKEN_OPEN) {
            if (depth == room)
                lists = crn_realloc(lists, room = room ? room * 2 : 16, sizeof *lists);
            lists[depth++] = opens_list(now, before);
        }
        depth -= now.kind == TOKEN_CLOSE && depth;
        compared = compares(now, is_word(before, "is"));
        before = now;
    }
    add(&texts, 0, (size_t)(now.at - sql));
    crn_free(lists);
    return texts;
}

void crn_texts_free(crn_texts *texts)
{
    crn_free(texts->sql);
    crn_free(texts->from);
}
