/* SPDX-License-Identifier: MIT
 *
 * unwind.h - steps from a frame of a native stack to its caller, in some nanoseconds.
 *
 * Compilers describe in .eh_frame, for each instruction, the CFA of the function's frame (the stack
 * pointer before the call) and where registers are saved. A walk computes each frame's CFA, and the
 * frame pointer, which other frames' CFAs may need. Rules are cached by address in a table that is
 * read without locks, so .eh_frame is parsed once for an address.
 *
 * On x86-64, walks use .eh_frame, found with _dl_find_object (glibc 2.35), also for signal frames.
 * On other processors they follow frame pointers, and end at code that keeps none.
 *
 * Thread safe. crn_unwind_recall and crn_unwind_step are signal safe. crn_unwind_look is not, as it
 * takes a lock of this folder. Apart from those on modules, no function calls malloc, takes a lock
 * of libc or changes errno.
 *
 * Sources: DWARF 5, section 6.4; .eh_frame of the Linux Standard Base; the kernel's ORC tables show
 * that few kinds of rules cover nearly all code.
 */
#ifndef CRN_UNWIND_UNWIND_H
#define CRN_UNWIND_UNWIND_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The way to compute the CFA. */
typedef enum crn_unwind_kind {
    CRN_UNWIND_NOTHING = 0,  /* the code has no tables, or none that can be read */
    CRN_UNWIND_OUTERMOST,    /* the frame has no caller */
    CRN_UNWIND_STACK,        /* stack pointer + offset */
    CRN_UNWIND_FRAME,        /* frame pointer + offset */
    CRN_UNWIND_FRAME_STORED, /* the value stored at frame pointer + offset */
    CRN_UNWIND_STACK_STORED, /* the value stored at stack pointer + offset, plus 8: OpenSSL's
                                assembler code stores its caller's stack pointer */
    CRN_UNWIND_SIGNAL,       /* a signal frame of the kernel: it holds all registers */
    CRN_UNWIND_REGISTER /* CRN_UNWIND_REGISTER + a number in DWARF: that register + offset, as in
                           the loader and in assembler code. Only crn_unwind_stack applies such
                           rules */
} crn_unwind_kind;

/* The place of the caller's frame pointer. */
typedef enum crn_unwind_saved {
    CRN_UNWIND_KEPT = 0, /* still in the register */
    CRN_UNWIND_AT_CFA,   /* stored at CFA + offset */
    CRN_UNWIND_AT_FRAME  /* stored at frame pointer + offset */
} crn_unwind_saved;

typedef struct crn_unwind_rule {
    int32_t offset;       /* for the CFA */
    int16_t saved_offset; /* for the saved frame pointer */
    uint8_t kind;         /* crn_unwind_kind */
    uint8_t saved;        /* crn_unwind_saved */
} crn_unwind_rule;

_Static_assert(sizeof(crn_unwind_rule) == 8, "one atomic word");

/* Registers of a frame. */
typedef struct crn_unwind_frame {
    uintptr_t pc;           /* next instruction: a return address, except in an interrupted frame */
    uintptr_t stack, frame; /* stack pointer, frame pointer */
    bool interrupted; /* a signal interrupted the frame: the instruction at pc has not run yet */
} crn_unwind_frame;

/* Returns the address whose rule describes the frame: for a caller, a byte of its call instruction,
 * not the return address behind it. */
static inline uintptr_t crn_unwind_address(const crn_unwind_frame *frame)
{
    return frame->pc - !frame->interrupted;
}

/* ---- memory that may be read ------------------------------------------------- */

/* Bounds of a thread's stack, which is read in place, or from a copy if it is another process's.
 * Other memory (coroutines' stacks, alternate signal stacks) is copied by the kernel, which is
 * slower, but cannot fault. */
typedef struct crn_unwind_memory {
    uintptr_t low, high;
    uintptr_t shift; /* address of the stack's copy - the stack's; 0 if it is read in place */
    uintptr_t page;  /* address of the page in `copy`; 0 if it has no page */
    char *copy;      /* CRN_UNWIND_PAGE bytes; if NULL, only the stack is read */
    pid_t process;   /* process whose memory is read; 0: the own process */
} crn_unwind_memory;

enum { CRN_UNWIND_PAGE = 4096, CRN_UNWIND_REGISTERS = 16 };

/* Begins a walk: forgets the copied page. */
static inline void crn_unwind_refresh(crn_unwind_memory *memory)
{
    memory->page = 0;
}

/* Finds the bounds of the calling thread's own stack, whichever stack it runs on now; sets both to
 * 0 on failure. Takes no lock and allocates nothing, so it may be called inside malloc. */
