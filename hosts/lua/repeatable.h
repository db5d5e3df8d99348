/* SPDX-License-Identifier: MIT
 *
 * repeatable.h - two runs of one program take the same path.
 */
#ifndef CRN_LUA_REPEATABLE_H
#define CRN_LUA_REPEATABLE_H

#include <lua.h>

/* Before the state is made: strings hash the same in each run. */
void crn_repeatable_begin(void);
/* With the libraries open: math.random begins the same, and so does table.sort's choice of
 * pivots. */
void crn_repeatable_libraries(lua_State *L);

#endif
