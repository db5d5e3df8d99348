/* SPDX-License-Identifier: MIT
 *
 * A program whose stacks and code are not where a profiler may expect them. It knows nothing of
 * Cairn.
 *
 * usage: program PART; prints "done" and returns 7 if all went as it does alone.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "work.h"

enum { PAGE = 4096, STACK = 1 << 16, FILLED = 0x5a };

static char *map(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        fail("mmap");
    return memory;
}

/* ---- small stacks of signal handlers ---- */

/* Works with an alternate stack of that size. What is below it is the program's. */
static void work_beside(char *memory, size_t size)
{
    memset(memory, FILLED, STACK);
    stack_t stack = {.ss_sp = memory + STACK - size, .ss_size = size};
    if (sigaltstack(&stack, NULL) != 0) /* smaller than this processor's registers */
        return;
    work(40);
    for (size_t i = 0; i < STACK - size; i++)
        if (memory[i] != FILLED) {
            printf("written below a stack of %zu bytes\n", size);
            break;
        }
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
}

static void alternate(void)
{
    char *memory = map(STACK);
    for (size_t size = PAGE; size <= 4 * PAGE; size += PAGE / 2)
        work_beside(memory, size);
    munmap(memory, STACK);
}

/* A handler that has used most of its stack is interrupted. */
static void work_on_little(int number)
{
    (void)number;
    char *volatile used = __builtin_alloca(3 * PAGE);
    used[0] = 0;
    work(40);
}

static void nested(void)
{
    enum { SIZE = 5 * PAGE };
    char *memory = map(STACK);
    stack_t stack = {.ss_sp = memory + STACK - SIZE, .ss_size = SIZE};
    struct sigaction action = {.sa_handler = work_on_little, .sa_flags = SA_ONSTACK};
    memset(memory, FILLED, STACK);
    sigaction(SIGUSR1, &action, NULL);
    if (sigaltstack(&stack, NULL) != 0)
        return;
    raise(SIGUSR1);
    for (size_t i = 0; i < STACK - SIZE; i++)
        if (memory[i] != FILLED) {
            puts("written below a stack in use");
            break;
        }
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
}

/* ---- stacks of coroutines ---- */

static ucontext_t thread_context, upper_context, lower_context;
static char *stacks; /* the lower coroutine's, then the upper one's */
static void *volatile kept[8];

__attribute__((noinline)) static void allocate(int depth)
{
    if (depth)
        allocate(depth - 1);
    else
        for (int i = 0; i < 8; i++)
            kept[i] = malloc(64);
    sink++; /* no tail call */
}

static void run_upper(void)
{
    allocate(10);
    work(40);
    swapcontext(&upper_context, &lower_context);
}

/* The upper coroutine's stack goes away while this one runs. */
static void run_lower(void)
{
    munmap(stacks + STACK, STACK);
    allocate(3);
    work(40);
    swapcontext(&lower_context, &thread_context);
}

static void prepare(ucontext_t *context, char *stack, void (*run)(void))
{
    getcontext(context);
    context->uc_stack.ss_sp = stack;
    context->uc_stack.ss_size = STACK;
    context->uc_link = &thread_context;
    makecontext(context, run, 0);
}

/* The thread's first allocation is in a coroutine. */
static void *run_coroutines(void *data)
{
    stacks = map(2 * STACK);
    prepare(&upper_context, stacks + STACK, run_upper);
    prepare(&lower_context, stacks, run_lower);
    swapcontext(&thread_context, &upper_context);
    allocate(2);
    work(40);
    munmap(stacks, STACK);
    return data;
}

static void coroutines(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_coroutines, NULL) != 0)
        fail("pthread_create");
    pthread_join(thread, NULL);
}

/* As make does: the first thread's stack may grow without limit, for all that the kernel knows. */
static void unlimited(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_STACK, &limit);
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_STACK, &limit) != 0)
        fail("setrlimit");
    run_coroutines(NULL);
}

/* ---- unloaded code ---- */

/* Works in two libraries by turns. Each is unloaded before the other is loaded, to the same place.
 */
static void unloaded(void)
{
    for (int i = 0; i < 20; i++) {
        bool second = i / 2 % 2;
        void *library = dlopen(getenv(second ? "SECOND" : "FIRST"), RTLD_NOW);
        void (*run)(void) = NULL;
        if (library)
            *(void **)&run = dlsym(library, second ? "second_work" : "first_work");
        if (!run) {
            puts(dlerror());
            failed = true;
            return;
        }
        for (uint64_t end = own_cpu() + 20 * 1000000; own_cpu() < end;)
            run();
        dlclose(library);
    }
}

/* ---- words that are no return addresses ---- */

/* Calls code of no file that keeps a frame pointer, as if its caller were at `caller`. */
static void stray(void)
{
#ifdef __x86_64__
    static const unsigned char code[] = {0x55,                         /* push %rbp */
                                         0x48, 0x89, 0xfd,             /* mov %rdi, %rbp */
                                         0x48, 0xff, 0xce, 0x75, 0xfb, /* 1: dec %rsi; jnz 1b */
                                         0x5d, 0xc3};                  /* pop %rbp; ret */
    static const uintptr_t callers[] = {1,
                                        2,
                                        PAGE,
                                        UINTPTR_MAX,
                                        UINTPTR_MAX - 8,
                                        (uintptr_t)1 << 63 | 1,
                                        (uintptr_t)1 << 62 | 4096};
    void *memory = map(PAGE);
    void (*run)(volatile uintptr_t * frame, unsigned long turns);
    memcpy(memory, code, sizeof code);
    mprotect(memory, PAGE, PROT_READ | PROT_EXEC);
    *(void **)&run = memory;
    for (size_t i = 0; i < sizeof callers / sizeof *callers; i++) {
        volatile uintptr_t frame[] = {0, callers[i]};
        for (uint64_t end = own_cpu() + 20 * 1000000; own_cpu() < end;)
            run(frame, 100000);
    }
#endif
    work(20);
}

/* ---- wrong addresses that the kernel reports ---- */

static void refused(void)
{
    enum { SET = 8 };
    const sigset_t *volatile none = NULL;
    void *volatile wrong = (void *)8;
    struct timespec at_once = {0, 0};
    int number;
    work(20);
    if (syscall(SYS_rt_sigaction, SIGUSR1, wrong, NULL, SET) != -1 || errno != EFAULT)
        fail("rt_sigaction");
    if (sigtimedwait(none, NULL, &at_once) != -1 || errno != EFAULT)
        fail("sigtimedwait");
    if (sigwaitinfo(none, NULL) != -1 || errno != EFAULT)
        fail("sigwaitinfo");
    if (sigwait(none, &number) != EFAULT)
        fail("sigwait");
    if (signalfd(-1, none, 0) != -1)
        fail("signalfd");
}

static const struct {
    const char *name;
    void (*run)(void);
} parts[] = {{"alternate", alternate}, {"nested", nested},     {"coroutines", coroutines},
             {"unlimited", unlimited}, {"unloaded", unloaded}, {"stray", stray},
             {"refused", refused}};

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (argc > 1 && strcmp(argv[1], parts[i].name) == 0) {
            parts[i].run();
            puts("done");
            return failed ? 1 : 7;
        }
    return 2;
}
