/* SPDX-License-Identifier: MIT
 *
 * program.h - a program that does one odd thing, with or without a profile.
 *
 * CASE(its_name, flags) { ... } adds one. Its output, its end and the result of report() must not
 * depend on whether it is profiled.
 */
#ifndef TESTS_PROCESS_PROGRAM_H
#define TESTS_PROCESS_PROGRAM_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <cairn/cairn.h>
#include <cairn/hot.h>
#include <cairn/stack.h>

#include "truth.h"

typedef struct process_case {
    const char *name;
    unsigned flags;
    void (*run)(void);
    struct process_case *next;
} process_case;

void process_case_add(process_case *added);

#define CASE(name_, flags_)                                                                        \
    static void name_(void);                                                                       \
    __attribute__((constructor)) static void add_##name_(void)                                     \
    {                                                                                              \
        static process_case added = {#name_, flags_, name_, NULL};                                 \
        process_case_add(&added);                                                                  \
    }                                                                                              \
    static void name_(void)

extern truth *own;
extern cairn_profile *profile;
extern const char *capture_path;
extern _Thread_local cairn_strand *strand;
extern _Thread_local cairn_stack *stack; /* the same strand, in the mode that keeps only stacks */

/* Opens the profile that the mode asks for, and the main thread's strand. */
void begin(void);
void end(void);

/* Sets the options of the mode. Returns false if the mode has no profile. */
bool mode_options(cairn_options *options);
bool mode_keeps_stacks_only(void);

/* A lane and a strand for the thread that calls. */
cairn_lane *begin_thread(void);

/* A call, and its return. */
void enter(place where);
void leave(void);
void tick(place where, uint32_t count);

/* Some milliseconds of calls; the calls of `count` contexts that are new. */
void work(unsigned rounds);
void grow(unsigned first, unsigned count);

/* In a child of fork: its events are in a capture of its own, and are counted separately. */
void count_for_child(void);

/* Prints all state that profiling could change: signals, descriptors, limits, threads. */
void report(void);

/* Leaves the descriptor of this file out of the reports, wherever it goes. */
void report_without(const char *path);
void report_with_all(void);

/* Ends the case as one that cannot be tried here. */
_Noreturn void skip(const char *why);

/* Records that the tested action took place. */
void checked(void);

/* Ends the program with a message if a call that has to work did not. */
void must(bool worked, const char *what);

/* Waits for a child and prints how it ended. */
void await(pid_t child, const char *who);

#endif
