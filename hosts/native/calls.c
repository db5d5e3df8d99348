/* SPDX-License-Identifier: MIT
 *
 * Names of system calls, and the files that they wait for.
 */
#include <fcntl.h>
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

/* Returns true for calls that wait for the file of their first argument, a descriptor. */
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

/* Reads the path of the file behind a descriptor; "" if it cannot be read. "socket:[123]" becomes
 * "socket", so that all sockets share a block. */
static void read_file(pid_t thread, uintptr_t descriptor, char target[PATH_MAX])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)thread, (int)descriptor);
    ssize_t length = readlink(path, target, PATH_MAX - 1);
    target[length > 0 ? length : 0] = '\0';
    if (target[0] != '/')
        target[strcspn(target, ":")] = '\0';
}

const char *crn_thread_stat(const char *path, char *text, size_t size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t used = file < 0 ? 0 : read(file, text, size - 1);
    if (file >= 0)
        close(file);
    text[used > 0 ? used : 0] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] ? name_end + 2 : NULL;
}

/* Returns a thread's state, a letter as in /proc/THREAD/stat; 0 if the thread has ended. */
static char state_of(pid_t thread)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)thread);
    const char *state = crn_thread_stat(path, text, sizeof text);
    return state ? *state : 0;
}

bool crn_thread_is_stopped(pid_t thread)
{
    char state = state_of(thread);
    return state == 'T' || state == 't';
}

/* Returns why a thread sleeps outside of system calls; NULL if it does not sleep. */
static const char *other_reason(pid_t thread)
{
    char state = state_of(thread);
    if (state == 'S' || state == 'D')
        return "[page fault]";
    return crn_thread_is_stopped(thread) ? "[stopped]" : NULL;
}

/* ---- blocks that were made ---- */

enum {
    MOST = 4096,            /* beyond, calls are not divided by file */
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

/* Remembers a block, unless there is no memory or the tables are full. */
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

/* Writes the name of a call's block: "[read]", "[read socket]" or "[system call 999]". A path is
 * not part of the name, but the block's file. */
static void write_name(long call, const char *file, char name[64])
{
    if (call < NAMES && names[call])
        snprintf(name, 64, "[%s%s%.32s]", names[call], *file && *file != '/' ? " " : "",
                 *file != '/' ? file : "");
    else
        snprintf(name, 64, "[system call %ld]", call);
}

cairn_block crn_call_block(cairn_profile *profile, pid_t thread, long call, uintptr_t first)
{
    char name[64], file[PATH_MAX] = "";
    if (call < 0) {
        const char *reason = other_reason(thread);
        return reason ? cairn_block_once(profile, &(cairn_block_info){.name = reason}) : 0;
    }
    if (waits_for_file(call) && count < MOST)
        read_file(thread, first, file);
    cairn_block block = find(call, file);
    if (block)
        return block;
    write_name(call, file, name);
    block = cairn_block_add(profile,
                            &(cairn_block_info){.name = name, .file = *file == '/' ? file : ""});
    keep(call, file, block);
    return block;
}