void crn_unwind_stack_of_thread(uintptr_t *low, uintptr_t *high);

/* Returns the memory for a walk that begins at the stack pointer `stack`: of the thread's own stack
 * (`all`) only the part from there on is read in place, as what is below may not be mapped. If
 * `stack` is of another stack, nothing is. */
crn_unwind_memory crn_unwind_above(const crn_unwind_memory *all, uintptr_t stack);

/* Returns true if a signal handler has enough stack for a walk. False on an alternate stack that is
 * too small, or nearly full. `context` is the handler's third argument. */
bool crn_unwind_has_room(const void *context);

/* Returns true if `stack` is nearly the stack pointer with which the process began: the frame is
 * that of the loader's first function, which has no tables. */
bool crn_unwind_is_entry(uintptr_t stack);

/* Reads a word outside of the stack, through `copy`. Returns false if it cannot be read. */
bool crn_unwind_read_outside(crn_unwind_memory *memory, uintptr_t address, uintptr_t *value);

/* Reads a word. Returns false if it cannot be read. */
static inline bool crn_unwind_read(crn_unwind_memory *memory, uintptr_t address, uintptr_t *value)
{
    if (__builtin_expect(address >= memory->low && address < memory->high && address % 8 == 0, 1)) {
        *value = *(const volatile uintptr_t *)(address + memory->shift);
        return true;
    }
    return crn_unwind_read_outside(memory, address, value);
}

/* ---- rules --------------------------------------------------------------------- */

/* DWARF number of the carried register, which walks of the own process find for each frame; -1: no
 * register. Set it before the first rule is cached. */
extern int crn_unwind_carried;

enum { CRN_UNWIND_NOT_SAVED = INT32_MIN };

/* Cached data of an address. `tag` is a number that crn_unwind_tag stores for the user of this
 * header; 0 before. */
typedef struct crn_unwind_code {
    crn_unwind_rule rule;
    uint32_t tag;
    int32_t carried; /* where the function saved the carried register, relative to the CFA;
                        CRN_UNWIND_NOT_SAVED if it did not */
} crn_unwind_code;

typedef struct crn_unwind_slot {
    uintptr_t address; /* atomic; 0 is free */
    uint64_t rule;     /* atomic */
    uint64_t tagged;   /* atomic: tag << 32 | generation */
    int64_t carried;   /* atomic */
} crn_unwind_slot;

typedef struct crn_unwind_table {
    uint64_t mask;
    uint64_t count;
    crn_unwind_slot slots[];
} crn_unwind_table;

extern crn_unwind_table *crn_unwind_known; /* atomic; NULL at first */

/* Number of times that code was unloaded, plus 1. A rule that was cached with a lower number may be
 * of unloaded code. */
extern uint32_t crn_unwind_generation; /* atomic */

static inline uint64_t crn_unwind_hash(uintptr_t address)
{
    return address * 0x9e3779b97f4a7c15u >> 20;
}

/* Finds a rule in the cache. Returns false if the cache has none for the address, or one from
 * before the last unloading. */
static inline bool crn_unwind_recall(uintptr_t address, crn_unwind_code *code)
{
    const crn_unwind_table *table = __atomic_load_n(&crn_unwind_known, __ATOMIC_ACQUIRE);
    if (!table)
        return false;
    for (uint64_t at = crn_unwind_hash(address);; at++) {
        const crn_unwind_slot *slot = &table->slots[at & table->mask];
        uintptr_t found = __atomic_load_n(&slot->address, __ATOMIC_ACQUIRE);
        if (found == 0)
            return false;
        if (found != address)
            continue;
        uint64_t tagged = __atomic_load_n(&slot->tagged, __ATOMIC_ACQUIRE);
        uint64_t rule = __atomic_load_n(&slot->rule, __ATOMIC_RELAXED);
        __builtin_memcpy(&code->rule, &rule, sizeof rule);
        code->carried = (int32_t)__atomic_load_n(&slot->carried, __ATOMIC_RELAXED);
        code->tag = (uint32_t)(tagged >> 32);
        return (uint32_t)tagged == __atomic_load_n(&crn_unwind_generation, __ATOMIC_RELAXED);
    }
}

/* Finds a rule in the cache, or parses .eh_frame and caches the rule. */
void crn_unwind_look(uintptr_t address, crn_unwind_code *code);

/* Sets the tag of an address, if its rule is cached. */
void crn_unwind_tag(uintptr_t address, uint32_t tag);

/* Forgets all cached rules. */
void crn_unwind_forget(void);

