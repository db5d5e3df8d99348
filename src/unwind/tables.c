/* SPDX-License-Identifier: MIT
 *
 * Executes .eh_frame programs on x86-64, up to the row of an address.
 */
#include <ucontext.h>

#include "unwind/tables.h"

enum { REMEMBERED = 8 };

/* ---- programs ---- */

typedef struct place {
    enum { PLACE_SAME, PLACE_AT_CFA, PLACE_EXPRESSION, PLACE_UNDEFINED, PLACE_OTHER } kind;
    int64_t offset;
    crn_unwind_bytes expression;
} place;

/* The parts of an unwinding row that a walk needs. */
typedef struct row {
    bool by_expression;
    uint64_t reg;
    int64_t offset;
    crn_unwind_bytes expression;
    place frame, other, back; /* where the frame pointer, the register machine.other and the return
                                 address are saved */
} row;

typedef struct machine {
    row row, first; /* `first`: the row after the CIE's program */
    row remembered[REMEMBERED];
    int depth;
    uintptr_t location, address;
    const crn_unwind_entry *entry;
    uint64_t other; /* a further register to find; UINT64_MAX: none */
} machine;

static place *place_of(machine *machine, row *row, uint64_t reg)
{
    if (reg == CRN_UNWIND_RBP)
        return &row->frame;
    if (reg == machine->other)
        return &row->other;
    return reg == machine->entry->return_register ? &row->back : NULL;
}

static void set(machine *machine, uint64_t reg, place value)
{
    place *place = place_of(machine, &machine->row, reg);
    if (place)
        *place = value;
}

static void restore(machine *machine, uint64_t reg)
{
    place *place = place_of(machine, &machine->first, reg);
    if (place)
        set(machine, reg, *place);
}

static void advance(machine *machine, uint64_t count)
{
    machine->location += count * machine->entry->code_align;
}

/* Multiplies an offset by the data alignment. */
static int64_t factored(const machine *machine, int64_t count)
{
    return (int64_t)((uint64_t)count * (uint64_t)machine->entry->data_align);
}

static void define(machine *machine, uint64_t reg, int64_t offset)
{
    machine->row.by_expression = false;
    machine->row.reg = reg;
    machine->row.offset = offset;
}

static bool keep_row(machine *machine, bool keep)
{
    if (keep ? machine->depth == REMEMBERED : machine->depth == 0)
        return false;
    if (keep)
        machine->remembered[machine->depth++] = machine->row;
    else
        machine->row = machine->remembered[--machine->depth];
    return true;
}

/* Executes an instruction whose operands follow it. */
static bool execute_extended(machine *machine, unsigned op, crn_unwind_bytes *bytes)
{
    uint64_t reg;
    switch (op) {
    case 0x00: /* nop */
        return true;
    case 0x01: /* set_loc */
        machine->location = crn_unwind_pointer(bytes, machine->entry->encoding, 0);
        return true;
    case 0x02: /* advance_loc1 */
    case 0x03:
    case 0x04:
        advance(machine, crn_unwind_fixed(bytes, (size_t)1 << (op - 0x02)));
        return true;
    case 0x05: /* offset_extended */
        reg = crn_unwind_unsigned(bytes);
        set(machine, reg,
            (place){PLACE_AT_CFA, factored(machine, (int64_t)crn_unwind_unsigned(bytes)), {0}});
        return true;
    case 0x11: /* offset_extended_sf */
        reg = crn_unwind_unsigned(bytes);
        set(machine, reg, (place){PLACE_AT_CFA, factored(machine, crn_unwind_signed(bytes)), {0}});
        return true;
    case 0x06: /* restore_extended */
        restore(machine, crn_unwind_unsigned(bytes));
        return true;
    case 0x07: /* undefined */
        set(machine, crn_unwind_unsigned(bytes), (place){PLACE_UNDEFINED, 0, {0}});
        return true;
    case 0x08: /* same_value */
        set(machine, crn_unwind_unsigned(bytes), (place){PLACE_SAME, 0, {0}});
        return true;
    case 0x09: /* register */
    case 0x14: /* val_offset */
        reg = crn_unwind_unsigned(bytes);
        crn_unwind_unsigned(bytes);
        set(machine, reg, (place){PLACE_OTHER, 0, {0}});
        return true;
    case 0x15: /* val_offset_sf */
        reg = crn_unwind_unsigned(bytes);
        crn_unwind_signed(bytes);
        set(machine, reg, (place){PLACE_OTHER, 0, {0}});
        return true;
    case 0x0a: /* remember_state */
    case 0x0b: /* restore_state */
        return keep_row(machine, op == 0x0a);
    case 0x0c: /* def_cfa */
        reg = crn_unwind_unsigned(bytes);
        define(machine, reg, (int64_t)crn_unwind_unsigned(bytes));
        return true;
    case 0x12: /* def_cfa_sf */
        reg = crn_unwind_unsigned(bytes);
        define(machine, reg, factored(machine, crn_unwind_signed(bytes)));
        return true;
    case 0x0d: /* def_cfa_register */
        define(machine, crn_unwind_unsigned(bytes), machine->row.offset);
        return true;
    case 0x0e: /* def_cfa_offset */
        define(machine, machine->row.reg, (int64_t)crn_unwind_unsigned(bytes));
        return true;
    case 0x13: /* def_cfa_offset_sf */
        define(machine, machine->row.reg, factored(machine, crn_unwind_signed(bytes)));
        return true;
    case 0x0f: /* def_cfa_expression */
        machine->row.by_expression = true;
        machine->row.expression = crn_unwind_block(bytes);
        return true;
    case 0x10: /* expression */
        reg = crn_unwind_unsigned(bytes);
        set(machine, reg, (place){PLACE_EXPRESSION, 0, crn_unwind_block(bytes)});
        return true;
    case 0x16: /* val_expression */
        reg = crn_unwind_unsigned(bytes);
        crn_unwind_block(bytes);
        set(machine, reg, (place){PLACE_OTHER, 0, {0}});
        return true;
    case 0x2e: /* GNU_args_size */
        crn_unwind_unsigned(bytes);
        return true;
    default:
        return false;
    }
}

