/* SPDX-License-Identifier: MIT
 *
 * The worst case: a loop of malloc and free of a small size. Argument: millions of rounds.
 */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    long times = (argc > 1 ? atol(argv[1]) : 10) * 1000000;
    for (long i = 0; i < times; i++) {
        char *block = malloc((size_t)(i & 63) + 16);
        __asm__ volatile("" : "+r"(block) : : "memory");
        free(block);
    }
    printf("%ld\n", times);
    return 0;
}
