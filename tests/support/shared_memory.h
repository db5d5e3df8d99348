/* SPDX-License-Identifier: MIT
 *
 * shared_memory.h - memory through which a child process reports to its parent until it is killed.
 */
#ifndef TESTS_SUPPORT_SHARED_MEMORY_H
#define TESTS_SUPPORT_SHARED_MEMORY_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

/* Each field has one writer. */
typedef struct shared_page {
    _Atomic uint64_t done;    /* by the child: finished steps */
    _Atomic uint64_t allowed; /* by the parent: allowed steps */
    _Atomic uint64_t ready;   /* by the child: the capture is open */
} shared_page;

static inline shared_page *shared_page_open(void)
{
    void *page =
        mmap(NULL, sizeof(shared_page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? NULL : page;
}

static inline void shared_page_close(shared_page *page)
{
    munmap(page, sizeof(*page));
}

#endif
