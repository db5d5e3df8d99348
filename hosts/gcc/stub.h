/* SPDX-License-Identifier: MIT
 *
 * stub.h - what functions of assembler share that are written into each object file, each in a
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

/* Which of a block's guesses is meant, in %r8; and where they are of the block whose site is in %r11,
 * from where those of block 0 are: in %r9. */
#define CACHE_ENTRY_PLACE                                                                                \
    "\timull $" CRN_INLINE_CACHE_FACTOR ", %esp, %r8d\n"                                                 \
    "\tshrl $" CRN_INLINE_CACHE_SHIFT ", %r8d\n"                                                         \
    "\tmovl 4(%r11), %r9d\n"

/* How Enter begins. %rax: the strand, %r11: the site. Leaves in the upper half of %r8 where the block
 * leads to; goes to `wrong` if it led there from elsewhere, nothing is known, or something is due.
 * %r9 is lost. A guess is read at once: a signal handler may change it. */
#define FIND_BLOCK(wrong)                                                                          \
    CACHE_ENTRY_PLACE                                                                                    \
    "\taddq " CRN_AT_INLINE_CACHE "(%rax), %r9\n"                                                       \
    "\tmovq (%r9,%r8,8), %r8\n"                                                                   \
    "\tcmpl " CRN_AT_CURRENT "(%rax), %r8d\n"                                                     \
    "\tjne " wrong "\n"

/* Where the stack ends; goes to 2 if there is no room for a frame. */
#define FIND_ROOM(top)                                                                             \
    "\tmovq " CRN_AT_TOP "(%rax), " top "\n"                                                       \
    "\tcmpq " CRN_AT_HIGH "(%rax), " top "\n"                                                      \
    "\tjae 2f\n"

/* Who called, in %r11: what ran, unless its frame was given back by a tail call, which keeps what is
 * saved where the stack ends. That is told by cmov, as no branch could foretell it. */
#define WHO_CALLED(top)                                                                            \
    "\ttestq %r11, %r11\n"                                                                         \
    "\tcmovsl (" top "), %r11d\n"

/* And ends, but for the count. %r8: the unit, %r11: what ran. Leaves the height in `top`, which is told
 * first: what a signal handler runs may push where the stack ends. What runs is told last: the handler
 * keeps that. */
#define PUSH_BLOCK(top)                                                                            \
    WHO_CALLED(top)                                                                                \
    "\taddq $4, " top "\n"                                                                         \
    "\tmovq " top ", " CRN_AT_TOP "(%rax)\n"                                                       \
    "\tmovl %r11d, -4(" top ")\n"                                                                  \
    "\tmovq %r8, " CRN_AT_CURRENT "(%rax)\n"                                                       \
    "\tsubq " CRN_AT_BOTTOM "(%rax), " top "\n"
/* The same with a guard, which is counted in the height. It comes when the stack is above it. */
#define PUSH_GUARDED(top)                                                                          \
    WHO_CALLED(top)                                                                                \
    "\taddq $8, " top "\n"                                                                         \
    "\tmovq " top ", " CRN_AT_TOP "(%rax)\n"                                                       \
    "\tmovl %r11d, -8(" top ")\n"                                                                  \
    "\tmovl %r8d, -4(" top ")\n"                                                                   \
    "\tmovq %r8, " CRN_AT_CURRENT "(%rax)\n"                                                       \
    "\tsubq " CRN_AT_BOTTOM "(%rax), " top "\n"
/* clang-format on */

#endif
