/* SPDX-License-Identifier: MIT
 *
 * Stacks of a child that ptrace stops at random moments. A thread that runs is stopped alone; its
 * registers and its stack are read while it stands still.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stacks.h"

enum { PAUSE_MOST_NS = 200000, THREADS_MOST = 256 };

/* ---- one stop ---- */

/* Returns false for a new thread: ptrace stops it before its first instruction, so not at random.
 * It has no caller there, though clone3's table says so. */
static bool read_registers(pid_t thread, uintptr_t registers[REGISTER_COUNT])
{
    struct user_regs_struct its = {0};
    ptrace(PTRACE_GETREGS, thread, NULL, &its);
    const uint64_t by_number[REGISTER_COUNT] = {
        its.rax, its.rdx, its.rcx, its.rbx, its.rsi, its.rdi, its.rbp, its.rsp, its.r8,
        its.r9,  its.r10, its.r11, its.r12, its.r13, its.r14, its.r15, its.rip};
    memcpy(registers, by_number, sizeof by_number);
    return its.rax != 0 || (its.orig_rax != SYS_clone3 && its.orig_rax != SYS_clone);
}

/* Reads as much of the range as is mapped from its start on. */
static size_t read_bytes(pid_t process, char *to, uintptr_t from, size_t size)
{
    size_t done = 0;
    while (done < size) {
        size_t part = CRN_UNWIND_PAGE - (from + done) % CRN_UNWIND_PAGE;
        part = part < size - done ? part : size - done;
        struct iovec ours = {to + done, part}, theirs = {(void *)(from + done), part};
        if (process_vm_readv(process, &ours, 1, &theirs, 1, 0) != (ssize_t)part)
            break;
        done += part;
    }
    return done;
}

/* Returns a checksum of the files that are mapped, and where. */
static uint64_t mapped_files(pid_t process)
{
    char path[64], line[1024];
    uint64_t sum = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", process);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (strchr(line, '/'))
            for (const char *at = line; *at; at++)
                sum = (sum ^ (uint8_t)*at) * 0x100000001b3;
    if (file)
        fclose(file);
    return sum;
}

static void compare_stopped(comparison *all, pid_t thread)
{
    static char bytes[BELOW_MOST + STACK_MOST];
    copied_stack stack = {.thread = thread, .bytes = bytes + BELOW_MOST, .below = BELOW_MOST};
    if (!read_registers(thread, stack.registers))
        return;
    size_t size = read_bytes(all->process, bytes, stack.registers[RSP] - BELOW_MOST, sizeof bytes);
    if (size < BELOW_MOST)
        return;
    stack.size = size - BELOW_MOST;
    uint64_t files = mapped_files(all->process);
    all->is_stale |= files != all->files;
    all->files = files;
    compare_stack(all, &stack);
}

/* ---- threads ---- */

/* Returns true if the thread runs or is ready to. */
static bool runs(pid_t process, pid_t thread)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", process, thread);
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] == ' ' && name_end[2] == 'R';
}

/* Returns one of the threads that run, 0 if none does. */
static pid_t choose(pid_t process)
{
    char path[64];
    pid_t found[THREADS_MOST];
    unsigned count = 0;
    snprintf(path, sizeof path, "/proc/%d/task", process);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && count < THREADS_MOST && (entry = readdir(folder));) {
        pid_t thread = atoi(entry->d_name);
        if (thread && runs(process, thread))
            found[count++] = thread;
    }
    if (folder)
        closedir(folder);
    return count ? found[(unsigned)rand() % count] : 0;
}

/* ---- stops ---- */

/* Lets a stopped thread go on, with the signal that it was stopped for, if any. */
static void go_on(pid_t thread, int status)
{
    int event = status >> 16, number = WSTOPSIG(status);
    bool own_stop = event == PTRACE_EVENT_STOP || event == PTRACE_EVENT_CLONE;
    ptrace(PTRACE_CONT, thread, NULL, (void *)(uintptr_t)(own_stop ? 0 : number));
}

/* Waits until the thread has stopped; other threads that stop meanwhile go on. Returns the thread's
 * status; -1 if the process has ended. */
static int wait_for(const comparison *all, pid_t thread)
{
    for (int status;;) {
        pid_t stopped = waitpid(-1, &status, __WALL);
        if (stopped < 0 || (stopped == all->process && !WIFSTOPPED(status)))
            return -1;
        if (stopped == thread)
            return status;
        if (WIFSTOPPED(status))
            go_on(stopped, status);
    }
}

/* Handles what happened without being asked for. Returns false if the process has ended. */
static bool drain(const comparison *all)
{
    int status;
    for (pid_t stopped; (stopped = waitpid(-1, &status, __WALL | WNOHANG)) != 0;) {
        if (stopped < 0 || (stopped == all->process && !WIFSTOPPED(status)))
            return false;
        if (WIFSTOPPED(status))
            go_on(stopped, status);
    }
    return true;
}

static void pause_at_random(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1 + rand() % PAUSE_MOST_NS}, NULL);
}

bool compare_stops(comparison *all, uint64_t most, int go)
{
    ptrace(PTRACE_SEIZE, all->process, NULL, (void *)(uintptr_t)PTRACE_O_TRACECLONE);
    close(go);
    while (all->compared < most && drain(all)) {
        pause_at_random();
        pid_t thread = choose(all->process);
        if (!thread || ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) != 0)
            continue;
        int stop = wait_for(all, thread);
        if (stop == -1)
            return true;
        if (!WIFSTOPPED(stop)) /* the thread ended first */
            continue;
        if (stop >> 16 == PTRACE_EVENT_STOP)
            compare_stopped(all, thread);
        go_on(thread, stop);
    }
    return all->compared < most;
}
