/* SPDX-License-Identifier: MIT
 *
 * unwind.h - from a frame of the native stack to its caller's, some nanoseconds a frame.
 *
 * Compilers describe in .eh_frame, for every instruction, where the frame of the function
 * begins (the CFA: the stack pointer before the call) and where registers were saved. Of that,
 * a walk needs two things: the CFA, and the frame pointer where some other frame's CFA rests
 * on it. What is found for an address is remembered in a table that is read without locks, so
 * that tables are parsed once an address and not once a frame.
 *
 * x86-64: from .eh_frame, found through _dl_find_object (glibc 2.35), signal frames included.
 * Elsewhere: the chain of frame pointers, which ends where code keeps none.
 *
 * Threads: any. Signals: crn_unwind_recall and crn_unwind_step are safe; crn_unwind_look is
 * not, as it may take a lock. Nothing here allocates with malloc, and errno is kept.
 *
 * Source: the DWARF 5 standard, section 6.4, and the Linux Standard Base's .eh_frame; that few
 * kinds of rules cover nearly all code is known from the kernel's ORC tables.
 */
#ifndef CRN_UNWIND_UNWIND_H
#define CRN_UNWIND_UNWIND_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How the CFA is found, and what else there is. */
typedef enum crn_unwind_kind {
    CRN_UNWIND_NOTHING = 0,  /* no tables, or none that we understand */
    CRN_UNWIND_OUTERMOST,    /* the frame has no caller */
    CRN_UNWIND_STACK,        /* stack pointer + offset */
    CRN_UNWIND_FRAME,        /* frame pointer + offset */
    CRN_UNWIND_FRAME_STORED, /* what is stored at frame pointer + offset */
    CRN_UNWIND_SIGNAL        /* the kernel's frame: registers are in the signal's context */
} crn_unwind_kind;

/* Where the caller's frame pointer is. */
typedef enum crn_unwind_saved {
    CRN_UNWIND_KEPT = 0, /* in the register still */
    CRN_UNWIND_AT_CFA,   /* stored at CFA + offset */
    CRN_UNWIND_AT_FRAME  /* stored at frame pointer + offset */
} crn_unwind_saved;

typedef struct crn_unwind_rule {
    int32_t offset;       /* of the CFA */
    int16_t saved_offset; /* of where the frame pointer is saved */
    uint8_t kind;         /* crn_unwind_kind */
    uint8_t saved;        /* crn_unwind_saved */
} crn_unwind_rule;

_Static_assert(sizeof(crn_unwind_rule) == 8, "read and written at once");

/* A frame: registers as they are in it. */
typedef struct crn_unwind_frame {
    uintptr_t pc; /* where it goes on: a return address, but in an interrupted frame */
    uintptr_t stack, frame;
    bool interrupted; /* by a signal: pc itself has not run yet */
} crn_unwind_frame;

/* The address whose rule holds for a frame: that of the call, not of what comes after it. */
static inline uintptr_t crn_unwind_address(const crn_unwind_frame *frame)
{
    return frame->pc - !frame->interrupted;
}

/* ---- what memory may be read ------------------------------------------------- */

/* The stack of the thread; what lies outside (a coroutine's stack, an alternate signal stack)
 * is read through the kernel, slowly and without a risk. */
typedef struct crn_unwind_memory {
    uintptr_t low, high;
    uintptr_t page; /* that `copy` holds; 0 if none */
    char *copy;     /* CRN_UNWIND_PAGE bytes, or NULL: then nothing outside is read */
} crn_unwind_memory;

enum { CRN_UNWIND_PAGE = 4096 };

/* Begins a walk: what was copied may have changed. */
static inline void crn_unwind_refresh(crn_unwind_memory *memory)
{
    memory->page = 0;
}

/* The stack of the calling thread; both 0 when it cannot be found. Not signal safe; may call
 * malloc where the thread is not the first of the process. */
void crn_unwind_stack_of_thread(uintptr_t *low, uintptr_t *high);

/* Whether this is the stack that the process was entered with: the loader's own first function,
 * which calls constructors, has no tables. */
bool crn_unwind_is_entry(uintptr_t stack);

bool crn_unwind_read_outside(crn_unwind_memory *memory, uintptr_t address, uintptr_t *value);

static inline bool crn_unwind_read(crn_unwind_memory *memory, uintptr_t address, uintptr_t *value)
{
    if (__builtin_expect(address >= memory->low && address < memory->high && address % 8 == 0, 1)) {
        *value = *(const volatile uintptr_t *)address;
        return true;
    }
    return crn_unwind_read_outside(memory, address, value);
}

/* ---- rules --------------------------------------------------------------------- */

