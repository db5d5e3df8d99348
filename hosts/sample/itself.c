/* SPDX-License-Identifier: MIT
 *
 * Recognises programs that profile themselves, which are not sampled as well.
 */
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sample.h"

enum { LARGEST = 8 << 20 }; /* bytes; larger programs are not searched: it would take too long */

/* Returns 1, which stops the search, for a library that records by itself, such as libcairn.so.0 or
 * libcairn-gcc.so.0; 0 for others, this one and libcairn-alloc.so too. */
static int is_libcairn(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    (void)data;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash ? slash + 1 : info->dlpi_name;
    return strncmp(name, "libcairn", 8) == 0 && strncmp(name, "libcairn-sample", 15) != 0 &&
           strncmp(name, "libcairn-alloc", 14) != 0;
}

/* Returns true if the program was linked with libcairn.a: its file then contains the name of the
 * environment variable CAIRN_OUT. */
static bool is_linked(void)
{
    static const char variable[] = "CAIRN_OUT";
    struct stat info;
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    bool small = file >= 0 && fstat(file, &info) == 0 && info.st_size > 0 && info.st_size < LARGEST;
    void *bytes =
        small ? mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    if (file >= 0)
        close(file);
    if (bytes == MAP_FAILED)
        return false;
    bool found = memmem(bytes, (size_t)info.st_size, variable, sizeof variable - 1) != NULL;
    munmap(bytes, (size_t)info.st_size);
    return found;
}

bool crn_sample_profiles_itself(void)
{
    return dl_iterate_phdr(is_libcairn, NULL) || is_linked();
}
