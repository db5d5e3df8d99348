/* SPDX-License-Identifier: MIT
 *
 * Where tables are not read: every function is taken to keep a frame pointer, which is the
 * default on aarch64. The pair (caller's frame pointer, return address) is where it points to.
 */
#include "unwind/unwind.h"

crn_unwind_rule crn_unwind_rule_find(uintptr_t address)
{
    (void)address;
    return (crn_unwind_rule){.offset = 2 * sizeof(uintptr_t),
                             .saved_offset = 0,
                             .kind = CRN_UNWIND_FRAME,
                             .saved = CRN_UNWIND_AT_FRAME};
}

bool crn_unwind_step_signal(crn_unwind_memory *memory, crn_unwind_frame *frame, uintptr_t *slot)
{
    (void)memory;
    (void)frame;
    (void)slot;
    return false;
}
