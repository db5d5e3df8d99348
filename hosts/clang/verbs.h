/* SPDX-License-Identifier: MIT
 *
 * verbs.h - enter, leave and tail call of hosts/gcc/emit.cc in C. The slow paths preserve all
 * registers, because the calling code has saved none.
 */
#ifndef CRN_HOSTS_CLANG_VERBS_H
#define CRN_HOSTS_CLANG_VERBS_H

#include "frames.h"

/* Calls a function that preserves registers. The caller has no red zone (meson.build) and does not
 * move the stack pointer, so that unwinders find it. The called code aligns the stack. */
#define CRN_KEEPING_CALL(name) "call *" name "@GOTPCREL(%%rip)"

static inline int64_t crn_verb_enter(cairn_priv_strand *strand, crn_site *site)
{
    /* A thread that reads the new block here then reads the matching callee_offset, too. */
    cairn_block block = __atomic_load_n(&site->block, __ATOMIC_ACQUIRE);
    uint32_t *top = strand->top;
    uint64_t current = CAIRN_PRIV_READ(strand->current);
    if (CAIRN_PRIV_LIKELY(top < CAIRN_PRIV_READ(strand->high))) {
        char *base = strand->base;
        uint64_t callee = *(volatile uint32_t *)(base + site->callee_offset + current * 8);
        cairn_priv_record *record = (cairn_priv_record *)(base + callee * 8);
        if (CAIRN_PRIV_LIKELY(record->block == block)) {
            if (!(current & CRN_REPLACED))
                *top = (uint32_t)current;
            strand->top = top + 1;
            CAIRN_PRIV_PUT(strand->current, callee);
            record->calls++;
            return (char *)(top + 1) - (char *)strand->bottom;
        }
    }
    int64_t height;
    __asm__ volatile(CRN_KEEPING_CALL("cairn_priv_site_enter")
                     : "=a"(height)
                     : "0"(site)
                     : "cc", "memory");
    return height;
}

static inline void crn_verb_leave(cairn_priv_strand *strand, int64_t height)
{
    uint32_t *left = (uint32_t *)((char *)strand->bottom + height) - 1;
    if (CAIRN_PRIV_LIKELY(left > CAIRN_PRIV_READ(strand->low) && left < strand->top)) {
        CAIRN_PRIV_PUT(strand->current, *left);
        strand->top = left;
    } else {
        __asm__ volatile(CRN_KEEPING_CALL("cairn_priv_site_leave")
                         : "+a"(height)
                         :
                         : "cc", "memory");
    }
}

static inline void crn_verb_tail(cairn_priv_strand *strand, int64_t height)
{
    uint32_t *top = (uint32_t *)((char *)strand->bottom + height);
    if (CAIRN_PRIV_LIKELY(top == strand->top && height > 0)) {
        strand->top = top - 1;
        CAIRN_PRIV_PUT(strand->current, strand->current | CRN_REPLACED);
    } else {
        __asm__ volatile(CRN_KEEPING_CALL("cairn_priv_site_tail")
                         : "+a"(height)
                         :
                         : "cc", "memory");
    }
}

#endif
