/* SPDX-License-Identifier: MIT
 *
 * A shared object, or a part of the program: calls back.
 */
#include "library.h"

KEPT int library_leaf(int n)
{
    return n * 3;
}

KEPT int library_call(int (*back)(int), int n)
{
    return back(n) + library_leaf(n);
}

/* In tail position. */
KEPT int library_pass(int (*back)(int), int n)
{
    return back(n + 1);
}
