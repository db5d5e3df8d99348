/* SPDX-License-Identifier: MIT
 *
 * lua_source.h - finds names of Lua functions in their definitions. A caller may use any name ("f",
 * "callback"); the definition has the name that people use.
 */
#ifndef CRN_NATIVE_LUA_SOURCE_H
#define CRN_NATIVE_LUA_SOURCE_H

#include <stddef.h>
#include <stdint.h>

typedef struct crn_source_name {
    char name[96];   /* "" if the function has none */
    uint32_t column; /* of the word `function`, from 1; 0 if unknown */
    int on_line;     /* number of functions that begin on the line */
} crn_source_name;

/* Scans a line of source text for a function. If several begin on it, `called`, the caller's name
 * for the function or NULL, chooses. Thread: any. */
void crn_source_scan(const char *line, size_t length, const char *called, crn_source_name *result);

#endif
