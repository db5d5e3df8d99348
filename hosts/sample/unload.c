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
    const crn_unwind_loads before = crn_unwind_count_loads();
    int result = real ? real(handle) : -1;
    crn_unwind_unloaded(&before);
    if (begun)
        crn_sample_unload_end();
    return result;
}
