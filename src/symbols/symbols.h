/* SPDX-License-Identifier: MIT
 *
 * symbols.h - names for addresses of machine code.
 *
 * Programs of machine code are recorded as return addresses: blocks named "0x<offset>" in the
 * address space of the file that the block's `file` names; a note "module <file>" has the file's
 * build id. Here they become functions.
 */
#ifndef CRN_SYMBOLS_SYMBOLS_H
#define CRN_SYMBOLS_SYMBOLS_H

#include "profile/profile.h"

/* Reports the number of finished addresses. */
typedef void crn_symbols_progress(uint64_t done, uint64_t total);

/* Returns true if a block is an address that should be looked up. */
bool crn_symbols_wanted(const crn_profile *profile);

/* Returns the profile with functions for addresses, inlined ones included, each with the place of
 * its declaration. A function without a name is named by its begin in its file. If a file is
 * missing or is not the one that ran, addresses stay, with a warning. Allocation functions (malloc,
 * operator new, std::allocator, libcairn-alloc) are removed from the ends of paths. Sums of calls
 * and metrics are unchanged. `*named` is the number of replaced addresses; `progress` and `named`
 * may be NULL.
 *
 * Files are read in a child process, the only thing that a damaged one can end. Only regular files
 * are opened, and the network is never used. Never NULL. */
crn_profile *crn_symbols_resolve(const crn_profile *profile, crn_symbols_progress *progress,
                                 uint64_t *named);

/* The blocks of a resolved profile that stand for block b of the given one: blocks[first[b]] to
 * blocks[first[b + 1] - 1], the outermost first. Free both with crn_free. */
typedef struct crn_symbols_stand_ins {
    uint32_t *first, *blocks;
} crn_symbols_stand_ins;

/* Like crn_symbols_resolve, and tells what stands for each block. */
crn_profile *crn_symbols_resolve_blocks(const crn_profile *profile, crn_symbols_progress *progress,
                                        crn_symbols_stand_ins *stand_ins);

/* ---- for profiles that are read repeatedly while their program runs ---- */

/* Cache of looked-up addresses. Not thread-safe. */
typedef struct crn_symbols_cache crn_symbols_cache;

crn_symbols_cache *crn_symbols_cache_new(void);
void crn_symbols_cache_free(crn_symbols_cache *cache);
/* Empties it: files without a build id may have changed. */
void crn_symbols_cache_forget(crn_symbols_cache *cache);

/* Where an address is. */
typedef struct crn_symbols_place {
    uint32_t block; /* of the resolved profile: the innermost function that does not allocate */
    uint32_t line;  /* of the address in the function's file; 0 if not known */
    bool allocates; /* there are only allocation functions: `block` is the outermost */
} crn_symbols_place;

/* Like crn_symbols_resolve, but looks up an address only once. Profiles with the same contexts get
 * results with the same contexts and edges, in the same order. `*places`, unless NULL, is by block
 * of `profile`; free it with crn_free. */
crn_profile *crn_symbols_resolve_cached(const crn_profile *profile, crn_symbols_cache *cache,
                                        crn_symbols_place **places);

#endif
