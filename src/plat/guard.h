/* SPDX-License-Identifier: MIT
 *
 * guard.h - mappings of a file that somebody may cut while they are used.
 *
 * Beyond the end of a file there is a signal, SIGBUS, in place of bytes, and it would end the
 * program. So while there are guards the process has a handler of it: where the address is one of
 * theirs, all of the guard's memory becomes zeros that are nobody else's, and the thread goes on.
 * Any other SIGBUS has the effect that it would have without the handler.
 *
 * Whoever reads such memory must be content with zeros at any moment. A guard may be NULL: then
 * these are plain mappings, as of a file that has no name.
 *
 * Threads: any.
 */
#ifndef CRN_PLAT_GUARD_H
#define CRN_PLAT_GUARD_H

#include <stdbool.h>
#include <stdint.h>

typedef struct crn_guard crn_guard;

/* Of one file. NULL if there is no memory. */
crn_guard *crn_guard_new(void);

/* No more is mapped; what is, stays guarded until it is released. */
void crn_guard_drop(crn_guard *guard);

/* The file is not what it was: its memory is zeros from now on. */
void crn_guard_lose(crn_guard *guard);
bool crn_guard_is_lost(const crn_guard *guard);

/* Address space without memory, which is released in pieces of `piece` bytes. NULL when there is
 * none. */
char *crn_guard_reserve(crn_guard *guard, uint64_t size, uint64_t piece);
void crn_guard_release(char *base, uint64_t size);

/* Maps file bytes, shared and writable, at `address` within reserved space. False if the file is
 * lost, too. */
bool crn_guard_map(crn_guard *guard, char *address, int file, uint64_t offset, uint64_t size);

/* The calling thread is one of ours, that has all signals blocked: it is to survive this one,
 * unless whoever made the guard has it blocked, too. */
void crn_guard_own_thread(const crn_guard *guard);

/* Around a fork. */
void crn_guards_lock(void);
void crn_guards_unlock(void);

#endif
