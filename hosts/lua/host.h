/* SPDX-License-Identifier: MIT
 *
 * host.h - internals of the Lua host.
 *
 * A host profiles a lua_State with all its coroutines: they share a lane, and each has a strand.
 * The host's allocator wraps the state's own, and leads from any lua_State to the host.
 */
#ifndef CRN_LUA_HOST_H
#define CRN_LUA_HOST_H

#include <cairn/cairn.h>
#include <cairn/span.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "../native/limits.h"
#include "frame.h"

typedef enum crn_mode { CRN_MODE_EXACT, CRN_MODE_TICKS, CRN_MODE_SAMPLE } crn_mode;

/* A lua_State, its strand, and those of its frames that are on the strand's stack. */
typedef struct crn_coroutine {
    lua_State *L;
    cairn_strand *strand;
    /* frames[0] is the base, below everything profiled; *top is the current frame. The entry of an
     * open scope is the address of the frame that opened it, with CRN_SCOPE_BIT set. */
    const crn_frame **top;
    const crn_frame **limit; /* one past the end */
    const crn_frame **frames;
    /* The hook that the program itself set with debug.sethook. */
    lua_Hook program_hook;
    int program_mask;
    int program_count;
    int program_left;    /* instructions until the program's own count event */
    int installed_count; /* value to which the interpreter's counter was set */
    struct crn_coroutine *next_free;
} crn_coroutine;

#define CRN_SCOPE_BIT ((uintptr_t)1)   /* the entry is a scope, or <gc> */
#define CRN_SPAN_BIT ((uintptr_t)2)    /* the scope is a span */
#define CRN_ADOPTED_BIT ((uintptr_t)4) /* the scope is an adopted hand-off */
#define CRN_ENTRY_BITS ((uintptr_t)7)

/* Hash table from code (a prototype, a C function) to its block; CAIRN_BLOCK_ROOT: not profiled.
 * Linear probing. */
typedef struct crn_code_slot {
    const void *code;
    cairn_block block;
} crn_code_slot;

typedef struct crn_code_table {
    crn_code_slot *slots;
    size_t mask;
    size_t count;
} crn_code_table;

struct crn_coroutine_table;
struct crn_namer;
typedef struct crn_sampler crn_sampler;
typedef struct crn_ledger crn_ledger;

typedef struct crn_host {
    crn_coroutine *running; /* never NULL */
    cairn_lane *lane;
    crn_code_table codes;
    uint64_t events; /* number of hook calls, for the estimated cost of profiling */
    crn_layout layout;
    crn_mode mode;
    int period; /* instructions (--ticks) or hertz (--sample) */
    bool stopped;
    int finalizing;        /* number of nested finalizers; the program's hook is off in them */
    int collecting;        /* not 0: <gc> is on the stack */
    int naming;            /* not 0: allocations are the host's own */
    crn_coroutine *hooked; /* the coroutine that runs the program's own hook, NULL if none does */

    cairn_profile *profile;
    lua_State *main;
    crn_coroutine *main_record;
    const crn_frame *main_base; /* the lowest frame of the main stack, below the hidden ones */
    struct crn_coroutine_table *coroutines;
    struct crn_namer *namer;
    crn_sampler *sampler;
    crn_ledger *ledger; /* NULL if allocations are not recorded */

    lua_Alloc allocate; /* the state's own allocator */
    void *allocate_data;

    cairn_block *path; /* buffer of crn_stack_path */
    size_t path_room;

    uint64_t started_ns;
    pid_t process;
    uint64_t count_events; /* number of count events, for the estimated cost */
} crn_host;

/* ---- host.c, end.c: begin and end of a profile ----------------------------------- */

typedef struct crn_host_options {
    cairn_options profile;
    crn_mode mode;
    int period;
    bool allocations;    /* record allocations */
    uint64_t alloc_mean; /* mean bytes between samples; 0: every allocation */
} crn_host_options;

/* Makes a host with a profile; crn_host_start gives it a state. NULL, with *error, on failure. */
crn_host *crn_host_open(const crn_host_options *options, cairn_error *error);
/* Begins to profile L, but not the frame `floor` of the main stack (NULL: none) and its callers.
 * `allocate` is the state's own allocator; NULL is the C library's. */
void crn_host_start(crn_host *host, lua_State *L, const crn_frame *floor, lua_Alloc allocate,
                    void *allocate_data);
/* Ends the profile. The host stays in memory, because the state may still have its hooks. */
void crn_host_stop(crn_host *host);
/* Frees a host that no state uses any more. */
void crn_host_discard(crn_host *host);
/* Adds notes about the program and the options. */
void crn_host_describe(crn_host *host, const crn_host_options *options);

/* ---- the interpreter's own functions -------------------------------------------- */

/* cairn-lua5.4 interposes these (interpose.c), but its own code calls the real ones. The module is
 * loaded into an unmodified interpreter. */
