/* SPDX-License-Identifier: MIT
 *
 * The interposed functions of libc. Each has a short path of one or two comparisons before the
 * real function, and a long one that records. operator new and delete of libstdc++ and libc++ call
 * malloc and free and need nothing of their own.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"

#define EXPORT __attribute__((visibility("default")))
#define APART __attribute__((noinline))
#define FRAME ((const uintptr_t *)__builtin_frame_address(0))

/* Returns true if an allocation of this size is not recorded: the next sample is further away. */
static inline bool passes(size_t size)
{
    if (CRN_UNLIKELY(size >= crn_here.left))
        return false;
    crn_here.left -= size;
    return true;
}

/* Opens the profile at the first call in the process. */
static void begin(void)
{
    if (CRN_UNLIKELY(__atomic_load_n(&crn_alloc_state_now, __ATOMIC_ACQUIRE) == CRN_ALLOC_EARLY))
        crn_start();
}

/* ---- malloc and its kin ---- */

/* Defines name_seen, which allocates `bytes` by the real function and records them. */
#define SEEN(name, parameters, arguments, bytes)                                                   \
    APART static void *name##_seen parameters                                                      \
    {                                                                                              \
        begin();                                                                                   \
        void *block = crn_real_now.name arguments;                                                 \
        crn_record_made(block, bytes, FRAME);                                                      \
        return block;                                                                              \
    }

/* Defines name_seen, and the interposed function. */
#define ALLOCATES(name, parameters, arguments)                                                     \
    SEEN(name, parameters, arguments, size)                                                        \
    EXPORT void *name parameters                                                                   \
    {                                                                                              \
        return passes(size) ? crn_real_now.name arguments : name##_seen arguments;                 \
    }

ALLOCATES(malloc, (size_t size), (size))
ALLOCATES(aligned_alloc, (size_t alignment, size_t size), (alignment, size))
ALLOCATES(memalign, (size_t alignment, size_t size), (alignment, size))
ALLOCATES(valloc, (size_t size), (size))
ALLOCATES(pvalloc, (size_t size), (size))
SEEN(calloc, (size_t count, size_t size), (count, size), count *size) /* if too large: no block */

EXPORT void *calloc(size_t count, size_t size)
{
    size_t bytes;
    if (!__builtin_mul_overflow(count, size, &bytes) && passes(bytes))
        return crn_real_now.calloc(count, size);
    return calloc_seen(count, size);
}

APART static int posix_memalign_seen(void **block, size_t alignment, size_t size)
{
    begin();
    int error = crn_real_now.posix_memalign(block, alignment, size);
    if (error == 0)
        crn_record_made(*block, size, FRAME);
    return error;
}

EXPORT int posix_memalign(void **block, size_t alignment, size_t size)
{
    return passes(size) ? crn_real_now.posix_memalign(block, alignment, size)
                        : posix_memalign_seen(block, alignment, size);
}

/* ---- free and realloc ---- */

APART static void free_seen(void *block)
{
    crn_record_free(block);
    crn_real_now.free(block);
}

EXPORT void free(void *block)
{
    if (crn_filter_may(block))
        free_seen(block);
    else
        crn_real_now.free(block);
}

/* realloc is a free and an allocation, also where the address stays. */
APART static void *realloc_seen(void *block, size_t size)
{
    begin();
    crn_live taken = {0};
    if (block)
        taken = crn_record_take(block);
    void *resized = crn_real_now.realloc(block, size);
    if (!resized && block && size) { /* it failed, and the old allocation stays */
        crn_record_keep(block, taken);
        return NULL;
    }
    crn_record_freed(taken);
    crn_record_made(resized, size, FRAME);
    return resized;
}

EXPORT void *realloc(void *block, size_t size)
{
    if (!crn_filter_may(block) && passes(size))
        return crn_real_now.realloc(block, size);
    return realloc_seen(block, size);
}

EXPORT void *reallocarray(void *block, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    if (!crn_filter_may(block) && passes(bytes))
        return crn_real_now.realloc(block, bytes);
    return realloc_seen(block, bytes);
}

/* ---- unloaded code ---- */

EXPORT int dlclose(void *handle)
{
    static int (*next)(void *handle);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "dlclose");
    return next ? crn_unwind_close(next, handle) : -1;
}
