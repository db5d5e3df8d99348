/* SPDX-License-Identifier: MIT
 *
 * Address spaces: which code is mapped at which addresses of each process.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../native/code.h"
#include "base/memory.h"
#include "base/search.h"
#include "sampler.h"

/* A block of code that is in no file. */
typedef struct crn_code {
    uintptr_t address; /* 0: free */
    cairn_block block;
} crn_code;

static crn_space *spaces;

crn_space *crn_space_known(pid_t process)
{
    for (crn_space *space = spaces; space; space = space->next)
        if (space->process == process)
            return space;
    return NULL;
}

static bool sees_same_files(pid_t process)
{
    char path[64];
    struct stat own, other;
    snprintf(path, sizeof path, "/proc/%d/root", (int)process); /* PID may be any thread's */
    if (stat("/", &own) != 0 || stat(path, &other) != 0)
        return true; /* the process has ended */
    if (own.st_dev != other.st_dev || own.st_ino != other.st_ino)
        return false;
    snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)process);
    return stat("/proc/self/ns/mnt", &own) != 0 || stat(path, &other) != 0 ||
           own.st_ino == other.st_ino;
}

void crn_spaces_each(void (*each)(crn_space *space, void *data), void *data)
{
    for (crn_space *space = spaces; space; space = space->next)
        each(space, data);
}

enum { STAT_SIZE = 1024 /* more than /proc/PID/stat has up to the fields that are read */ };

/* Reads a thread's file stat. Returns its text from the end of the name on, because a name may have
 * any character; NULL if it cannot be read. */
static char *read_stat_of(pid_t process, pid_t thread, char text[STAT_SIZE])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)process, (int)thread);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? 0 : read(file, text, STAT_SIZE - 1);
    if (file >= 0)
        close(file);
    text[size > 0 ? size : 0] = '\0';
    return strrchr(text, ')');
}

/* Does the same for the process's first thread. */
static char *read_stat(pid_t process, char text[STAT_SIZE])
{
    return read_stat_of(process, process, text);
}

/* Returns the address where the first thread's stack began: the 28th field of /proc/PID/stat. */
static uintptr_t read_entry(pid_t process)
{
    enum { FIELDS_BETWEEN = 26 };
    char text[STAT_SIZE];
    char *at = read_stat(process, text);
    for (int i = 0; at && i < FIELDS_BETWEEN; i++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

bool crn_thread_runs(pid_t process, pid_t thread)
{
    char text[STAT_SIZE];
    const char *state = read_stat_of(process, thread, text);
    return state && state[2] == 'R';
}

bool crn_process_is_zombie(pid_t process)
{
    char text[STAT_SIZE];
    const char *state = read_stat(process, text);
    return state && (state[2] == 'Z' || state[2] == 'X');
}

void crn_threads_find(pid_t process, void (*found)(void *data, pid_t process, pid_t thread),
                      void *data)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (atoi(entry->d_name) > 0)
            found(data, process, (pid_t)atoi(entry->d_name));
    if (folder)
        closedir(folder);
}

static void choose_other(void *data, pid_t process, pid_t thread)
{
    crn_space *space = data;
    if (thread != process)
        space->living = thread;
}

void crn_space_renew(crn_space *space)
{
    space->living = space->process;
    if (crn_process_is_zombie(space->process))
        crn_threads_find(space->process, choose_other, space);
}

crn_space *crn_space_of(pid_t process)
{
    crn_space *space = crn_space_known(process);
    if (space)
        return space;
    space = crn_calloc(1, sizeof *space);
    space->process = process;
    crn_space_renew(space);
    space->same_root = sees_same_files(space->living);
    space->next = spaces;
    return spaces = space;
}

/* ---- mappings ---- */

/* Unmaps what is in the range of a new mapping. Returns the part behind the range of a mapping that
 * the range divides; its end is 0 without one. */
static crn_mapping unmap(crn_space *space, uintptr_t start, uintptr_t end)
{
    crn_mapping behind = {0};
    size_t kept = 0;
    for (size_t i = 0; i < space->count; i++) {
        crn_mapping mapping = space->mappings[i];
        if (mapping.start >= start && mapping.end <= end)
            continue;
        if (mapping.start < start && mapping.end > end)
            behind = (crn_mapping){end, mapping.end, mapping.shift};
        if (mapping.start < start && mapping.end > start)
            mapping.end = start;
        else if (mapping.start < end && mapping.end > end)
            mapping.start = end;
        space->mappings[kept++] = mapping;
    }
    space->count = kept;
    return behind;
}

static void insert(crn_space *space, crn_mapping mapping)
{
    CRN_GROW(space->mappings, space->count, space->capacity);
    size_t at = space->count++;
    for (; at && space->mappings[at - 1].start > mapping.start; at--)
        space->mappings[at] = space->mappings[at - 1];
    space->mappings[at] = mapping;
}

static void put(crn_space *space, crn_mapping mapping)
{
    crn_mapping behind = unmap(space, mapping.start, mapping.end);
    insert(space, mapping);
    if (behind.end)
        insert(space, behind);
}

static const crn_image *image_of(const crn_space *space, const char *name)
{
    char path[4096 + 32];
    if (name[0] != '/' || name[1] == '/')
        return NULL; /* not a file: [heap], //anon */
    snprintf(path, sizeof path, "/proc/%d/root%s", (int)space->living, name);
    /* If the process sees other files than we do, the image gets a path that we see, too. */
    const crn_image *image = crn_image_of(path, space->same_root ? name : path);
    return image || !space->same_root ? image : crn_image_of(name, name);
}

void crn_space_map(crn_space *space, uintptr_t start, uintptr_t end, uint64_t offset,
                   const char *name)
{
    uintptr_t place;
    const crn_image *image = strcmp(name, "[vdso]") == 0
                                 ? crn_image_of_vdso(space->living, start, end - start)
                                 : image_of(space, name);
    if (crn_code_is_dump(name)) {
        crn_free(space->dump);
        space->dump = crn_strdup(name);
    }
    bool is_code = image && crn_image_place(image, offset, &place);
    put(space, (crn_mapping){start, end, is_code ? place - start : 0});
}

/* Reads a line of maps: "START-END PROTECTION OFFSET DEVICE INODE NAME". */
static void read_line(crn_space *space, char *line)
{
    unsigned long start, end, offset;
    char protection[5];
    int name = 0;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %n", &start, &end, protection, &offset, &name) >= 4 &&
        protection[2] == 'x' && start < end)
        crn_space_map(space, start, end, offset, name ? line + name : "");
}