/* What is known of an address. `tag` is the user's: 0 until crn_unwind_tag. */
typedef struct crn_unwind_code {
    crn_unwind_rule rule;
    uint32_t tag;
} crn_unwind_code;

typedef struct crn_unwind_slot {
    uintptr_t address; /* atomic; 0 is free */
    uint64_t rule;     /* atomic */
    uint64_t mark;     /* atomic: tag << 32 | generation */
    uint64_t spare;
} crn_unwind_slot;

typedef struct crn_unwind_table {
    uint64_t mask;
    uint64_t count;
    crn_unwind_slot slots[];
} crn_unwind_table;

extern crn_unwind_table *crn_unwind_known; /* atomic; NULL before the first */

/* Goes up when code was unloaded: what was remembered, here or by the user, may be of code that
 * is gone. */
extern uint32_t crn_unwind_generation; /* atomic */

static inline uint64_t crn_unwind_hash(uintptr_t address)
{
    return address * 0x9e3779b97f4a7c15u >> 20;
}

/* False if nothing is known yet. */
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
        uint64_t mark = __atomic_load_n(&slot->mark, __ATOMIC_ACQUIRE);
        uint64_t rule = __atomic_load_n(&slot->rule, __ATOMIC_RELAXED);
        __builtin_memcpy(&code->rule, &rule, sizeof rule);
        code->tag = (uint32_t)(mark >> 32);
        return (uint32_t)mark == __atomic_load_n(&crn_unwind_generation, __ATOMIC_RELAXED);
    }
}

/* As recall, but finds it out: parses the tables, remembers. */
void crn_unwind_look(uintptr_t address, crn_unwind_code *code);

/* Remembers the user's number for an address that was looked at. */
void crn_unwind_tag(uintptr_t address, uint32_t tag);

/* To be called after dlclose. (crn_unwind_look notices by itself that code was unloaded, but
 * is only called for addresses that are new.) */
void crn_unwind_unloaded(void);

/* Around fork: nobody is remembering anything then. */
void crn_unwind_lock(void);
void crn_unwind_unlock(void);

/* The rule, from the tables alone: the slow twin of the above. */
crn_unwind_rule crn_unwind_rule_find(uintptr_t address);

/* From a frame to its caller's. False at the end: the rule is of another kind, memory cannot
 * be read, or the stack would not shrink. `saved_at` is where the frame pointer was restored
 * from, 0 if it was not. */
static inline bool crn_unwind_step(const crn_unwind_rule *rule, crn_unwind_memory *memory,
                                   crn_unwind_frame *frame, uintptr_t *slot, uintptr_t *saved_at);

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
    else if (rule->kind != CRN_UNWIND_FRAME_STORED ||
             !crn_unwind_read(memory, frame->frame + (uintptr_t)(intptr_t)rule->offset, &cfa))
        return false;
    if (cfa <= frame->stack)
        return false;
    if (rule->saved != CRN_UNWIND_KEPT) {
        *saved_at = (rule->saved == CRN_UNWIND_AT_CFA ? cfa : frame->frame) +
                    (uintptr_t)(intptr_t)rule->saved_offset;
        if (!crn_unwind_read(memory, *saved_at, &saved))
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

/* ---- modules --------------------------------------------------------------------- */

enum { CRN_UNWIND_BUILD_ID = 64 };

/* The file that code was loaded from. */
typedef struct crn_unwind_module {
    uintptr_t start, end; /* of its mapping */
    uintptr_t bias;       /* what is added to the addresses in the file */
    const char *name;     /* as the loader has it: "" is the program; lives while it is loaded */
    uintptr_t index;      /* of its .eh_frame_hdr, 0 if it has none */
} crn_unwind_module;

/* False for code that no file was mapped for. */
bool crn_unwind_module_find(uintptr_t address, crn_unwind_module *module);

/* Copies the build id into `bytes`; how long it is, 0 if there is none. */
size_t crn_unwind_build_id(const crn_unwind_module *module, uint8_t bytes[CRN_UNWIND_BUILD_ID]);

/* The same in hexadecimal digits, "" if there is none: as captures note it of a module. */
void crn_unwind_build_id_text(const crn_unwind_module *module,
                              char text[2 * CRN_UNWIND_BUILD_ID + 1]);

/* Where the module's file is: its name, or for the program itself what is written to `program`. */
const char *crn_unwind_module_path(const crn_unwind_module *module, char program[PATH_MAX]);

/* The readable segment of the module that holds `address`: up to where it goes, 0 if none. */
uintptr_t crn_unwind_segment_end(const crn_unwind_module *module, uintptr_t address);

#endif
