/* SPDX-License-Identifier: MIT
 *
 * interpreter.h - runs a script like the stand-alone interpreter.
 */
#ifndef CRN_LUA_INTERPRETER_H
#define CRN_LUA_INTERPRETER_H

#include <lua.h>
#include <stdbool.h>

typedef struct crn_script {
    int count; /* number of `arguments`; the first is the script, "-" for standard input */
    char **arguments;
    bool repeatable;                         /* see repeatable.c */
    void (*begin)(lua_State *L, void *data); /* called when the libraries are open */
    void *data;
} crn_script;

/* Message handler for errors that end the program. */
int crn_interpreter_error_handler(lua_State *L);

/* Runs the script to its end. Returns the exit status. */
int crn_interpreter_run(const crn_script *script);

/* ---- repeatable.c: makes two runs of a program execute the same instructions ---- */

/* Call it before the state is made: fixes the string hash. */
void crn_repeatable_begin(void);
/* Call it when the libraries are open: fixes math.random and the pivots of table.sort. */
void crn_repeatable_libraries(lua_State *L);

#endif
