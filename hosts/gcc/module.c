/* SPDX-License-Identifier: MIT */
#include "module.h"

#include <limits.h>
#include <stdio.h>

/* Hashes address and path: another module may be loaded at an address later. */
static uintptr_t key_of(const crn_unwind_module *module, const char *path)
{
    uintptr_t key = module->start;
    for (; *path; path++)
        key = (key ^ (unsigned char)*path) * 0x100000001b3u;
    return key | 1;
}

const char *crn_module_path(cairn_profile *profile, const crn_unwind_module *module)
{
    enum { NOTED_MOST = 256 };
    static uintptr_t noted[NOTED_MOST]; /* atomic */
    static size_t count;                /* atomic */
    static char program[PATH_MAX];
    const char *path = crn_unwind_module_path(module, program);
    uintptr_t known = key_of(module, path);
    for (size_t i = 0; i < NOTED_MOST; i++)
        if (__atomic_load_n(&noted[i], __ATOMIC_RELAXED) == known)
            return path;
    char key[PATH_MAX + sizeof "module "], value[2 * CRN_UNWIND_BUILD_ID + 1];
    crn_unwind_build_id_text(module, value);
    snprintf(key, sizeof key, "module %s", path);
    cairn_profile_note(profile, key, value);
    size_t place = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    if (place < NOTED_MOST)
        __atomic_store_n(&noted[place], known, __ATOMIC_RELAXED);
    return path;
}
