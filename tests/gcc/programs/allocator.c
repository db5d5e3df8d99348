/* SPDX-License-Identifier: MIT
 *
 * A program with a malloc and a strlen of its own, as many have: Cairn, which calls them, is called
 * by them.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "noipa.h"

enum { UNIT = 16 };

static char pool[1 << 24];
static size_t used;

static size_t rounded(size_t size)
{
    return (size + UNIT - 1) / UNIT * UNIT;
}

void *malloc(size_t size)
{
    size_t place = __atomic_fetch_add(&used, rounded(size) + UNIT, __ATOMIC_RELAXED);
    if (size > sizeof pool || place + rounded(size) + UNIT > sizeof pool)
        return NULL;
    memcpy(pool + place, &size, sizeof size);
    return pool + place + UNIT;
}

void free(void *block)
{
    OPAQUE(block);
}

void *calloc(size_t count, size_t size)
{
    char *block = malloc(count * size);
    for (size_t i = 0; block && i < count * size; i++)
        block[i] = 0;
    return block;
}

void *realloc(void *old, size_t size)
{
    char *block = malloc(size);
    size_t before = 0;
    if (old)
        memcpy(&before, (char *)old - UNIT, sizeof before);
    for (size_t i = 0; block && i < before && i < size; i++)
        block[i] = ((char *)old)[i];
    return block;
}

size_t strlen(const char *text)
{
    const char *end = text;
    while (*end) {
        end++;
        OPAQUE(end);
    }
    return (size_t)(end - text);
}

KEPT int never(int n)
{
    return n + 1;
}

KEPT int after_start(int n)
{
    return n + 2;
}

int main(int count, char **words)
{
    puts(count > 9 ? words[never(count)] : "hello");
    return after_start(-2);
}
