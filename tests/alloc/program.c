/* SPDX-License-Identifier: MIT
 *
 * Programs with known allocations by function. Argument: the program; see the table at the end.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "accounts.h"

/* ---- makers ---- */

APART static held by_malloc(size_t size)
{
    errno = 77;
    void *block = malloc(size);
    MUST(errno == 77);
    return account_made(__func__, block, size);
}

APART static held by_calloc(size_t size)
{
    errno = 77;
    char *block = calloc(1, size);
    MUST(errno == 77);
    held held = account_made(__func__, block, size);
    for (size_t i = 0; i < size; i++)
        MUST(block[i] == 0);
    memset(block, 0xaa, size);
    return held;
}

APART static held by_calloc_of_8(size_t size)
{
    void *block = calloc(size / 8, 8);
    return account_made(__func__, block, size / 8 * 8);
}

APART static held by_aligned_alloc(size_t size)
{
    void *block = aligned_alloc(64, (size + 63) / 64 * 64);
    MUST((uintptr_t)block % 64 == 0);
    return account_made(__func__, block, (size + 63) / 64 * 64);
}

APART static held by_posix_memalign(size_t size)
{
    void *block = NULL;
    errno = 77;
    MUST(posix_memalign(&block, 4096, size) == 0 && errno == 77);
    MUST((uintptr_t)block % 4096 == 0);
    return account_made(__func__, block, size);
}

APART static held by_memalign(size_t size)
{
    void *block = memalign(256, size);
    MUST((uintptr_t)block % 256 == 0);
    return account_made(__func__, block, size);
}

APART static held by_valloc(size_t size)
{
    void *block = valloc(size);
    MUST((uintptr_t)block % 4096 == 0);
    return account_made(__func__, block, size);
}

APART static held by_pvalloc(size_t size)
{
    void *block = pvalloc(size);
    MUST((uintptr_t)block % 4096 == 0);
    return account_made(__func__, block, size);
}

APART static held by_realloc(held from, size_t size)
{
    if (from.block)
        account_gone(&from);
    void *block = realloc(from.block, size);
    return account_made(__func__, block, size);
}

APART static held by_reallocarray(held from, size_t size)
{
    if (from.block)
        account_gone(&from);
    void *block = reallocarray(from.block, size / 4, 4);
    return account_made(__func__, block, size / 4 * 4);
}

static void release(held *held)
{
    if (!held->block)
        return;
    account_gone(held);
    errno = 77;
    free(held->block);
    MUST(errno == 77);
    held->block = NULL;
}

typedef held maker(size_t size);

static maker *const makers[] = {by_malloc,         by_calloc,   by_calloc_of_8, by_aligned_alloc,
                                by_posix_memalign, by_memalign, by_valloc,      by_pvalloc};
enum { MAKERS = sizeof makers / sizeof *makers };

static uint32_t draw(uint64_t *random, uint32_t limit)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*random >> 33) % limit;
}

/* Allocates some calls deeper. */
APART static held below(int depth, maker *make, size_t size)
{
    held held = depth ? below(depth - 1, make, size) : make(size);
    STAY(held.block);
    return held;
}

/* ---- one thread ---- */

static void each(void)
{
    for (int i = 0; i < MAKERS; i++)
        for (size_t size = 0; size < 5000; size = size * 3 + 1) {
            held held = makers[i](size);
            if (size % 2)
                release(&held);
        }
    held grown = {0};
    for (size_t size = 1; size < 3000000; size = size * 2 + 1) {
        grown = by_realloc(grown, size);
        memset(grown.block, 1, size);
    }
    grown = by_realloc(grown, 10);
    grown = by_reallocarray(grown, 4000);
    account_gone(&grown);
    MUST(realloc(grown.block, 0) == NULL);
    free(NULL);
}

/* Requests that fail return the usual errors, and are in no account. */
static void refused(void)
{
    volatile size_t most = SIZE_MAX, large = (size_t)1 << 62;
    void *block = (void *)1;
    held held = by_malloc(100);
    memset(held.block, 42, 100);
    errno = 0;
    MUST(!malloc(large) && errno == ENOMEM);
    errno = 0;
    MUST(!malloc(most) && errno == ENOMEM);
    errno = 0;
    MUST(!calloc(most, 2) && errno == ENOMEM);
    errno = 0;
    MUST(!realloc(held.block, large) && errno == ENOMEM);
    errno = 0;
    MUST(!reallocarray(held.block, most, 2) && errno == ENOMEM);
    errno = 0;
    MUST(!aligned_alloc(64, large) && errno == ENOMEM);
    MUST(posix_memalign(&block, 64, large) == ENOMEM);
    MUST(posix_memalign(&block, 3, 10) == EINVAL && block == (void *)1);
    for (int i = 0; i < 100; i++)
        MUST(((char *)held.block)[i] == 42);
    release(&held);
}

