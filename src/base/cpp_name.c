/* SPDX-License-Identifier: MIT */
#include "base/cpp_name.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Returns the end of template arguments whose '<' is before `text`; NULL if they have no end. */
static const char *arguments_end(const char *text)
{
    int depth = 1;
    for (; *text; text++) {
        if (*text == '<')
            depth++;
        else if (*text == '>' && text[-1] != '-' && --depth == 0)
            return text + 1;
    }
    return NULL;
}

/* Returns the length of a default argument at `text`, with its comma; 0 if `text` does not begin
 * with one. */
static size_t default_length(const char *text)
{
    static const char *const defaults[] = {", std::allocator<", ", std::char_traits<",
                                           ", std::less<",      ", std::equal_to<",
                                           ", std::hash<",      ", std::default_delete<"};
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++) {
        size_t length = strlen(defaults[i]);
        if (strncmp(text, defaults[i], length) != 0)
            continue;
        const char *end = arguments_end(text + length);
        const char *next = end ? end + strspn(end, " ") : NULL;
        return next && (*next == ',' || *next == '>') ? (size_t)(end - text) : 0;
    }
    return 0;
}

static void replace_all(char *name, const char *what, const char *with)
{
    size_t length = strlen(what), shorter = strlen(with);
    for (char *at = name; (at = strstr(at, what)) != NULL; at += shorter) {
        memcpy(at, with, shorter);
        memmove(at + shorter, at + length, strlen(at + length) + 1);
    }
}

void crn_cpp_name_shorten(char *name)
{
    if (!strchr(name, '<'))
        return;
    char *to = name;
    for (const char *from = name; *from;) {
        size_t skipped = *from == ',' ? default_length(from) : 0;
        if (skipped)
            from += skipped + (from[skipped] == ' ');
        else if (from[0] == ' ' && from[1] == '>' && to > name && to[-1] == '>')
            from++; /* "> >" was required before C++11 */
        else
            *to++ = *from++;
    }
    *to = '\0';
    replace_all(name, "std::__cxx11::basic_string<char>", "std::string");
    replace_all(name, "std::basic_string<char>", "std::string");
}
