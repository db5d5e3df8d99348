/* SPDX-License-Identifier: MIT
 *
 * cases_files.c - closed descriptors, full disks, limits, a system without /proc.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "program.h"

enum { FILES = 1100, SIZE = 8192 };

/* A file of the case's own beside the capture. */
static const char *beside(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s.%s", capture_path, name);
    return path;
}

static void fill(char *bytes, int seed)
{
    for (int i = 0; i < SIZE; i++)
        bytes[i] = (char)(seed * 7 + i * 13 + 1);
}

/* Opens files until all descriptors are in use, and returns their number. */
static int open_own_files(int *files)
{
    static char bytes[SIZE];
    int count = 0;
    for (; count < FILES; count++) {
        files[count] = memfd_create("own", MFD_CLOEXEC);
        if (files[count] < 0)
            break;
        fill(bytes, count);
        must(write(files[count], bytes, SIZE) == SIZE, "write");
    }
    return count;
}

static void check_own_files(const int *files, int count)
{
    static char expected[SIZE], found[2 * SIZE];
    int changed = 0;
    for (int i = 0; i < count; i++) {
        fill(expected, i);
        ssize_t got = pread(files[i], found, sizeof found, 0);
        changed += got != SIZE || memcmp(expected, found, SIZE) != 0;
        changed += close(files[i]) != 0;
    }
    printf("%d files, %d changed or gone\n", count, changed);
}

static void raise_limit(void)
{
    setrlimit(RLIMIT_NOFILE, &(const struct rlimit){FILES + 200, FILES + 200});
}

/* Closes all descriptors, as daemons do, and opens files that get the closed numbers. */
CASE(closes_all_descriptors_and_uses_their_numbers, 0)
{
    static int files[FILES];
    raise_limit();
    work(100);
    closefrom(3);
    int count = open_own_files(files);
    work(1000);
    grow(0, MANY_COUNT);
    check_own_files(files, count);
    work(100);
    checked();
}

CASE(closes_all_descriptors_and_moves, 0)
{
    work(100);
    must(chdir("/") == 0, "chdir");
    closefrom(3);
    grow(0, MANY_COUNT);
    work(100);
    checked();
}

CASE(closes_descriptors_while_others_grow, 0)
{
    for (unsigned i = 0; i < MANY_COUNT; i += 10) {
        closefrom(3);
        grow(i, 10);
    }
    checked();
}

/* The capture cannot be opened again: mapped memory stays, and counting goes on. */
CASE(closes_all_descriptors_of_a_capture_that_is_gone, NO_CAPTURE)
{
    static int files[FILES];
    raise_limit();
    work(100);
    unlink(capture_path);
    closefrom(3);
    int count = open_own_files(files);
    grow(0, MANY_COUNT);
    work(100);
    check_own_files(files, count);
    checked();
}

CASE(numbers_of_its_own_files, 0)
{
    int first = open("/dev/null", O_RDONLY | O_CLOEXEC), second = dup(0);
    int ends[2];
    must(pipe2(ends, O_CLOEXEC) == 0, "pipe");
    printf("%d %d %d %d\n", first, second, ends[0], ends[1]);
    report();
    checked();
}

CASE(standard_streams_closed_before, LATE)
{
    int out = dup(1);
    close(0);
    close(1);
    close(2);
    begin();
    work(100);
    grow(0, 2000);
    int zero = open("/dev/null", O_RDONLY), one = dup2(out, 1), two = open("/dev/null", O_WRONLY);
    close(out);
    printf("%d %d %d\n", zero, one, two);
    checked();
}

CASE(standard_streams_closed_after, 0)
{
    int out = dup(1);
    work(100);
    closefrom(out + 1);
    close(0);
    close(1);
    close(2);
    grow(0, MANY_COUNT);
    int zero = open("/dev/null", O_RDONLY);
    dup2(out, 1);
    dup2(out, 2);
    close(out);
    printf("%d\n", zero);
    checked();
}

CASE(no_descriptors_to_be_had, LATE | MAY_NOT_OPEN)
{
    setrlimit(RLIMIT_NOFILE, &(const struct rlimit){3, 3});
    begin();
    work(1000);
    checked();
}

CASE(few_descriptors_to_be_had, LATE)
{
    setrlimit(RLIMIT_NOFILE, &(const struct rlimit){5, 1024});
    begin();
    work(1000);
    grow(0, MANY_COUNT);
    int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    printf("next %d\n", next);
    close(next);
    setrlimit(RLIMIT_NOFILE, &(const struct rlimit){1024, 1024});
    checked();
}

CASE(descriptors_limited_later, 0)
{
    work(100);
    setrlimit(RLIMIT_NOFILE, &(const struct rlimit){3, 3});
    grow(0, MANY_COUNT);
    checked();
}

/* ---- space ---- */

static int signals;

static void count_signal(int signal)
{
    (void)signal;
    signals++;
}

