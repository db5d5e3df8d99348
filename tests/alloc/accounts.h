/* SPDX-License-Identifier: MIT
 *
 * accounts.h - a program's own counts of its functions' allocations, for comparison with the
 * profile. Counting allocates nothing.
 */
#ifndef TESTS_ALLOC_ACCOUNTS_H
#define TESTS_ALLOC_ACCOUNTS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif
/* Follows a call, so that it is no tail call: a tail call would leave no frame. */
#define STAY(value) __asm__ volatile("" : "+r"(value) : : "memory")

typedef struct account {
    const char *function;
    long bytes, objects, freed_bytes, freed_objects; /* atomic */
} account;

/* An allocation, and the account it is in. */
typedef struct held {
    void *block;
    size_t size;
    account *of;
} held;

/* Returns the account of the function with this name; makes it if there is none. */
account *account_of(const char *function);
/* Adds an allocation to the account. */
held account_made(const char *function, void *block, size_t size);
/* Call this before the allocation is freed. */
void account_gone(const held *held);

/* Exits with a message on standard error if the condition is false. */
#define MUST(condition) account_must((condition), #condition, __FILE__, __LINE__)
void account_must(bool condition, const char *text, const char *file, int line);

/* A test program: runs the one that the first argument names, and writes its accounts. Returns
 * main's result. */
typedef struct account_program {
    const char *name;
    void (*run)(void);
} account_program;
int account_main(const account_program *programs, size_t count, int argc, char **argv);

/* Writes a line an account to the file named by ALLOC_BOOKS. */
void account_close(void);

#ifdef __cplusplus
}
#endif

#endif
