// SPDX-License-Identifier: MIT
//
// Functions that are skipped, called conditionally, never called, or that allocate.
#include <cstdio>
#include <cstdlib>

#include "noipa.h"

[[cairn::skip]] KEPT int skipped(int n)
{
    return n + 1;
}

KEPT __attribute__((cairn_skip)) int skipped_too(int n)
{
    return n + 2;
}

KEPT int small_leaf(int n)
{
    return n + 3;
}

KEPT int never(int n)
{
    return n + 4;
}

KEPT int branching(int n)
{
    if (n % 4 == 0)
        return skipped(n);
    switch (n) {
    case 1:
        return skipped_too(n);
    case 99:
        return never(n);
    default:
        return small_leaf(n);
    }
}

KEPT void *allocate(std::size_t bytes)
{
    return std::malloc(bytes);
}

KEPT void keep(int n)
{
    for (int i = 0; i < n; i++)
        std::free(allocate(100));
}

int main()
{
    int sum = 0;
    for (int i = 0; i < 20; i++)
        sum += branching(i);
    keep(10);
    void *volatile kept = allocate(12345);
    sum += kept != nullptr;
    std::printf("%d\n", sum);
    return 0;
}