enum { SLOTS = 2000 };

static void churn(held *slots, uint64_t *random, long times)
{
    for (long i = 0; i < times; i++) {
        held *slot = &slots[draw(random, SLOTS)];
        if (slot->block && draw(random, 4) == 0) {
            *slot = by_realloc(*slot, draw(random, 2000) + 1);
        } else {
            release(slot);
            *slot = below((int)draw(random, 30), makers[draw(random, 3)], draw(random, 500));
        }
    }
}

static void at_random(void)
{
    static held slots[SLOTS];
    uint64_t random = 1;
    churn(slots, &random, 200000);
}

/* ---- threads ---- */

static held shared[SLOTS];
static pthread_mutex_t slot_locks[SLOTS];

/* Frees an allocation of any thread, and puts a new one in its place. */
static void *exchange(void *data)
{
    uint64_t random = (uint64_t)(uintptr_t)data;
    for (int i = 0; i < 50000; i++) {
        uint32_t at = draw(&random, SLOTS);
        held mine = below((int)draw(&random, 10), makers[draw(&random, 3)], draw(&random, 300));
        pthread_mutex_lock(&slot_locks[at]);
        held other = shared[at];
        shared[at] = mine;
        pthread_mutex_unlock(&slot_locks[at]);
        release(&other);
    }
    return NULL;
}

static void threads(void)
{
    enum { THREADS = 6 };
    pthread_t ids[THREADS];
    for (int i = 0; i < SLOTS; i++)
        pthread_mutex_init(&slot_locks[i], NULL);
    for (int i = 0; i < THREADS; i++)
        MUST(pthread_create(&ids[i], NULL, exchange, (void *)(uintptr_t)(i + 1)) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
    for (int i = 0; i < SLOTS; i += 2)
        release(&shared[i]);
}

static pthread_key_t keys[3];

/* Allocates and frees in destructors of keys, also in later rounds of them. */
static void at_end(void *data)
{
    held *last = data;
    int rounds = (int)last->size % 8;
    release(last);
    *last = by_malloc(8 + (size_t)rounds - 1);
    if (rounds > 1)
        pthread_setspecific(keys[rounds % 3], last);
    else
        release(last);
}

static void *live_shortly(void *data)
{
    held *last = data;
    held own = by_malloc(24);
    *last = by_malloc(8 + 4);
    pthread_setspecific(keys[1], last);
    release(&own);
    by_calloc(16); /* never freed */
    return NULL;
}

static void short_lives(void)
{
    enum { AT_ONCE = 8, TIMES = 250 };
    pthread_t ids[AT_ONCE];
    static held last[AT_ONCE];
    for (int i = 0; i < 3; i++)
        pthread_key_create(&keys[i], at_end);
    for (int t = 0; t < TIMES; t++) {
        for (int i = 0; i < AT_ONCE; i++)
            MUST(pthread_create(&ids[i], NULL, live_shortly, &last[i]) == 0);
        for (int i = 0; i < AT_ONCE; i++)
            pthread_join(ids[i], NULL);
    }
}

/* ---- processes ---- */

/* Makes children, each by one of the functions. A child frees allocations of its parent, and
 * allocates; it has accounts of its own. */
static void make_children(int count, pid_t (*const *makers)(void), int maker_count)
{
    held slots[100];
    for (int i = 0; i < count; i++)
        slots[i] = by_malloc(1000);
    for (int m = 0; m < maker_count; m++) {
        pid_t child = makers[m]();
        MUST(child >= 0);
        if (child == 0) {
            for (int i = 0; i < count; i++)
                free(slots[i].block);
            void *own = malloc(123456);
            STAY(own);
            exit(0);
        }
        int status;
        MUST(waitpid(child, &status, 0) == child && status == 0);
    }
    for (int i = 0; i < count / 2; i++)
        release(&slots[i]);
}

static void forks(void)
{
    static pid_t (*const makers[])(void) = {fork, fork, fork};
    make_children(100, makers, 3);
}

static pid_t fork_by_system_call(void)
{
    return (pid_t)syscall(SYS_fork);
}

/* Children for which the C library calls no handlers. */
static void children_without_fork(void)
{
    static pid_t (*const makers[])(void) = {_Fork, fork_by_system_call};
    make_children(10, makers, 2);
}

static void ends_at_once(void)
{
    by_malloc(1000);
    account_close();
    _exit(0);
}

static void is_killed(void)
{
    held slots[SLOTS] = {0};
    uint64_t random = 5;
    churn(slots, &random, 20000);
    account_close();
    raise(SIGKILL);
}

static void aborts(void)
{
    by_malloc(1000);
    account_close();
    abort();
}

/* ---- libraries that come and go ---- */

static void libraries(void)
{
    const char *path = getenv("ALLOC_PLUGINS");
    char name[4096];
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "%s/libplugin%d.so", path, i % 2 + 1);
        void *library = dlopen(name, RTLD_NOW);
        MUST(library);
        void *(*make)(size_t size);
        *(void **)&make = dlsym(library, "make");
        MUST(make);
        size_t size = 100 + (size_t)i % 2;
        held held = account_made(i % 2 ? "make_in_second" : "make_in_first", make(size), size);
        if (i % 3)
            release(&held);
        dlclose(library);
    }
}

