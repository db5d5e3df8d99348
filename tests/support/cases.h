/* SPDX-License-Identifier: MIT
 *
 * cases.h - cmocka, with the headers that it requires.
 */
#ifndef TESTS_SUPPORT_CASES_H
#define TESTS_SUPPORT_CASES_H

/* cmocka.h needs the four before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* qemu's emulation (CAIRN_TEST_EMULATOR is its command) ends a child of fork that starts a
 * thread. */
#define skip_where_emulated()                                                                      \
    do {                                                                                           \
        if (getenv("CAIRN_TEST_EMULATOR"))                                                         \
            skip();                                                                                \
    } while (0)

/* Skips the whole program in TAP; Meson takes cmocka's skip() for a failure. Returns the exit
 * status. */
static inline int cases_skip_all(const char *why)
{
    printf("1..0 # SKIP %s\n", why);
    return 0;
}

#endif
