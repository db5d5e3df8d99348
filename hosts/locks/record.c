/* SPDX-License-Identifier: MIT
 *
 * Records what threads do with locks. The span of a wait is written at its end, when it is known
 * what ended it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "locks.h"

enum {
    HELD_MOST = 32, /* spans of mutexes that a thread holds; further ones get no span */
    OWN_MOST = 16   /* executable segments of Cairn's libraries */
};

typedef struct hold {
    const crn_lock *mutex;
    uint32_t span;
} hold;

static __thread struct {
    bool busy;
    uint32_t count;
    hold held[HELD_MOST];
} here __attribute__((tls_model("initial-exec")));

static bool on; /* the environment has CAIRN_LOCKS, as `cairn run --locks` sets it */
static struct {
    uintptr_t from, to;
} own[OWN_MOST]; /* the code of Cairn's libraries in the program */
static size_t own_count;

/* ---- which calls ---- */

static bool is_own(const char *path)
{
    static const char name[] = "libcairn";
    const char *slash = strrchr(path, '/');
    return strncmp(slash ? slash + 1 : path, name, sizeof name - 1) == 0;
}

/* Notes where the code of Cairn's libraries is, whose locks are not recorded. Not only libcairn
 * takes locks: libcairn-gcc, in programs that `cairn cc` compiled, does as well. */
static int find_own(struct dl_phdr_info *module, size_t size, void *data)
{
    (void)size, (void)data;
    for (int i = 0; is_own(module->dlpi_name) && i < module->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &module->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X) || own_count == OWN_MOST)
            continue;
        own[own_count].from = module->dlpi_addr + part->p_vaddr;
        own[own_count].to = own[own_count].from + part->p_memsz;
        own_count++;
    }
    return 0;
}

static bool is_of_cairn(const void *caller)
{
    for (size_t i = 0; i < own_count; i++)
        if ((uintptr_t)caller >= own[i].from && (uintptr_t)caller < own[i].to)
            return true;
    return false;
}

cairn_strand *crn_locks_strand(const void *caller)
{
    if (!on || here.busy || is_of_cairn(caller))
        return NULL;
    here.busy = true;
    cairn_strand *strand = cairn_thread_strand();
    here.busy = false;
    return strand;
}

bool crn_locks_busy(bool busy)
{
    bool before = here.busy;
    here.busy = busy;
    return before;
}

/* ---- spans ---- */

/* Records a span that has ended, and returns its number. */
static uint32_t put(cairn_strand *strand, cairn_block block, uint64_t begin, uint64_t end)
{
    uint32_t span = cairn_priv_loose_begin(strand, block, begin);
    cairn_priv_loose_end(strand, span, end);
    return span;
}

static void begin_hold(cairn_strand *strand, const crn_lock *mutex, uint64_t now)
{
    if (here.count == HELD_MOST)
        return;
    here.held[here.count++] = (hold){mutex, cairn_priv_loose_begin(strand, mutex->held, now)};
}

void crn_record_taken(cairn_strand *strand, crn_lock *mutex, uint64_t since)
{
    uint64_t now = cairn_priv_loose_now(strand);
    if (since)
        put(strand, mutex->wait, since, now);
    begin_hold(strand, mutex, now);
}

bool crn_record_given(cairn_strand *strand, crn_lock *mutex)
{
    uint32_t at = here.count;
    while (at && here.held[at - 1].mutex != mutex)
        at--;
    if (!at)
        return false;
    uint64_t now = cairn_priv_loose_now(strand);
    cairn_priv_loose_end(strand, here.held[at - 1].span, now);
    memmove(&here.held[at - 1], &here.held[at], (here.count-- - at) * sizeof *here.held);
    mutex->released = now;
    return true;
}

/* The wait for the condition ends with the signal. If the mutex was released later, the rest is a
 * wait for the mutex. */
void crn_record_waited(cairn_strand *strand, const crn_lock *condition, const crn_lock *mutex,
                       uint64_t since, bool signalled)
{
    uint64_t now = cairn_priv_loose_now(strand);
    uint64_t at = __atomic_load_n(&condition->signalled, __ATOMIC_ACQUIRE);
    cairn_span by = __atomic_load_n(&condition->signalled_by, __ATOMIC_RELAXED);
    if (signalled && at >= since && at <= now) {
        cairn_priv_loose_waits_for(strand, put(strand, condition->held, since, at), by);
        if (mutex->released > at)
            put(strand, mutex->wait, at, now);
    } else {
        put(strand, condition->wait, since, now);
    }
    begin_hold(strand, mutex, now);
}

