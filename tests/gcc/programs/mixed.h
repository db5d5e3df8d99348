/* SPDX-License-Identifier: MIT
 *
 * Functions that the objects of mixed*.cpp call of each other; each object is compiled in another
 * way.
 */
#include "noipa.h"

struct thrown {
    int n;
};

int first_begins(int n);
int second_begins(int n);
int plain_between(int (*call)(int), int n);
int plain_tail(int (*call)(int), int n);
int first_throws(int n);
int second_throws(int n);
int step(int n);

/* Calls before and after `next`, and has nothing to clean up. */
#define FRAME(name, next)                                                                          \
    KEPT int name(int n)                                                                           \
    {                                                                                              \
        int sum = step(n);                                                                         \
        sum += next(n);                                                                            \
        return sum + step(n);                                                                      \
    }
