/* SPDX-License-Identifier: MIT
 *
 * trace.h - for traced programs: prints the stack of the call as addresses in files, from which
 * from_trace makes a capture.
 */
#ifndef TESTS_SYMBOLS_TRACE_H
#define TESTS_SYMBOLS_TRACE_H

#ifdef __cplusplus
extern "C" {
#endif

/* "<bytes> <freed> FILE+0xOFFSET ...", outermost first; `inner`, if not NULL, comes last. */
void trace(unsigned long bytes, unsigned long freed, const void *inner);

/* "module FILE BUILD-ID" for each file that is loaded. */
void trace_modules(void);

#ifdef __cplusplus
}
#endif

/* Follows a call, so that it is no tail call; and keeps functions from being merged. */
#define KEEP() __asm__ volatile("" ::: "memory")
#define APART __attribute__((noinline, noclone))
#define INSIDE static inline __attribute__((always_inline))

#endif
