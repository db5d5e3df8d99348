/* SPDX-License-Identifier: MIT */
#include "plat/own_calls.h"

#include <dlfcn.h>

bool crn_calls_c_library(void *place, const char *const names[], size_t count)
{
    void *library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    bool own = library != NULL;
    for (size_t i = 0; own && i < count; i++)
        own = dlsym(library, names[i]) == dlsym(place, names[i]);
    if (library)
        dlclose(library);
    return own;
}
