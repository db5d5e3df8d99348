/* SPDX-License-Identifier: MIT
 *
 * Linked into each program and shared object that `cairn clang` links: has its sleds patched, and
 * holds what they call.
 */
#include "sled.h"

extern const crn_sled first[] __asm__("__start_xray_instr_map")
    __attribute__((weak, visibility("hidden")));
extern const crn_sled last[] __asm__("__stop_xray_instr_map")
    __attribute__((weak, visibility("hidden")));

/* Defined by the linker's command line with --zero. */
extern char cairn_priv_sleds_zero[] __attribute__((weak, visibility("hidden")));

crn_site *cairn_priv_sleds_sites __attribute__((visibility("hidden")));

/* At an entry nothing below the stack pointer is in use, nor is there at an exit any more. Entries
 * keep the registers that arguments are in; jumps and returns keep all, as which of them hold
 * results, or something of the caller's, is up to the function's calling convention (ms_abi). */
__asm__(".text\n"
        ".p2align 4\n"
        "cairn_sled_enter:\n\t"
        "pushq %rax\n\t"
        "pushq %rcx\n\t"
        "pushq %rdx\n\t"
        "pushq %rsi\n\t"
        "pushq %rdi\n\t"
        "pushq %r8\n\t"
        "pushq %r9\n\t"
        "movq cairn_priv_sleds_sites(%rip), %rdi\n\t"
        "leaq 64(%rsp), %rsi\n\t"
        "shlq $6, %r10\n\t"
        "addq %r10, %rdi\n\t"
        "call *cairn_priv_sled_enter@GOTPCREL(%rip)\n\t"
        "popq %r9\n\t"
        "popq %r8\n\t"
        "popq %rdi\n\t"
        "popq %rsi\n\t"
        "popq %rdx\n\t"
        "popq %rcx\n\t"
        "popq %rax\n\t"
        "ret\n"
        ".p2align 4\n"
        "cairn_sled_leave:\n\t"
        "pushq %rdi\n\t"
        "leaq 8(%rsp), %rdi\n\t"
        "call *cairn_priv_sled_leave@GOTPCREL(%rip)\n\t"
        "popq %rdi\n\t"
        "ret\n"
        ".p2align 4\n"
        "cairn_sled_leave_call:\n\t"
        "pushq %rdi\n\t"
        "leaq 16(%rsp), %rdi\n\t"
        "call *cairn_priv_sled_leave@GOTPCREL(%rip)\n\t"
        "popq %rdi\n\t"
        "ret\n"
        ".p2align 4\n"
        "cairn_sled_tail:\n\t"
        "pushq %rdi\n\t"
        "leaq 16(%rsp), %rdi\n\t"
        "call *cairn_priv_sled_tail@GOTPCREL(%rip)\n\t"
        "popq %rdi\n\t"
        "ret\n");

extern void enter(void) __asm__("cairn_sled_enter");
extern void leave(void) __asm__("cairn_sled_leave");
extern void leave_call(void) __asm__("cairn_sled_leave_call");
extern void tail(void) __asm__("cairn_sled_tail");

_Static_assert(sizeof(crn_site) == 1 << 6, "a function's number is shifted by 6");

__attribute__((constructor(101))) static void patch(void)
{
    if (!cairn_priv_process_off && first < last)
        cairn_priv_sleds_patch(&(crn_sleds){first, last, &cairn_priv_sleds_sites, enter, leave,
                                            leave_call, tail, cairn_priv_sleds_zero != NULL});
}
