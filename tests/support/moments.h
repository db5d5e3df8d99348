/* SPDX-License-Identifier: MIT
 *
 * moments.h - lets a program act between two reads of a reader, or within a read. A moment is
 * before or after a call of pread64, so the result depends on no clock. Link with
 * `-Wl,--wrap=pread64`.
 */
#ifndef TESTS_SUPPORT_MOMENTS_H
#define TESTS_SUPPORT_MOMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct moments {
    void (*act)(void *); /* what the program does at the moment; NULL: nothing any more */
    void *data;
    uint32_t at, passed; /* number of the moment; moments so far */
    size_t tear;         /* offset at which each longer read is divided; 0: no read is */
    bool backwards;      /* the second part of a read comes first */
} moments;

extern moments moments_now;

#endif
