/* SPDX-License-Identifier: MIT */
#include "base/cpp_name.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { ARGUMENTS_MOST = 16, TEMPLATES_MOST = 64 };

/* A name that is read and written in place: what is written is never longer. */
typedef struct name_cursor {
    const char *in;
    char *out;
    const char *name; /* its begin */
    unsigned depth;   /* of template arguments */
    bool closed;      /* the last thing written, but for blanks, is the end of template arguments */
} name_cursor;

/* Texts of a template's arguments, in what is written. */
typedef struct name_arguments {
    size_t count;
    const char *begin[ARGUMENTS_MOST];
    char *end[ARGUMENTS_MOST];
} name_arguments;

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Returns the length of "operator" and its symbol at the cursor, such as "operator<<"; 0 if there
 * is none. */
static size_t operator_length(const name_cursor *cursor)
{
    static const char word[] = "operator";
    static const char *const symbols[] = {
        "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "()", "<", ">", "-", ","};
    const size_t length = sizeof word - 1;
    if (strncmp(cursor->in, word, length) != 0 ||
        (cursor->in > cursor->name && is_word(cursor->in[-1])))
        return 0;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (strncmp(cursor->in + length, symbols[i], strlen(symbols[i])) == 0)
            return length + strlen(symbols[i]);
    return 0;
}

static void copy(name_cursor *cursor, size_t length)
{
    memmove(cursor->out, cursor->in, length);
    cursor->out += length;
    cursor->in += length;
}

/* ---- default arguments ---- */

static bool is_text(const char *begin, const char *end, const char *text)
{
    return strlen(text) == (size_t)(end - begin) && strncmp(begin, text, strlen(text)) == 0;
}

/* Returns the end of `text` if the range begins with it; else NULL. */
static const char *behind(const char *begin, const char *end, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(end - begin) >= length && strncmp(begin, text, length) == 0 ? begin + length
                                                                                : NULL;
}

/* Returns the begin of the template's name, whose arguments begin before `arguments`. */
static char *template_begin(const name_cursor *cursor, char *arguments)
{
    char *begin = arguments - 1;
    while (begin > cursor->name && (is_word(begin[-1]) || begin[-1] == ':'))
        begin--;
    return begin;
}

/* Returns true for templates of the standard library whose last parameters have defaults. */
static bool has_defaults(const char *begin, const char *end)
{
    static const char *const spaces[] = {"std::__cxx11::", "std::__1::", "std::"};
    static const char *const names[] = {"vector",
                                        "deque",
                                        "list",
                                        "forward_list",
                                        "set",
                                        "multiset",
                                        "map",
                                        "multimap",
                                        "unordered_set",
                                        "unordered_map",
                                        "basic_string",
                                        "unique_ptr",
                                        "unordered_multiset",
                                        "unordered_multimap",
                                        "_Rb_tree",
                                        "basic_ostream",
                                        "basic_istream",
                                        "basic_ios",
                                        "basic_string_view",
                                        "_Vector_base",
                                        "_Deque_base",
                                        "_List_base",
                                        "_Fwd_list_base",
                                        "basic_stringstream",
                                        "basic_fstream"};
    const char *name = NULL;
    for (size_t i = 0; !name && i < sizeof spaces / sizeof *spaces; i++)
        name = behind(begin, end, spaces[i]);
    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
        if (is_text(name, end, names[i]))
            return true;
    return false;
}

static bool is_argument(const name_arguments *all, size_t i, const char *begin, const char *end)
{
    size_t length = (size_t)(all->end[i] - all->begin[i]);
    return length == (size_t)(end - begin) && strncmp(all->begin[i], begin, length) == 0;
}

/* Returns true if the range is "std::pair<K const, V>" of the first two arguments. */
static bool is_pair(const name_arguments *all, const char *begin, const char *end)
{
    const char *key = behind(begin, end, "std::pair<");
    size_t first = (size_t)(all->end[0] - all->begin[0]);
    const char *value =
        key && (size_t)(end - key) > first ? behind(key + first, end, " const, ") : NULL;
    return value && end[-1] == '>' && is_argument(all, 0, key, key + first) &&
           is_argument(all, 1, value, end - 1);
}

/* Returns true if the last argument is a default that is made from the first two, such as
 * std::allocator<int> of std::vector<int, std::allocator<int>>. */
static bool is_default(const name_arguments *all)
{
    static const char *const defaults[] = {"std::allocator<", "std::char_traits<",
                                           "std::less<",      "std::equal_to<",
                                           "std::hash<",      "std::default_delete<"};
    const char *begin = all->begin[all->count - 1], *end = all->end[all->count - 1], *of = NULL;
    for (size_t i = 0; !of && i < sizeof defaults / sizeof *defaults; i++)
        of = behind(begin, end, defaults[i]);
    if (!of || end[-1] != '>')
        return false;
    return is_argument(all, 0, of, end - 1) ||
           (all->count > 2 && (is_argument(all, 1, of, end - 1) || is_pair(all, of, end - 1)));
}

/* ---- reading ---- */

static bool copy_arguments(name_cursor *cursor);

/* Copies up to the end of a template argument; outside of template arguments, the whole name.
 * Returns false if brackets do not match. */
static bool copy_part(name_cursor *cursor)
{
    unsigned brackets = 0;
    cursor->closed = false;
    while (*cursor->in) {
        size_t symbol = operator_length(cursor);
        char next = *cursor->in;
        if (cursor->depth && !brackets && !symbol && (next == ',' || next == '>'))
            return true;
        cursor->closed &= next == ' ';
        if (symbol || (next == '-' && cursor->in[1] == '>')) {
            copy(cursor, symbol ? symbol : 2);
            continue;
        }
        if (next == '>' || (strchr(")]}", next) && brackets-- == 0))
            return false;
        brackets += strchr("([{", next) != NULL;
        copy(cursor, 1);
        if (next == '<' && !copy_arguments(cursor))
            return false;
    }
    return cursor->depth == 0 && !brackets;
}

/* Copies the arguments; false if brackets do not match, or if there are too many of them. */
static bool copy_list(name_cursor *cursor, name_arguments *all)
{
    for (all->count = 0; all->count < ARGUMENTS_MOST; copy(cursor, 1)) {
        if (*cursor->in == ' ')
            copy(cursor, 1);
        all->begin[all->count] = cursor->out;
        if (!copy_part(cursor) || (*cursor->in != ',' && *cursor->in != '>'))
            return false;
        if (cursor->closed && cursor->out[-1] == ' ') /* "> >" was required before C++11 */
            cursor->out--;
        all->end[all->count++] = cursor->out;
        if (*cursor->in == '>')
            return true;
    }
    return false;
}

/* Copies template arguments whose '<' was copied, without defaults. */
static bool copy_arguments(name_cursor *cursor)
{
    name_arguments all;
    char *begin = template_begin(cursor, cursor->out), *end = cursor->out - 1;
    if (++cursor->depth > TEMPLATES_MOST || !copy_list(cursor, &all))
        return false;
    cursor->depth--;
    while (all.count > 1 && has_defaults(begin, end) && is_default(&all))
        cursor->out = all.end[--all.count - 1];
    copy(cursor, 1);
    if (is_text(begin, cursor->out, "std::__cxx11::basic_string<char>") ||
        is_text(begin, cursor->out, "std::basic_string<char>")) {
        static const char text[] = "std::string";
        memcpy(begin, text, sizeof text - 1);
        cursor->out = begin + sizeof text - 1;
    }
    cursor->closed = true;
    return true;
}

void crn_cpp_name_shorten(char *name)
{
    enum { SIZE = 1 << 14 };
    char shorter[SIZE];
    size_t length = strlen(name);
    if (!strchr(name, '<') || length >= SIZE)
        return;
    memcpy(shorter, name, length + 1);
    name_cursor cursor = {shorter, shorter, shorter, 0, false};
    if (!copy_part(&cursor))
        return; /* it stays as it is */
    *cursor.out = '\0';
    strcpy(name, shorter);
}
