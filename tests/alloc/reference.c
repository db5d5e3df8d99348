/* SPDX-License-Identifier: MIT
 *
 * Preloaded into any program: at every Nth malloc, walks the stack by src/unwind and by
 * backtrace(3), which reads all tables each time. At the end of the program, appends a line to the
 * file named by REFERENCE_OUT: numbers of walks compared, of differing walks, and of walks that
 * ended early for lack of a rule.
 */
#include <execinfo.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unwind/unwind.h"

enum { DEPTH = 4000, EVERY = 37 };

extern void *__libc_malloc(size_t size);

static _Thread_local bool busy __attribute__((tls_model("initial-exec")));
static unsigned long calls, compared, differing, early; /* atomic */
static char first_difference[512];

/* Walks twice: the second walk takes the rules that the first one has cached. */
static size_t walk(const uintptr_t *start, void **out, bool *ended)
{
    static _Thread_local char page[CRN_UNWIND_PAGE] __attribute__((tls_model("initial-exec")));
    crn_unwind_memory memory = {.copy = page};
    crn_unwind_frame frame = {start[1], (uintptr_t)(start + 2), start[0], false};
    size_t count = 0;
    crn_unwind_stack_of_thread(&memory.low, &memory.high);
    while (count < DEPTH && frame.pc) {
        crn_unwind_code code;
        uintptr_t slot, saved_at;
        out[count++] = (void *)frame.pc;
        crn_unwind_look(crn_unwind_address(&frame), &code);
        *ended = code.rule.kind == CRN_UNWIND_OUTERMOST;
        if (*ended || !crn_unwind_step(&code.rule, &memory, &frame, &slot, &saved_at))
            return count;
    }
    *ended = true;
    return count;
}

static void tell(const char *what, void *const *ours, size_t our_count, void *const *theirs,
                 size_t their_count)
{
    size_t used = (size_t)snprintf(first_difference, sizeof first_difference, " %s %zu %zu", what,
                                   our_count, their_count);
    for (size_t i = 0; i < our_count && i < their_count; i++)
        if (ours[i] != theirs[i]) {
            snprintf(first_difference + used, sizeof first_difference - used, " at %zu: %p %p", i,
                     ours[i], theirs[i]);
            return;
        }
}

static void compare(const uintptr_t *start)
{
    static _Thread_local void *ours[DEPTH], *theirs[DEPTH];
    bool ended = false;
    size_t count = walk(start, ours, &ended);
    size_t total = (size_t)backtrace(theirs, DEPTH), skip = 0;
    while (skip < total && theirs[skip] != ours[0])
        skip++;
    void **rest = theirs + skip;
    size_t left = total - skip, same = count < left ? count : left;
    __atomic_add_fetch(&compared, 1, __ATOMIC_RELAXED);
    /* Some stacks end with a null entry. */
    while (left && !rest[left - 1])
        left--;
    if (memcmp(ours, rest, same * sizeof *ours) != 0 || (ended && left != count && total < DEPTH)) {
        if (__atomic_fetch_add(&differing, 1, __ATOMIC_RELAXED) == 0)
            tell(ended ? "ended" : "early", ours, count, rest, left);
    } else if (count < left) {
        __atomic_add_fetch(&early, 1, __ATOMIC_RELAXED);
    }
}

__attribute__((visibility("default"), noinline)) void *malloc(size_t size)
{
    if (!busy && __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) % EVERY == 0) {
        busy = true;
        compare(__builtin_frame_address(0));
        busy = false;
    }
    void *block = __libc_malloc(size);
    __asm__ volatile("" : "+r"(block));
    return block;
}

__attribute__((destructor)) static void end(void)
{
    char line[1024];
    const char *path = getenv("REFERENCE_OUT");
    busy = true;
    int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    if (file < 0)
        return;
    int length = snprintf(line, sizeof line, "%lu %lu %lu%s\n", compared, differing, early,
                          first_difference);
    if (write(file, line, (size_t)length) != length)
        abort();
    close(file);
}
