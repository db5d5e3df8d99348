/* SPDX-License-Identifier: MIT */
#include "support/moments.h"

#include <sys/types.h>
#include <unistd.h>

moments moments_now;

static void pass(void)
{
    if (!moments_now.act || moments_now.passed++ != moments_now.at)
        return;
    void (*act)(void *) = moments_now.act;
    moments_now.act = NULL;
    act(moments_now.data);
}

ssize_t __real_pread64(int file, void *bytes, size_t size, off_t offset);
ssize_t __wrap_pread64(int file, void *bytes, size_t size, off_t offset);

static ssize_t read_torn(int file, char *bytes, size_t size, off_t offset)
{
    ssize_t got[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        int part = i ^ moments_now.backwards;
        size_t from = part ? moments_now.tear : 0,
               length = part ? size - moments_now.tear : moments_now.tear;
        got[part] = __real_pread64(file, bytes + from, length, offset + (off_t)from);
        if (i == 0)
            pass();
    }
    return got[0] < (ssize_t)moments_now.tear || got[1] < 0 ? got[0] : got[0] + got[1];
}

ssize_t __wrap_pread64(int file, void *bytes, size_t size, off_t offset)
{
    pass();
    ssize_t got = moments_now.act && moments_now.tear && moments_now.tear < size
                      ? read_torn(file, bytes, size, offset)
                      : __real_pread64(file, bytes, size, offset);
    pass();
    return got;
}
