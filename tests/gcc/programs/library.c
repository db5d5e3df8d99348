/* SPDX-License-Identifier: MIT
 *
 * Calls back. Compiled as a shared object, or as a part of the program.
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

/* Tail call. */
KEPT int library_pass(int (*back)(int), int n)
{
    return back(n + 1);
}
