/* SPDX-License-Identifier: MIT
 *
 * symbols.h - names for addresses of machine code.
 *
 * A profile of a program of machine code is recorded as return addresses: blocks that are
 * called "0x<offset>", in the address space of the file that the block's `file` names,
 * while a note "module <file>" holds the file's build ID. Here they become functions.
 */
#ifndef CRN_SYMBOLS_SYMBOLS_H
#define CRN_SYMBOLS_SYMBOLS_H

#include "profile/profile.h"

/* How many addresses are done. */
typedef void crn_symbols_progress(uint64_t done, uint64_t total);

/* Whether any block is an address that is worth looking up. */
bool crn_symbols_wanted(const crn_profile *profile);

/* The profile with functions in place of addresses, inlined ones included, each with the
 * place where it is declared; a function without a name is called by where it begins in its
 * file. Where a file is gone, or is not the one that ran, addresses stay and a warning says
 * so. What allocates (malloc, operator new, std::allocator, libcairn-alloc) is taken off the
 * ends of paths. Calls and metrics keep their sums. `*named` is how many addresses have
 * become something else; `progress` and `named` may be NULL.
 *
 * The files are read in a process of its own, which is all that a damaged one can end.
 * Only regular files are opened, nothing is asked of the network. Never NULL. */
crn_profile *crn_symbols_resolve(const crn_profile *profile, crn_symbols_progress *progress,
                                 uint64_t *named);

/* ---- a profile that is read again and again, while its program runs ---- */

/* What has been found out about addresses. Not for several threads at once. */
typedef struct crn_symbols_cache crn_symbols_cache;

crn_symbols_cache *crn_symbols_cache_new(void);
void crn_symbols_cache_free(crn_symbols_cache *cache);
/* Makes it empty: files without a build ID may be others now. */
void crn_symbols_cache_forget(crn_symbols_cache *cache);

/* As crn_symbols_resolve; an address is looked up once in a cache's life. The contexts and
 * edges of two profiles that differ in their figures alone become the same ones, in the same
 * order. `*blocks`, unless NULL, is by block of `profile` what runs there now: the innermost
 * function that does not allocate; to be freed with crn_free. */
crn_profile *crn_symbols_resolve_cached(const crn_profile *profile, crn_symbols_cache *cache,
                                        uint32_t **blocks);

#endif
