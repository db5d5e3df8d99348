/* SPDX-License-Identifier: MIT
 *
 * Code that other threads run must not be unmapped. libcairn.so is linked so that it never
 * is; this is for the library's copy inside of someone's plugin.
 */
#include <dlfcn.h>
#include <link.h>

#include "runtime/runtime.h"

/* Weak, so that a program without a dynamic linker can be linked: there is nothing to do.
 * dlopen is looked up, as the linker warns of each program that has it linked in. */
#pragma weak dladdr1
#pragma weak dlsym

typedef void *open_function(const char *name, int flags);

/* Linked with -z nodelete. dlopen would run constructors of the library that have not run yet: it
 * is not to be called from inside one of its functions without need. */
static bool is_never_unloaded(const struct link_map *object)
{
    for (const ElfW(Dyn) *entry = object->l_ld; entry && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_FLAGS_1)
            return entry->d_un.d_val & DF_1_NODELETE;
    return false;
}

static void stay(void)
{
    Dl_info info;
    struct link_map *object = NULL;
    open_function *open = dlsym ? (open_function *)dlsym(RTLD_DEFAULT, "dlopen") : NULL;
    if (!open || !dladdr1 ||
        !dladdr1((const void *)&crn_stay_loaded, &info, (void **)&object, RTLD_DL_LINKMAP))
        return;
    if (object && object->l_name && *object->l_name && /* the program itself has no name */
        !is_never_unloaded(object))
        open(object->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

void crn_stay_loaded(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, stay);
}
