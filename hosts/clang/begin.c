/* SPDX-License-Identifier: MIT
 *
 * Linked into each program and shared object that `cairn clang` links: has its sleds patched, and
 * contains the code that they call.
 */
#include "sled.h"

extern const crn_sled first[] __asm__("__start_xray_instr_map")
    __attribute__((weak, visibility("hidden")));
extern const crn_sled last[] __asm__("__stop_xray_instr_map")
    __attribute__((weak, visibility("hidden")));

/* Defined on the linker's command line with --zero. */
extern char cairn_priv_sleds_zero[] __attribute__((weak, visibility("hidden")));

crn_site *cairn_priv_sleds_sites __attribute__((visibility("hidden")));

/* Nothing below the stack pointer is in use, neither at an entry nor at an exit. Entries preserve
 * argument registers, and %r10, the static chain; jumps and returns preserve everything, because
 * the function's calling convention (such as ms_abi) decides which registers hold results or belong
 * to the caller. The function's number is in %r11, which every convention leaves to code between
 * caller and function. Unwinders see the function at each instruction. */
/* clang-format off */
#define BEGIN(name)                                                                                \
    ".p2align 4\n"                                                                                 \
    ".type " name ", @function\n"                                                                  \
    name ":\n\t"                                                                                   \
    ".cfi_startproc\n\t"
#define END(name)                                                                                  \
    "ret\n\t"                                                                                      \
    ".cfi_endproc\n\t"                                                                             \
    ".size " name ", . - " name "\n"
#define PUSH(reg)                                                                                  \
    "pushq " reg "\n\t"                                                                            \
    ".cfi_adjust_cfa_offset 8\n\t"                                                                 \
    ".cfi_rel_offset " reg ", 0\n\t"
#define POP(reg)                                                                                   \
    "popq " reg "\n\t"                                                                             \
    ".cfi_adjust_cfa_offset -8\n\t"                                                                \
    ".cfi_restore " reg "\n\t"
#define EXIT(name, function, slot)                                                                 \
    BEGIN(name)                                                                                    \
    PUSH("%rdi")                                                                                   \
    "leaq " slot "(%rsp), %rdi\n\t"                                                                \
    "call *" function "@GOTPCREL(%rip)\n\t"                                                        \
    POP("%rdi")                                                                                    \
    END(name)
__asm__(".text\n"
        BEGIN("cairn_sled_enter")
        PUSH("%rax")
        PUSH("%rcx")
        PUSH("%rdx")
        PUSH("%rsi")
        PUSH("%rdi")
        PUSH("%r8")
        PUSH("%r9")
        PUSH("%r10")
        "movq cairn_priv_sleds_sites(%rip), %rdi\n\t"
        "leaq 72(%rsp), %rsi\n\t"
        "shlq $6, %r11\n\t"
        "addq %r11, %rdi\n\t"
        "call *cairn_priv_sled_enter@GOTPCREL(%rip)\n\t"
        POP("%r10")
        POP("%r9")
        POP("%r8")
        POP("%rdi")
        POP("%rsi")
        POP("%rdx")
        POP("%rcx")
        POP("%rax")
        END("cairn_sled_enter")
        EXIT("cairn_sled_leave", "cairn_priv_sled_leave", "8") /* reached by a jump */
        EXIT("cairn_sled_leave_call", "cairn_priv_sled_leave", "16")
        EXIT("cairn_sled_tail", "cairn_priv_sled_tail", "16"));
/* clang-format on */

extern void enter(void) __asm__("cairn_sled_enter");
extern void leave(void) __asm__("cairn_sled_leave");
extern void leave_call(void) __asm__("cairn_sled_leave_call");
extern void tail(void) __asm__("cairn_sled_tail");

_Static_assert(sizeof(crn_site) == 1 << 6, "a function's number is shifted by 6");

__attribute__((constructor(101))) static void patch(void)
{
    if (cairn_priv_process_off)
        return;
    if (cairn_priv_functions_forget)
        cairn_priv_functions_forget(&cairn_priv_sleds_sites);
    if (first < last)
        cairn_priv_sleds_patch(&(crn_sleds){first, last, &cairn_priv_sleds_sites, enter, leave,
                                            leave_call, tail, cairn_priv_sleds_zero != NULL});
}
