/* SPDX-License-Identifier: MIT
 *
 * error.h - an error: a code for programs and a message for people.
 */
#ifndef CRN_BASE_ERROR_H
#define CRN_BASE_ERROR_H

#include <stdbool.h>

typedef struct crn_error {
    int code;          /* a cairn_error; 0 is success */
    char message[512]; /* what, where, what to do; no newline */
} crn_error;

/* Sets the error, if `error` is not NULL. Always returns false, so that a function can
 * end with `return crn_error_set(...)`. */
bool crn_error_set(crn_error *error, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
