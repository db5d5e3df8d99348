/* SPDX-License-Identifier: MIT
 *
 * difference.h - what was found to be wrong, in words.
 */
#ifndef TESTS_SUPPORT_DIFFERENCE_H
#define TESTS_SUPPORT_DIFFERENCE_H

/* Empty when nothing was. */
typedef struct difference {
    char text[512];
} difference;

void difference_set(difference *found, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
