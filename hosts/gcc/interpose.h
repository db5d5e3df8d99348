/* SPDX-License-Identifier: MIT
 *
 * interpose.h - functions of the C library that libcairn-gcc defines itself.
 *
 * A shared libcairn-gcc defines the function under its own name and finds the C library's with
 * dlsym. Statically linked programs call __wrap_NAME instead (`cairn cc` passes --wrap to the
 * linker), and __real_NAME is the C library's.
 */
#ifndef CRN_HOSTS_GCC_INTERPOSE_H
#define CRN_HOSTS_GCC_INTERPOSE_H

#ifdef CRN_STATIC

#define CRN_INTERPOSED(name) __wrap_##name
#define CRN_EXPORTED

/* Declares `real`, the C library's function. */
#define CRN_REAL(type, name) type *const real = __real_##name

#else

#include <dlfcn.h>

#include <cairn/process.h>

#define CRN_INTERPOSED(name) name
#define CRN_EXPORTED CAIRN_API

/* Returns the next definition of a symbol; NULL if there is none. `known` caches it; atomic. */
static inline void *crn_next_definition(void **known, const char *name)
{
    void *next = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (!next) {
        next = dlsym(RTLD_NEXT, name);
        __atomic_store_n(known, next, __ATOMIC_RELAXED);
    }
    return next;
}

#if __has_attribute(copy) /* gcc warns of an alias with fewer attributes; clang has no copy */
#define CRN_COPY_ATTRIBUTES(function) copy(function),
#else
#define CRN_COPY_ATTRIBUTES(function)
#endif

#define CRN_REAL(type, name)                                                                       \
    static void *known;                                                                            \
    void *next = crn_next_definition(&known, #name);                                               \
    type *real;                                                                                    \
    __builtin_memcpy(&real, &next, sizeof real)

#endif

#endif
