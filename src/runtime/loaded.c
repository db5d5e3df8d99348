/* SPDX-License-Identifier: MIT
 *
 * Keeps the library loaded while other threads run its code. Only copies of the library inside of
 * plugins need this file: libcairn.so is linked with -z nodelete.
 */
#include <dlfcn.h>
#include <link.h>

#include "runtime/runtime.h"

/* Weak, so that programs without a dynamic linker can be linked. dlopen is looked up at run time,
 * because linkers warn if a static program contains it. */
#pragma weak dladdr1
#pragma weak dlsym
#pragma weak _DYNAMIC

typedef void *open_function(const char *name, int flags);

/* Returns true if the object was linked with -z nodelete. Then dlopen is not called: it would run
 * constructors that have not run yet. */
static bool is_never_unloaded(void)
{
    const ElfW(Dyn) *own = _DYNAMIC; /* NULL in some static programs */
    for (const ElfW(Dyn) *entry = own; entry && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_FLAGS_1)
            return entry->d_un.d_val & DF_1_NODELETE;
    return false;
}

static void stay(void)
{
    Dl_info info;
    struct link_map *object = NULL;
    if (is_never_unloaded())
        return;
    open_function *open = dlsym ? (open_function *)dlsym(RTLD_DEFAULT, "dlopen") : NULL;
    if (!open || !dladdr1 ||
        !dladdr1((const void *)&crn_stay_loaded, &info, (void **)&object, RTLD_DL_LINKMAP))
        return;
    if (object && object->l_name && *object->l_name) /* the program itself has no name */
        open(object->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

void crn_stay_loaded(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, stay);
}
