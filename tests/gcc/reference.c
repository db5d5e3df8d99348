/* SPDX-License-Identifier: MIT
 *
 * The slow reference: counts calls by function through -finstrument-functions, in a mapped file,
 * so that it is complete however the program ends.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST = 512 };

typedef struct counted {
    char name[112];  /* "" if the loader knows no name */
    uint64_t offset; /* in its file */
    uint64_t calls;
} counted;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *functions[MOST];
static counted *table;
static int used;

#define PLAIN __attribute__((no_instrument_function))

PLAIN static void map(void)
{
    const char *path = getenv("REFERENCE_OUT");
    int file = open(path ? path : "/dev/null", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, MOST * sizeof *table) != 0)
        abort();
    table = mmap(NULL, MOST * sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (table == MAP_FAILED)
        abort();
}

PLAIN static counted *find(void *function)
{
    int i = 0;
    while (i < used && functions[i] != function)
        i++;
    if (i == used) {
        Dl_info info;
        if (used++ == MOST)
            abort();
        functions[i] = function;
        if (!dladdr(function, &info))
            return &table[i];
        table[i].offset = (uintptr_t)function - (uintptr_t)info.dli_fbase;
        if (info.dli_sname && info.dli_saddr == function)
            strncpy(table[i].name, info.dli_sname, sizeof table[i].name - 1);
    }
    return &table[i];
}

PLAIN void __cyg_profile_func_enter(void *function, void *from)
{
    (void)from;
    pthread_mutex_lock(&lock);
    if (!table)
        map();
    find(function)->calls++;
    pthread_mutex_unlock(&lock);
}

PLAIN void __cyg_profile_func_exit(void *function, void *from)
{
    (void)function;
    (void)from;
}
