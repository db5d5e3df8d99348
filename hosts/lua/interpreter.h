/* SPDX-License-Identifier: MIT
 *
 * interpreter.h - run a script as the stand-alone interpreter does.
 */
#ifndef CRN_LUA_INTERPRETER_H
#define CRN_LUA_INTERPRETER_H

#include <lua.h>
#include <stdbool.h>

typedef struct crn_script {
    int count; /* of `arguments`; the first is the script, "-" for standard input */
    char **arguments;
    bool repeatable;                         /* see repeatable.h */
    void (*begin)(lua_State *L, void *data); /* called when the libraries are open */
    void *data;
} crn_script;

/* What the interpreter calls with the message of an error that ends the program. */
int crn_interpreter_error_handler(lua_State *L);

/* Runs it to its end. Returns the exit status. */
int crn_interpreter_run(const crn_script *script);

#endif