/* SIGXFSZ and EFBIG come from the program's own writes. */
CASE(files_limited_later, MAY_LOSE)
{
    static char bytes[1 << 16];
    struct stat capture = {0};
    signal(SIGXFSZ, count_signal);
    work(100);
    stat(capture_path, &capture);
    setrlimit(RLIMIT_FSIZE, &(const struct rlimit){1 << 16, RLIM_INFINITY});
    grow(0, 1500);
    work(100);
    printf("%d signals before\n", signals);
    int file = open(beside("own"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    unlink(beside("own"));
    must(write(file, bytes, sizeof bytes) == sizeof bytes, "write");
    ssize_t more = write(file, bytes, 1);
    printf("%zd, %s, %d signals\n", more, strerror(errno), signals);
    close(file);
    checked();
}

CASE(file_limit_kills, MAY_LOSE)
{
    static char bytes[1 << 16];
    work(100);
    setrlimit(RLIMIT_FSIZE, &(const struct rlimit){1 << 15, RLIM_INFINITY});
    grow(0, 1500);
    checked();
    int file = open(beside("own"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    unlink(beside("own"));
    while (write(file, bytes, sizeof bytes) > 0)
        ;
}

static char disk[512];

static void unmount(void)
{
    umount2(disk, MNT_DETACH);
    rmdir(disk);
}

CASE(disk_is_full, LATE | NO_CAPTURE)
{
    static char capture[600], own_file[600];
    static char bytes[1 << 12];
    snprintf(disk, sizeof disk, "%s.disk", capture_path);
    if (mkdir(disk, 0700) != 0 || mount("none", disk, "tmpfs", 0, "size=300k") != 0) {
        rmdir(disk);
        skip("not allowed to mount a small disk");
    }
    atexit(unmount);
    snprintf(capture, sizeof capture, "%s/x.cairn", disk);
    snprintf(own_file, sizeof own_file, "%s/own", disk);
    capture_path = capture;
    begin();
    int file = open(own_file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    while (write(file, bytes, sizeof bytes) > 0)
        ;
    printf("%s\n", strerror(errno));
    grow(0, MANY_COUNT);
    work(1000);
    close(file);
    checked();
}

CASE(no_path_for_the_capture, LATE | MAY_NOT_OPEN)
{
    capture_path = "/nowhere/at/all/x.cairn";
    begin();
    work(100);
    checked();
}

CASE(relative_path_and_another_directory, LATE)
{
    char *slash = strrchr(capture_path, '/');
    *slash = 0;
    must(chdir(capture_path) == 0, "chdir");
    *slash = '/';
    const char *whole = capture_path;
    capture_path = slash + 1;
    begin();
    capture_path = whole;
    must(chdir("/") == 0, "chdir");
    closefrom(3);
    grow(0, MANY_COUNT);
    checked();
}

CASE(umask_is_its_own, 0)
{
    umask(077);
    grow(0, 1000);
    checked();
}

/* ---- permissions ---- */

/* Changes the root to an empty directory with nothing but the capture. */
static void enter_empty_room(void)
{
    static char inside[512];
    char *slash = strrchr(capture_path, '/');
    snprintf(inside, sizeof inside, "%s", slash);
    *slash = 0;
    if (chroot(capture_path) != 0)
        skip("not allowed to chroot");
    must(chdir("/") == 0, "chdir");
    capture_path = inside;
    must(access("/proc", F_OK) != 0, "/proc is there");
}

CASE(system_without_proc, LATE)
{
    enter_empty_room();
    begin();
    work(1000);
    grow(0, MANY_COUNT);
    checked();
}

CASE(changes_its_root_later, 0)
{
    work(100);
    enter_empty_room();
    grow(0, MANY_COUNT);
    checked();
}

/* glibc signals all threads to change their user, and would wait forever for one that blocks the
 * signal. */
CASE(gives_up_its_rights, 0)
{
    if (geteuid() != 0)
        skip("has no rights to give up");
    work(100);
    must(setgid(65534) == 0 && setuid(65534) == 0, "setuid");
    grow(0, MANY_COUNT);
    work(100);
    printf("%d %d\n", (int)getuid(), (int)geteuid());
    checked();
}

/* seccomp returns an error, as in containers. A filter that kills the process cannot be
 * survived. */
CASE(writing_at_a_place_is_refused, MAY_LOSE)
{
    const struct sock_filter lines[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwrite64, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {4, (struct sock_filter *)lines};
    work(100);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        skip("not allowed to filter system calls");
    grow(0, 1500);
    work(100);
    checked();
}

static void limit_addresses(rlim_t most)
{
    setrlimit(RLIMIT_AS, &(const struct rlimit){most, RLIM_INFINITY});
}

CASE(address_space_is_limited, LATE | MAY_NOT_OPEN | MAY_LOSE | NO_SANITIZER)
{
    limit_addresses(16 << 20);
    begin();
    work(100);
    grow(0, 1500);
    limit_addresses(RLIM_INFINITY);
    checked();
}

CASE(address_space_is_limited_later, MAY_LOSE | NO_SANITIZER)
{
    work(100);
    limit_addresses(1 << 20);
    grow(0, 1500);
    work(100);
    limit_addresses(RLIM_INFINITY);
    checked();
}
