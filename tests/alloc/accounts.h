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
/* Keeps a call from being the last thing a function does: then it would leave no frame. */
#define STAY(value) __asm__ volatile("" : "+r"(value) : : "memory")

typedef struct account {
    const char *function;
    long bytes, objects, freed_bytes, freed_objects; /* atomic */
} account;

/* A block, and on whose account it is. */
typedef struct held {
    void *block;
    size_t size;
    account *of;
} held;

/* The account of a function: found by its name, made if need be. */
account *account_of(const char *function);
/* Enters a block into the account. */
held account_made(const char *function, void *block, size_t size);
/* To be called before the block is freed. */
void account_gone(const held *held);

/* Fails the test program, with a line on standard error. */
#define MUST(condition) account_must((condition), #condition, __FILE__, __LINE__)
void account_must(bool condition, const char *text, const char *file, int line);

/* Writes the books to the file named by ALLOC_BOOKS: a line an account. */
void account_close(void);

#ifdef __cplusplus
}
#endif

#endif
