/* SPDX-License-Identifier: MIT
 *
 * Unloaded code: other code may come to its addresses, whose rules and names are cached.
 */
#include <dlfcn.h>
#include <stddef.h>

#include "sample.h"

EXPORT int dlclose(void *handle)
{
    static int (*real)(void *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "dlclose");
    bool begun = crn_sample_unload_begin();
    int result = real ? crn_unwind_close(real, handle) : -1;
    if (begun)
        crn_sample_unload_end();
    return result;
}
