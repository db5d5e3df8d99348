/* SPDX-License-Identifier: MIT
 *
 * A shared library whose calls lead through each kind of section of the procedure linkage table.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int linkage_calls(const char *text, char *copy);
__attribute__((visibility("default"))) char *linkage_deep(char *text);

static int increment(int number)
{
    return number + 1;
}

/* Chooses the function that linkage_chosen is. */
__attribute__((used)) static int (*choose(void))(int)
{
    return increment;
}

__attribute__((ifunc("choose"), visibility("hidden"))) int linkage_chosen(int number);

int linkage_calls(const char *text, char *copy)
{
    strcpy(copy, text);
    qsort(copy, strlen(copy), 1, (int (*)(const void *, const void *))strcmp);
    return linkage_chosen(puts(copy)) + *linkage_deep(copy);
}

/* Defined here, and called through an entry: another file may define it, too. */
char *linkage_deep(char *text)
{
    return strchr(text, linkage_calls(text + 1, text));
}
