/* SPDX-License-Identifier: MIT
 *
 * Functions that stay as they are written, however much is optimized: so that calls can be counted
 * in the source.
 *
 * What is named after_* is called by main alone, when something odd is over: if it is then called
 * by anything else for Cairn, a stack was left wrong.
 */
#if defined(__clang__)
#define KEPT __attribute__((noinline, weak))
#else
#define KEPT __attribute__((noipa))
#endif

/* A call that is followed by this is not turned into a loop. */
#define OPAQUE(number) __asm__ volatile("" : "+r"(number))
