/* SPDX-License-Identifier: MIT
 *
 * variables.h - changes the environment, for preloaded libraries. They cannot use setenv and
 * unsetenv, because a program may define its own, which need not change `environ` (bash does). No
 * other thread may use the environment meanwhile.
 */
#ifndef CRN_HOSTS_VARIABLES_H
#define CRN_HOSTS_VARIABLES_H

/* Removes a variable. */
void crn_variable_remove(const char *name);

/* Replaces `environ` by a new array with changes: the setting NAME=VALUE sets a variable, NAME
 * removes it. `settings` ends with NULL. The caller sets `environ` back to the value returned,
 * frees the new array, and keeps the texts of `settings` until then. Without memory, changes
 * nothing and returns NULL. */
char **crn_variables_replace(char *const *settings);

/* Removes libraries from a list as in LD_PRELOAD, in the list's own memory: those whose files have
 * names that begin with `name`. */
void crn_preload_remove(char *list, const char *name);

#endif
