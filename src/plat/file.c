/* SPDX-License-Identifier: MIT */
#include "plat/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/memory.h"

/* Moves a descriptor to a high number, so that low numbers stay free for the program's own files.
 * The number is near RLIMIT_NOFILE, but below 1024, because the kernel's table is as long as the
 * highest number. Returns -1 if `file` is -1. Never returns the number of a standard stream, even a
 * closed one. */
static int above_program_files(int file)
{
    enum { TABLE = 1024 };
    struct rlimit limit = {TABLE, TABLE};
    if (file < 0)
        return file;
    getrlimit(RLIMIT_NOFILE, &limit);
    int top = limit.rlim_cur < TABLE ? (int)limit.rlim_cur : TABLE, high = top - top / 16 - 1;
    int moved = fcntl(file, F_DUPFD_CLOEXEC, high > STDERR_FILENO ? high : STDERR_FILENO + 1);
    if (moved < 0 && file <= STDERR_FILENO)
        moved = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    else if (moved < 0)
        return file;
    close(file);
    return moved;
}

static bool is_same(const crn_file *file, int descriptor)
{
    struct stat status;
    return fstat(descriptor, &status) == 0 && status.st_dev == file->device &&
           status.st_ino == file->inode;
}

/* Returns true if `path` does not exist, or is an empty file or a file that begins with `magic`.
 * Otherwise sets errno. */
static bool may_replace(const char *path, const char *magic, size_t size)
{
    struct stat status;
    char begin[16];
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0)
        return errno == ENOENT;
    bool regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    ssize_t got = regular ? read(file, begin, size < sizeof begin ? size : sizeof begin) : -1;
    close(file);
    if (got == 0 || (got == (ssize_t)size && memcmp(begin, magic, size) == 0))
        return true;
    errno = EEXIST;
    return false;
}

/* Stores the working directory. Returns false if it is unknown, or not below the root. The system
 * call itself: the C library's function reads folders and allocates if the kernel's answer does not
 * begin with a slash, which a hidden thread must not. */
static bool find_folder(char *path, size_t size)
{
    return syscall(SYS_getcwd, path, size) > 0 && *path == '/';
}

/* Returns a copy of `path`, made absolute unless the working directory is unknown; free it. NULL
 * without memory. */
static char *absolute(const char *path)
{
    size_t length = strlen(path), folder = *path == '/' ? 0 : PATH_MAX;
    char *whole = crn_try_calloc(folder + length + 2, 1);
    if (!whole)
        return NULL;
    if (folder && find_folder(whole, folder))
        strcat(whole, "/");
    else
        *whole = '\0';
    return strcat(whole, path);
}

/* Creates a hidden file with a unique name in the folder of `path`, readable by its owner only.
 * Returns -1 on an error. The caller frees `*name` in either case. */
static int create_beside(const char *path, char **name)
{
    enum { NAME_ROOM = 64, TRIES = 1000 };
    static unsigned last;
    const char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    *name = crn_try_calloc(folder + NAME_ROOM, 1);
    if (!*name) {
        errno = ENOMEM;
        return -1;
    }
    memcpy(*name, path, folder);
    int file = -1;
    for (int i = 0; i < TRIES && file < 0 && (i == 0 || errno == EEXIST); i++) {
        snprintf(*name + folder, NAME_ROOM, ".cairn.%d.%u", (int)getpid(),
                 __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED));
        file = open(*name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    }
    return file;
}

/* Makes btrfs overwrite blocks in place. Otherwise a write to a mapped page needs a new block, and
 * raises SIGBUS if the disk is full, although the file's space was allocated. Other file systems
 * refuse the flag, which does no harm. The file must be empty. */
static void write_in_place(int file)
{
    int flags, saved = errno;
    if (ioctl(file, FS_IOC_GETFLAGS, &flags) == 0) {
        flags |= FS_NOCOW_FL;
        ioctl(file, FS_IOC_SETFLAGS, &flags);
    }
    errno = saved;
}

/* Stores device and inode of the open, empty file. */
static bool identify(crn_file *file)
{
    struct stat status;
    if (file->descriptor < 0 || fstat(file->descriptor, &status) != 0)
        return false;
    write_in_place(file->descriptor);
    file->device = status.st_dev;
    file->inode = status.st_ino;
    return true;
}

static bool create(crn_file *file, const char *path, const char *magic, size_t size)
{
    int created = -1;
    if (!path)
        created = memfd_create("cairn", MFD_CLOEXEC);
    else if (may_replace(path, magic, size) && (file->wanted = absolute(path)) != NULL)
        created = create_beside(file->wanted, &file->path);
    if (created < 0)
        return false;
    file->descriptor = above_program_files(created);
    if (identify(file))
        return true;
    int error = errno;
    if (file->descriptor >= 0)
        close(file->descriptor);
    if (file->path)
        unlink(file->path);
    errno = error;
    return false;
}

