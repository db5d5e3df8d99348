/* SPDX-License-Identifier: MIT
 *
 * Blocks of machine code, one for each return address. A block's name is the return address in its
 * file. Reports find function and line in the file, which they recognise by its build id.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "code.h"
#include "pages.h"
#include "plat/futex.h"
#include "unwind/unwind.h"

enum { MODULES_MAX = 1024 }; /* number of modules whose build ids are noted */

/* A module whose build id was noted. Address and path identify it, as another module may be loaded
 * at the same address later. */
typedef struct module {
    uintptr_t start;
    char *path;
} module;

static crn_futex_lock lock;
static module *modules;
static size_t module_count;
static cairn_block nothing;
static cairn_profile *profile;

/* Paths are not on the stack, which may be a small one of the program's: this runs inside its
 * malloc. Under the lock. */
static char program_path[PATH_MAX];

static void note(const crn_unwind_module *module, const char *path)
{
    static char key[PATH_MAX + sizeof "module "];
    char value[2 * CRN_UNWIND_BUILD_ID + 1];
    crn_unwind_build_id_text(module, value);
    snprintf(key, sizeof key, "module %s", path);
    cairn_profile_note(profile, key, value);
}

/* Returns the path of a module. Notes its build id at the first call. */
static const char *path_noted(const crn_unwind_module *found)
{
    for (size_t i = 0; i < module_count; i++)
        if (modules[i].start == found->start &&
            (!*found->name || strcmp(modules[i].path, found->name) == 0))
            return modules[i].path;
    const char *path = crn_unwind_module_path(found, program_path);
    note(found, path);
    if (!modules)
        modules = crn_pages(MODULES_MAX * sizeof *modules);
    size_t size = strlen(path) + 1;
    char *kept = modules && module_count < MODULES_MAX ? crn_pages(size) : NULL;
    if (!kept)
        return path;
    memcpy(kept, path, size);
    modules[module_count++] = (module){found->start, kept};
    return kept;
}

/* Returns false for the kernel's vdso, which the loader lists, too. */
static bool is_file(const crn_unwind_module *module)
{
    return !*module->name || strchr(module->name, '/');
}

bool crn_code_is_dump(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash ? strlen(slash) : 0;
    return length > sizeof "/jit-.dump" - 1 && strncmp(slash, "/jit-", 5) == 0 &&
           strcmp(slash + length - 5, ".dump") == 0;
}

/* Looks for a jitdump file among the process's mappings of code. */
static bool find_dump(char dump[PATH_MAX])
{
    static char line[PATH_MAX + 128];
    size_t used = 0;
    bool found = false;
    /* Makes system calls directly: open, read and close of libc are cancellation points, but
     * malloc, inside of which this may run, must not be one. */
    long maps = syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/maps", O_RDONLY | O_CLOEXEC);
    for (long got; maps >= 0 && !found &&
                   (got = syscall(SYS_read, maps, line + used, sizeof line - 1 - used)) > 0;) {
        char *at = line, *end;
        used += (size_t)got;
        line[used] = '\0';
        for (; !found && (end = strchr(at, '\n')); at = end + 1) {
            *end = '\0';
            const char *path = strchr(at, '/');
            found = path && strstr(at, " r-xp ") && crn_code_is_dump(path);
            if (found)
                snprintf(dump, PATH_MAX, "%s", path);
        }
        used -= (size_t)(at - line);
        memmove(line, at, used);
        if (used == sizeof line - 1)
            used = 0; /* drops it, as no line of this file is as long */
    }
    if (maps >= 0)
        syscall(SYS_close, maps);
    return found;
}

/* Returns the file with the names of code that was compiled at run time: a jitdump file, otherwise
 * /tmp/perf-PID.map. Searches for a jitdump file at the 1st, 2nd, 4th, 8th ... call, as a runtime
 * may open it late. */
static const char *names_of_compiled(void)
{
    static char file[PATH_MAX];
    static unsigned asked, next = 1;
    static pid_t process; /* a child of fork has a file of its own */
    if (process != getpid()) {
        process = getpid();
        asked = 0;
        next = 1;
        snprintf(file, sizeof file, "/tmp/perf-%ld.map", (long)process);
    }
    if (++asked == next && strncmp(file, "/tmp/perf-", 10) == 0) {
        find_dump(file);
        next *= 2;
    }
    return file;
}

/* Adds a block for a return address. Code in no file was compiled at run time: reports look up its
 * functions in the file that runtimes write for profilers. */
static cairn_block add(uintptr_t back)
{
    crn_unwind_module module;
    char name[2 + 16 + 1];
    cairn_block_info info = {.name = name, .file = ""};
    bool found = crn_unwind_module_find(back - 1, &module);
    const crn_unwind_module compiled = {.name = found ? "" : names_of_compiled()};
    if (found && !is_file(&module)) {
        info.name = "[vdso]";
        return cairn_block_add(profile, &info);
    }
    info.file = path_noted(found ? &module : &compiled);
    snprintf(name, sizeof name, "0x%lx", (unsigned long)(back - (found ? module.bias : 0)));
    return cairn_block_add(profile, &info);
}

void crn_code_begin(cairn_profile *of)
{
    profile = of;
}

cairn_block crn_code_block(uintptr_t address)
{
    crn_unwind_code code = {.tag = 0};
    crn_futex_lock_take(&lock);
    if (!crn_unwind_recall(address, &code) || !code.tag) {
        code.tag = add(address + 1);
        if (code.tag)
            crn_unwind_tag(address, code.tag);
    }
    crn_futex_lock_give(&lock);
    return code.tag;
}

cairn_block crn_code_nothing(void)
{
    crn_futex_lock_take(&lock);
    if (!nothing)
        nothing = cairn_block_add(profile, &(cairn_block_info){.name = "[no unwind information]"});
    crn_futex_lock_give(&lock);
    return nothing;
}

void crn_code_lock(void)
{
    crn_futex_lock_take(&lock);
}

void crn_code_unlock(void)
{
    crn_futex_lock_give(&lock);
}