/* Calls `real`, libc's dlclose, and forgets the cached rules of code that it has unloaded. Returns
 * its result. Takes the loader's lock. */
int crn_unwind_close(int (*real)(void *handle), void *handle);

/* Lock the cache, so that no thread changes it during a fork. */
void crn_unwind_lock(void);
void crn_unwind_unlock(void);

/* Finds a rule in .eh_frame, without the cache. */
crn_unwind_rule crn_unwind_rule_find(uintptr_t address);

/* Finds the rule and the carried register's place in .eh_frame, without the cache. Sets the tag to
 * 0. */
void crn_unwind_code_find(uintptr_t address, crn_unwind_code *code);

/* Finds the function at an address by .eh_frame. Returns false if it has no entry. */
bool crn_unwind_function(uintptr_t address, uintptr_t *start, uintptr_t *size);

/* Finds where the function at the address has saved a register of its caller, relative to the CFA.
 * Returns false if the register is not saved there. */
bool crn_unwind_register_saved(uintptr_t address, unsigned number, int64_t *offset);

/* Replaces a frame by its caller's. Sets `*slot` to the address of the return address, and
 * `*saved_at` to that of the saved frame pointer, 0 if the frame pointer was not saved. Returns
 * false for rules that give no CFA, if memory cannot be read, or if the stack would not shrink. */
static inline bool crn_unwind_step(const crn_unwind_rule *rule, crn_unwind_memory *memory,
                                   crn_unwind_frame *frame, uintptr_t *slot, uintptr_t *saved_at);

/* Reads a CFA that is stored in memory. Returns false for rules of other kinds, or if memory cannot
 * be read. */
static inline bool crn_unwind_stored_cfa(const crn_unwind_rule *rule, crn_unwind_memory *memory,
                                         const crn_unwind_frame *frame, uintptr_t *cfa)
{
    uintptr_t offset = (uintptr_t)(intptr_t)rule->offset;
    if (rule->kind == CRN_UNWIND_FRAME_STORED)
        return crn_unwind_read(memory, frame->frame + offset, cfa);
    if (rule->kind != CRN_UNWIND_STACK_STORED ||
        !crn_unwind_read(memory, frame->stack + offset, cfa))
        return false;
    *cfa += sizeof(uintptr_t);
    return true;
}

bool crn_unwind_step_signal(crn_unwind_memory *memory, crn_unwind_frame *frame, uintptr_t *slot);

static inline bool crn_unwind_step(const crn_unwind_rule *rule, crn_unwind_memory *memory,
                                   crn_unwind_frame *frame, uintptr_t *slot, uintptr_t *saved_at)
{
    uintptr_t cfa, saved = frame->frame;
    *saved_at = 0;
    if (__builtin_expect(rule->kind == CRN_UNWIND_STACK, 1))
        cfa = frame->stack + (uintptr_t)(intptr_t)rule->offset;
    else if (rule->kind == CRN_UNWIND_FRAME)
        cfa = frame->frame + (uintptr_t)(intptr_t)rule->offset;
    else if (rule->kind == CRN_UNWIND_SIGNAL)
        return crn_unwind_step_signal(memory, frame, slot);
    else if (!crn_unwind_stored_cfa(rule, memory, frame, &cfa))
        return false;
    if (cfa <= frame->stack)
        return false;
    if (rule->saved != CRN_UNWIND_KEPT) {
        *saved_at = (rule->saved == CRN_UNWIND_AT_CFA ? cfa : frame->frame) +
                    (uintptr_t)(intptr_t)rule->saved_offset;
        /* A place below the stack pointer: an epilogue has popped the frame pointer, so the
         * register has the caller's value. */
        if (__builtin_expect(*saved_at < frame->stack, 0))
            *saved_at = 0;
        else if (!crn_unwind_read(memory, *saved_at, &saved))
            return false;
    }
    *slot = cfa - sizeof(uintptr_t);
    if (!crn_unwind_read(memory, *slot, &frame->pc))
        return false;
    frame->stack = cfa;
    frame->frame = saved;
    frame->interrupted = false;
    return true;
}

/* Returns the frame that a signal has interrupted. `context` is the handler's third argument
 * (ucontext_t). Sets `registers` to the frame's registers, by DWARF number; to 0 on processors
 * other than x86-64. On those other than x86-64 and aarch64 the frame is empty. Signal safe. */
crn_unwind_frame crn_unwind_interrupted(const void *context,
                                        uintptr_t registers[CRN_UNWIND_REGISTERS]);

/* ---- whole walks ----------------------------------------------------------------- */

