/* SPDX-License-Identifier: MIT
 *
 * symbols.h - names for addresses of machine code.
 *
 * Native programs are recorded as return addresses: blocks named "0x<offset>", in the address space
 * of the block's `file`. A note "module <file>" has the file's build id. These functions replace
 * addresses by functions.
 */
#ifndef CRN_SYMBOLS_SYMBOLS_H
#define CRN_SYMBOLS_SYMBOLS_H

#include "profile/profile.h"

/* Reports the number of finished addresses. */
typedef void crn_symbols_progress(uint64_t done, uint64_t total);

/* Returns true if a block of the profile is an address. */
bool crn_symbols_wanted(const crn_profile *profile);

/* Returns the profile with functions in place of addresses, inlined functions included, each with
 * the source location of its declaration. A function without a name is named by its begin in its
 * file. If a file is missing or is not the one that ran, addresses stay, with a warning. Allocation
 * functions (malloc, operator new, std::allocator, libcairn-alloc) are removed from the ends of
 * paths. Sums of calls and metrics are unchanged. Sets `*named` to the number of replaced
 * addresses; `progress` and `named` may be NULL.
 *
 * A child process reads the files, so a damaged file can end only that. Opens only regular files,
 * never uses the network. Never returns NULL. */
crn_profile *crn_symbols_resolve(const crn_profile *profile, crn_symbols_progress *progress,
                                 uint64_t *named);

/* The blocks that replace block b of a profile: blocks[first[b]] to blocks[first[b + 1] - 1] of the
 * resolved profile, outermost first. Free both arrays with crn_free. */
typedef struct crn_symbols_stand_ins {
    uint32_t *first, *blocks;
} crn_symbols_stand_ins;

/* Like crn_symbols_resolve. Sets `*stand_ins`. */
crn_profile *crn_symbols_resolve_blocks(const crn_profile *profile, crn_symbols_progress *progress,
                                        crn_symbols_stand_ins *stand_ins);

/* ---- for profiles that are read repeatedly while their program runs ---- */

/* Cache of looked-up addresses. Not thread-safe. */
typedef struct crn_symbols_cache crn_symbols_cache;

crn_symbols_cache *crn_symbols_cache_new(void);
void crn_symbols_cache_free(crn_symbols_cache *cache);
/* Empties the cache, because files without a build id may have changed. */
void crn_symbols_cache_forget(crn_symbols_cache *cache);

/* The function and line of an address. */
typedef struct crn_symbols_place {
    uint32_t block; /* of the resolved profile: the innermost function that does not allocate */
    uint32_t line;  /* of the address in the function's file; 0 if not known */
    bool allocates; /* only allocation functions are at the address: `block` is the outermost */
} crn_symbols_place;

/* Like crn_symbols_resolve, but looks up each address only once. Profiles with equal contexts give
 * results with equal contexts and edges, in the same order. Sets `*places`, unless NULL, to an
 * array by block of `profile`; free it with crn_free. */
crn_profile *crn_symbols_resolve_cached(const crn_profile *profile, crn_symbols_cache *cache,
                                        crn_symbols_place **places);

#endif
