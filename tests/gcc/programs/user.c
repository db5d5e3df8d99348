/* SPDX-License-Identifier: MIT
 *
 * Uses library.c.
 */
#include "library.h"

#include <stdio.h>

KEPT int user_leaf(int n)
{
    return n + 1;
}

KEPT int user_back(int n)
{
    return user_leaf(n) + library_leaf(n);
}

/* A tail call through a pointer; the compiler does not know if the callee is profiled. */
KEPT int user_pass(int n)
{
    return library_pass(user_back, n);
}

KEPT int after_library(int n)
{
    return n;
}

int main(void)
{
    int sum = 0;
    for (int i = 0; i < 50; i++) {
        sum += library_call(user_back, i);
        sum += user_pass(i);
        sum += after_library(i);
    }
    printf("%d\n", sum);
    return 0;
}
