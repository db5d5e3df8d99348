/* SPDX-License-Identifier: MIT */
#include "plat/hidden_thread.h"

#if defined(__x86_64__) && defined(__LP64__) && defined(__GLIBC__) && __GLIBC_PREREQ(2, 32) &&     \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <errno.h>
#include <link.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plat/clock.h"
#include "plat/futex.h"

enum {
    PAGE = 4096,
    VARIABLES_MOST = 1 << 20, /* bytes of thread-local variables below the thread pointer */
    DESCRIPTOR = 2 * PAGE     /* bytes above it: more than the C library's descriptor has */
};

/* The sanitizers' runtimes call functions of the C library on each thread, signals included. */
extern void __asan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));

bool crn_hidden_thread_is_useful(void)
{
    return __libc_single_threaded && !__asan_init && !__tsan_init;
}

/* ---- thread-local variables ---- */

static char *thread_pointer(void)
{
    char *pointer;
    __asm__("mov %%fs:0, %0" : "=r"(pointer));
    return pointer;
}

static __thread char example __attribute__((tls_model("initial-exec")));

/* A pass over the loaded objects. Their variables are at the same distances below each thread's
 * pointer. */
typedef struct variables {
    char *own;   /* the calling thread's pointer */
    char *new;   /* the new thread's; NULL: the pass only measures */
    size_t size; /* bytes below the pointer */
} variables;

static void look_at(variables *all, const struct dl_phdr_info *object, const ElfW(Phdr) * header)
{
    size_t distance = (size_t)(all->own - (char *)object->dlpi_tls_data);
    /* The variables of an object that was loaded late are on the heap. Nothing that runs on the
     * thread uses them. */
    if (!object->dlpi_tls_data || distance > VARIABLES_MOST)
        return;
    all->size = distance > all->size ? distance : all->size;
    if (all->new)
        memcpy(all->new - distance, (const void *)(object->dlpi_addr + header->p_vaddr),
               header->p_filesz);
}

static int look(struct dl_phdr_info *object, size_t size, void *data)
{
    (void)size;
    for (unsigned i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_TLS)
            look_at(data, object, object->dlpi_phdr + i);
    return 0;
}

/* Returns true if a pass found the variables of this library and of the C library. */
static bool has_needed(const variables *all)
{
    return (size_t)(all->own - &example) <= all->size &&
           (size_t)(all->own - (char *)&errno) <= all->size;
}

/* Fills in the words above the thread pointer that compiled code reads (tcbhead_t of glibc). The
 * table of dynamic variables stays NULL, so code that looks up a variable by __tls_get_addr
 * crashes. */
static void fill_descriptor(const variables *all)
{
    enum { ITSELF = 0, ITSELF_TOO = 2, GUARD = 5, POINTER_GUARD = 6 };
    uintptr_t *to = (uintptr_t *)(void *)all->new;
    const uintptr_t *from = (const uintptr_t *)(const void *)all->own;
    to[ITSELF] = to[ITSELF_TOO] = (uintptr_t)to;
    to[GUARD] = from[GUARD];
    to[POINTER_GUARD] = from[POINTER_GUARD];
}

/* ---- the thread ---- */

/* Makes the thread by the system call clone, which returns in the new thread, too. That thread
 * takes `run` and `data` from its stack. */
int crn_hidden_clone(unsigned long flags, uintptr_t *stack, uint32_t *parent, uint32_t *child,
                     void *pointer) __attribute__((visibility("hidden")));

/* clang-format off */
__asm__(".text\n"
        ".globl crn_hidden_clone\n"
        ".hidden crn_hidden_clone\n"
        ".type crn_hidden_clone, @function\n"
        "crn_hidden_clone:\n"
        "   .cfi_startproc\n"
        "   mov %rcx, %r10\n"
        "   mov $56, %eax\n" /* clone */
        "   syscall\n"
        "   test %rax, %rax\n"
        "   jz 1f\n"
        "   ret\n"
        "1:\n"
        "   .cfi_undefined rip\n" /* nobody called what follows */
        "   xor %ebp, %ebp\n"
        "   pop %rax\n"
        "   pop %rdi\n"
        "   call *%rax\n"
        "   mov $60, %eax\n" /* exit */
        "   xor %edi, %edi\n"
        "   syscall\n"
        "   hlt\n"
        "   .cfi_endproc\n"
        "   .size crn_hidden_clone, . - crn_hidden_clone\n");
/* clang-format on */

bool crn_hidden_thread_start(crn_hidden_thread *thread, size_t stack_size, void *(*run)(void *),
                             void *data)
{
    const unsigned long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                                CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |
                                CLONE_CHILD_CLEARTID;
    variables all = {.own = thread_pointer()};
    dl_iterate_phdr(look, &all);
    if (!has_needed(&all))
        return false;
    size_t below = PAGE + stack_size + (all.size + PAGE - 1) / PAGE * PAGE;
    thread->size = below + DESCRIPTOR;
    thread->memory = mmap(NULL, thread->size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (thread->memory == MAP_FAILED)
        thread->memory = NULL;
    if (!thread->memory)
        return false;
    mprotect(thread->memory, PAGE, PROT_NONE);
    all.new = thread->memory + below;
    dl_iterate_phdr(look, &all);
    fill_descriptor(&all);
    uintptr_t *stack = (uintptr_t *)(void *)(thread->memory + PAGE + stack_size) - 2;
    stack[0] = (uintptr_t)run;
    stack[1] = (uintptr_t)data;
    thread->number = crn_hidden_clone(flags, stack, &thread->exists, &thread->exists, all.new);
    if (thread->number > 0)
        return true;
    crn_hidden_thread_forget(thread);
    return false;
}

bool crn_hidden_thread_join(crn_hidden_thread *thread, uint64_t until)
{
    for (uint32_t is; (is = __atomic_load_n(&thread->exists, __ATOMIC_ACQUIRE));) {
        if (until && crn_clock_monotonic() >= until)
            return false;
        crn_futex_wait(&thread->exists, is, until, true);
    }
    crn_hidden_thread_forget(thread);
    return true;
}

void crn_hidden_thread_forget(crn_hidden_thread *thread)
{
    if (thread->memory)
        munmap(thread->memory, thread->size);
    thread->memory = NULL;
}

#else

bool crn_hidden_thread_is_useful(void)
{
    return false;
}

bool crn_hidden_thread_start(crn_hidden_thread *thread, size_t stack_size, void *(*run)(void *),
                             void *data)
{
    (void)thread;
    (void)stack_size;
    (void)run;
    (void)data;
    return false;
}

bool crn_hidden_thread_join(crn_hidden_thread *thread, uint64_t until)
{
    (void)thread;
    (void)until;
    return true;
}

void crn_hidden_thread_forget(crn_hidden_thread *thread)
{
    (void)thread;
}

#endif
