/* SPDX-License-Identifier: MIT */
#include "lua_source.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct text {
    const char *start;
    const char *end;
} text;

/* Lua's own classes, as in the locale "C". The functions of <ctype.h> read a table of the thread,
 * which a hidden thread lacks (src/plat/hidden_thread.h). */
static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && is_space(*at))
        at++;
    return at;
}

static const char *back_space(const char *start, const char *at)
{
    while (at > start && is_space(at[-1]))
        at--;
    return at;
}

/* Finds the name in "function NAME.NAME:NAME(". */
static bool name_after(const char *at, const char *end, text *name)
{
    at = skip_space(at, end);
    name->start = at;
    while (at < end && (is_word(*at) || *at == '.' || *at == ':'))
        at++;
    name->end = at;
    return name->end > name->start && skip_space(at, end) < end && *skip_space(at, end) == '(';
}

/* Finds the name before a function: NAME.NAME = function, { NAME = function, ["NAME"] = function,
 * local NAME <const> = function. */
static bool name_before(const char *start, const char *at, text *name)
{
    at = back_space(start, at);
    if (at == start || at[-1] != '=')
        return false;
    at = back_space(start, at - 1);
    if (at == start)
        return false;
    if (at[-1] == '>') { /* an attribute */
        while (at > start && *--at != '<')
            ;
        at = back_space(start, at);
    }
    name->end = at;
    if (at - start >= 4 && at[-1] == ']' && (at[-2] == '"' || at[-2] == '\'')) {
        const char quote = at[-2];
        name->end = at - 2;
        at = name->end;
        while (at > start && at[-1] != quote)
            at--;
        name->start = at;
        return name->end > name->start && at - start >= 2 && at[-2] == '[';
    }
    while (at > start && (is_word(at[-1]) || at[-1] == '.'))
        at--;
    name->start = at;
    if (name->end == name->start)
        return false;
    /* `local a, b = function`: one line does not tell which name belongs to which. */
    const char *before = back_space(start, at);
    return before == start || before[-1] != ',' || memchr(start, '{', (size_t)(before - start));
}

/* Returns the end of the string, comment or word at `at`; at + 1 for anything else. */
static const char *token_end(const char *at, const char *end)
{
    if (*at == '"' || *at == '\'') {
        const char quote = *at++;
        while (at < end && *at != quote)
            at += *at == '\\' && at + 1 < end ? 2 : 1;
        return at < end ? at + 1 : end;
    }
    if (*at == '-' && at + 1 < end && at[1] == '-')
        return end;
    if (!is_word(*at))
        return at + 1;
    while (at < end && is_word(*at))
        at++;
    return at;
}

/* Returns true if the name fits the caller's: "Account:deposit" is called "deposit", and Lua itself
 * calls "__index" "index". */
static bool is_called(const text *name, const char *called)
{
    size_t length = called ? strlen(called) : 0;
    if (length == 0 || (size_t)(name->end - name->start) < length ||
        memcmp(name->end - length, called, length) != 0)
        return false;
    const char *before = name->end - length;
    if (before - name->start >= 2 && before[-1] == '_' && before[-2] == '_')
        before -= 2;
    return before == name->start || !is_word(before[-1]);
}

static void name_set(crn_source_name *result, const text *name, uint32_t column)
{
    snprintf(result->name, sizeof result->name, "%.*s", (int)(name->end - name->start),
             name->start);
    result->column = column;
}

void crn_source_scan(const char *line, size_t length, const char *called, crn_source_name *result)
{
    static const char keyword[] = "function";
    const char *end = line + length;
    bool matched = false;
    memset(result, 0, sizeof *result);
    for (const char *at = line, *next; at < end; at = next) {
        next = token_end(at, end);
        if ((size_t)(next - at) != sizeof keyword - 1 ||
            memcmp(at, keyword, sizeof keyword - 1) != 0)
            continue;
        result->on_line++;
        text name = {NULL, NULL};
        bool named = name_after(next, end, &name) || name_before(line, at, &name);
        bool fits = named && is_called(&name, called);
        if (matched)
            continue;
        if (fits || result->on_line == 1) {
            if (!named)
                name.start = name.end = at;
            name_set(result, &name, (uint32_t)(at - line) + 1);
        }
        matched = fits;
    }
    /* Several functions, none with the caller's name: the name is ambiguous. */
    if (result->on_line > 1 && !matched) {
        result->name[0] = '\0';
        result->column = 0;
    }
}
