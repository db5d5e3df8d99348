/* SPDX-License-Identifier: MIT
 *
 * Allocates 100 times 1,000 bytes and keeps 40 of them, 10 times 70,000 and keeps none. Exits with
 * the argument as its status, or by that signal if the argument begins with '-'.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace.h"

static void *kept[100];

static APART void *make_small(void)
{
    void *memory = malloc(1000);
    KEEP();
    return memory;
}

static APART void *make_large(void)
{
    void *memory = calloc(7, 10000);
    KEEP();
    return memory;
}

static APART void work(void)
{
    for (int i = 0; i < 100; i++)
        kept[i] = make_small();
    for (int i = 0; i < 60; i++)
        free(kept[i]);
    for (int i = 0; i < 10; i++)
        free(make_large());
    KEEP();
}

int main(int count, char **arguments)
{
    work();
    int end = count > 1 ? atoi(arguments[1]) : 0;
    if (end < 0)
        raise(-end);
    if (count > 2)
        printf("%s\n", getenv(arguments[2]) ? getenv(arguments[2]) : "not set");
    return end;
}
