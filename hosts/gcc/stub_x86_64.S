/* SPDX-License-Identifier: MIT
 *
 * The first part of the slow path of enter, leave and tail call: functions that preserve all
 * registers but %rax, which has their argument and result. Their callers have saved nothing for a
 * call and have no red zone. The functions handle frequent cases themselves. For all others they
 * save all registers, vector and x87 registers by xsave, and call a C function, mostly of slow.c.
 */
#include "layout.h"

#define BELOW 64    /* size of registers saved below %rbp */
#define RESULT 72   /* distance of the result below %rbp */
#define LEGACY 576  /* size of xsave's first part: x87, SSE and the header */

/* Register states: their bits in xsave's mask, and their sizes in its area. */
#define STATES 0xe7 /* all that are saved: x87, SSE, AVX, AVX-512 */
#define SSE 2
#define AVX 4       /* 256 bytes */
#define MASKS 0x20  /* 64 bytes */
#define ZMM 0xc0    /* two states: 512 and 1,024 bytes */

/* Begins a function: saves the general registers that C functions may change, except %rax, and
 * aligns the stack. */
        .macro save
        .cfi_startproc
        endbr64
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        pushq   %rcx
        pushq   %rdx
        pushq   %rsi
        pushq   %rdi
        pushq   %r8
        pushq   %r9
        pushq   %r10
        pushq   %r11
        cld
        andq    $-64, %rsp
        .endm

/* Ends such a function: restores these registers, and returns. */
        .macro restore
        leaq    -BELOW(%rbp), %rsp
        popq    %r11
        popq    %r10
        popq    %r9
        popq    %r8
        popq    %rdi
        popq    %rsi
        popq    %rdx
        popq    %rcx
        popq    %rbp
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .endm

/* push and pop with CFI, so that unwinders find the caller at each instruction, also when the
 * thread is cancelled. */
        .macro push registers:vararg
        .irp reg, \registers
        pushq   %\reg
        .cfi_adjust_cfa_offset 8
        .endr
        .endm

        .macro pop registers:vararg
        .irp reg, \registers
        popq    %\reg
        .cfi_adjust_cfa_offset -8
        .endr
        .endm

        .macro function name
        .p2align 4
        .type   \name, @function
\name:
        .endm

/* Begins a function that enters the site in %rax. Saves the registers that end_enter restores, and
 * loads the strand into %rdi and the address of its stack's end into %rdx. Goes to label 2 if there
 * is no strand, no space for a frame, or something is pending. */
        .macro begin_enter name
        .globl  \name
        function \name
        .cfi_startproc
        endbr64
        push    rcx, rdx, rsi, rdi, r8, r9
        movq    cairn_priv_thread_strand@gottpoff(%rip), %rdi
        movq    %fs:(%rdi), %rdi
        testq   %rdi, %rdi
        je      2f
        movq    CRN_STRAND_TOP(%rdi), %rdx
        cmpq    CRN_STRAND_HIGH(%rdi), %rdx
        jae     2f
        .endm

/* Ends such a function. Label 2, to which code may go as long as %rax has the site, jumps to the
 * function \slowly, which handles all other cases. */
        .macro end_enter name slowly
        pop     r9, r8, rdi, rsi, rdx, rcx
        ret
2:      .cfi_adjust_cfa_offset 48
        pop     r9, r8, rdi, rsi, rdx, rcx
        jmp     \slowly
        .cfi_endproc
        .size   \name, . - \name
        .endm

/* Zeroes the header of xsave's area, as xrstor requires. Clobbers %rax. */
        .macro clear_header
        xorl    %eax, %eax
        movq    %rax, 512(%rsp)
        movq    %rax, 520(%rsp)
        movq    %rax, 528(%rsp)
        movq    %rax, 536(%rsp)
        movq    %rax, 544(%rsp)
        movq    %rax, 552(%rsp)
        movq    %rax, 560(%rsp)
        movq    %rax, 568(%rsp)
        .endm

/* Calls \function with %rdi and the caller's %r11 as arguments, and returns its result in %rax.
 * Preserves vector and x87 registers. crn_site_xsave (sites.c) selects the instruction that saves
 * them. If the processor tells which register states are in use, only those are saved, because the
 * stack may be a small one, a signal handler's. xrstor then resets the others to their initial
 * values, which they had. */
        .macro call_with_all function
        subq    $(RESULT - BELOW), %rsp
        movl    crn_site_xsave(%rip), %esi
        cmpl    $1, %esi
        jb      5f
        ja      4f
        movl    $1, %ecx
        xgetbv
        andl    $STATES, %eax
        orl     $SSE, %eax      /* always: MXCSR has the rounding mode */
        movl    %eax, %r8d
        movl    %eax, %ecx      /* from here: %ecx = size of the area for the states in %eax */
        andl    $AVX, %ecx
        shll    $6, %ecx
        movl    %eax, %edx
        andl    $MASKS, %edx
        leal    LEGACY(%rcx,%rdx,2), %ecx
        andl    $ZMM, %eax
        leal    (%rcx,%rax,8), %ecx
        subq    %rcx, %rsp
        andq    $-64, %rsp
        clear_header
        movl    %r8d, %eax
        xorl    %edx, %edx
        xsavec64 (%rsp)
        jmp     3f
