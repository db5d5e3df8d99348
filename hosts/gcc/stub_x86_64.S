/* SPDX-License-Identifier: MIT
 *
 * Calls of C functions in the middle of code that saved nothing for a call. The argument is in
 * %rax, and so is the result; all other registers are as they were, and the caller has moved off
 * the red zone. What C code may use beyond general registers is saved by the processor itself.
 */
#include "layout.h"

#define BELOW 64    /* size of registers saved below %rbp */
#define RESULT 72   /* below %rbp: the result */
#define LEGACY 576  /* x87 and SSE as xsave lays them out, and its header */
#define STATES 0xe7 /* these, AVX and AVX-512 */
#define SSE 2
#define AVX 4       /* 256 bytes */
#define MASKS 0x20  /* 64 */
#define ZMM 0xc0    /* 512 and 1,024 */

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

/* CFI: unwinders find the caller at each instruction, also in a cancelled thread. */
        .macro push reg
        pushq   \reg
        .cfi_adjust_cfa_offset 8
        .endm

        .macro pop reg
        popq    \reg
        .cfi_adjust_cfa_offset -8
        .endm

/* xrstor wants it so. */
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

/* Calls \function with %rdi and what %r11 was; its result is left in %rax. The stack may be a signal's, and small: so
 * only what is in use is saved, if the processor says what that is. The rest is as it was
 * at the beginning, and xrstor makes it so again. crn_site_xsave: see sites.c. */
        .macro call_with_all function
        subq    $(RESULT - BELOW), %rsp
        movl    crn_site_xsave(%rip), %esi
        cmpl    $1, %esi
        jb      5f
        ja      4f
        movl    $1, %ecx
        xgetbv
        andl    $STATES, %eax
        orl     $SSE, %eax      /* and how it rounds */
        movl    %eax, %r8d
        movl    %eax, %ecx
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
/* The common slow case: nothing is pending, and only another callee is cached in the record. Looks
 * up the edge cache, as crn_graph_recall does, with few registers. */
        .p2align 4
        .globl  cairn_priv_site_enter
        .type   cairn_priv_site_enter, @function
cairn_priv_site_enter:
        .cfi_startproc
        endbr64
        push    %rcx
        push    %rdx
        push    %rsi
        push    %rdi
        push    %r8
        push    %r9
        movq    cairn_priv_thread_strand@gottpoff(%rip), %rdi
        movq    %fs:(%rdi), %rdi
        testq   %rdi, %rdi
        je      2f
        movl    (%rax), %ecx            /* the block; a new one is not cached */
        movq    CRN_STRAND_TOP(%rdi), %rdx            /* top */
        movq    CRN_STRAND_CURRENT(%rdi), %rsi          /* current */
        movq    CRN_STRAND_LANE(%rdi), %r8           /* lane */
        cmpq    CRN_STRAND_HIGH(%rdi), %rdx
        jae     2f
        movl    %esi, %r9d              /* node offset */
        push    %rax
        movl    $CRN_INLINE_CACHE_FACTOR, %eax
        imulq   %rcx, %rax
        shrl    $2, %r9d                /* record */
        addq    %r9, %rax
        movl    %esi, %r9d
        andq    CRN_LANE_EDGE_CACHE_MASK(%r8), %rax
        shlq    $4, %rax
        addq    CRN_LANE_EDGE_CACHE(%r8), %rax
        shlq    $32, %rcx
        orq     %rcx, %r9
        cmpq    %r9, (%rax)
        jne     1f
        movl    12(%rax), %r9d          /* node offset of the callee */
        pop     %rax
        movl    4(%rax), %eax           /* byte offset of its entry in the record */
        movq    CRN_LANE_BASE(%r8), %r8              /* base */
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
        pop     %r9
        pop     %r8
        pop     %rdi
        pop     %rsi
        pop     %rdx
        pop     %rcx
        ret
1:      .cfi_adjust_cfa_offset 56
        pop     %rax
2:      pop     %r9
        pop     %r8
        pop     %rdi
        pop     %rsi
        pop     %rdx
        pop     %rcx
        jmp     cairn_priv_site_enter_slowly
        .cfi_endproc
        .size   cairn_priv_site_enter, . - cairn_priv_site_enter