void crn_record_signal(cairn_strand *strand, crn_lock *condition)
{
    if (!__atomic_load_n(&condition->waiters, __ATOMIC_RELAXED))
        return;
    uint64_t now = cairn_priv_loose_now(strand);
    uint32_t span = put(strand, condition->waking, now, now);
    __atomic_store_n(&condition->signalled_by, cairn_priv_loose_name(strand, span),
                     __ATOMIC_RELAXED);
    __atomic_store_n(&condition->signalled, now, __ATOMIC_RELEASE);
}

/* ---- semaphores ---- */

/* A semaphore's posts, in their order. A thread that has them `locked` does not come here again:
 * its signal handlers record nothing meanwhile (crn_locks_busy). */
struct crn_posts {
    bool locked;    /* atomic */
    bool abandoned; /* atomic; a thread waited for the lock in vain */
    uint32_t first, count;
    unsigned before; /* part of the value that came from no recorded post */
    cairn_span spans[CRN_POSTS_MOST];
};

static bool lock_posts(crn_posts *posts)
{
    if (!posts)
        return false;
    for (int turn = 0; !__atomic_load_n(&posts->abandoned, __ATOMIC_RELAXED); turn++) {
        if (!__atomic_exchange_n(&posts->locked, true, __ATOMIC_ACQUIRE))
            return true;
        if (!crn_locks_wait(turn))
            __atomic_store_n(&posts->abandoned, true, __ATOMIC_RELAXED);
    }
    return false;
}

static void unlock_posts(crn_posts *posts)
{
    __atomic_store_n(&posts->locked, false, __ATOMIC_RELEASE);
}

void crn_record_first_value(crn_lock *semaphore, unsigned value)
{
    crn_posts *made = cairn_priv_calloc(1, sizeof *made), *none = NULL;
    if (!made)
        return;
    made->before = value;
    if (!__atomic_compare_exchange_n(&semaphore->posts, &none, made, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        cairn_priv_free(made);
}

void crn_record_value(crn_lock *semaphore, unsigned value)
{
    if (!lock_posts(semaphore->posts))
        return;
    semaphore->posts->before = value;
    semaphore->posts->count = 0;
    unlock_posts(semaphore->posts);
}

void crn_record_post(cairn_strand *strand, crn_lock *semaphore)
{
    cairn_span span = 0;
    if (strand) {
        uint64_t now = cairn_priv_loose_now(strand);
        span = cairn_priv_loose_name(strand, put(strand, semaphore->waking, now, now));
    }
    crn_posts *posts = semaphore->posts;
    if (!lock_posts(posts))
        return;
    if (posts->count < CRN_POSTS_MOST)
        posts->spans[(posts->first + posts->count++) % CRN_POSTS_MOST] = span;
    unlock_posts(posts);
}

/* Takes 1 from `before`, or else the oldest post. Returns the post's span; 0 without one. Sets
 * `*known` to true if it is known what was taken: 1 of `before`, or a post with a span. */
static cairn_span take_post(crn_posts *posts, bool *known)
{
    cairn_span span = 0;
    *known = false;
    if (!lock_posts(posts))
        return 0;
    if (posts->before) {
        posts->before--;
        *known = true;
    } else if (posts->count) {
        span = posts->spans[posts->first++ % CRN_POSTS_MOST];
        posts->count--;
        *known = span != 0;
    }
    unlock_posts(posts);
    return span;
}

void crn_record_took(cairn_strand *strand, crn_lock *semaphore, uint64_t since)
{
    bool known;
    cairn_span post = take_post(semaphore->posts, &known);
    uint64_t now = cairn_priv_loose_now(strand);
    if (post)
        cairn_priv_loose_waits_for(strand, put(strand, semaphore->held, since, now), post);
    else if (!known)
        put(strand, semaphore->wait, since, now);
}

/* ---- start ---- */

/* Gives up a semaphore's posts if a thread of the parent had them locked. */
static void give_up_locked(crn_lock *lock)
{
    if (lock->posts)
        lock->posts->abandoned |= lock->posts->locked;
}

static void after_fork_in_child(void)
{
    here.count = 0; /* `held` has numbers of the parent's spans */
    crn_locks_after_fork(give_up_locked);
}

__attribute__((constructor)) static void start(void)
{
    dl_iterate_phdr(find_own, NULL);
    pthread_atfork(NULL, NULL, after_fork_in_child);
    on = secure_getenv("CAIRN_LOCKS") != NULL;
}