4:      subq    %rsi, %rsp
        andq    $-64, %rsp
        clear_header
        movl    $STATES, %eax
        xorl    %edx, %edx
        xsave64 (%rsp)
3:      movq    -BELOW(%rbp), %rsi
        call    \function
        movq    %rax, -RESULT(%rbp)
        movl    $STATES, %eax
        xorl    %edx, %edx
        xrstor64 (%rsp)
        jmp     6f
5:      subq    $LEGACY, %rsp
        andq    $-64, %rsp
        fxsave64 (%rsp)
        movq    -BELOW(%rbp), %rsi
        call    \function
        movq    %rax, -RESULT(%rbp)
        fxrstor64 (%rsp)
6:      movq    -RESULT(%rbp), %rax
        .endm

        .text
/* Finds the entry of an edge in the edge cache, as crn_graph_recall does. %rax: the site of the
 * callee; %e\from: the current node offset; %\lane: the lane. Returns the entry's address in
 * %r\entry; clobbers %r9. Goes to label 2 if the edge is not there, as for a new site. */
        .macro look_up_edge from lane entry
        imull   $CRN_EDGE_FACTOR, CRN_SITE_BLOCK(%rax), %e\entry
        addl    %e\from, %e\entry
        andq    CRN_LANE_EDGE_CACHE_MASK(%\lane), %r\entry
        shlq    $CRN_EDGE_SHIFT, %r\entry
        addq    CRN_LANE_EDGE_CACHE(%\lane), %r\entry
        cmpl    %e\from, CRN_EDGE_FROM(%r\entry)
        jne     2f
        movl    CRN_SITE_BLOCK(%rax), %r9d
        cmpl    %r9d, CRN_EDGE_BLOCK(%r\entry)
        jne     2f
        .endm

/* cairn_priv_site_enter: enters a site if nothing is pending and the edge cache has the callee.
 * Stores the callee in the current record, in place of another cached callee. */
        begin_enter cairn_priv_site_enter
        movq    CRN_STRAND_CURRENT(%rdi), %rsi
        movq    CRN_STRAND_LANE(%rdi), %r8
        look_up_edge si, r8, cx
        movl    CRN_EDGE_CALLEE(%rcx), %r9d
        movl    CRN_SITE_CALLEE(%rax), %eax
        movq    CRN_LANE_BASE(%r8), %r8
        addq    %r8, %rax
        movl    %r9d, (%rax,%rsi,8)
        testq   %rsi, %rsi
        cmovsl  (%rdx), %esi
        leaq    4(%rdx), %rax
        movq    %rax, CRN_STRAND_TOP(%rdi)
        movl    %esi, (%rdx)
        subq    CRN_STRAND_BOTTOM(%rdi), %rax
        movq    %r9, CRN_STRAND_CURRENT(%rdi)
        addq    $1, (%r8,%r9,8)
        end_enter cairn_priv_site_enter, site_enter_all

/* Looks up the callee of a crn_packed_site (site.h): first among those that the current record
 * caches, then in the edge cache. %rax: the site; %rcx: the current node offset; %rsi: the lane;
 * %r8: the address of its records. Returns the callee's node offset in %rdx; clobbers %r9. Goes to
 * label 2 if neither has it. */
        .macro look_up_block
        imull   $CRN_RECORD_CALLEE_FACTOR, CRN_SITE_BLOCK(%rax), %edx
        leaq    (%rdx,%rdx,4), %rdx
        shrq    $32, %rdx
        leaq    (%r8,%rcx,8), %r9
        movl    CRN_RECORD_CALLEES(%r9,%rdx,4), %edx
        movl    CRN_SITE_BLOCK(%rax), %r9d
        cmpl    %r9d, CRN_RECORD_BLOCK(%r8,%rdx,8)
        je      3f
        look_up_edge cx, rsi, dx
        movl    CRN_EDGE_CALLEE(%rdx), %edx
3:
        .endm