/* Executes a program up to the row of the address. */
static bool execute(machine *machine, crn_unwind_bytes bytes)
{
    while (bytes.at < bytes.end) {
        unsigned op = (unsigned)crn_unwind_fixed(&bytes, 1), low = op & 0x3f;
        row before = machine->row;
        if (op >> 6 == 1)
            advance(machine, low);
        else if (op >> 6 == 2)
            set(machine, low,
                (place){
                    PLACE_AT_CFA, factored(machine, (int64_t)crn_unwind_unsigned(&bytes)), {0}});
        else if (op >> 6 == 3)
            restore(machine, low);
        else if (!execute_extended(machine, op, &bytes))
            return false;
        if (bytes.bad)
            return false;
        if (machine->location > machine->address) {
            machine->row = before;
            return true;
        }
    }
    return true;
}

/* ---- rules ---- */

static bool fits(int64_t offset, int64_t most)
{
    return offset >= -most && offset <= most;
}

/* Sets how to compute the CFA. Returns false if no kind of rule fits. */
static bool rule_of_cfa(const row *row, uintptr_t address, crn_unwind_rule *rule)
{
    crn_unwind_value value = {(int)row->reg, row->offset, false, 0};
    if (row->by_expression && !crn_unwind_evaluate(row->expression, address, &value))
        return false;
    if (!row->by_expression && row->reg > CRN_UNWIND_RIP)
        return false;
    bool of_stack = value.reg == CRN_UNWIND_RSP, has_word = of_stack && value.after == 8;
    bool is_known = (of_stack && !value.stored) || has_word || value.after == 0;
    if (!fits(value.offset, INT32_MAX) || !is_known)
        return false;
    rule->offset = (int32_t)value.offset;
    if (of_stack && !value.stored)
        rule->kind = CRN_UNWIND_STACK;
    else if (has_word)
        rule->kind = CRN_UNWIND_STACK_STORED;
    else if (value.reg == CRN_UNWIND_RBP)
        rule->kind = value.stored ? CRN_UNWIND_FRAME_STORED : CRN_UNWIND_FRAME;
    else if (value.reg >= 0 && value.reg < CRN_UNWIND_REGISTERS && !value.stored)
        rule->kind = (uint8_t)(CRN_UNWIND_REGISTER + value.reg);
    else
        return false;
    return true;
}

static bool rule_of_frame(const row *row, uintptr_t address, crn_unwind_rule *rule)
{
    crn_unwind_value value = {-1, row->frame.offset, false, 0};
    switch (row->frame.kind) {
    case PLACE_SAME:
    case PLACE_UNDEFINED: /* the caller does not need the frame pointer */
        rule->saved = CRN_UNWIND_KEPT;
        return true;
    case PLACE_AT_CFA:
        rule->saved = CRN_UNWIND_AT_CFA;
        break;
    case PLACE_EXPRESSION:
        if (!crn_unwind_evaluate(row->frame.expression, address, &value) || value.stored ||
            value.reg != CRN_UNWIND_RBP)
            return false;
        rule->saved = CRN_UNWIND_AT_FRAME;
        break;
    default:
        return false;
    }
    rule->saved_offset = (int16_t)value.offset;
    return fits(value.offset, INT16_MAX);
}

