/* SPDX-License-Identifier: MIT */
#include "plat/own_calls.h"

#include <dlfcn.h>

/* Returns true if `found`, the function of that name, is the C library's. First looks for the
 * loaded object at its address, which takes less time than a second search by name. The C library
 * may also give functions of other objects, such as the kernel's (time). */
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)

extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));

static bool is_of(void *library, const char *name, void *found)
{
    struct dl_find_object object;
    return (_dl_find_object && found && _dl_find_object(found, &object) == 0 &&
            object.dlfo_link_map == library) ||
           dlsym(library, name) == found;
}

#else

static bool is_of(void *library, const char *name, void *found)
{
    return dlsym(library, name) == found;
}

#endif

bool crn_calls_c_library(void *place, const char *const names[], size_t count)
{
    void *library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    bool own = library != NULL;
    for (size_t i = 0; own && i < count; i++)
        own = is_of(library, names[i], dlsym(place, names[i]));
    if (library)
        dlclose(library);
    return own;
}
