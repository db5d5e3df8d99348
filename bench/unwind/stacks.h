/* SPDX-License-Identifier: MIT
 *
 * What the files of bench-unwind share: a copied stack, and the comparison of two unwinders on such
 * copies.
 */
#ifndef BENCH_UNWIND_STACKS_H
#define BENCH_UNWIND_STACKS_H

#include <elfutils/libdwfl.h>

#include "hosts/outside/sampler.h"

enum { RBP = 6, RSP = 7, RIP = 16 }; /* numbers in DWARF */

enum {
    STACK_MOST = 61440, /* bytes that are copied from the stack pointer upwards */
    BELOW_MOST = 256,   /* and below it */
    FRAMES_MOST = 512,
    CAUSES_MOST = 4096,
    REGISTER_COUNT = 17
};

/* An interrupted thread: its registers by their numbers in DWARF, and a part of its stack. */
typedef struct copied_stack {
    pid_t thread;
    uintptr_t registers[REGISTER_COUNT];
    const char *bytes;  /* at the stack pointer */
    size_t size, below; /* number of bytes from there upwards; of bytes before `bytes` */
} copied_stack;

typedef struct frames {
    uint64_t addresses[FRAMES_MOST];
    size_t count;
} frames;

typedef struct cause {
    char text[160];
    uint64_t count;
} cause;

typedef struct comparison {
    pid_t process;
    crn_space *space;
    Dwfl *dwfl;
    const copied_stack *stack;
    frames ours, reference;
    bool complete;  /* ours reached the thread's outermost function */
    bool is_stale;  /* mappings have to be read */
    uint64_t files; /* checksum of the files that were mapped at the last stop */
    uint64_t ours_ns, reference_ns;
    uint64_t compared, equal, shorter, longer, different, incomplete;
    uint64_t left_out; /* stacks of a process whose mappings could not be read: it was ending */
    uint64_t frame_count;
    cause causes[CAUSES_MOST];
    size_t cause_count;
} comparison;

/* Walks the stack with both unwinders and counts what is equal. */
void compare_stack(comparison *all, const copied_stack *stack);

/* Prints the counts, and the stacks that are not equal by cause. */
void show_comparison(comparison *all);

/* Compares stacks that the kernel copies as a processor clock's event of all threads interrupts
 * them, until `most` are compared; of a child that waits for `go` to be closed, or of a process
 * that runs already. Returns true if the process has ended before. */
bool compare_samples(comparison *all, uint64_t most, bool is_child, int go);

/* The same for a child that is stopped by ptrace at random moments: slower, but the copy has also
 * what is below the stack pointer. */
bool compare_stops(comparison *all, uint64_t most, int go);

#endif
