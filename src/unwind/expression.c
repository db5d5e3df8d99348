/* SPDX-License-Identifier: MIT
 *
 * Evaluates the DWARF expressions that occur in .eh_frame on x86-64: a register plus an offset; the
 * same with one dereference (frames that gcc aligns) and a number added to the value read; and the
 * linker's rule for PLT entries, which depends on the program counter only.
 */
#include "unwind/tables.h"

enum {
    OP_DEREF = 0x06,
    OP_CONST1U = 0x08,
    OP_CONST1S = 0x09,
    OP_CONST2U = 0x0a,
    OP_CONST2S = 0x0b,
    OP_AND = 0x1a,
    OP_MINUS = 0x1c,
    OP_PLUS = 0x22,
    OP_PLUS_UCONST = 0x23,
    OP_SHL = 0x24,
    OP_GE = 0x2a,
    OP_LIT0 = 0x30,
    OP_LIT31 = 0x4f,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
    DEPTH = 8
};

typedef struct stack {
    crn_unwind_value values[DEPTH];
    int depth;
} stack;

static bool push(stack *stack, int reg, int64_t offset)
{
    if (stack->depth == DEPTH)
        return false;
    stack->values[stack->depth++] = (crn_unwind_value){reg, offset, false, 0};
    return true;
}

/* Applies `op` to the two topmost values. The upper must be a number. The lower may be a register
 * plus offset for OP_PLUS and OP_MINUS, and a stored value for OP_PLUS. */
static bool combine(stack *stack, unsigned op)
{
    if (stack->depth < 2)
        return false;
    crn_unwind_value right = stack->values[--stack->depth];
    crn_unwind_value *left = &stack->values[stack->depth - 1];
    if (right.stored || right.reg >= 0)
        return false;
    if (left->stored) {
        left->after = (int64_t)((uint64_t)left->after + (uint64_t)right.offset);
        return op == OP_PLUS;
    }
    if (left->reg >= 0 && op != OP_PLUS && op != OP_MINUS)
        return false;
    uint64_t a = (uint64_t)left->offset, b = (uint64_t)right.offset;
    switch (op) {
    case OP_PLUS:
        a += b;
        break;
    case OP_MINUS:
        a -= b;
        break;
    case OP_AND:
        a &= b;
        break;
    case OP_SHL:
        a = b < 64 ? a << b : 0;
        break;
    default: /* OP_GE */
        a = left->offset >= right.offset;
    }
    left->offset = (int64_t)a;
    return true;
}

static bool push_register(stack *stack, int reg, int64_t offset, uintptr_t address)
{
    if (reg == CRN_UNWIND_RIP)
        return push(stack, -1, (int64_t)((uint64_t)address + (uint64_t)offset));
    return push(stack, reg, offset);
}

static bool dereference(stack *stack)
{
    if (stack->depth == 0 || stack->values[stack->depth - 1].stored)
        return false;
    stack->values[stack->depth - 1].stored = true;
    return true;
}

static bool operate(stack *stack, crn_unwind_bytes *bytes, uintptr_t address)
{
    unsigned op = (unsigned)crn_unwind_fixed(bytes, 1);
    if (op >= OP_LIT0 && op <= OP_LIT31)
        return push(stack, -1, op - OP_LIT0);
    if (op >= OP_BREG0 && op <= OP_BREG31)
        return push_register(stack, (int)(op - OP_BREG0), crn_unwind_signed(bytes), address);
    switch (op) {
    case OP_CONST1U:
        return push(stack, -1, (int64_t)crn_unwind_fixed(bytes, 1));
    case OP_CONST1S:
        return push(stack, -1, crn_unwind_fixed_signed(bytes, 1));
    case OP_CONST2U:
        return push(stack, -1, (int64_t)crn_unwind_fixed(bytes, 2));
    case OP_CONST2S:
        return push(stack, -1, crn_unwind_fixed_signed(bytes, 2));
    case OP_PLUS_UCONST:
        return push(stack, -1, (int64_t)crn_unwind_unsigned(bytes)) && combine(stack, OP_PLUS);
    case OP_AND:
    case OP_MINUS:
    case OP_PLUS:
    case OP_SHL:
    case OP_GE:
        return combine(stack, op);
    case OP_DEREF:
        return dereference(stack);
    default:
        return false;
    }
}

bool crn_unwind_evaluate(crn_unwind_bytes expression, uintptr_t address, crn_unwind_value *value)
{
    stack stack = {.depth = 0};
    while (!expression.bad && expression.at < expression.end)
        if (!operate(&stack, &expression, address))
            return false;
    if (expression.bad || stack.depth != 1)
        return false;
    *value = stack.values[0];
    return true;
}