/* Looks up the callee of a packed site's block, in the current record, then in the edge cache. %rax:
 * the site, %rcx: current context, %rsi: the lane, %r8: its base. Returns the node offset in %rdx;
 * clobbers %r9. Goes to 2 if it is not cached. */
        .macro look_up_block
        imull   $CRN_RECORD_CALLEE_FACTOR, (%rax), %edx
        leaq    (%rdx,%rdx,2), %rdx
        shrq    $32, %rdx
        leaq    (%r8,%rcx,8), %r9
        movl    CRN_RECORD_CALLEES(%r9,%rdx,4), %edx
        movl    (%rax), %r9d            /* the block; a new one is not cached */
        cmpl    %r9d, CRN_RECORD_BLOCK(%r8,%rdx,8)
        je      3f
        imull   $CRN_INLINE_CACHE_FACTOR, (%rax), %edx
        movl    %ecx, %r9d
        shrl    $2, %r9d                /* record */
        addl    %r9d, %edx
        andq    CRN_LANE_EDGE_CACHE_MASK(%rsi), %rdx
        shlq    $4, %rdx
        addq    CRN_LANE_EDGE_CACHE(%rsi), %rdx
        cmpl    %ecx, (%rdx)
        jne     2f
        movl    (%rax), %r9d
        cmpl    %r9d, 4(%rdx)
        jne     2f
        movl    12(%rdx), %edx
3:
        .endm

/* The same for packed sites, after an inline cache miss. The result becomes the inline cache entry.
 * frame: the frame is pushed, and its height returned; guarded: with a guard. saved_caller: the caller is
 * returned, with the graph's tag. count_only: the caller's context stays current, and the node offset is
 * returned. `above`: by how much the stack pointer is lower here than where the entry was selected. */
        .macro enter_known name frame guarded saved_caller count_only above slowly
        .p2align 4
        .globl  \name
        .type   \name, @function
\name:
        .cfi_startproc
        endbr64
        push    %rcx
        push    %rdx
        push    %rsi
        push    %rdi
        push    %r8
        push    %r9
        movq    cairn_priv_thread_strand@gottpoff(%rip), %rdi
        movq    %fs:(%rdi), %rdi
        testq   %rdi, %rdi
        je      2f
        movq    CRN_STRAND_TOP(%rdi), %rdx            /* top */
        cmpq    CRN_STRAND_HIGH(%rdi), %rdx
        jae     2f
        movq    CRN_STRAND_LANE(%rdi), %rsi          /* lane */
        movq    CRN_STRAND_CURRENT(%rdi), %rcx          /* current */
        movq    CRN_LANE_BASE(%rsi), %r8             /* base */
        look_up_block
        .if \count_only
        leal    (%rcx,%rcx), %r9d
        andl    $CRN_INLINE_CACHE_MASK, %r9d
        .else
        leaq    (48 + \above)(%rsp), %r9
        imull   $CRN_INLINE_CACHE_FACTOR, %r9d, %r9d
        shrl    $CRN_INLINE_CACHE_SHIFT, %r9d
        shll    $3, %r9d
        .endif
        addl    4(%rax), %r9d
        cmpl    $CRN_INLINE_CACHE_SIZE, %r9d     /* of block 0, which has no cache */
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
        testq   %rcx, %rcx
        jns     5f
        movq    CRN_STRAND_TOP(%rdi), %rsi
        movl    (%rsi), %ecx            /* caller of the frame that was given back */
5:      .if \count_only
        movq    %rcx, CRN_STRAND_CURRENT(%rdi)
        movq    %rdx, %rax
        .elseif \frame                  /* stored last: a signal handler saves it there */
        movq    CRN_STRAND_TOP(%rdi), %rax
        .if \guarded
        addq    $8, CRN_STRAND_TOP(%rdi)
        movl    %edx, 4(%rax)
        .else
        addq    $4, CRN_STRAND_TOP(%rdi)
        .endif
        movl    %ecx, (%rax)            /* behind that: a signal handler may push at the end */
        movq    %rdx, CRN_STRAND_CURRENT(%rdi)
        addq    $4, %rax
        subq    CRN_STRAND_BOTTOM(%rdi), %rax
        .else
        movq    %rdx, CRN_STRAND_CURRENT(%rdi)
        movq    %rcx, %rax
        .if \saved_caller
        addq    CRN_STRAND_MARK(%rdi), %rax
        .endif
        .endif
        pop     %r9
        pop     %r8
        pop     %rdi
        pop     %rsi
        pop     %rdx
        pop     %rcx
        ret
2:      .cfi_adjust_cfa_offset 48
        pop     %r9
        pop     %r8
        pop     %rdi
        pop     %rsi
        pop     %rdx
        pop     %rcx
        jmp     \slowly
        .cfi_endproc
        .size   \name, . - \name
        .endm

        enter_known cairn_priv_site_enter_frame, 1, 0, 0, 0, 0, cairn_priv_site_enter_slowly
        enter_known cairn_priv_site_enter_guarded, 1, 1, 0, 0, 0, site_enter_guarded_all
        enter_known cairn_priv_site_enter_counted, 1, 1, 0, 0, 8, site_enter_guarded_all
        enter_known cairn_priv_site_enter_saved_caller, 0, 0, 1, 0, 8, site_enter_saved_caller_all
        enter_known cairn_priv_site_enter_leaf, 0, 0, 0, 0, 8, site_enter_leaf_all
        enter_known cairn_priv_site_enter_count_only, 0, 0, 0, 1, 8, site_enter_count_only_all

        .p2align 4
        .globl  cairn_priv_site_enter_slowly
        .type   cairn_priv_site_enter_slowly, @function
