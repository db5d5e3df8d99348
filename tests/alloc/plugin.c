/* SPDX-License-Identifier: MIT
 *
 * A library that allocates and is unloaded: built twice, with different code at the same address.
 */
#include <stdlib.h>

#include "accounts.h"

#ifdef SECOND
#define MAKE make_in_second
#else
#define MAKE make_in_first
#endif

APART void *MAKE(size_t size);
__attribute__((visibility("default"))) void *make(size_t size);

APART void *MAKE(size_t size)
{
#ifdef SECOND
    char room[1000];
    char *pointer = room;
    STAY(pointer);
#endif
    void *block = malloc(size);
    STAY(block);
    return block;
}

void *make(size_t size)
{
    void *block = MAKE(size);
    STAY(block);
    return block;
}
