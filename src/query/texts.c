/* SPDX-License-Identifier: MIT */
#include "query/texts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cairn/cairn.h>

#include "base/memory.h"
#include "query/tokens.h"

/* ---- double-quoted words that are texts ---- */

static bool compares(crn_token token, bool after_is)
{
    return token.kind == CRN_TOKEN_COMPARISON || crn_token_is(token, "like") ||
           crn_token_is(token, "glob") || crn_token_is(token, "is") ||
           (after_is && crn_token_is(token, "not"));
}

/* Returns true if the word is a whole operand, not just the begin of one. */
static bool is_whole(crn_token word)
{
    crn_token_kind next = crn_token_after(word).kind;
    return next != CRN_TOKEN_OPERATOR && next != CRN_TOKEN_OPEN;
}

static bool is_element(crn_token word)
{
    crn_token_kind next = crn_token_after(word).kind;
    return next == CRN_TOKEN_COMMA || next == CRN_TOKEN_CLOSE;
}

/* Returns true if the bracket `open` begins the list of an IN, not a subquery. */
static bool opens_list(crn_token open, crn_token before)
{
    crn_token next = crn_token_after(open);
    return crn_token_is(before, "in") && !crn_token_is(next, "select") &&
           !crn_token_is(next, "with") && !crn_token_is(next, "values");
}

/* ---- composing ---- */

void crn_texts_put(crn_texts *texts, char byte, size_t from)
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

void crn_texts_insert(crn_texts *texts, const char *sql, size_t from)
{
    for (; *sql; sql++)
        crn_texts_put(texts, *sql, from);
}

void crn_texts_copy(crn_texts *texts, const char *text, size_t from, size_t size)
{
    for (size_t i = 0; i < size; i++)
        crn_texts_put(texts, text[from + i], from + i);
}

void crn_texts_quote(crn_texts *texts, const char *text, size_t from, size_t size)
{
    char quote = text[from];
    crn_texts_put(texts, '\'', from);
    for (size_t i = from + 1; i + 1 < from + size; i++) {
        crn_texts_put(texts, text[i], i);
        if (text[i] == '\'')
            crn_texts_put(texts, '\'', i);
        i += text[i] == quote; /* a doubled quote */
    }
    crn_texts_put(texts, '\'', from + size - 1);
}

void crn_texts_end(crn_texts *texts, size_t from)
{
    crn_texts_put(texts, 0, from);
}

crn_texts crn_texts_make(const char *sql, size_t most)
{
    crn_texts texts = {0};
    bool *lists = NULL; /* by depth of brackets: true for the list of an IN */
    size_t depth = 0, room = 0;
    crn_token now = crn_token_at(sql), before = {.kind = CRN_TOKEN_SEMICOLON};
    bool compared = false;
    for (; now.kind != CRN_TOKEN_END && texts.size <= most; now = crn_token_at(now.at + now.size)) {
        size_t from = (size_t)(now.at - sql);
        bool listed = depth && lists[depth - 1] &&
                      (before.kind == CRN_TOKEN_OPEN || before.kind == CRN_TOKEN_COMMA);
        if (now.kind == CRN_TOKEN_DOUBLE_QUOTED &&
            ((compared && is_whole(now)) || (listed && is_element(now))))
            crn_texts_quote(&texts, sql, from, now.size);
        else
            for (size_t i = 0; i < now.size && texts.size <= most; i++)
                crn_texts_put(&texts, now.at[i], from + i);
        if (now.kind == CRN_TOKEN_BLANK)
            continue;
        if (now.kind == CRN_TOKEN_SEMICOLON && before.kind != CRN_TOKEN_SEMICOLON) {
            now.at += now.size;
            break;
        }
        if (now.kind == CRN_TOKEN_OPEN) {
            if (depth == room)
                lists = crn_realloc(lists, room = room ? room * 2 : 16, sizeof *lists);
            lists[depth++] = opens_list(now, before);
        }
        depth -= now.kind == CRN_TOKEN_CLOSE && depth;
        compared = compares(now, crn_token_is(before, "is"));
        before = now;
    }
    crn_texts_end(&texts, (size_t)(now.at - sql));
    crn_free(lists);
    return texts;
}

void crn_texts_free(crn_texts *texts)
{
    crn_free(texts->sql);
    crn_free(texts->from);
}

/* ---- errors ---- */

bool crn_texts_fail(crn_error *error, const char *text, size_t at, const char *format, ...)
{
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    int line = 1, column = 1, length = 0;
    for (size_t i = 0; i < at && text[i]; i++) {
        column = text[i] == '\n' ? 1 : column + ((text[i] & 0xc0) != 0x80);
        line += text[i] == '\n';
    }
    text += at;
    while (length < 30 && text[length] && text[length] != '\n')
        length++;
    while (length > 0 && (text[length] & 0xc0) == 0x80)
        length--;
    return crn_error_set(error, CAIRN_E_ARGUMENT, "%s; line %d, column %d%s%.*s", message, line,
                         column, length ? ", at: " : "", length, text);
}
