/* SPDX-License-Identifier: MIT
 *
 * objects.h - reads an interpreter's structures, which the program may change or free meanwhile.
 */
#ifndef CRN_SAMPLE_OBJECTS_H
#define CRN_SAMPLE_OBJECTS_H

#include <cairn/cairn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "unwind/unwind.h"

/* State for reading one thread's structures during a walk. */
typedef struct crn_words {
    pid_t thread;
    bool own;           /* it is the calling thread */
    uintptr_t readable; /* address of a page that the calling thread can read; 0: none is known */
} crn_words;

/* Returns a word of the structures of the walk's thread; 0 if it cannot be read. */
uintptr_t crn_word_at(crn_unwind_walk *walk, crn_words *words, uintptr_t address);

/* Copies memory that the program may free meanwhile. False if it cannot be read. */
bool crn_copy(uintptr_t from, void *to, size_t size);

enum { CRN_MEMBERS_MOST = 80 };

/* Returns the block of an object. `add` makes the block when the object is seen first, and again if
 * its members (at `from`, `size` bytes, at most CRN_MEMBERS_MOST) have changed: the object may have
 * been freed, and another one made in its place. Returns 0 if `add` does, because the object is
 * gone. Called by one thread only. */
cairn_block crn_object_block(uintptr_t object, uintptr_t from, size_t size,
                             cairn_block (*add)(uintptr_t object, const void *members));

#endif
