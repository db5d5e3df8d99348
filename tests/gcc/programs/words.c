/* SPDX-License-Identifier: MIT
 *
 * Texts of spans in a program with its own malloc, which calls a new function each time, also
 * while Cairn copies a text.
 */
#include <cairn/scope.h>

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "noipa.h"

enum { UNIT = 16, WORDS = 20000 };

static char pool[1 << 27];
static size_t used;
static volatile int sum;

#define NEW(number)                                                                                \
    KEPT void new_##number(void)                                                                   \
    {                                                                                              \
        sum += number;                                                                             \
    }
#define NEW_4(number) NEW(number##0) NEW(number##1) NEW(number##2) NEW(number##3)
#define NEW_16(number) NEW_4(number##0) NEW_4(number##1) NEW_4(number##2) NEW_4(number##3)
NEW_16(1)
NEW_16(2)
NEW_16(3)
NEW_16(4)

#define NAME(number) new_##number,
#define NAME_4(number) NAME(number##0) NAME(number##1) NAME(number##2) NAME(number##3)
#define NAME_16(number) NAME_4(number##0) NAME_4(number##1) NAME_4(number##2) NAME_4(number##3)
static void (*const all[])(void) = {NAME_16(1) NAME_16(2) NAME_16(3) NAME_16(4)};

static size_t next, began;

void *malloc(size_t size)
{
    size_t place = used;
    used += (size + UNIT - 1) / UNIT * UNIT + UNIT;
    if (used > sizeof pool)
        return NULL;
    if (began && next < sizeof all / sizeof *all)
        all[next++]();
    memcpy(pool + place, &size, sizeof size);
    return pool + place + UNIT;
}

void free(void *block)
{
    OPAQUE(block);
}

void *calloc(size_t count, size_t size)
{
    return malloc(count * size); /* zeroed: nothing is used twice */
}

void *realloc(void *old, size_t size)
{
    char *block = malloc(size);
    size_t before = 0;
    if (old)
        memcpy(&before, (char *)old - UNIT, sizeof before);
    if (old && block)
        memcpy(block, old, before < size ? before : size);
    return block;
}

KEPT int after_words(int n)
{
    return n;
}

int main(void)
{
    char word[32];
    began = 1;
    for (int i = 0; i < WORDS; i++) {
        CAIRN_SCOPE("word");
        snprintf(word, sizeof word, "word %d", i);
        CAIRN_SCOPE_TEXT("text", word);
    }
    puts("said");
    return after_words(0);
}
