/* SPDX-License-Identifier: MIT
 *
 * Blocks of machine code, one for each return address. A block's name is its place in the file.
 * The report finds function and line by the file's build id.
 */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "code.h"
#include "pages.h"
#include "unwind/unwind.h"

enum { MODULES_MAX = 1024 }; /* number of modules whose build ids are noted */

/* A module that was noted. By address and name, as another may be loaded at the same address
 * later. */
typedef struct module {
    uintptr_t start;
    char *path;
} module;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static module *modules;
static size_t module_count;
static cairn_block nothing;
static cairn_profile *profile;

static void note(const crn_unwind_module *module, const char *path)
{
    char key[PATH_MAX + sizeof "module "], value[2 * CRN_UNWIND_BUILD_ID + 1];
    crn_unwind_build_id_text(module, value);
    snprintf(key, sizeof key, "module %s", path);
    cairn_profile_note(profile, key, value);
}

/* Returns the path of a module. Notes its build id the first time. */
static const char *path_noted(const crn_unwind_module *found, char program[PATH_MAX])
{
    for (size_t i = 0; i < module_count; i++)
        if (modules[i].start == found->start &&
            (!*found->name || strcmp(modules[i].path, found->name) == 0))
            return modules[i].path;
    const char *path = crn_unwind_module_path(found, program);
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

/* Adds a block for an address of code. Code in no file was compiled while the program runs: reports
 * look its names up in the file that runtimes write for profilers. */
static cairn_block add(uintptr_t back)
{
    char map[64];
    snprintf(map, sizeof map, "/tmp/perf-%ld.map", (long)getpid());
    const crn_unwind_module compiled = {.name = map};
    crn_unwind_module module;
    char name[2 + 16 + 1], program[PATH_MAX];
    cairn_block_info info = {.name = name, .file = ""};
    bool found = crn_unwind_module_find(back - 1, &module);
    if (found && !is_file(&module)) {
        info.name = "[vdso]";
        return cairn_block_add(profile, &info);
    }
    info.file = path_noted(found ? &module : &compiled, program);
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
    pthread_mutex_lock(&lock);
    if (!crn_unwind_recall(address, &code) || !code.tag) {
        code.tag = add(address + 1);
        if (code.tag)
            crn_unwind_tag(address, code.tag);
    }
    pthread_mutex_unlock(&lock);
    return code.tag;
}

cairn_block crn_code_nothing(void)
{
    pthread_mutex_lock(&lock);
    if (!nothing)
        nothing = cairn_block_add(profile, &(cairn_block_info){.name = "[no unwind information]"});
    pthread_mutex_unlock(&lock);
    return nothing;
}

void crn_code_lock(void)
{
    pthread_mutex_lock(&lock);
}

void crn_code_unlock(void)
{
    pthread_mutex_unlock(&lock);
}
