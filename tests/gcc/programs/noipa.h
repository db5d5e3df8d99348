/* SPDX-License-Identifier: MIT
 *
 * Attributes that keep functions as they are written at each level of optimization, so that calls
 * can be counted in the source.
 *
 * Functions named after_* are called by main alone, after something unusual. If the capture has
 * them below another function, a stack was left wrong.
 */
#if defined(__clang__)
#define KEPT __attribute__((noinline, weak))
#else
#define KEPT __attribute__((noipa))
#endif

/* Prevents that the call before it becomes a tail call or a loop. */
#define OPAQUE(number) __asm__ volatile("" : "+r"(number))

/* Defines a function that adds its argument to the program's volatile `seen`. */
#define STEP(name)                                                                                 \
    KEPT int name(int n)                                                                           \
    {                                                                                              \
        seen = seen + n;                                                                           \
        return n + 1;                                                                              \
    }
