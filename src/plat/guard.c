/* SPDX-License-Identifier: MIT */
#include "plat/guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/memory.h"
#include "plat/file.h"

enum { TABLE_FIRST = CRN_FIRST(256, 4) /* entries; a power of two */ };

struct crn_guard {
    bool lost;       /* atomic */
    bool blocked;    /* whoever made it has the signal blocked */
    bool dropped;    /* under lock */
    uint64_t pieces; /* that are reserved; under lock */
};

/* A piece of reserved space. The handler reads it without the lock: the base is stored last, and
 * cleared first. */
typedef struct piece {
    uintptr_t base; /* atomic; 0: free, GONE: was used */
    uint64_t size;
    crn_guard *guard;
} piece;

enum { GONE = 1 };

/* By base, with open addressing. A table that has become too small is kept: the handler may be
 * reading it. They are twice as large each time, so that all of them are twice the last. */
typedef struct table {
    struct table *smaller; /* the one before */
    uint64_t mask, used;   /* used: with those that are gone */
    piece pieces[];
} table;

/* Nothing that is done under it touches guarded memory, and signals wait until it is over: so a
 * thread that comes to a handler, ours or the program's, does not have it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sigset_t let_through; /* by who has the lock, before it took it */
static table *pieces;        /* atomic */
static uint64_t guards;      /* that are not dropped */

static struct sigaction before; /* the program's; written only while ours is not installed */
static bool installed;          /* under lock */
static __thread bool own __attribute__((tls_model("initial-exec")));

static void take_lock(void)
{
    sigset_t all, mask;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &mask);
    pthread_mutex_lock(&lock);
    let_through = mask;
}

static void give_lock(void)
{
    sigset_t mask = let_through;
    pthread_mutex_unlock(&lock);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

/* ---- the table; under lock ---- */

static uint64_t hash_of(uintptr_t base)
{
    return (base >> 12) * 0x9e3779b97f4a7c15u >> 20;
}

static void put(table *to, uintptr_t base, uint64_t size, crn_guard *guard)
{
    uint64_t at = hash_of(base);
    while (to->pieces[at & to->mask].base)
        at++;
    piece *place = &to->pieces[at & to->mask];
    place->size = size;
    place->guard = guard;
    __atomic_store_n(&place->base, base, __ATOMIC_RELEASE);
    to->used++;
}

/* Room for `count` more, with a quarter left free. */
static bool reserve_pieces(uint64_t count)
{
    uint64_t room = pieces ? pieces->mask + 1 : TABLE_FIRST, live = 0;
    if (pieces && (pieces->used + count) * 4 <= room * 3)
        return true;
    for (uint64_t i = 0; pieces && i <= pieces->mask; i++)
        live += pieces->pieces[i].base > GONE;
    while ((live + count) * 2 > room)
        room *= 2;
    table *larger = crn_try_calloc(1, sizeof *larger + room * sizeof(piece));
    if (!larger)
        return false;
    larger->smaller = pieces;
    larger->mask = room - 1;
    for (uint64_t i = 0; pieces && i <= pieces->mask; i++)
        if (pieces->pieces[i].base > GONE)
            put(larger, pieces->pieces[i].base, pieces->pieces[i].size, pieces->pieces[i].guard);
    __atomic_store_n(&pieces, larger, __ATOMIC_RELEASE);
    return true;
}

static piece *find(uintptr_t base)
{
    for (uint64_t at = hash_of(base); pieces; at++) {
        piece *place = &pieces->pieces[at & pieces->mask];
        if (place->base == base)
            return place;
        if (!place->base)
            break;
    }
    return NULL;
}

static void free_unused(crn_guard *guard)
{
    if (guard->dropped && !guard->pieces)
        crn_free(guard);
}

/* ---- zeros ---- */

static bool make_zeros(uintptr_t base, uint64_t size)
{
    return mmap((void *)base, size, PROT_READ | PROT_WRITE, // NOLINT(performance-no-int-to-ptr)
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

/* Under lock, or no piece of the table changes. */
static void make_all_zeros(const crn_guard *guard)
{
    for (uint64_t i = 0; pieces && i <= pieces->mask; i++)
        if (pieces->pieces[i].base > GONE && pieces->pieces[i].guard == guard)
            make_zeros(pieces->pieces[i].base, pieces->pieces[i].size);
}

static crn_guard *guard_of(uintptr_t at)
{
    const table *all = __atomic_load_n(&pieces, __ATOMIC_ACQUIRE);
    for (uint64_t i = 0; all && i <= all->mask; i++) {
        uintptr_t base = __atomic_load_n(&all->pieces[i].base, __ATOMIC_ACQUIRE);
        if (base > GONE && at - base < all->pieces[i].size)
            return all->pieces[i].guard;
    }
    return NULL;
}

static bool is_zeros(const crn_guard *guard)
{
    return __atomic_load_n(&guard->lost, __ATOMIC_ACQUIRE);
}

/* False if the address is not guarded. mmap is a bare system call, and the lock one word. */
static bool mend(uintptr_t at)
{
    enum { PAGE = 4096 };
    crn_guard *guard = guard_of(at);
    if (!guard)
        return false;
    if (!__atomic_exchange_n(&guard->lost, true, __ATOMIC_ACQ_REL)) {
        take_lock();
        make_all_zeros(guard);
        give_lock();
        return true;
    }
    /* Another thread is just making zeros of all: twice is no harm. */
    return make_zeros(at & ~(uintptr_t)(PAGE - 1), PAGE);
}

/* ---- the handler ---- */

/* As the kernel would: the flags and the mask are those of the program's handler already. Where it
 * has none, what there is happens as this handler returns: a fault comes again, and what was sent
 * is sent again. */
static void forward(int signal, siginfo_t *info, void *context)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    if (before.sa_handler == SIG_DFL || (before.sa_flags & (int)SA_RESETHAND))
        sigaction(signal, &usual, NULL);
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(signal, info, context);
    else if (before.sa_handler != SIG_DFL)
        before.sa_handler(signal);
    else if (info->si_code <= 0 || info->si_code == SI_KERNEL)
        syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), signal, info);
}