typedef struct crn_unwind_walk crn_unwind_walk;

/* Programs have no code above: of 64 bits, addresses have 57 at most, the kernel's upper half
 * included. */
#define CRN_UNWIND_ADDRESS_MOST ((UINT64_C(1) << 56) - 1)

/* An interpreter's loop: the native function at `start`. A walk calls `before` before it adds a
 * frame of the loop. `count` is the number of words in `addresses`; `before` may add words, and
 * returns the new number. */
typedef struct crn_unwind_loop {
    uintptr_t start, size;
    size_t (*before)(crn_unwind_walk *walk, void *data, size_t count);
    void *data;
} crn_unwind_loop;

struct crn_unwind_walk {
    crn_unwind_memory *memory;
    const uintptr_t *registers; /* of the first frame, by DWARF number; NULL: not known */
    bool find_frame;            /* search the stack for a frame pointer that is not known (0) */

    /* NULL for the own process. For another: returns where the copy of its code at `address` is
     * (crn_unwind_module_add); 0 if its file was not added. `entry` is the stack pointer with which
     * the process began. */
    uintptr_t (*local)(void *data, uintptr_t address);
    void *data;
    uintptr_t entry;

    const crn_unwind_loop *loops;
    size_t loop_count;
    uintptr_t carried; /* value of the carried register in the present frame, at its call */
    bool is_carried;   /* `carried` is known */

    /* Result: up to `most` words, innermost first, in a ring of mask + 1 words from index `at`: the
     * frames' addresses (crn_unwind_address), at most CRN_UNWIND_ADDRESS_MOST, and the words that
     * loops added. */
    uint64_t *addresses;
    size_t most;
    uint64_t mask, at;
    bool complete; /* the outermost frame was reached */
};

/* Walks the stack from `frame`, by .eh_frame and, in code without it, by frame pointers. Returns
 * the number of words: frames, and words that loops added. Signal safe. */
size_t crn_unwind_stack(crn_unwind_walk *walk, crn_unwind_frame frame);

/* Finds a register's value in the frame that is `steps` callers from the first. Returns false if
 * its value is not known. Slow: it walks again, and parses .eh_frame at each step. Signal safe. */
bool crn_unwind_find_register(const crn_unwind_walk *walk, crn_unwind_frame first, size_t steps,
                              unsigned number, uintptr_t *value);

/* ---- modules --------------------------------------------------------------------- */

enum { CRN_UNWIND_BUILD_ID = 64 };

/* A loaded file: the program or a shared library. */
typedef struct crn_unwind_module {
    uintptr_t start, end; /* of its mapping */
    uintptr_t bias;       /* added to addresses in the file */
    const char *name; /* the loader's name, "" for the program; valid while the module is loaded */
    uintptr_t index;  /* address of .eh_frame_hdr; 0 if the module has none */
    uintptr_t index_end; /* end of an index that crn_unwind_index_make made; 0: the index is in the
                            module */
} crn_unwind_module;

/* Finds the module of an address. Returns false if no file is mapped there. */
bool crn_unwind_module_find(uintptr_t address, crn_unwind_module *module);

/* Adds a copy of a file's headers and unwinding tables, laid out as the loader would, so that rules
 * for its code are found at addresses in the copy. The copy and its name must live for ever.
 * Returns false if there are too many copies, or no memory. Not thread safe. */
bool crn_unwind_module_add(const crn_unwind_module *module);

/* Return the size of, and make, an index (crn_unwind_module.index) for a module's .eh_frame from
 * `start` to `end`. `to` is less than 2 GB away from the module. */
size_t crn_unwind_index_size(const crn_unwind_module *module, uintptr_t start, uintptr_t end);
void crn_unwind_index_make(const crn_unwind_module *module, uintptr_t start, uintptr_t end,
                           void *to);

/* Copies the build id. Returns its size; 0 if the module has none. */
size_t crn_unwind_build_id(const crn_unwind_module *module, uint8_t bytes[CRN_UNWIND_BUILD_ID]);

/* Writes the build id in hexadecimal digits; "" if the module has none. */
void crn_unwind_build_id_text(const crn_unwind_module *module,
                              char text[2 * CRN_UNWIND_BUILD_ID + 1]);

/* Returns the path of the module's file. Uses `program` as space for the program's path. */
const char *crn_unwind_module_path(const crn_unwind_module *module, char program[PATH_MAX]);

/* Returns the end of the module's readable segment that holds `address`; 0 if no segment does. */
uintptr_t crn_unwind_segment_end(const crn_unwind_module *module, uintptr_t address);

#endif
