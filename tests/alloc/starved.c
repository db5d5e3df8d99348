/* SPDX-License-Identifier: MIT
 *
 * Allocates until there is no address space: the recorder, too, gets none for its tables. With an
 * argument the program kills itself at the end.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "accounts.h"

/* Returns the size of the address space. */
static size_t address_space(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    size_t pages = 0;
    MUST(file && fscanf(file, "%zu", &pages) == 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv)
{
    enum { MANY = 4096 };
    static void *kept[MANY];
    (void)argv;
    struct rlimit limit = {address_space() + (16 << 20), RLIM_INFINITY};
    MUST(setrlimit(RLIMIT_AS, &limit) == 0);
    size_t count = 0;
    for (size_t size = 8 << 20; size >= 256 << 10 && count < MANY; size /= 2)
        while (count < MANY && (kept[count] = malloc(size)))
            count++;
    while (count)
        free(kept[--count]);
    return argc > 1 ? raise(SIGKILL) : 0;
}
