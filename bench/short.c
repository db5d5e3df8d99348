/* SPDX-License-Identifier: MIT
 *
 * short.c - a process as short as they come: a few hundred calls, each in a context of its own, and
 * the end. bench/short.py compiles it plain and by `cairn cc`.
 */
#include <stdio.h>

static volatile unsigned sum;

/* Each function adds a number of its own, so that the compiler does not merge those that are alike,
 * and calls two of the row below. */
#define FUNCTION(name, first, second)                                                              \
    __attribute__((noinline, unused)) static void name(unsigned depth)                             \
    {                                                                                              \
        sum += depth * 3 + __COUNTER__;                                                            \
        if (depth) {                                                                               \
            first(depth - 1);                                                                      \
            second(depth - 1);                                                                     \
            sum++;                                                                                 \
        }                                                                                          \
    }

#define LEAF(name)                                                                                 \
    __attribute__((noinline, unused)) static void name(unsigned depth)                             \
    {                                                                                              \
        sum += depth * 3 + __COUNTER__;                                                            \
    }

#define ROW(row, below)                                                                            \
    FUNCTION(row##_read, below##_read, below##_find)                                               \
    FUNCTION(row##_find, below##_find, below##_check)                                              \
    FUNCTION(row##_check, below##_check, below##_write)                                            \
    FUNCTION(row##_write, below##_write, below##_close)                                            \
    FUNCTION(row##_close, below##_close, below##_read)

LEAF(bytes_read)
LEAF(bytes_find)
LEAF(bytes_check)
LEAF(bytes_write)
LEAF(bytes_close)
ROW(pages, bytes)
ROW(files, pages)
ROW(objects, files)
ROW(trees, objects)
ROW(commits, trees)
ROW(branches, commits)

int main(void)
{
    branches_read(6);
    commits_close(5);
    trees_check(4);
    printf("%u\n", sum);
    return 0;
}