/* ---- stacks ---- */

APART static long descend(long depth, held *last)
{
    long sum = depth;
    if (depth % 10000 == 0) {
        release(last);
        *last = by_malloc((size_t)(depth / 10000));
    }
    if (depth)
        sum += descend(depth - 1, last);
    STAY(sum);
    return sum;
}

static void *descend_in_thread(void *data)
{
    (void)data;
    held last = {0};
    descend(1000000, &last);
    descend(1000000, &last);
    release(&last);
    return NULL;
}

static void deep(void)
{
    enum { SIZE = 512 << 20 };
    void *stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    pthread_attr_t attributes;
    pthread_t thread;
    MUST(stack != MAP_FAILED);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, SIZE);
    MUST(pthread_create(&thread, &attributes, descend_in_thread, NULL) == 0);
    pthread_join(thread, NULL);
}

APART static held in_variable_frame(int depth, uint64_t *random)
{
    size_t size = draw(random, 700);
    char array[size + 1];
    char *more = alloca(draw(random, 300) + 1);
    array[size] = more[0] = (char)depth;
    held held = depth ? in_variable_frame(depth - 1, random) : by_malloc(size);
    STAY(held.block);
    MUST(array[size] == (char)depth);
    return held;
}

static void variable_frames(void)
{
    uint64_t random = 3;
    for (int i = 0; i < 20000; i++) {
        held held = in_variable_frame((int)draw(&random, 12), &random);
        release(&held);
    }
}

static ucontext_t main_context, other_context;

APART static void run_coroutine(void)
{
    for (int i = 0; i < 100; i++) {
        held held = below(5, by_malloc, 64);
        swapcontext(&other_context, &main_context);
        release(&held);
    }
}

static void coroutines(void)
{
    static char stack[256 * 1024];
    getcontext(&other_context);
    other_context.uc_stack.ss_sp = stack;
    other_context.uc_stack.ss_size = sizeof stack;
    other_context.uc_link = &main_context;
    makecontext(&other_context, run_coroutine, 0);
    for (int i = 0; i <= 100; i++) {
        held held = below(3, by_calloc, 32);
        swapcontext(&main_context, &other_context);
        release(&held);
    }
}

/* ---- signals ---- */

static volatile sig_atomic_t handled;

static void allocate_in_handler(int number)
{
    (void)number;
    held held = by_malloc(40);
    handled++;
    STAY(held.block);
}

static void only_count(int number)
{
    (void)number;
    handled++;
}

APART static void raise_signal(void)
{
    int result = raise(SIGUSR1);
    STAY(result);
}

/* Timers interrupt malloc; their handlers do not allocate. Other handlers, called by raise, do: on
 * the interrupted stack, and on an alternate one. */
static void signals(void)
{
    static char stack[64 * 1024];
    static held slots[SLOTS];
    uint64_t random = 9;
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = only_count};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 300}, {0, 300}}, NULL);
    churn(slots, &random, 100000);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    action.sa_handler = allocate_in_handler;
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 10; i++)
        raise_signal();
    MUST(sigaltstack(&alternate, NULL) == 0);
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 10; i++)
        raise_signal();
}

static sigjmp_buf away;

static void jump_away(int number)
{
    (void)number;
    siglongjmp(away, 1);
}

