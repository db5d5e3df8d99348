/* SPDX-License-Identifier: MIT
 *
 * stub.h - macros for assembler functions. The plugin writes each function into each object file
 * that calls it, in a section of its own, and the linker keeps one copy.
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
/* clang-format on */

#endif