/* What was sent to the process is not for a thread of ours: it is sent again, to the others. The
 * kernel lets only the first thread repeat a kill as somebody else's. */
static void leave_to_others(int signal, siginfo_t *info, ucontext_t *context)
{
    sigaddset(&context->uc_sigmask, signal);
    if (syscall(SYS_rt_sigqueueinfo, getpid(), signal, info) != 0)
        kill(getpid(), signal);
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
    int saved = errno;
    bool fault = info->si_code > 0 && info->si_code != SI_KERNEL;
    if (fault && mend((uintptr_t)info->si_addr)) {
        errno = saved;
        return;
    }
    errno = saved;
    if (own && !fault)
        leave_to_others(signal, info, context);
    else
        forward(signal, info, context);
    if (own)
        errno = saved;
}

/* Under lock. A program that has taken the signal meanwhile keeps it, for ever: its handler may go
 * on to ours, which must not go on to it. Who ignores it has others ignore it that it executes, as
 * no handler would. */
static void install(void)
{
    if (installed || sigaction(SIGBUS, NULL, &before) != 0 || before.sa_handler == SIG_IGN)
        return;
    struct sigaction ours = before;
    ours.sa_sigaction = on_signal;
    if (before.sa_handler == SIG_DFL) {
        sigemptyset(&ours.sa_mask);
        ours.sa_flags = SA_ONSTACK | SA_RESTART;
    }
    ours.sa_flags = (ours.sa_flags | SA_SIGINFO) & ~(int)SA_RESETHAND;
    installed = sigaction(SIGBUS, &ours, NULL) == 0;
}

static void remove_ours(void)
{
    struct sigaction now;
    if (!installed || sigaction(SIGBUS, NULL, &now) != 0 || !(now.sa_flags & SA_SIGINFO) ||
        now.sa_sigaction != on_signal)
        return;
    installed = sigaction(SIGBUS, &before, NULL) != 0;
}

/* A program that has it blocked may wait for it, which must not come to a thread of ours then. */
void crn_guard_own_thread(const crn_guard *guard)
{
    sigset_t this;
    sigemptyset(&this);
    sigaddset(&this, SIGBUS);
    own = true;
    take_lock();
    bool comes = guard && !guard->blocked && installed;
    give_lock();
    if (comes)
        pthread_sigmask(SIG_UNBLOCK, &this, NULL);
}

/* ---- guards ---- */

crn_guard *crn_guard_new(void)
{
    crn_guard *guard = crn_try_calloc(1, sizeof *guard);
    if (!guard)
        return NULL;
    sigset_t mask;
    guard->blocked =
        pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0 && sigismember(&mask, SIGBUS) == 1;
    take_lock();
    guards++;
    install();
    give_lock();
    return guard;
}

void crn_guard_drop(crn_guard *guard)
{
    if (!guard)
        return;
    take_lock();
    guard->dropped = true;
    free_unused(guard);
    if (!--guards)
        remove_ours();
    give_lock();
}

bool crn_guard_is_lost(const crn_guard *guard)
{
    return guard && is_zeros(guard);
}

void crn_guard_lose(crn_guard *guard)
{
    if (!guard || __atomic_exchange_n(&guard->lost, true, __ATOMIC_ACQ_REL))
        return;
    take_lock();
    make_all_zeros(guard);
    give_lock();
}

/* ---- their memory ---- */

char *crn_guard_reserve(crn_guard *guard, uint64_t size, uint64_t piece)
{
    if (!guard)
        return crn_address_reserve(size);
    take_lock();
    char *base = reserve_pieces(size / piece) ? crn_address_reserve(size) : NULL;
    for (uint64_t at = 0; base && at < size; at += piece) {
        put(pieces, (uintptr_t)base + at, piece, guard);
        guard->pieces++;
    }
    give_lock();
    return base;
}

void crn_guard_release(char *base, uint64_t size)
{
    if (!base)
        return;
    take_lock();
    piece *of = find((uintptr_t)base);
    if (of) {
        __atomic_store_n(&of->base, GONE, __ATOMIC_RELEASE);
        of->guard->pieces--;
        free_unused(of->guard);
    }
    crn_address_release(base, size);
    give_lock();
}

bool crn_guard_map(crn_guard *guard, char *address, int file, uint64_t offset, uint64_t size)
{
    if (!guard)
        return crn_address_map(address, file, offset, size);
    take_lock();
    bool mapped = !is_zeros(guard) && crn_address_map(address, file, offset, size);
    give_lock();
    if (!mapped && is_zeros(guard))
        errno = EIO;
    return mapped;
}

void crn_guards_lock(void)
{
    take_lock();
}

void crn_guards_unlock(void)
{
    give_lock();
}
