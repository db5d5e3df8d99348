/* SPDX-License-Identifier: MIT
 *
 * The second object file of chains.c.
 */
#include "chains.h"
#include "noipa.h"

volatile int seen;

KEPT int step(int n)
{
    seen += n;
    return n + 1;
}

KEPT int link_second(int n)
{
    step(n);
    return link_third(n + 1);
}

/* Calls a function of the same object file by a tail call. */
KEPT int inner_link(int n)
{
    step(n);
    return link_back(n);
}

KEPT int link_fourth(int n)
{
    step(n);
    return inner_link(n + 1);
}
