/* SPDX-License-Identifier: MIT
 *
 * Samples where the kernel allows no events: a thread is stopped (ptrace), its registers and the
 * upper part of its stack are copied, and it goes on. It is traced only while it is stopped, so
 * that its signals and children are its own in between.
 */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "sampler.h"

enum { STACK_MOST = 61440 /* bytes of a stack that are copied, at most */ };

struct crn_stops {
    uint64_t count, longest, total; /* times in ns */
    char stack[STACK_MOST];
};

static bool seize(pid_t thread)
{
    return ptrace(PTRACE_SEIZE, thread, NULL, NULL) == 0;
}

/* Waits until a thread stops, and returns the signal that it is about to get, 0 if none; -1 if it
 * has ended. */
static int wait_for_stop(pid_t thread)
{
    int status;
    while (waitpid(thread, &status, __WALL) != thread)
        if (errno != EINTR)
            return -1;
    if (!WIFSTOPPED(status))
        return -1;
    return status >> 16 ? 0 : WSTOPSIG(status); /* an event is no signal */
}

static bool interrupt(pid_t thread, int *number)
{
    if (ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) != 0)
        return false;
    *number = wait_for_stop(thread);
    return *number >= 0;
}

crn_stops *crn_stops_open(pid_t thread)
{
    enum { PROMPT = -10 };
    int number;
    if (!seize(thread))
        return NULL;
    if (interrupt(thread, &number))
        ptrace(PTRACE_DETACH, thread, NULL, (void *)(intptr_t)number);
    /* A thread stays stopped until we get a core, so we ask for a high priority; it may be
     * refused. */
    setpriority(PRIO_PROCESS, 0, PROMPT);
    return crn_calloc(1, sizeof(crn_stops));
}

void crn_stops_close(crn_stops *stops)
{
    crn_free(stops);
}

static void set_frame(crn_event_sample *sample, const struct user_regs_struct *machine)
{
#if defined(__x86_64__)
    const uintptr_t all[CRN_UNWIND_REGISTERS] = {
        machine->rax, machine->rdx, machine->rcx, machine->rbx, machine->rsi, machine->rdi,
        machine->rbp, machine->rsp, machine->r8,  machine->r9,  machine->r10, machine->r11,
        machine->r12, machine->r13, machine->r14, machine->r15};
    memcpy(sample->registers, all, sizeof all);
    sample->frame = (crn_unwind_frame){
        .pc = machine->rip, .stack = machine->rsp, .frame = machine->rbp, .interrupted = true};
#elif defined(__aarch64__)
    sample->frame = (crn_unwind_frame){
        .pc = machine->pc, .stack = machine->sp, .frame = machine->regs[29], .interrupted = true};
#else
    (void)sample, (void)machine;
#endif
}

/* Copies the stack, up to STACK_MOST bytes or its end. */
static void copy_stack(crn_stops *stops, crn_event_sample *sample)
{
    const uintptr_t from = sample->frame.stack & -(uintptr_t)sizeof(uintptr_t);
    enum { PIECES = STACK_MOST / CRN_UNWIND_PAGE };
    struct iovec there[PIECES + 1], here = {stops->stack, STACK_MOST};
    uintptr_t at = from, end = from + STACK_MOST;
    int count = 0;
    for (; at < end && count <= PIECES; count++) { /* the kernel copies whole pieces only */
        uintptr_t next = (at / CRN_UNWIND_PAGE + 1) * CRN_UNWIND_PAGE;
        there[count] = (struct iovec){(void *)at, (next < end ? next : end) - at};
        at = next;
    }
    ssize_t got = process_vm_readv(sample->thread, &here, 1, there, (unsigned long)count, 0);
    sample->stack = stops->stack;
    sample->stack_size = got > 0 ? (uint64_t)got : 0;
}

/* Reads registers and stack of a thread that has stopped. */
static bool read_thread(crn_stops *stops, crn_event_sample *sample)
{
    struct user_regs_struct machine;
    struct iovec registers = {&machine, sizeof machine};
    if (ptrace(PTRACE_GETREGSET, sample->thread, (void *)NT_PRSTATUS, &registers) != 0)
        return false;
    set_frame(sample, &machine);
    copy_stack(stops, sample);
    return sample->frame.pc != 0;
}

/* Counts a stop: `took`, the time since the request, less `waited`, in which the thread waited for
 * a core. As that wait may have begun before the request, a stop takes at least `seen`, the time in
 * which the thread was known to stand still. */
static void count_stop(crn_stops *stops, uint64_t took, uint64_t waited, uint64_t seen)
{
    took = took > waited + seen ? took - waited : seen;
    stops->count++;
    stops->total += took;
    stops->longest = took > stops->longest ? took : stops->longest;
}

bool crn_stops_take(crn_stops *stops, crn_target *target, crn_event_sample *sample)
{
    uint64_t run, before = 0, after = 0;
    int number;
    *sample = (crn_event_sample){.process = target->space->process, .thread = target->thread};
    if (!seize(target->thread))
        return false;
    crn_target_times(target, &run, &before);
    uint64_t began = crn_outside_now();
    if (!interrupt(target->thread, &number))
        return false;
    uint64_t stopped = crn_outside_now();
    crn_target_times(target, &run, &after);
    bool good = read_thread(stops, sample);
    ptrace(PTRACE_DETACH, target->thread, NULL, (void *)(intptr_t)number);
    sample->time = crn_outside_now();
    count_stop(stops, sample->time - began, after > before ? after - before : 0,
               sample->time - stopped);
    return good;
}

void crn_stops_cost(const crn_stops *stops, uint64_t *count, uint64_t *total, uint64_t *longest)
{
    *count = stops->count;
    *total = stops->total;
    *longest = stops->longest;
}
