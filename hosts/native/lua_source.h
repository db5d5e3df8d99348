/* SPDX-License-Identifier: MIT
 *
 * lua_source.h - names of Lua functions at their definition. A call site may use any name ("f",
 * "callback"); the definition has the one that people use.
 */
#ifndef CRN_NATIVE_LUA_SOURCE_H
#define CRN_NATIVE_LUA_SOURCE_H

#include <stddef.h>
#include <stdint.h>

typedef struct crn_source_name {
    char name[96];   /* "" if the function has none */
    uint32_t column; /* of the word `function`, from 1; 0 if unknown */
    int on_line;     /* number of functions that begin on that line; 0 without text */
} crn_source_name;

/* Scans a line of source text for functions. `called` is the caller's name for it, to choose
 * between several; NULL: not known. Thread: any. */
void crn_source_scan(const char *line, size_t length, const char *called, crn_source_name *result);

#endif
