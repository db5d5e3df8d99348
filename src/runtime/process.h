/* SPDX-License-Identifier: MIT
 *
 * process.h - the process's own profile, for the rest of the runtime.
 */
#ifndef CRN_RUNTIME_PROCESS_H
#define CRN_RUNTIME_PROCESS_H

#include <cairn/process.h>

#include "runtime/runtime.h"

/* What the environment asks for; `options` has the defaults. What is not understood there is as
 * good as not given: `*wrong` is then the variable's name, else NULL. The options' strings are the
 * environment's own, but for `*path`, which is to be freed. False if there is no profile to open.
 */
bool crn_process_options(cairn_options *options, char **path, const char **wrong);

/* Around choosing a path and making the capture there: processes that start at once with the same
 * CAIRN_OUT do so one after the other, so that each sees what the others have taken. They lock the
 * folder. -1 if that cannot be; without the lock it is as good as it is. */
int crn_place_lock(void);
void crn_place_unlock(int place);

/* Around a fork: of the list of threads that are to be joined. A child has none of them but the one
 * that it runs in, and forgets the others; there it is
 * in place of unlocking. */
void crn_wrap_lock(void);
void crn_wrap_unlock(void);
void crn_wrap_forget(void);

/* Ends the capture, and leaves all that threads may still use. */
void crn_profile_end(cairn_profile *profile);

#endif
