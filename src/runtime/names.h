/* SPDX-License-Identifier: MIT
 *
 * names.h - hash table of things that a profile stores once: texts by content, blocks by place.
 */
#ifndef CRN_RUNTIME_NAMES_H
#define CRN_RUNTIME_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/* Maps hashes to numbers; 0 is free. */
typedef struct crn_names {
    uint32_t *slots;
    uint32_t mask, count;
} crn_names;

/* Returns true if the number is the one that is looked for. */
typedef bool crn_names_match(const void *context, uint32_t number);

/* Returns the matching number, 0 if there is none. */
uint32_t crn_names_find(const crn_names *names, uint64_t hash, crn_names_match *match,
                        const void *context);

/* Returns the hash of a stored number, for growing the table. */
typedef uint64_t crn_names_hash(const void *context, uint32_t number);

/* Adds a number that is not in the table. Without memory it is not added. */
void crn_names_add(crn_names *names, uint64_t hash, uint32_t number, crn_names_hash *rehash,
                   const void *context);
void crn_names_free(crn_names *names);

/* Hashes bytes, continuing from the hash of those before; 0 for the first. */
uint64_t crn_names_mix(uint64_t hash, const void *bytes, uint64_t size);

#endif
