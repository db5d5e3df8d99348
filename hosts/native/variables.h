/* SPDX-License-Identifier: MIT
 *
 * variables.h - the environment, for libraries that are preloaded. Programs can define setenv and
 * unsetenv themselves (bash does), and theirs need not change `environ`; so these do it directly.
 * No other thread may use the environment meanwhile.
 */
#ifndef CRN_HOSTS_VARIABLES_H
#define CRN_HOSTS_VARIABLES_H

/* Removes a variable. */
void crn_variable_remove(const char *name);

/* Replaces `environ` by one in which the variable NAME of each setting NAME=VALUE has that value.
 * The setting "NAME" removes it. `settings` ends with NULL, and is used until `environ` is set back
 * to the value returned; free the other one then. Without memory, changes nothing and returns
 * NULL. */
char **crn_variables_replace(char *const *settings);

#endif