void crn_space_read(crn_space *space)
{
    char path[64], *line = NULL;
    size_t size = 0;
    crn_space_renew(space);
    snprintf(path, sizeof path, "/proc/%d/maps", (int)space->living);
    FILE *maps = fopen(path, "re");
    space->entry = read_entry(space->living);
    if (!maps)
        return;
    while (getline(&line, &size, maps) > 0)
        read_line(space, line);
    free(line);
    fclose(maps);
}

void crn_space_clear(crn_space *space)
{
    space->count = 0;
    crn_space_renew(space);
    space->entry = read_entry(space->living);
    space->program = 0;
    crn_free(space->dump);
    space->dump = NULL;
    space->code_count = 0;
    if (space->codes)
        memset(space->codes, 0, space->code_slots * sizeof *space->codes);
    space->same_root = sees_same_files(space->living);
}

void crn_space_copy(crn_space *space, const crn_space *parent)
{
    space->count = 0;
    for (size_t i = 0; i < parent->count; i++)
        put(space, parent->mappings[i]);
    crn_free(space->dump);
    space->dump = parent->dump ? crn_strdup(parent->dump) : NULL;
    space->entry = parent->entry;
    space->program = parent->program;
    space->same_root = parent->same_root;
    memcpy(space->name, parent->name, sizeof space->name);
}

uintptr_t crn_space_local(void *data, uintptr_t address)
{
    const crn_space *space = data;
    size_t low = CRN_UP_TO(space->mappings, space->count, start, address);
    if (!low || address >= space->mappings[low - 1].end || !space->mappings[low - 1].shift)
        return 0;
    return address + space->mappings[low - 1].shift;
}

/* ---- code that was compiled while the program runs ---- */

/* Returns the process's id in its innermost PID namespace. */
static long number_within(pid_t process)
{
    static const char key[] = "NSpid:";
    char path[64], line[256];
    long number = process;
    snprintf(path, sizeof path, "/proc/%d/status", (int)process);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        char *last = strncmp(line, key, sizeof key - 1) == 0 ? strrchr(line, '\t') : NULL;
        number = last ? strtol(last, NULL, 10) : number;
    }
    if (file)
        fclose(file);
    return number;
}

/* Adds a block for code in no file. The block's file is one that runtimes write for profilers, in
 * which the report looks the address up. */
static cairn_block add_code(crn_space *space, cairn_profile *profile, uintptr_t address)
{
    char name[32], root[32] = "", path[PATH_MAX + 64], key[sizeof path + 16];
    /* Names are return addresses: the report looks up the byte before. */
    snprintf(name, sizeof name, "0x%lx", (unsigned long)address + 1);
    if (!space->same_root)
        snprintf(root, sizeof root, "/proc/%d/root", (int)space->living);
    if (space->dump)
        snprintf(path, sizeof path, "%s%s", root, space->dump);
    else
        snprintf(path, sizeof path, "%s/tmp/perf-%ld.map", root, number_within(space->process));
    snprintf(key, sizeof key, "module %s", path);
    if (!space->code_count || (space->dump && !space->dump_noted))
        cairn_profile_note(profile, key, "");
    space->dump_noted = space->dump != NULL;
    return cairn_block_add(profile, &(cairn_block_info){.name = name, .file = path});
}

static crn_code *slot_of(const crn_space *space, uintptr_t address)
{
    size_t at = crn_unwind_hash(address) & (space->code_slots - 1);
    while (space->codes[at].address && space->codes[at].address != address)
        at = (at + 1) & (space->code_slots - 1);
    return &space->codes[at];
}

static void grow(crn_space *space)
{
    crn_code *old = space->codes;
    size_t slots = space->code_slots;
    space->code_slots = slots ? slots * 2 : 256;
    space->codes = crn_calloc(space->code_slots, sizeof *space->codes);
    for (size_t i = 0; i < slots; i++)
        if (old[i].address)
            *slot_of(space, old[i].address) = old[i];
    crn_free(old);
}

static cairn_block code_block(crn_space *space, cairn_profile *profile, uintptr_t address)
{
    if (space->code_count >= space->code_slots / 2)
        grow(space);
    crn_code *code = slot_of(space, address);
    if (!code->address) {
        *code = (crn_code){address, add_code(space, profile, address)};
        space->code_count++;
    }
    return code->block;
}

cairn_block crn_space_block(crn_space *space, cairn_profile *profile, uintptr_t address)
{
    crn_unwind_code code;
    uintptr_t local = crn_space_local(space, address);
    if (!local)
        return code_block(space, profile, address);
    if (!crn_unwind_recall(local, &code) || !code.tag)
        crn_unwind_look(local, &code);
    return code.tag ? code.tag : crn_code_block(local);
}

void crn_spaces_free(void)
{
    while (spaces) {
        crn_space *space = spaces;
        spaces = space->next;
        crn_free(space->codes);
        crn_free(space->dump);
        crn_free(space->mappings);
        crn_free(space);
    }
}