#ifdef CRN_LUA_MODULE
#define CRN_REAL(name) __asm__(#name)
#else
#define CRN_REAL(name) __asm__("__real_" #name)
#endif
void crn_real_sethook(lua_State *L, lua_Hook hook, int mask, int count) CRN_REAL(lua_sethook);
int crn_real_gethookmask(lua_State *L) CRN_REAL(lua_gethookmask);

/* ---- allocator.c ------------------------------------------------------------------ */

/* Allocates with the state's own allocator; notices which code and coroutines are freed. */
void *crn_host_allocate(void *data, void *block, size_t old_size, size_t new_size);

/* The host of the state that runs on this thread; never NULL. */
extern _Thread_local crn_host *crn_host_here;
/* Returns the host of a state, NULL if there is none. */
crn_host *crn_host_of(lua_State *L);
/* Does the same; NULL after the profile was stopped. */
crn_host *crn_host_live(lua_State *L);
/* Notes that no profiled state runs on this thread from now on. */
void crn_host_leave(void);

/* ---- hook.c: events ---------------------------------------------------------- */

/* Sets the coroutine's hook to a combination of the host's and the program's. */
void crn_hook_install(crn_host *host, crn_coroutine *coroutine);
/* Like crn_hook_install, but the next event is a sample. As signal safe as lua_sethook. */
void crn_hook_arm(crn_coroutine *coroutine);
/* Arms the hook again if another was set since crn_hook_arm; otherwise costs next to nothing. */
void crn_hook_arm_again(crn_coroutine *coroutine);

/* ---- count.c: the interpreter's counter of instructions --------------------------- */

/* Returns the number of instructions until the next count event; 0 if none is needed. */
int crn_count_next(const crn_host *host, const crn_coroutine *coroutine);
/* Sets the counter to crn_count_next by a store. Returns false if layout.c did not find the
 * counter. */
bool crn_count_set(const crn_host *host, crn_coroutine *coroutine);
/* Handles a count event, at which Lua has reset the counter. Returns the number of instructions
 * that passed. */
int crn_count_ended(const crn_host *host, crn_coroutine *coroutine);
/* Stop and continue counting, around the program's own hook. */
void crn_count_pause(crn_host *host, crn_coroutine *coroutine);
void crn_count_resume(crn_host *host, crn_coroutine *coroutine);
/* Charges the instructions since the coroutine's counter was set. */
void crn_count_settle(crn_host *host, crn_coroutine *coroutine);
/* Lets `to`, which runs from now on, continue the count of `from`. */
void crn_count_move(crn_host *host, crn_coroutine *from, crn_coroutine *to);

/* ---- coroutine.c ------------------------------------------------------------- */

bool crn_coroutines_open(crn_host *host);
void crn_coroutines_close(crn_host *host);
/* Returns NULL for unknown states. */
crn_coroutine *crn_coroutine_find(const crn_host *host, const lua_State *L);
/* Returns the coroutine of a state with a strand, making it if needed. Never NULL: without memory,
 * a shared entry without a strand. */
crn_coroutine *crn_coroutine_get(crn_host *host, lua_State *L);
/* Like crn_coroutine_get, but opens no strand: for a coroutine with only the program's hook. */
crn_coroutine *crn_coroutine_record(crn_host *host, lua_State *L);
/* Ends the coroutine's strand. The record stays only if the program has set a hook on it. */
void crn_coroutine_end(crn_host *host, crn_coroutine *coroutine);
/* Forgets a coroutine whose state the collector has freed. */
void crn_coroutine_freed(crn_host *host, const lua_State *L);
/* Notes that no coroutine of the host runs from now on. */
void crn_coroutine_leave(crn_host *host);
/* Makes the coroutine the current one. */
void crn_coroutine_switch(crn_host *host, crn_coroutine *coroutine);
/* Makes space for one more frame; returns false without memory. */
bool crn_coroutine_grow(crn_coroutine *coroutine);

/* ---- stack.c: synchronises the interpreter's stack and ours ----------------------- */

/* Returns the frame that called `ar`; at the bottom, NULL or the base. */
const crn_frame *crn_stack_caller(const crn_host *host, lua_State *L, const lua_Debug *ar);
/* Drops frames unwound by an error, and adds frames called while nothing was recorded, until
 * `frame` is on top. */
void crn_stack_sync(crn_host *host, crn_coroutine *coroutine, const crn_frame *frame);
/* Returns true if the frame is on the strand's stack. */
bool crn_stack_holds(const crn_coroutine *coroutine, const crn_frame *frame);
/* Drops frames until `height` are left above the base. */
void crn_stack_drop(crn_coroutine *coroutine, size_t height);
/* Sets `*path` to the blocks of L's stack at a hook event, outermost first, without the `skip`
 * innermost frames; valid until the next call. Returns their number. */
size_t crn_stack_path(crn_host *host, crn_coroutine *coroutine, const lua_Debug *ar, int skip,
                      const cairn_block **path);

/* ---- block.c: from code to blocks ----------------------------------------------- */