/* Makes a function that enters a crn_packed_site after a miss in the inline cache, if nothing is
 * pending and another cache has the callee. It stores the edge in the inline cache. If `pushed`, it
 * pushes the frame with a guard and returns the height. Otherwise it returns the caller's node
 * offset, plus the graph's tag if `tagged`. `slowly`: as for end_enter. */
        .macro enter_known name pushed tagged slowly
        begin_enter \name
        movq    CRN_STRAND_LANE(%rdi), %rsi
        movq    CRN_STRAND_CURRENT(%rdi), %rcx
        movq    CRN_LANE_BASE(%rsi), %r8
        look_up_block
        CRN_CACHE_INDEX(%ecx, %r9d)
        shll    $3, %r9d
        addl    CRN_SITE_INLINE_CACHE(%rax), %r9d
        cmpl    $CRN_INLINE_CACHE_SIZE, %r9d     /* below: block 0, which has no inline cache */
        jb      4f
        movq    CRN_LANE_INLINE_CACHE(%rsi), %rax
        testq   %rax, %rax
        je      4f
        addq    %rax, %r9
        movl    %ecx, %eax
        movq    %rdx, %rsi
        shlq    $32, %rsi
        orq     %rax, %rsi
        movq    %rsi, (%r9)
4:      addq    $1, (%r8,%rdx,8)
        movq    CRN_STRAND_TOP(%rdi), %rax
        testq   %rcx, %rcx
        cmovsl  (%rax), %ecx            /* after a tail call: the caller, which it stored there */
        .if \pushed
        addq    $8, CRN_STRAND_TOP(%rdi)
        movl    %edx, 4(%rax)
        movl    %ecx, (%rax)            /* stored after `top`: a signal handler may push there */
        movq    %rdx, CRN_STRAND_CURRENT(%rdi)
        addq    $4, %rax
        subq    CRN_STRAND_BOTTOM(%rdi), %rax
        .else
        movq    %rdx, CRN_STRAND_CURRENT(%rdi)
        movq    %rcx, %rax
        .if \tagged
        addq    CRN_STRAND_GRAPH_TAG(%rdi), %rax
        .endif
        .endif
        end_enter \name, \slowly
        .endm

        enter_known cairn_priv_site_2_enter_guarded, 1, 0, site_enter_guarded_all
        enter_known cairn_priv_site_2_enter_saved_caller, 0, 1, site_enter_saved_caller_all
        enter_known cairn_priv_site_2_enter_leaf, 0, 0, site_enter_leaf_all

/* Makes a function that calls \c_function with %rax and %r11 as arguments, returns its result in
 * %rax, and preserves all other registers. If \exact is given, calls that first, with %rax alone:
 * it needs fewer registers saved, handles the event if wall time is exact, and returns in %rdx
 * whether it did (crn_exact in runtime.h). */
        .macro slow_path name c_function exact
        function \name
        save
        movq    %rax, %rdi
        .ifnb \exact
        subq    $64, %rsp
        movq    %rdi, (%rsp)
        call    \exact
        movq    (%rsp), %rdi
        addq    $64, %rsp
        testq   %rdx, %rdx
        jne     7f
        .endif
        call_with_all \c_function
7:      restore
        .size   \name, . - \name
        .endm

        .macro slow_paths names:vararg
        .irp    name, \names
        .globl  cairn_priv_site_\name
        slow_path cairn_priv_site_\name, crn_site_\name
        .endr
        .endm

        .macro exact_slow_paths names:vararg
        .irp    name, \names
        .globl  cairn_priv_site_\name
        slow_path cairn_priv_site_\name, crn_site_\name, crn_exact_\name
        .endr
        .endm

        slow_path site_enter_all, crn_site_enter, crn_exact_enter
        slow_path site_enter_guarded_all, crn_site_enter_guarded, crn_exact_enter_guarded
        slow_path site_enter_saved_caller_all, crn_site_enter_saved_caller, crn_exact_enter_saved_caller
        slow_path site_enter_leaf_all, crn_site_enter_leaf, crn_exact_enter_leaf
        exact_slow_paths leave, tail, leave_saved_caller, tail_saved_caller, leave_leaf
        slow_paths counters, go, small, lean

/* Makes a function like slow_path's, but with %rax preserved. */
        .macro  row_path name
        .globl  cairn_priv_site_\name
        function cairn_priv_site_\name
        .cfi_startproc
        endbr64
        push    rax
        call    site_\name\()_all
        pop     rax
        ret
        .cfi_endproc
        .size   cairn_priv_site_\name, . - cairn_priv_site_\name
        slow_path site_\name\()_all, crn_site_\name
        .endm

        row_path row
        row_path row_entered

/* cairn_priv_site_call, for hosts/clang/sled.c: calls the C function in %rax with %rdi as argument,
 * returns its result in %rax, and preserves all other registers. */
        .globl  cairn_priv_site_call
        function cairn_priv_site_call
        save
        movq    %rax, %r11
        call_with_all *%r11
        restore
        .size   cairn_priv_site_call, . - cairn_priv_site_call

        .section .note.GNU-stack, "", @progbits
