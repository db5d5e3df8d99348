/* SPDX-License-Identifier: MIT
 *
 * writeback.c - cost of a capture on disk: the kernel writes dirty pages back and write-protects
 * them, so that the next increment of a counter on each page faults. Counters in a file on disk,
 * in a file in memory and in plain memory are incremented in turn, in short slices, for two
 * periods of writeback.
 *
 * usage: writeback SECONDS MEGABYTES DISK_DIRECTORY MEMORY_DIRECTORY
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "measure.h"

enum { PLACES = 3, BUMPS = 200000 };

typedef struct place {
    const char *name;
    uint64_t *counters;
    size_t count;
    uint64_t seed;
    measure_series slices; /* ns a bump */
    long faults;
} place;

static uint64_t *map_counters(const char *directory, size_t size)
{
    void *memory;
    if (directory) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/cairn-writeback-XXXXXX", directory);
        int file = mkstemp(path);
        if (file < 0 || unlink(path) || posix_fallocate(file, 0, (off_t)size)) {
            fprintf(stderr, "writeback: cannot make a file of %zu bytes in %s\n", size, directory);
            exit(2);
        }
        memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
    } else {
        memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    if (memory == MAP_FAILED) {
        fprintf(stderr, "writeback: cannot map %zu bytes\n", size);
        exit(2);
    }
    memset(memory, 1, size);
    return memory;
}

static long faults_now(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

/* A slice: counters picked at random, as the contexts of a running program would be. */
static void bump(place *p)
{
    long faults = faults_now();
    double start = measure_now();
    uint64_t seed = p->seed;
    for (int i = 0; i < BUMPS; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        p->counters[(seed >> 33) % p->count]++;
    }
    p->seed = seed;
    measure_add(&p->slices, (measure_now() - start) / BUMPS);
    p->faults += faults_now() - faults;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: writeback SECONDS MEGABYTES DISK_DIRECTORY MEMORY_DIRECTORY\n");
        return 2;
    }
    double seconds = atof(argv[1]);
    size_t size = (size_t)(atof(argv[2]) * 1e6) & ~(size_t)4095;
    place places[PLACES] = {{.name = "disk"}, {.name = "memory-file"}, {.name = "plain-memory"}};
    const char *directories[PLACES] = {argv[3], argv[4], NULL};
    for (int i = 0; i < PLACES; i++) {
        places[i].counters = map_counters(directories[i], size);
        places[i].count = size / sizeof(uint64_t);
        places[i].seed = 1;
    }
    double end = measure_now() + seconds * 1e9;
    while (measure_now() < end)
        for (int i = 0; i < PLACES; i++)
            bump(&places[i]);
    double plain = measure_mean(&places[PLACES - 1].slices);
    for (int i = 0; i < PLACES - 1; i++) {
        measure_series *slices = &places[i].slices;
        double ratio = measure_mean(slices) / plain;
        printf("%s\t%.4f\t%.4f\t%.4f\t", places[i].name, ratio, ratio, ratio);
        printf("%.2f ns a bump, of plain memory %.2f; %ld faults; slowest slice %.1f ms\n",
               measure_mean(slices), plain, places[i].faults,
               measure_quantile(slices, 1) * BUMPS / 1e6);
    }
    return 0;
}