APART static void jump_once(size_t size)
{
    held held = below(4, by_malloc, size);
    release(&held);
    raise(SIGUSR2);
}

static void jumps(void)
{
    struct sigaction action = {.sa_handler = jump_away};
    sigaction(SIGUSR2, &action, NULL);
    for (volatile int i = 0; i < 1000; i++)
        if (sigsetjmp(away, 1) == 0)
            jump_once((size_t)i % 100 + 1);
    for (int i = 0; i < 10; i++)
        by_malloc(10);
}

/* ---- the peak ---- */

static long lived, most_lived;

static void count_lived(long bytes)
{
    long now = __atomic_add_fetch(&lived, bytes, __ATOMIC_SEQ_CST);
    long most = __atomic_load_n(&most_lived, __ATOMIC_RELAXED);
    while (now > most && !__atomic_compare_exchange_n(&most_lived, &most, now, false,
                                                      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
        ;
}

/* Writes the peak as one more account. */
static void tell_peak(void)
{
    account *peak = account_of("[peak]");
    peak->bytes = most_lived;
}

static void climb(uint64_t *random, held *slots, int target)
{
    int count = 0;
    while (count < target) {
        uint32_t at = draw(random, SLOTS);
        if (slots[at].block) {
            count_lived(-(long)slots[at].size);
            release(&slots[at]);
            if (draw(random, 3))
                continue;
        }
        slots[at] = makers[draw(random, 3)](8 * (draw(random, 2000) + 1));
        count_lived((long)slots[at].size);
        count++;
    }
}

static void fall(held *slots)
{
    for (int i = 0; i < SLOTS; i++)
        if (slots[i].block) {
            count_lived(-(long)slots[i].size);
            release(&slots[i]);
        }
}

static void peak(void)
{
    static held slots[SLOTS];
    uint64_t random = 17;
    for (int i = 1; i < 6; i++) {
        climb(&random, slots, 3000 * i);
        fall(slots);
    }
    climb(&random, slots, 1000);
    tell_peak();
}

static pthread_barrier_t barrier;

/* All threads allocate together and free together; in the last round each hands its allocations to
 * the next one. */
static void *climb_in_thread(void *data)
{
    static held all[4][SLOTS];
    long number = (long)(intptr_t)data;
    uint64_t random = (uint64_t)number + 100;
    for (int i = 0; i < 4; i++) {
        climb(&random, all[number], 4000);
        pthread_barrier_wait(&barrier);
        fall(all[(number + i) % 4]);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void peak_of_threads(void)
{
    pthread_t ids[4];
    pthread_barrier_init(&barrier, NULL, 4);
    for (int i = 0; i < 4; i++)
        MUST(pthread_create(&ids[i], NULL, climb_in_thread, (void *)(intptr_t)i) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(ids[i], NULL);
    tell_peak();
}

/* ---- known amounts, for samples ---- */

APART static void many_small(void)
{
    for (int i = 0; i < 20000; i++) {
        held held = by_malloc(24);
        if (i % 2)
            release(&held);
    }
}

APART static void some_middling(void)
{
    for (int i = 0; i < 2000; i++) {
        held held = by_calloc(1000);
        if (i % 2)
            release(&held);
    }
}

APART static void few_large(void)
{
    held held = {0};
    for (int i = 0; i < 100; i++)
        held = by_realloc(held, 20000 + (size_t)i);
}

static void amounts(void)
{
    many_small();
    some_middling();
    few_large();
}

/* Allocations of the mean sampling size, each at the address of the one before. */
static void same_again(void)
{
    for (int i = 0; i < 20000; i++) {
        held held = by_malloc(4096);
        release(&held);
    }
}

int main(int argc, char **argv)
{
    static const account_program programs[] = {{"each", each},
                                               {"refused", refused},
                                               {"at_random", at_random},
                                               {"threads", threads},
                                               {"short_lives", short_lives},
                                               {"forks", forks},
                                               {"children_without_fork", children_without_fork},
                                               {"ends_at_once", ends_at_once},
                                               {"is_killed", is_killed},
                                               {"aborts", aborts},
                                               {"libraries", libraries},
                                               {"deep", deep},
                                               {"variable_frames", variable_frames},
                                               {"coroutines", coroutines},
                                               {"signals", signals},
                                               {"jumps", jumps},
                                               {"peak", peak},
                                               {"peak_of_threads", peak_of_threads},
                                               {"amounts", amounts},
                                               {"same_again", same_again}};
    return account_main(programs, sizeof programs / sizeof *programs, argc, argv);
}
