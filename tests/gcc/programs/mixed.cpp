// SPDX-License-Identifier: MIT
//
// Objects compiled in several ways, one without a profile, call each other, call back and throw
// through each other. FIRST, SECOND or PLAIN selects the object.
#include <cstdio>

#include "mixed.h"

#ifdef PLAIN
int plain_between(int (*call)(int), int n)
{
    int sum = call(n);
    OPAQUE(sum);
    return sum + call(n + 2);
}

int plain_tail(int (*call)(int), int n)
{
    return call(n);
}
#endif

#ifdef SECOND
KEPT int step(int n)
{
    OPAQUE(n);
    return n + 1;
}

KEPT int second_throws(int n)
{
    step(n);
    if (n % 2)
        throw thrown{n};
    return step(n);
}

FRAME(second_through, first_throws)

KEPT int second_between(int n)
{
    int sum = step(n);
    sum += plain_between(second_through, n);
    return sum + step(n);
}

KEPT int second_begins(int n)
{
    int sum = 0;
    for (int i = 0; i < 2; i++) {
        try {
            sum += second_between(n + i);
        } catch (const thrown &what) {
            sum += step(what.n);
        }
        sum += step(i);
    }
    return sum + step(n);
}
#endif

#ifdef FIRST
FRAME(first_through, second_throws)

struct cleaned {
    KEPT ~cleaned()
    {
        step(1);
    }
};

KEPT int first_throws(int n)
{
    cleaned here;
    int sum = plain_tail(first_through, n);
    return sum + step(n);
}

KEPT int first_begins(int n)
{
    int sum = 0;
    try {
        sum += step(n);
        sum += plain_between(second_begins, n);
        sum += plain_tail(first_through, n);
    } catch (const thrown &) {
        sum += step(n);
    }
    return sum + step(n);
}

KEPT int after_mixed(int n)
{
    return n + 1;
}

int main()
{
    int sum = 0;
    for (int i = 0; i < 3; i++) {
        sum += first_begins(i);
        sum += after_mixed(i);
    }
    std::printf("%d\n", sum);
}
#endif
