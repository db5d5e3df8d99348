/* SPDX-License-Identifier: MIT */
#include "variables.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns true if both texts begin with the same name. A name ends at '=' or at the text's end. */
static bool is_same_name(const char *one, const char *other)
{
    size_t length = strcspn(one, "=");
    return strncmp(one, other, length) == 0 && (other[length] == '=' || other[length] == '\0');
}

void crn_variable_remove(const char *name)
{
    char **kept = environ;
    if (!environ)
        return;
    for (char **each = environ; *each; each++) {
        if (!is_same_name(name, *each))
            *kept++ = *each;
    }
    *kept = NULL;
}

static size_t count(char *const *list)
{
    size_t number = 0;
    while (list && list[number])
        number++;
    return number;
}

static bool is_set(char *const *settings, const char *variable)
{
    while (*settings && !is_same_name(*settings, variable))
        settings++;
    return *settings != NULL;
}

char **crn_variables_replace(char *const *settings)
{
    static char *none[] = {NULL};
    char **before = environ ? environ : none; /* NULL after clearenv */
    char **list = calloc(count(before) + count(settings) + 1, sizeof *list), **end = list;
    if (!list)
        return NULL;
    for (char **each = before; each && *each; each++) {
        if (!is_set(settings, *each))
            *end++ = *each;
    }
    for (; *settings; settings++) {
        if (strchr(*settings, '='))
            *end++ = *settings;
    }
    environ = list;
    return before;
}

void crn_preload_remove(char *list, const char *name)
{
    char *write = list;
    for (const char *read = list; *read;) {
        size_t length = strcspn(read, ": ");
        const char *file = read + length;
        while (file > read && file[-1] != '/')
            file--;
        bool named = strncmp(file, name, strlen(name)) == 0;
        if (!named && length) {
            if (write != list)
                *write++ = ':';
            memmove(write, read, length);
            write += length;
        }
        read += length + (read[length] != '\0');
    }
    *write = '\0';
}
