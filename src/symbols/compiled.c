/* SPDX-License-Identifier: MIT */
#include "symbols/compiled.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"
#include "symbols/jitdump.h"

enum {
    BYTES_MOST = 512 << 20, /* bytes read of a file */
    NAME_MOST = 1024
};

typedef struct function {
    uint64_t start, end, order; /* order: position in the file, from 1 */
    size_t name;                /* offset in `names` */
} function;

/* Ranges may overlap, as new code replaces old. `highest` is, by function, the highest end of it
 * and all functions before it, which bounds a search. */
struct crn_compiled {
    function *functions; /* sorted by start, then order */
    uint64_t *highest;
    size_t count, capacity;
    char *names;
    size_t names_size, names_capacity;
};

bool crn_compiled_is_map(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (crn_jitdump_is(path))
        return true;
    unsigned long number;
    int end = 0;
    return slash && slash - path >= 4 && strncmp(slash - 4, "/tmp", 4) == 0 &&
           sscanf(slash, "/perf-%lu.map%n", &number, &end) == 1 && end && !slash[end];
}

bool crn_compiled_is_kernel(const char *path)
{
    return strcmp(path, "/proc/kallsyms") == 0;
}

bool crn_compiled_is_same_start(const char *noted)
{
    char line[64] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    bool same = file && fgets(line, sizeof line, file);
    if (file)
        fclose(file);
    line[strcspn(line, "\n")] = '\0';
    return same && strcmp(line, noted) == 0;
}

/* Opens a file of functions, unless another user owns it, who must not name this user's
 * functions. */
static FILE *open_map(const char *path)
{
    struct stat info;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool good = file >= 0 && fstat(file, &info) == 0 && S_ISREG(info.st_mode) &&
                (info.st_uid == geteuid() || info.st_uid == 0 || geteuid() == 0);
    if (file >= 0 && !good)
        close(file);
    return good ? fdopen(file, "r") : NULL;
}

static void add(void *data, uint64_t start, uint64_t size, const char *name)
{
    crn_compiled *compiled = data;
    size_t length = strlen(name) + 1;
    CRN_GROW(compiled->functions, compiled->count, compiled->capacity);
    if (compiled->names_size + length > compiled->names_capacity) {
        compiled->names_capacity = (compiled->names_size + length) * 2;
        compiled->names = crn_realloc(compiled->names, compiled->names_capacity, 1);
    }
    memcpy(compiled->names + compiled->names_size, name, length);
    compiled->functions[compiled->count] =
        (function){start, start + size, compiled->count + 1, compiled->names_size};
    compiled->count++;
    compiled->names_size += length;
}

static void read_line(crn_compiled *compiled, char *line)
{
    unsigned long start, size;
    int name = 0;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%lx %lx %n", &start, &size, &name) >= 2 && name && line[name] && size &&
        start + size > start)
        add(compiled, start, size, line + name);
}

/* Reads "START TYPE NAME [MODULE]". Addresses are 0 where the user may not see them. */
static void read_kernel_line(crn_compiled *compiled, char *line)
{
    char *at;
    uint64_t start = strtoull(line, &at, 16);
    if (!start || at[0] != ' ' || !at[1] || !strchr("tTwW", at[1]) || at[2] != ' ')
        return;
    char *name = at + 3;
    name[strcspn(name, "\t\n")] = '\0';
    add(compiled, start, 1, name);
}

/* Sets the ends of functions without sizes, like the kernel's: each ends where the next begins. */
static void set_ends(crn_compiled *compiled)
{
    for (size_t i = 0; i + 1 < compiled->count; i++)
        if (compiled->functions[i].end < compiled->functions[i + 1].start)
            compiled->functions[i].end = compiled->functions[i + 1].start;
}

static int by_start(const void *one, const void *other)
{
    const function *a = one, *b = other;
    return CRN_ORDER(a->start, b->start) ?: CRN_ORDER(a->order, b->order);
}

static void read_lines(crn_compiled *compiled, FILE *file, bool kernel)
{
    char line[NAME_MOST];
    size_t bytes = 0;
    for (bool begins = true; bytes < BYTES_MOST && fgets(line, sizeof line, file);) {
        size_t length = strlen(line);
        bool ends = length && line[length - 1] == '\n';
        if (begins && kernel) /* the rest of a long line is left out */
            read_kernel_line(compiled, line);
        else if (begins)
            read_line(compiled, line);
        begins = ends;
        bytes += length;
    }
}

crn_compiled *crn_compiled_read(const char *path)
{
    crn_compiled *compiled = crn_calloc(1, sizeof *compiled);
    bool kernel = crn_compiled_is_kernel(path);
    FILE *file = open_map(path);
    if (file && crn_jitdump_is(path))
        crn_jitdump_read(file, BYTES_MOST, add, compiled);
    else if (file)
        read_lines(compiled, file, kernel);
    if (file)
        fclose(file);
    if (compiled->count)
        qsort(compiled->functions, compiled->count, sizeof *compiled->functions, by_start);
    if (kernel)
        set_ends(compiled);
    compiled->highest = crn_calloc(compiled->count + 1, sizeof *compiled->highest);
    for (size_t i = 0; i < compiled->count; i++) {
        uint64_t before = i ? compiled->highest[i - 1] : 0, end = compiled->functions[i].end;
        compiled->highest[i] = end > before ? end : before;
    }
    return compiled;
}

void crn_compiled_free(crn_compiled *compiled)
{
    if (!compiled)
        return;
    crn_free(compiled->functions);
    crn_free(compiled->highest);
    crn_free(compiled->names);
    crn_free(compiled);
}

const char *crn_compiled_find(const crn_compiled *compiled, uint64_t address, uint64_t *number)
{
    enum { SEARCHED = 4096 }; /* a hostile file could have many ranges at one address */
    size_t low = CRN_UP_TO(compiled->functions, compiled->count, start, address);
    const function *latest = NULL;
    for (size_t i = low, n = 0; i && n < SEARCHED && compiled->highest[i - 1] > address; i--, n++) {
        const function *function = &compiled->functions[i - 1];
        if (address < function->end && (!latest || function->order > latest->order))
            latest = function;
    }
    if (!latest)
        return NULL;
    *number = latest->order;
    return compiled->names + latest->name;
}
