/* SPDX-License-Identifier: MIT
 *
 * stub.h - macros of the assembler functions that are written into each object file, each in a
 * section of its own, of which the linker keeps one.
 */
#ifndef CRN_GCC_STUB_H
#define CRN_GCC_STUB_H

/* clang-format off */
#define NAME(name)                                                                                 \
    "\t.weak " name "\n"                                                                           \
    "\t.hidden " name "\n"                                                                         \
    "\t.type " name ", @function\n"                                                                \
    name ":\n"
#define BEGIN(name)                                                                                \
    "\t.section .text." name ",\"axG\",@progbits," name ",comdat\n"                                \
    "\t.p2align 4\n"                                                                               \
    NAME(name)                                                                                     \
    "\t.cfi_startproc\n"
#define END(name)                                                                                  \
    "\t.cfi_endproc\n"                                                                             \
    "\t.size " name ", . - " name "\n"

/* Computes the place of the inline cache entry: its offset in %r8, and the block's inline cache in
 * %r9. %r11: the site. */
#define CACHE_ENTRY_PLACE                                                                                \
    "\timull $" CRN_TEXT(CRN_INLINE_CACHE_FACTOR) ", %esp, %r8d\n"                                                 \
    "\tshrl $" CRN_TEXT(CRN_INLINE_CACHE_SHIFT) ", %r8d\n"                                                         \
    "\tmovl 4(%r11), %r9d\n"

/* Begin of enter. %rax: the strand, %r11: the site. Leaves the callee's node offset in the upper
 * half of %r8. Goes to `wrong` if the entry is for another context, empty, or something is pending.
 * Clobbers %r9. The entry is read by one load, because a signal handler may change it. */
#define FIND_BLOCK(wrong)                                                                          \
    CACHE_ENTRY_PLACE                                                                                    \
    "\taddq " CRN_AT_INLINE_CACHE "(%rax), %r9\n"                                                       \
    "\tmovq (%r9,%r8,8), %r8\n"                                                                   \
    "\tcmpl " CRN_AT_CURRENT "(%rax), %r8d\n"                                                     \
    "\tjne " wrong "\n"

/* Loads the end of the stack; goes to 2 if there is no space for a frame. */
#define FIND_SPACE(top)                                                                             \
    "\tmovq " CRN_AT_TOP "(%rax), " top "\n"                                                       \
    "\tcmpq " CRN_AT_HIGH "(%rax), " top "\n"                                                      \
    "\tjae 2f\n"

/* Computes the caller in %r11: the current context, or after a tail call the caller stored at the
 * end of the stack. Selected by cmov, because the branch would be unpredictable. */
#define GET_CALLER(top)                                                                            \
    "\ttestq %r11, %r11\n"                                                                         \
    "\tcmovsl (" top "), %r11d\n"

/* End of enter, without the count. %r8: node offset, %r11: caller. Stores the new height first,
 * because a signal handler may push at the end of the stack, and the current context last, because
 * the handler preserves it. */
#define PUSH_BLOCK(top)                                                                            \
    GET_CALLER(top)                                                                                \
    "\taddq $4, " top "\n"                                                                         \
    "\tmovq " top ", " CRN_AT_TOP "(%rax)\n"                                                       \
    "\tmovl %r11d, -4(" top ")\n"                                                                  \
    "\tmovq %r8, " CRN_AT_CURRENT "(%rax)\n"                                                       \
    "\tsubq " CRN_AT_BOTTOM "(%rax), " top "\n"
/* The same with a guard, which is included in the height. It is stored when the stack is above
 * it. */
#define PUSH_GUARDED(top)                                                                          \
    GET_CALLER(top)                                                                                \
    "\taddq $8, " top "\n"                                                                         \
    "\tmovq " top ", " CRN_AT_TOP "(%rax)\n"                                                       \
    "\tmovl %r11d, -8(" top ")\n"                                                                  \
    "\tmovl %r8d, -4(" top ")\n"                                                                   \
    "\tmovq %r8, " CRN_AT_CURRENT "(%rax)\n"                                                       \
    "\tsubq " CRN_AT_BOTTOM "(%rax), " top "\n"
/* clang-format on */

#endif
