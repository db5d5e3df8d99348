/* SPDX-License-Identifier: MIT
 *
 * Which memory is the thread's stack, and reading what is not.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include "unwind/unwind.h"

extern void *__libc_stack_end __attribute__((weak));

/* The first thread's stack grows down from where the loader began. Its end is not asked of
 * pthread_getattr_np, which reads /proc/self/maps and allocates. */
static void stack_of_first(uintptr_t *low, uintptr_t *high)
{
    const uintptr_t usual = (uintptr_t)8 << 20, unlimited = (uintptr_t)64 << 30;
    struct rlimit limit;
    uintptr_t size = usual;
    if (getrlimit(RLIMIT_STACK, &limit) == 0)
        size = limit.rlim_cur > unlimited ? unlimited : limit.rlim_cur;
    *high = ((uintptr_t)__libc_stack_end | (CRN_UNWIND_PAGE - 1)) + 1;
    *low = *high - (size < usual ? usual : size);
}

void crn_unwind_stack_of_thread(uintptr_t *low, uintptr_t *high)
{
    int saved = errno;
    *low = *high = 0;
    if (gettid() == getpid() && &__libc_stack_end && __libc_stack_end) {
        stack_of_first(low, high);
        uintptr_t here = (uintptr_t)__builtin_frame_address(0);
        if (here >= *low && here < *high) {
            errno = saved;
            return;
        }
        *low = *high = 0; /* the first thread of a child that another thread forked */
    }
    pthread_attr_t attributes;
    void *base;
    size_t size;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        if (pthread_attr_getstack(&attributes, &base, &size) == 0) {
            *low = (uintptr_t)base;
            *high = *low + size;
        }
        pthread_attr_destroy(&attributes);
    }
    errno = saved;
}

bool crn_unwind_is_entry(uintptr_t stack)
{
    const uintptr_t near = 256; /* what the entry itself may have pushed */
    uintptr_t end = &__libc_stack_end ? (uintptr_t)__libc_stack_end : 0;
    return stack <= end + near && stack + near >= end;
}

static bool copy_page(crn_unwind_memory *memory, uintptr_t page)
{
    int saved = errno;
    struct iovec here = {memory->copy, CRN_UNWIND_PAGE};
    struct iovec there = {(void *)page, CRN_UNWIND_PAGE};
    bool whole = process_vm_readv(getpid(), &here, 1, &there, 1, 0) == CRN_UNWIND_PAGE;
    memory->page = whole ? page : 0;
    errno = saved;
    return whole;
}

bool crn_unwind_read_outside(crn_unwind_memory *memory, uintptr_t address, uintptr_t *value)
{
    uintptr_t page = address & ~(uintptr_t)(CRN_UNWIND_PAGE - 1);
    if (!memory->copy || address % sizeof *value || page == 0)
        return false;
    if (memory->page != page && !copy_page(memory, page))
        return false;
    memcpy(value, memory->copy + (address - page), sizeof *value);
    return true;
}
