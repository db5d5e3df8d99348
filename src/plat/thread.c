/* SPDX-License-Identifier: MIT */
#include "plat/thread.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATH_SIZE = 48 };

/* Encodes a thread's clock as the kernel does: inverted thread number, then type bits. */
clockid_t crn_thread_clock(pid_t thread)
{
    enum { PER_THREAD = 4, SCHEDULED = 2 };
    return (clockid_t)(~(unsigned)thread << 3 | PER_THREAD | SCHEDULED);
}

bool crn_thread_time(clockid_t clock, uint64_t *ns)
{
    struct timespec time;
    if (clock_gettime(clock, &time) != 0)
        return false;
    *ns = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    return true;
}

uint64_t crn_thread_own_time(void)
{
    uint64_t ns = 0;
    crn_thread_time(CLOCK_THREAD_CPUTIME_ID, &ns);
    return ns;
}

/* The first version of the kernel's struct sched_attr. */
typedef struct wish {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
} wish;

/* Asks for short time slices: from Linux 6.12 on, `runtime` of a SCHED_OTHER thread is its time
 * slice, and threads with short slices are scheduled sooner. */
void crn_thread_be_prompt(void)
{
    enum { TURN_NS = 200000, PROMPT = -10 };
    wish wish = {.size = sizeof wish};
    if (syscall(SYS_sched_getattr, 0, &wish, sizeof wish, 0) != 0 || wish.policy != SCHED_OTHER)
        return;
    int32_t nice = wish.nice;
    wish.size = sizeof wish;
    wish.runtime = TURN_NS;
    wish.nice = nice < PROMPT ? nice : PROMPT;
    if (syscall(SYS_sched_setattr, 0, &wish, 0) == 0)
        return;
    wish.nice = nice; /* raising the priority needs a privilege */
    syscall(SYS_sched_setattr, 0, &wish, 0);
}

unsigned crn_thread_cores(void)
{
    enum { MOST = 1 << 16 };
    cpu_set_t usual;
    unsigned cores = sched_getaffinity(0, sizeof usual, &usual) ? 0 : (unsigned)CPU_COUNT(&usual);
    /* The kernel refuses a set that is smaller than its own set. */
    for (size_t room = 2 * CPU_SETSIZE; room <= MOST && !cores; room *= 2) {
        cpu_set_t *set = CPU_ALLOC(room);
        if (set && sched_getaffinity(0, CPU_ALLOC_SIZE(room), set) == 0)
            cores = (unsigned)CPU_COUNT_S(CPU_ALLOC_SIZE(room), set);
        CPU_FREE(set);
    }
    return cores ? cores : 1;
}

/* Writes the path of a file in /proc about a thread of this process. Needs nothing of the C
 * library, for threads that it does not know. */
static void path_about(char path[PATH_SIZE], pid_t thread, const char *name)
{
    static const char folder[] = "/proc/self/task/";
    enum { DIGITS = 10, BASE = 10 };
    char digits[DIGITS];
    unsigned count = 0, rest = (unsigned)thread;
    do
        digits[count++] = (char)('0' + rest % BASE);
    while ((rest /= BASE) && count < DIGITS);
    memcpy(path, folder, sizeof folder - 1);
    path += sizeof folder - 1;
    while (count)
        *path++ = digits[--count];
    *path++ = '/';
    strcpy(path, name);
}

/* Reads the begin of a file in /proc about a thread of this process. Returns false if it cannot be
 * read. */
static bool read_about(pid_t thread, const char *name, char *text, size_t size)
{
    char path[PATH_SIZE];
    path_about(path, thread, name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t got = read(file, text, size - 1);
    close(file);
    text[got > 0 ? got : 0] = 0;
    return got > 0;
}

/* Reads the thread's state, which follows its name in parentheses; the name may contain parentheses
 * itself. */
bool crn_thread_is_runnable(pid_t thread)
{
    char text[128];
    if (!read_about(thread, "stat", text, sizeof text))
        return true;
    const char *name_end = strrchr(text, ')');
    return !name_end || name_end[1] != ' ' || name_end[2] == 'R';
}

/* schedstat is "CPU READY TURNS": processor time and ready time in ns, and a count. */
bool crn_thread_ready_time(pid_t thread, uint64_t *ns)
{
    enum { DECIMAL = 10 };
    char text[96];
    if (!read_about(thread, "schedstat", text, sizeof text))
        return false;
    const char *second = strchr(text, ' ');
    if (second)
        *ns = strtoull(second, NULL, DECIMAL);
    return second != NULL;
}

/* Returns the number of threads; 0 if unknown. */
static unsigned count_threads(void)
{
    enum { DOTS = 2 };
    struct stat tasks;
    return stat("/proc/self/task", &tasks) == 0 ? (unsigned)tasks.st_nlink - DOTS : 0;
}

bool crn_thread_is_alone(unsigned others)
{
    return count_threads() == 1 + others;
}

/* Returns false for a thread that has ended but still exists, such as the main thread while other
 * threads run: such a thread has no executable. Opens no file. */
static bool has_program(pid_t thread)
{
    char path[PATH_SIZE], program[8];
    path_about(path, thread, "exe");
    return readlink(path, program, sizeof program) > 0;
}

bool crn_thread_are_last(unsigned count)
{
    return count_threads() == 1 + count && has_program(gettid()) && !has_program(getpid());
}

int crn_thread_first_exit_status(void)
{
    enum { STATE = 3, EXIT_CODE = 52, BYTE = 8, LOW = 0x7f };
    char path[PATH_SIZE], text[1024];
    path_about(path, getpid(), "stat");
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file >= 0 ? read(file, text, sizeof text - 1) : 0;
    if (file >= 0)
        close(file);
    text[got > 0 ? got : 0] = 0;
    const char *field = strrchr(text, ')'); /* the end of field 2, which may contain spaces */
    for (int number = STATE - 1; field && number < EXIT_CODE; number++)
        field = strchr(field + 1, ' ');
    long code = field ? strtol(field, NULL, 10) : 0;
    return code & LOW ? 0 : (int)(code >> BYTE);
}

void crn_thread_wait_until_gone(int number)
{
    const struct timespec moment = {.tv_nsec = 20000};
    const int turns = 14000; /* about a second: the number may be another thread's by now */
    int process = (int)getpid();
    for (int i = 0; i < turns && syscall(SYS_tgkill, process, number, 0) == 0; i++)
        syscall(SYS_nanosleep, &moment, NULL); /* nanosleep() would be a cancellation point */
}

/* Gives the calling thread a file table of its own, and closes descriptors `first` to `last`
 * there. */
static bool close_apart(unsigned first, unsigned last)
{
#ifdef SYS_close_range
    enum { UNSHARE = 2 };
    return syscall(SYS_close_range, first, last, UNSHARE) == 0;
#else
    (void)first;
    (void)last;
    return false;
#endif
}

bool crn_thread_leave_files(void)
{
    return close_apart(0, ~0u);
}

bool crn_thread_leave_files_but(int file)
{
    return close_apart((unsigned)file + 1, ~0u) &&
           (file == 0 || close_apart(0, (unsigned)file - 1));
}
