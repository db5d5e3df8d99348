/* SPDX-License-Identifier: MIT
 *
 * A shared library whose calls lead through each kind of section of the procedure linkage table.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int linkage_calls(const char *text, char *copy);
__attribute__((visibility("default"))) char *linkage_deep(char *text);

int linkage_calls(const char *text, char *copy)
{
    strcpy(copy, text);
    qsort(copy, strlen(copy), 1, (int (*)(const void *, const void *))strcmp);
    return puts(copy) + *linkage_deep(copy);
}

/* Defined here, and called through an entry: another file may define it, too. */
char *linkage_deep(char *text)
{
    return strchr(text, linkage_calls(text + 1, text));
}
