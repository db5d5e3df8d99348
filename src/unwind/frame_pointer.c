/* SPDX-License-Identifier: MIT
 *
 * Unwinding on processors other than x86-64, without .eh_frame. Assumes that each function keeps a
 * frame pointer, as is the default on aarch64: the frame pointer points to the saved frame pointer
 * of the caller, and the return address follows.
 */
#include <string.h>
#include <ucontext.h>

#include "unwind/unwind.h"

crn_unwind_rule crn_unwind_rule_find(uintptr_t address)
{
    (void)address;
    return (crn_unwind_rule){.offset = 2 * sizeof(uintptr_t),
                             .saved_offset = 0,
                             .kind = CRN_UNWIND_FRAME,
                             .saved = CRN_UNWIND_AT_FRAME};
}

bool crn_unwind_register_saved(uintptr_t address, unsigned number, int64_t *offset)
{
    (void)address;
    (void)number;
    (void)offset;
    return false;
}

bool crn_unwind_function(uintptr_t address, uintptr_t *start, uintptr_t *size)
{
    (void)address;
    (void)start;
    (void)size;
    return false;
}

crn_unwind_frame crn_unwind_interrupted(const void *context,
                                        uintptr_t registers[CRN_UNWIND_REGISTERS])
{
    memset(registers, 0, CRN_UNWIND_REGISTERS * sizeof *registers);
#if defined(__aarch64__)
    const mcontext_t *machine = &((const ucontext_t *)context)->uc_mcontext;
    return (crn_unwind_frame){
        .pc = machine->pc, .stack = machine->sp, .frame = machine->regs[29], .interrupted = true};
#else
    (void)context;
    return (crn_unwind_frame){.pc = 0};
#endif
}

bool crn_unwind_step_signal(crn_unwind_memory *memory, crn_unwind_frame *frame, uintptr_t *slot)
{
    (void)memory;
    (void)frame;
    (void)slot;
    return false;
}

size_t crn_unwind_index_size(const crn_unwind_module *module, uintptr_t start, uintptr_t end)
{
    (void)module;
    (void)start;
    (void)end;
    return 0;
}

void crn_unwind_index_make(const crn_unwind_module *module, uintptr_t start, uintptr_t end,
                           void *to)
{
    (void)module;
    (void)start;
    (void)end;
    (void)to;
}
