/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sys/mman.h>

#include "pages.h"

void *crn_pages(size_t size)
{
    int saved = errno;
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    errno = saved;
    return pages == MAP_FAILED ? NULL : pages;
}

void *crn_pages_grow(void *pages, size_t size, size_t larger)
{
    if (!pages)
        return crn_pages(larger);
    int saved = errno;
    void *grown = mremap(pages, size, larger, MREMAP_MAYMOVE);
    errno = saved;
    return grown == MAP_FAILED ? NULL : grown;
}

void crn_pages_free(void *pages, size_t size)
{
    int saved = errno;
    if (pages)
        munmap(pages, size);
    errno = saved;
}
