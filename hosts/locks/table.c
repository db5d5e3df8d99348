/* SPDX-License-Identifier: MIT
 *
 * Hash table of the program's locks by address: open addressing, lock-free.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "locks.h"

enum { ROOM = 4 * CRN_LOCKS_MOST, NAME_MAX_SIZE = 256, PARTS = 3 };

static crn_lock table[ROOM];
static uint32_t used; /* atomic */

static size_t hash(const void *address)
{
    return (size_t)((uint64_t)(uintptr_t)address * 0x9e3779b97f4a7c15u >> 40);
}

/* Writes a lock's name: that of its variable; without one, its kind and number. */
static void name_of(const void *address, crn_lock_kind kind, uint32_t number, char *name)
{
    static const char *const kinds[] = {"mutex", "condition", "semaphore"};
    Dl_info info;
    if (dladdr(address, &info) && info.dli_sname && info.dli_saddr == address)
        snprintf(name, NAME_MAX_SIZE - 16, "%s", info.dli_sname);
    else
        snprintf(name, NAME_MAX_SIZE - 16, "%s %u", kinds[kind], number);
}

static cairn_block block_of(cairn_profile *profile, const char *name, const char *part)
{
    char text[NAME_MAX_SIZE];
    snprintf(text, sizeof text, "%s%s", name, part);
    return cairn_block_add(profile, &(cairn_block_info){.name = text});
}

static void note(cairn_profile *profile, const char *kind, const char *name, const char *value)
{
    char key[NAME_MAX_SIZE + 16];
    snprintf(key, sizeof key, "%s.%s", kind, name);
    cairn_profile_note(profile, key, value);
}

static void fill(crn_lock *lock, crn_lock_kind kind, uint32_t number)
{
    static const char *const parts[][PARTS] = {
        {"", ".wait", ""}, {"", ".elsewhere", ".signal"}, {"", ".elsewhere", ".post"}};
    char name[NAME_MAX_SIZE], wait[NAME_MAX_SIZE];
    cairn_profile *profile = cairn_process_profile();
    name_of(lock->address, kind, number, name);
    lock->kind = kind;
    lock->held = block_of(profile, name, parts[kind][0]);
    lock->wait = block_of(profile, name, parts[kind][1]);
    if (kind == CRN_LOCK_MUTEX) {
        snprintf(wait, sizeof wait, "%.*s.wait", NAME_MAX_SIZE - 16, name);
        note(profile, "lock", name, wait);
        return;
    }
    lock->waking = block_of(profile, name, parts[kind][2]);
    note(profile, kind == CRN_LOCK_CONDITION ? "condition" : "semaphore", name, "");
}

static void note_once(uint32_t count)
{
    if (count == 0)
        cairn_profile_note(cairn_process_profile(), "locks", "recorded");
    if (count == CRN_LOCKS_MOST)
        cairn_profile_note(cairn_process_profile(), "locks",
                           "recorded, except for those after the first 512");
}

bool crn_locks_wait(int turn)
{
    enum { TURNS = 1000, SLEEPS = 2000 };
    const struct timespec moment = {.tv_nsec = 100000};
    int saved = errno;
    if (turn >= TURNS)
        syscall(SYS_nanosleep, &moment, NULL); /* nanosleep() would be a cancellation point */
    errno = saved;
    return turn < TURNS + SLEEPS;
}

/* Changes the state of an entry that no other thread has changed meanwhile. Returns the state
 * then. */
static crn_lock_state settle(crn_lock *lock, crn_lock_state to)
{
    crn_lock_state state = CRN_LOCK_UNSET;
    bool done = __atomic_compare_exchange_n(&lock->state, &state, to, false, __ATOMIC_ACQ_REL,
                                            __ATOMIC_ACQUIRE);
    return done ? to : state;
}

/* Waits until the thread that makes the entry has set its members. Returns false if the lock is
 * not recorded. */
static bool is_set(crn_lock *lock)
{
    for (int turn = 0;; turn++) {
        crn_lock_state state = __atomic_load_n(&lock->state, __ATOMIC_ACQUIRE);
        if (state == CRN_LOCK_UNSET && !crn_locks_wait(turn))
            state = settle(lock, CRN_LOCK_IGNORED);
        if (state != CRN_LOCK_UNSET)
            return state == CRN_LOCK_SET;
    }
}

void crn_locks_after_fork(void (*give_up)(crn_lock *lock))
{
    for (crn_lock *lock = table; lock < table + ROOM; lock++) {
        if (lock->address)
            settle(lock, CRN_LOCK_IGNORED);
        give_up(lock);
    }
}

crn_lock *crn_lock_known(const void *address)
{
    size_t at = hash(address);
    for (;; at++) {
        crn_lock *lock = &table[at % ROOM];
        const void *here = __atomic_load_n(&lock->address, __ATOMIC_RELAXED);
        if (here == address)
            return is_set(lock) ? lock : NULL;
        if (!here)
            return NULL;
    }
}

crn_lock *crn_lock_of(const void *address, crn_lock_kind kind)
{
    for (size_t at = hash(address);; at++) {
        crn_lock *lock = &table[at % ROOM];
        const void *here = __atomic_load_n(&lock->address, __ATOMIC_RELAXED);
        if (here == address)
            return is_set(lock) && lock->kind == kind ? lock : NULL;
        if (here)
            continue;
        if (__atomic_load_n(&used, __ATOMIC_RELAXED) > CRN_LOCKS_MOST)
            return NULL;
        if (!__atomic_compare_exchange_n(&lock->address, &here, address, false, __ATOMIC_RELAXED,
                                         __ATOMIC_RELAXED)) {
            at--; /* another thread took the entry: look at it again */
            continue;
        }
        uint32_t count = __atomic_fetch_add(&used, 1, __ATOMIC_RELAXED);
        note_once(count);
        if (count < CRN_LOCKS_MOST)
            fill(lock, kind, count + 1);
        return settle(lock, count < CRN_LOCKS_MOST ? CRN_LOCK_SET : CRN_LOCK_IGNORED) ==
                       CRN_LOCK_SET
                   ? lock
                   : NULL;
    }
}
