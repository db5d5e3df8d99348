/* SPDX-License-Identifier: MIT
 *
 * Bounds of a thread's stack, as src/unwind finds them without libc's locks, compared with
 * pthread_getattr_np. Tests both ways of asking the kernel. Prints TAP.
 */
#include "unwind/memory.c" /* NOLINT(bugprone-suspicious-include): tests what is static */

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

static int number, failures;

static void tell(bool good, const char *name)
{
    printf("%sok %d - %s\n", good ? "" : "not ", ++number, name);
    failures += !good;
}

static bool finds(uintptr_t address, range *read)
{
    long maps = syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    range asked = {0, 0};
    bool can_ask = ask_map((int)maps, address, &asked);
    bool found = read_map((int)maps, address, read);
    syscall(SYS_close, maps);
    return found && (!can_ask || (asked.low == read->low && asked.high == read->high));
}

/* libc counts its thread descriptor as part of the stack. */
static void *compare(void *name)
{
    enum { DESCRIPTOR = 64 << 10 };
    pthread_attr_t attributes;
    void *base;
    size_t size;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &base, &size);
    pthread_attr_destroy(&attributes);
    uintptr_t low, high, end = (uintptr_t)base + size, here = (uintptr_t)__builtin_frame_address(0);
    crn_unwind_stack_of_thread(&low, &high);
    range read = {0, 0};
    tell(low <= (uintptr_t)base && low < here && here < high && high <= end &&
             end - high < DESCRIPTOR,
         name);
    tell(finds(here, &read) && here >= read.low && here < read.high, "both ways to ask agree");
    return NULL;
}

static void in_thread(const char *name, pthread_attr_t *attributes)
{
    pthread_t id;
    if (pthread_create(&id, attributes, compare, (void *)name) != 0)
        abort();
    pthread_join(id, NULL);
    pthread_attr_destroy(attributes);
}

/* ---- on another stack than the thread's own ---- */

static range found; /* on the other stack */
static ucontext_t own_context, other_context;

static void look(void)
{
    crn_unwind_stack_of_thread(&found.low, &found.high);
}

/* Finds the bounds of the calling thread's own stack while it runs on another one. */
static bool finds_own_elsewhere(char *stack, size_t size)
{
    range own;
    getcontext(&other_context);
    other_context.uc_stack = (stack_t){.ss_sp = stack, .ss_size = size};
    other_context.uc_link = &own_context;
    makecontext(&other_context, look, 0);
    swapcontext(&own_context, &other_context);
    crn_unwind_stack_of_thread(&own.low, &own.high);
    return found.low == own.low && found.high == own.high &&
           holds(found, (uintptr_t)__builtin_frame_address(0)) && !holds(found, (uintptr_t)stack);
}

static void *run_elsewhere(void *stack)
{
    tell(finds_own_elsewhere(stack, 64 << 10), "a thread that runs on a coroutine's stack");
    return NULL;
}

/* The limit of the first thread's stack is raised, as make does: mappings are within it. */
static void raise_limit(char *stack, size_t size)
{
    struct rlimit limit;
    getrlimit(RLIMIT_STACK, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_STACK, &limit);
    tell(finds_own_elsewhere(stack, size),
         "the first thread, on a coroutine's stack, with a raised limit");
}

static void compare_above(void)
{
    const crn_unwind_memory all = {.low = 4096, .high = 8192};
    crn_unwind_memory within = crn_unwind_above(&all, 5000), below = crn_unwind_above(&all, 4095),
                      beyond = crn_unwind_above(&all, 8192);
    tell(within.low == 5000 && within.high == 8192 && below.low == below.high &&
             beyond.low == beyond.high,
         "a walk reads in place what is above its stack pointer, on the thread's own stack");
}

int main(void)
{
    enum { SMALL = 64 << 10, OWN = 1 << 20 };
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    in_thread("a thread with libc's defaults", &attributes);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, SMALL);
    pthread_attr_setguardsize(&attributes, 0);
    in_thread("a small stack without a guard", &attributes);
    char *own = mmap(NULL, 3 * OWN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, own + OWN, OWN);
    in_thread("a stack of the program's own, in the middle of a mapping", &attributes);
    range read = {0, 0};
    uintptr_t low, high, here = (uintptr_t)__builtin_frame_address(0);
    crn_unwind_stack_of_thread(&low, &high);
    tell(finds(here, &read) && low <= read.low && here < high && high <= read.high,
         "the first thread");
    tell(!finds(8, &read), "an address without a mapping");
    pthread_t id;
    if (pthread_create(&id, NULL, run_elsewhere, own) != 0)
        abort();
    pthread_join(id, NULL);
    raise_limit(own, OWN);
    compare_above();
    printf("1..%d\n", number);
    return failures != 0;
}
