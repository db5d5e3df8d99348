/* SPDX-License-Identifier: MIT
 *
 * again.h - a test program that runs itself once more, as a process with a profile of its own.
 */
#ifndef TESTS_SUPPORT_AGAIN_H
#define TESTS_SUPPORT_AGAIN_H

#include <sys/types.h>

#include "support/recorded.h"

/* A sanitizer's own code does not take being interrupted by exit, nor threads that are cancelled.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/* Makes the process, a child of fork, this program with `role` as its only argument; where another
 * processor is emulated, by the emulator. Does not return. */
_Noreturn void again_begin(const char *role);

/* Runs this program with `role` as its only argument, with CAIRN_OUT=`path` (NULL: without) and
 * `variable`, if that is not NULL. Fails the test if it does not end with the status `expected`. */
pid_t again_run(const char *role, const char *path, const char *variable, const char *value,
                int expected);

/* What it then leaves, which is closed. */
recorded again_record(const char *role);

#endif