bool crn_file_create(crn_file *file, const char *path, const char *magic, size_t size)
{
    *file = (crn_file){.descriptor = -1};
    if (create(file, path, magic, size))
        return true;
    int error = errno;
    crn_free(file->path);
    crn_free(file->wanted);
    *file = (crn_file){.descriptor = -1};
    errno = error;
    return false;
}

/* Unlinks an earlier file first. Otherwise ext4 writes the new file's blocks to disk within rename,
 * which takes as long as the rest of cairn_profile_open. */
bool crn_file_publish(crn_file *file, const char *magic, size_t size)
{
    if (!file->wanted)
        return true;
    if (!may_replace(file->wanted, magic, size))
        return false;
    unlink(file->wanted);
    if (rename(file->path, file->wanted) != 0)
        return false;
    crn_free(file->path);
    file->path = file->wanted;
    file->wanted = NULL;
    return true;
}

int crn_file_descriptor(crn_file *file)
{
    if (crn_file_is_open(file))
        return file->descriptor;
    int again = file->path ? open(file->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
    if (again < 0)
        return -1;
    if (!is_same(file, again)) {
        close(again);
        errno = ENOENT;
        return -1;
    }
    return file->descriptor = above_program_files(again);
}

bool crn_file_is_open(const crn_file *file)
{
    return is_same(file, file->descriptor);
}

void crn_file_drop(const crn_file *file)
{
    if (crn_file_is_open(file))
        close(file->descriptor);
}

/* Opens the file again by the descriptor table of `thread`. Returns -1 if that fails, or if the
 * number means another file there. */
static int open_of_thread(const crn_file *file, pid_t thread)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/fd/%d", (int)thread, file->descriptor);
    int again = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (again < 0 || is_same(file, again))
        return again;
    close(again);
    return -1;
}

bool crn_file_fetch(crn_file *file, pid_t thread)
{
    int again = open_of_thread(file, thread);
    if (again >= 0)
        file->descriptor = above_program_files(again);
    return again >= 0;
}

bool crn_file_can_fetch(const crn_file *file)
{
    int again = open_of_thread(file, gettid());
    if (again >= 0)
        close(again);
    return again >= 0;
}

bool crn_file_is_nameless(const crn_file *file)
{
    return !file->path && !file->wanted;
}

void crn_file_close(crn_file *file)
{
    crn_file_drop(file);
    if (file->wanted)
        unlink(file->path);
    crn_free(file->path);
    crn_free(file->wanted);
    *file = (crn_file){.descriptor = -1};
}

bool crn_file_may_reach(uint64_t size)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        size <= limit.rlim_cur)
        return true;
    errno = EFBIG;
    return false;
}

/* Writes zeros. `flags` are those of pwritev2. */
static bool write_zeros(int file, uint64_t offset, uint64_t size, int flags)
{
    enum { PARTS = 16 };
    static char nothing[4096]; /* all parts write this one page: one page fault */
    if (!crn_file_may_reach(offset + size))
        return false;
    while (size > 0) {
        struct iovec parts[PARTS];
        int count = 0;
        for (uint64_t left = size; left && count < PARTS; left -= parts[count++].iov_len)
            parts[count] = (struct iovec){nothing, left < sizeof nothing ? left : sizeof nothing};
        ssize_t wrote = pwritev2(file, parts, count, (off_t)offset, flags);
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

bool crn_file_extend(int file, uint64_t offset, uint64_t size)
{
    return write_zeros(file, offset, size, 0);
}

bool crn_file_append(int file, uint64_t offset, uint64_t size)
{
    return write_zeros(file, offset, size, RWF_APPEND) ||
           (errno == EOPNOTSUPP && write_zeros(file, offset, size, 0));
}

char *crn_address_reserve(uint64_t size)
{
    void *base = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return base == MAP_FAILED ? NULL : base;
}

bool crn_address_fill(char *address, uint64_t size)
{
    return mprotect(address, size, PROT_READ | PROT_WRITE) == 0;
}

void crn_address_release(char *base, uint64_t size)
{
    if (base)
        munmap(base, size);
}

bool crn_address_clear(char *address, uint64_t size)
{
    return mmap(address, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                0) != MAP_FAILED;
}

bool crn_address_map(char *address, int file, uint64_t offset, uint64_t size)
{
    return mmap(address, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                (off_t)offset) != MAP_FAILED;
}

void crn_address_fetch(char *address, uint64_t size)
{
#ifdef MADV_POPULATE_READ
    int saved = errno;
    madvise(address, size, MADV_POPULATE_READ);
    errno = saved;
#else
    (void)address;
    (void)size;
#endif
}

bool crn_address_is_limited(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

static bool detach_by_copy(char *address, uint64_t size)
{
    void *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED)
        return false;
    memcpy(copy, address, size);
    return mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, address) != MAP_FAILED;
}

bool crn_address_detach(char *address, int file, uint64_t offset, uint64_t size)
{
    if (file < 0)
        return detach_by_copy(address, size);
    return mmap(address, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file,
                (off_t)offset) != MAP_FAILED;
}
