// SPDX-License-Identifier: MIT
//
// Exceptions caught while a scope is open, thrown through functions with nothing to clean up.
#include <cstdio>

#include "noipa.h"

#ifdef SPANS
#include <cairn/scope.h>
#else
#define CAIRN_SCOPE(name)
#endif

static volatile int seen;

KEPT int deeper(int n)
{
    seen = seen + n;
    if (n != 0)
        throw n;
    return 0;
}

KEPT int thrower(int n)
{
    int result = deeper(n);
    OPAQUE(result);
    return result + 1;
}

KEPT int in_catch(int n)
{
    return seen + n;
}

KEPT int behind(int n)
{
    return seen - n;
}

KEPT int scoped(int n)
{
    int result = 0;
    CAIRN_SCOPE("open");
    try {
        result += thrower(n);
    } catch (int) {
        result += in_catch(n);
    }
    return result + behind(n);
}

int main()
{
    int sum = 0;
    for (int i = 1; i < 7; i++)
        sum += scoped(i);
    std::printf("%d\n", sum);
    return 0;
}
