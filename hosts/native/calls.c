/* SPDX-License-Identifier: MIT
 *
 * Names of system calls, and the files that they wait for.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calls.h"
#include "pages.h"

static const char *const names[] = {
#include "calls.inc"
};

enum { NAMES = sizeof names / sizeof *names };

/* Returns true for calls that wait for the file of their first argument. */
static bool waits_for_file(long call)
{
    static const long calls[] = {SYS_read,     SYS_write,    SYS_readv,     SYS_writev, SYS_pread64,
                                 SYS_pwrite64, SYS_recvfrom, SYS_recvmsg,   SYS_sendto, SYS_sendmsg,
                                 SYS_connect,  SYS_fsync,    SYS_fdatasync, SYS_flock,  SYS_ioctl,
                                 SYS_accept4,  SYS_accept};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i] == call)
            return true;
    return false;
}

/* Reads the target of a descriptor. "socket:[123]" becomes "socket": one is like another. */
static void read_file(pid_t process, uintptr_t descriptor, char target[PATH_MAX])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)process, (int)descriptor);
    ssize_t length = readlink(path, target, PATH_MAX - 1);
    target[length > 0 ? length : 0] = '\0';
    if (target[0] != '/')
        target[strcspn(target, ":")] = '\0';
}

/* ---- blocks that were made ---- */

enum {
    MOST = 4096,            /* further ones are not told apart */
    TEXT_SIZE = MOST * 256, /* of all paths */
};

typedef struct made {
    long call;
    const char *file;
    cairn_block block;
} made;

static made *all;
static size_t count, text_used;
static char *text;

static cairn_block find(long call, const char *file)
{
    for (size_t i = 0; i < count; i++)
        if (all[i].call == call && strcmp(all[i].file, file) == 0)
            return all[i].block;
    return 0;
}

/* Keeps a block, if there is memory. */
static void keep(long call, const char *file, cairn_block block)
{
    size_t size = strlen(file) + 1;
    if (!all)
        all = crn_pages(MOST * sizeof *all);
    if (!text)
        text = crn_pages(TEXT_SIZE);
    if (!all || !text || count == MOST || size > TEXT_SIZE - text_used)
        return;
    memcpy(text + text_used, file, size);
    all[count++] = (made){call, text + text_used, block};
    text_used += size;
}

cairn_block crn_call_block(cairn_profile *profile, pid_t process, long call, uintptr_t first)
{
    char name[64], file[PATH_MAX] = "";
    if (waits_for_file(call) && count < MOST)
        read_file(process, first, file);
    cairn_block block = find(call, file);
    if (block)
        return block;
    if (call < NAMES && names[call])
        snprintf(name, sizeof name, "[%s%s%.32s]", names[call], *file && *file != '/' ? " " : "",
                 *file != '/' ? file : "");
    else
        snprintf(name, sizeof name, "[system call %ld]", call);
    block = cairn_block_add(profile,
                            &(cairn_block_info){.name = name, .file = *file == '/' ? file : ""});
    keep(call, file, block);
    return block;
}
