/* SPDX-License-Identifier: MIT */
#include "plat/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* A program whose standard streams are closed must not find the file in their place. */
static int above_standard_streams(int file)
{
    if (file < 0 || file > STDERR_FILENO)
        return file;
    int moved = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(file);
    return moved;
}

static bool may_replace(const char *path, const char *magic, size_t size)
{
    struct stat status;
    char begin[16];
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0)
        return false;
    bool regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    ssize_t got = regular ? read(file, begin, size < sizeof begin ? size : sizeof begin) : -1;
    close(file);
    if (got == 0 || (got == (ssize_t)size && memcmp(begin, magic, size) == 0))
        return true;
    errno = EEXIST;
    return false;
}

int crn_file_create(const char *path, const char *magic, size_t size)
{
    if (!path)
        return above_standard_streams(memfd_create("cairn", MFD_CLOEXEC));
    int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    int file = open(path, flags, 0666);
    if (file < 0 && errno == EEXIST && may_replace(path, magic, size) && unlink(path) == 0)
        file = open(path, flags, 0666);
    return above_standard_streams(file);
}

bool crn_file_extend(int file, uint64_t offset, uint64_t size)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        offset + size > limit.rlim_cur) {
        errno = EFBIG;
        return false;
    }
    static const char nothing[1 << 16];
    while (size > 0) {
        ssize_t wrote =
            pwrite(file, nothing, size < sizeof nothing ? size : sizeof nothing, (off_t)offset);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0) {
            errno = wrote < 0 ? errno : ENOSPC;
            return false;
        }
        offset += (uint64_t)wrote;
        size -= (uint64_t)wrote;
    }
    return true;
}

char *crn_address_reserve(uint64_t size)
{
    void *base = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return base == MAP_FAILED ? NULL : base;
}

void crn_address_release(char *base, uint64_t size)
{
    if (base)
        munmap(base, size);
}

bool crn_address_map(char *address, int file, uint64_t offset, uint64_t size)
{
    return mmap(address, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                (off_t)offset) != MAP_FAILED;
}

bool crn_address_detach(char *address, int file, uint64_t offset, uint64_t size)
{
    return mmap(address, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file,
                (off_t)offset) != MAP_FAILED;
}
