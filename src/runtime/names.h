/* SPDX-License-Identifier: MIT
 *
 * names.h - what a profile has written once: texts by their content, and blocks by where they are.
 */
#ifndef CRN_RUNTIME_NAMES_H
#define CRN_RUNTIME_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/* Numbers by the hash of what they stand for; 0 is free. */
typedef struct crn_names {
    uint32_t *slots;
    uint32_t mask, count;
} crn_names;

/* Whether the number stands for what is looked for. */
typedef bool crn_names_match(const void *context, uint32_t number);

/* The number that matches, 0 if there is none. */
uint32_t crn_names_find(const crn_names *names, uint64_t hash, crn_names_match *match,
                        const void *context);

/* The hash of a number that is in there, for when they move. */
typedef uint64_t crn_names_hash(const void *context, uint32_t number);

/* Adds one that is not there. Without memory it is not, and will not be found. */
void crn_names_add(crn_names *names, uint64_t hash, uint32_t number, crn_names_hash *rehash,
                   const void *context);
void crn_names_free(crn_names *names);

/* Of bytes that go on from others, whose hash that was; of the first, 0. */
uint64_t crn_names_mix(uint64_t hash, const void *bytes, uint64_t size);

#endif
