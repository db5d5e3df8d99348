/* SPDX-License-Identifier: MIT
 *
 * Threads that are sampled, and what /proc says of them.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "sampler.h"

enum { SLOTS = 1 << 12 };

static crn_target *slots[SLOTS];

/* When to look at each thread again: rounds read this array, and only the entries that are due. */
static struct turn {
    uint64_t next; /* CLOCK_MONOTONIC, ns */
    crn_target *target;
} * turns;
static size_t count, capacity;

uint64_t crn_outside_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static crn_target **slot_of(pid_t thread)
{
    return &slots[(unsigned)thread % SLOTS];
}

static int open_schedstat(pid_t process, pid_t thread)
{
    char path[96];
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)process, (int)thread);
    return open(path, O_RDONLY | O_CLOEXEC);
}

crn_target *crn_target_of(pid_t thread, pid_t process, bool make)
{
    crn_target **slot = slot_of(thread), *target = *slot;
    while (target && target->thread != thread)
        target = target->next_of_hash;
    if (target || !make)
        return target;
    target = crn_calloc(1, sizeof *target);
    target->thread = thread;
    target->space = crn_space_of(process);
    target->schedstat = open_schedstat(process, thread);
    target->looked = crn_outside_now();
    target->next_of_hash = *slot;
    CRN_GROW(turns, count, capacity);
    target->turn = count;
    turns[count++] = (struct turn){0, target};
    return *slot = target;
}

/* From the last one on, since `each` may forget the target that it is called with. */
void crn_targets_each(uint64_t due, void (*each)(crn_target *target, void *data), void *data)
{
    for (size_t i = count; i--;)
        if (turns[i].next <= due)
            each(turns[i].target, data);
}

void crn_target_look_at(crn_target *target, uint64_t next)
{
    turns[target->turn].next = next;
}

size_t crn_targets_count(void)
{
    return count;
}

void crn_target_forget(crn_target *target)
{
    crn_target **link = slot_of(target->thread);
    while (*link != target)
        link = &(*link)->next_of_hash;
    *link = target->next_of_hash;
    if (target->schedstat >= 0)
        close(target->schedstat);
    turns[target->turn] = turns[--count];
    turns[target->turn].target->turn = target->turn;
    crn_free(target->path.blocks);
    crn_free(target);
}

bool crn_target_times(crn_target *target, uint64_t *run, uint64_t *ready)
{
    char text[96];
    ssize_t size = target->schedstat < 0 ? -1 : pread(target->schedstat, text, sizeof text - 1, 0);
    if (size <= 0)
        return false;
    char *end;
    text[size] = '\0';
    *run = strtoull(text, &end, 10);
    *ready = strtoull(end, NULL, 10);
    return true;
}