cairn_priv_site_enter_slowly:
        save
        movq    %rax, %rdi
        call_with_all crn_site_enter
        restore
        .size   cairn_priv_site_enter_slowly, . - cairn_priv_site_enter_slowly

        .p2align 4
        .type   site_enter_guarded_all, @function
site_enter_guarded_all:
        save
        movq    %rax, %rdi
        call_with_all crn_site_enter_guarded
        restore
        .size   site_enter_guarded_all, . - site_enter_guarded_all

        .p2align 4
        .type   site_enter_saved_caller_all, @function
site_enter_saved_caller_all:
        save
        movq    %rax, %rdi
        call_with_all crn_site_enter_saved_caller
        restore
        .size   site_enter_saved_caller_all, . - site_enter_saved_caller_all

        .p2align 4
        .globl  cairn_priv_site_leave_saved_caller
        .type   cairn_priv_site_leave_saved_caller, @function
cairn_priv_site_leave_saved_caller:
        save
        movq    %rax, %rdi
        call_with_all crn_site_leave_saved_caller
        restore
        .size   cairn_priv_site_leave_saved_caller, . - cairn_priv_site_leave_saved_caller

        .p2align 4
        .globl  cairn_priv_site_tail_saved_caller
        .type   cairn_priv_site_tail_saved_caller, @function
cairn_priv_site_tail_saved_caller:
        save
        movq    %rax, %rdi
        call_with_all crn_site_tail_saved_caller
        restore
        .size   cairn_priv_site_tail_saved_caller, . - cairn_priv_site_tail_saved_caller

        .p2align 4
        .type   site_enter_leaf_all, @function
site_enter_leaf_all:
        save
        movq    %rax, %rdi
        call_with_all crn_site_enter_leaf
        restore
        .size   site_enter_leaf_all, . - site_enter_leaf_all

        .p2align 4
        .type   site_enter_count_only_all, @function
site_enter_count_only_all:
        save
        movq    %rax, %rdi
        call_with_all crn_site_enter_count_only
        restore
        .size   site_enter_count_only_all, . - site_enter_count_only_all

        .p2align 4
        .globl  cairn_priv_site_leave_count_only
        .type   cairn_priv_site_leave_count_only, @function
cairn_priv_site_leave_count_only:
        save
        movq    %rax, %rdi
        call_with_all crn_site_leave_count_only
        restore
        .size   cairn_priv_site_leave_count_only, . - cairn_priv_site_leave_count_only

        .p2align 4
        .globl  cairn_priv_site_leave_leaf
        .type   cairn_priv_site_leave_leaf, @function
cairn_priv_site_leave_leaf:
        save
        movq    %rax, %rdi
        call_with_all crn_site_leave_leaf
        restore
        .size   cairn_priv_site_leave_leaf, . - cairn_priv_site_leave_leaf

        .p2align 4
        .globl  cairn_priv_site_leave
        .type   cairn_priv_site_leave, @function
cairn_priv_site_leave:
        save
        movq    %rax, %rdi
        call_with_all crn_site_leave
        restore
        .size   cairn_priv_site_leave, . - cairn_priv_site_leave

        .p2align 4
        .globl  cairn_priv_site_tail
        .type   cairn_priv_site_tail, @function
cairn_priv_site_tail:
        save
        movq    %rax, %rdi
        call_with_all crn_site_tail
        restore
        .size   cairn_priv_site_tail, . - cairn_priv_site_tail

/* Any function: %rax is called with %rdi. */
        .p2align 4
        .globl  cairn_priv_site_call
        .type   cairn_priv_site_call, @function
cairn_priv_site_call:
        save
        movq    %rax, %r11
        call_with_all *%r11
        restore
        .size   cairn_priv_site_call, . - cairn_priv_site_call

        .p2align 4
        .globl  cairn_priv_site_counters
        .type   cairn_priv_site_counters, @function
cairn_priv_site_counters:
        save
        movq    %rax, %rdi
        call_with_all crn_site_counters
        restore
        .size   cairn_priv_site_counters, . - cairn_priv_site_counters

        .p2align 4
        .globl  cairn_priv_site_go
        .type   cairn_priv_site_go, @function
cairn_priv_site_go:
        save
        movq    %rax, %rdi
        call_with_all crn_site_go
        restore
        .size   cairn_priv_site_go, . - cairn_priv_site_go

        .p2align 4
        .globl  cairn_priv_site_small
        .type   cairn_priv_site_small, @function
cairn_priv_site_small:
        save
        call_with_all crn_site_small
        restore
        .size   cairn_priv_site_small, . - cairn_priv_site_small

        .section .note.GNU-stack, "", @progbits