static crn_unwind_rule rule_of_row(const machine *machine)
{
    crn_unwind_rule rule = {0}, nothing = {0};
    const row *row = &machine->row;
    if (machine->entry->signal) {
        rule.kind = CRN_UNWIND_SIGNAL;
        return rule;
    }
    if (row->back.kind == PLACE_UNDEFINED) {
        rule.kind = CRN_UNWIND_OUTERMOST;
        return rule;
    }
    if (row->back.kind != PLACE_AT_CFA || row->back.offset != -8 ||
        !rule_of_cfa(row, machine->address, &rule) || !rule_of_frame(row, machine->address, &rule))
        return nothing;
    return rule;
}

/* Executes the programs of an entry up to the row of the address. Returns false if they are
 * damaged. */
static bool find_row(machine *machine, const crn_unwind_entry *entry, uintptr_t address)
{
    /* The CIE's program does not advance: it sets the row with which each function begins. */
    machine->entry = entry;
    machine->location = entry->start;
    machine->address = UINTPTR_MAX;
    machine->row.reg = CRN_UNWIND_RIP + 1;
    if (!execute(machine, entry->common_program))
        return false;
    machine->address = address;
    machine->location = entry->start;
    machine->first = machine->row;
    return execute(machine, entry->program);
}

static crn_unwind_rule find_rule(uintptr_t address)
{
    crn_unwind_entry entry;
    machine machine = {.other = UINT64_MAX};
    if (!crn_unwind_entry_find(address, &entry) || !find_row(&machine, &entry, address))
        return (crn_unwind_rule){0};
    return rule_of_row(&machine);
}

bool crn_unwind_register_saved(uintptr_t address, unsigned number, int64_t *offset)
{
    crn_unwind_entry entry;
    machine machine = {.other = number};
    if (!crn_unwind_entry_find(address, &entry) || !find_row(&machine, &entry, address))
        return false;
    *offset = machine.row.other.offset;
    return machine.row.other.kind == PLACE_AT_CFA;
}

/* Finds the rule of an address. The outermost function of a thread, or of a context of makecontext,
 * was not called: its return address is the first byte of the code that ends it, so `address`, the
 * byte before, may have no rule. */
crn_unwind_rule crn_unwind_rule_find(uintptr_t address)
{
    crn_unwind_rule rule = find_rule(address);
    if (rule.kind != CRN_UNWIND_NOTHING)
        return rule;
    crn_unwind_rule next = find_rule(address + 1);
    return next.kind == CRN_UNWIND_OUTERMOST ? next : rule;
}

bool crn_unwind_function(uintptr_t address, uintptr_t *start, uintptr_t *size)
{
    crn_unwind_entry entry;
    if (!crn_unwind_entry_find(address, &entry))
        return false;
    *start = entry.start;
    *size = entry.size;
    return true;
}

/* ---- signal frames ---- */

crn_unwind_frame crn_unwind_interrupted(const void *context,
                                        uintptr_t registers[CRN_UNWIND_REGISTERS])
{
    static const uint8_t numbers[CRN_UNWIND_REGISTERS] = {
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
        REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    const greg_t *all = ((const ucontext_t *)context)->uc_mcontext.gregs;
    for (size_t i = 0; i < CRN_UNWIND_REGISTERS; i++)
        registers[i] = (uintptr_t)all[numbers[i]];
    return (crn_unwind_frame){.pc = (uintptr_t)all[REG_RIP],
                              .stack = registers[CRN_UNWIND_RSP],
                              .frame = registers[CRN_UNWIND_RBP],
                              .interrupted = true};
}

/* Steps as if the handler had returned to the kernel's trampoline: the stack pointer points to a
 * ucontext. */
bool crn_unwind_step_signal(crn_unwind_memory *memory, crn_unwind_frame *frame, uintptr_t *slot)
{
    uintptr_t registers = frame->stack + offsetof(ucontext_t, uc_mcontext.gregs);
    crn_unwind_frame caller = {.interrupted = true};
    *slot = registers + REG_RIP * sizeof(greg_t);
    if (!crn_unwind_read(memory, *slot, &caller.pc) ||
        !crn_unwind_read(memory, registers + REG_RSP * sizeof(greg_t), &caller.stack) ||
        !crn_unwind_read(memory, registers + REG_RBP * sizeof(greg_t), &caller.frame))
        return false;
    *frame = caller;
    return true;
}
