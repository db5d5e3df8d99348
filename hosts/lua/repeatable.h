/* SPDX-License-Identifier: MIT
 *
 * repeatable.h - makes two runs of a program execute the same instructions.
 */
#ifndef CRN_LUA_REPEATABLE_H
#define CRN_LUA_REPEATABLE_H

#include <lua.h>

/* Call it before the state is made: fixes the string hash. */
void crn_repeatable_begin(void);
/* Call it when the libraries are open: fixes math.random and the pivots of table.sort. */
void crn_repeatable_libraries(lua_State *L);

#endif
