/* SPDX-License-Identifier: MIT */
#include "late/late.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

crn_late_function *crn_late_find(const char *library, const char *function)
{
    /* The dynamic linker counts how often a library is loaded, and returns the same handle. */
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void *address = handle ? dlsym(handle, function) : NULL;
    if (!address) {
        fprintf(stderr, "cairn: this command needs a library that cannot be loaded: %s\n",
                dlerror());
        exit(1);
    }
    crn_late_function *found;
    memcpy(&found, &address, sizeof found);
    return found;
}
