/* SPDX-License-Identifier: MIT
 *
 * names.h - hash table of what a profile stores once: texts by content, blocks by name, file and
 * line.
 */
#ifndef CRN_RUNTIME_NAMES_H
#define CRN_RUNTIME_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/* Maps hashes to numbers, which are not 0: 0 is a free slot. */
typedef struct crn_names {
    uint32_t *slots;
    uint32_t mask, count;
} crn_names;

/* Returns true if `number` is what the caller of crn_names_find looks for. */
typedef bool crn_names_match(const void *context, uint32_t number);

/* Returns the matching number; 0 if no number matches. */
uint32_t crn_names_find(const crn_names *names, uint64_t hash, crn_names_match *match,
                        const void *context);

/* Returns the hash of a stored number, for growing the table. */
typedef uint64_t crn_names_hash(const void *context, uint32_t number);

/* Adds a number that is not in the table. Without memory does nothing. */
void crn_names_add(crn_names *names, uint64_t hash, uint32_t number, crn_names_hash *rehash,
                   const void *context);
void crn_names_free(crn_names *names);

/* Returns the hash of bytes that follow bytes with the hash `hash`; start with any number. */
uint64_t crn_names_mix(uint64_t hash, const void *bytes, uint64_t size);

#endif
