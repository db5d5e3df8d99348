/* SPDX-License-Identifier: MIT
 *
 * A program with its own malloc and strlen, which are profiled: Cairn runs inside malloc. malloc
 * traps if Cairn asks it for memory then.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "noipa.h"

enum { UNIT = 16 };

static char pool[1 << 24];
static size_t used;
static __thread int inside;
static int depth;

/* Recurses deep enough to make Cairn's stack grow, and uses one tree of inlined functions in each
 * instance. */
#define CALLS(name, next)                                                                          \
    static inline int name##_inlined(int n)                                                        \
    {                                                                                              \
        return n + 1;                                                                              \
    }                                                                                              \
    KEPT int name(int n)                                                                           \
    {                                                                                              \
        int below = n > 0 ? next(n - 1) : 0;                                                       \
        OPAQUE(below);                                                                             \
        return name##_inlined(below);                                                              \
    }
KEPT int first(int n);
CALLS(third, first)
CALLS(second, third)
CALLS(first, second)

static void begin_list(void)
{
    if (inside++)
        __builtin_trap();
    first(depth);
}

static void end_list(void)
{
    inside--;
}

static size_t rounded(size_t size)
{
    return (size + UNIT - 1) / UNIT * UNIT;
}

void *malloc(size_t size)
{
    begin_list();
    size_t place = __atomic_fetch_add(&used, rounded(size) + UNIT, __ATOMIC_RELAXED);
    end_list();
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
    depth = 20000;
    char *text = malloc(UNIT);
    depth = 0;
    puts(count > 9 ? words[never(count)] : text ? "hello" : "no memory");
    free(text);
    return after_start(-2);
}
