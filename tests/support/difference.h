/* SPDX-License-Identifier: MIT
 *
 * difference.h - a description of the first difference that a comparison found.
 */
#ifndef TESTS_SUPPORT_DIFFERENCE_H
#define TESTS_SUPPORT_DIFFERENCE_H

/* Empty if no difference was found. */
typedef struct difference {
    char text[512];
} difference;

void difference_set(difference *found, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