bool crn_blocks_open(crn_host *host);
void crn_blocks_close(crn_host *host);
/* Finds or makes the block of the frame's function. `code` is NULL if it is unknown. */
cairn_block crn_block_find(crn_host *host, lua_State *L, const void *code, lua_Debug *ar);
/* Forgets the block of code that the collector has freed. */
void crn_block_forget(crn_host *host, const void *code);
/* Excludes a C function of the host itself from profiles. */
void crn_block_hide(crn_host *host, lua_CFunction function);
/* Returns a block for a named scope. */
cairn_block crn_block_scope(crn_host *host, const char *name, const char *file, uint32_t line);
/* Returns the block of the collector and of finalizers. */
cairn_block crn_block_collector(crn_host *host);

static inline size_t crn_code_hash(const void *code)
{
    return (size_t)(((uintptr_t)code >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20);
}

/* Returns the block of a frame, usually by one lookup. */
static inline cairn_block crn_block_of(crn_host *host, lua_State *L, const crn_frame *frame,
                                       lua_Debug *ar)
{
    if (CRN_UNLIKELY(!host->layout.frames))
        return crn_block_find(host, L, NULL, ar);
    const void *code = crn_frame_code(frame);
    const crn_code_slot *slot = &host->codes.slots[crn_code_hash(code) & host->codes.mask];
    if (CRN_LIKELY(slot->code == code))
        return slot->block;
    return crn_block_find(host, L, code, ar);
}

/* ---- library.c: names of C functions ------------------------------------------ */

typedef struct crn_library crn_library;
crn_library *crn_library_open(void);
void crn_library_close(crn_library *library);
/* Returns a name for the C function on top of L's stack, from the standard library, package.loaded
 * or a metatable. NULL if none of them has it. May write to `buffer`. */
const char *crn_library_name(const crn_library *library, lua_State *L, char *buffer, size_t size);

/* ---- program.c: the program's own hooks ------------------------------------------ */

/* Combines what debug.sethook requests with our hook. */
void crn_program_sethook(crn_host *host, lua_State *L, lua_Hook hook, int mask, int count);
/* Notes that L made a thread, which inherits L's hook. */
void crn_program_inherit(crn_host *host, lua_State *L, lua_State *thread);

/* ---- module.c: require "cairn" ---------------------------------------------------- */

int luaopen_cairn(lua_State *L);

/* ---- scope.c: scopes and hand-offs of the module --------------------------------------- */

/* Add the functions to the table on top of the stack, and exclude them from profiles. */
void crn_scope_functions(lua_State *L);
void crn_scope_hide(crn_host *host);
/* Forgets key numbers, when another profile begins. */
void crn_scope_forget_keys(lua_State *L);

/* ---- sample.c: takes samples ---------------------------------------------------- */

struct crn_sampler {
    timer_t timer;
    bool ticking;                  /* the timer exists */
    crn_coroutine *volatile armed; /* the coroutine whose next event is the sample */
    uint64_t last_ns;              /* when the last sample was taken */
    uint64_t rest_until_ns;        /* no sample is taken before; limits the cost */
    uint64_t cost_ns;              /* time that samples took */
    uint64_t count;                /* of samples */
    volatile uint64_t signals;     /* number of the timer's signals that came */
    cairn_metric samples;
};

/* Takes a sample on a hook event if L is the one that was armed. `collecting`: the sample is of
 * collector work that has just ended. */
void crn_sampler_take(crn_host *host, lua_State *L, lua_Debug *ar, bool collecting);
/* Returns true if the next event of L is a sample. */
bool crn_sampler_armed(const crn_host *host, const lua_State *L);
/* Returns the ns that samples took so far. */
uint64_t crn_sampler_cost_ns(const crn_host *host);
/* Returns the number of delivered timer signals; fewer than were sent on a busy machine. */
uint64_t crn_sampler_signals(const crn_host *host);

/* ---- timer.c: the timer that requests samples ------------------------------------ */

bool crn_sampler_open(crn_host *host);
void crn_sampler_close(crn_host *host);
/* Passes a pending sample on to `to`, which runs in place of `from`. */
void crn_sampler_move(crn_host *host, crn_coroutine *from, crn_coroutine *to);

/* ---- allocation.c ------------------------------------------------------------------ */

/* Records allocations from now on: one sample in about `mean` bytes, or all if that is 0. Returns
 * false without memory. */
bool crn_ledger_open(crn_host *host, uint64_t mean, uint64_t seed);
/* Ends recording. Allocations that are live then stay live in the capture. */
void crn_ledger_close(crn_host *host);
/* Record that a block of memory was allocated by the current context; that it was freed. */
void crn_ledger_add(crn_host *host, uintptr_t block, size_t size);
void crn_ledger_remove(crn_host *host, uintptr_t block, size_t size);

/* ---- note.c ---------------------------------------------------------------------- */

uint64_t crn_now_ns(void);
/* Returns the processor time of this thread. */
uint64_t crn_used_ns(void);
void crn_host_note(crn_host *host, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- cost.c ---------------------------------------------------------------------- */

/* Notes the cost of profiling, from the measured cost of one event. */
void crn_cost_note(crn_host *host);

#endif
