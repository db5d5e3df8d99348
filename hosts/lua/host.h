/* SPDX-License-Identifier: MIT
 *
 * host.h - what the parts of the Lua host share.
 *
 * One host profiles one Lua universe (a lua_State and all its coroutines): that is one
 * lane. Each coroutine is a strand. The host finds itself again from any lua_State through
 * the allocator that it puts around the state's own.
 */
#ifndef CRN_LUA_HOST_H
#define CRN_LUA_HOST_H

#include <cairn/cairn.h>
#include <cairn/span.h>
#include <stdint.h>
#include <sys/types.h>

#include "frame.h"

#define CRN_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define CRN_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* First sizes are small in a test build, so that all growth happens early and often. */
#ifdef CRN_TINY_LIMITS
#define CRN_FIRST_SIZE(usual, tiny) (tiny)
#else
#define CRN_FIRST_SIZE(usual, tiny) (usual)
#endif

typedef enum crn_mode { CRN_MODE_EXACT, CRN_MODE_TICKS, CRN_MODE_SAMPLE } crn_mode;

/* A lua_State, its strand, and which of its frames are on the strand's stack. */
typedef struct crn_coroutine {
    lua_State *L;
    cairn_strand *strand;
    /* frames[0] is the base, below all that is profiled; *top runs. A scope that is open in
     * a frame is pushed as the frame's address with CRN_SCOPE_BIT set. */
    const crn_frame **top;
    const crn_frame **limit; /* one past the end */
    const crn_frame **frames;
    /* What the program itself asked debug.sethook for. */
    lua_Hook program_hook;
    int program_mask;
    int program_count;
    int program_left;    /* instructions until the program's own count is due */
    int installed_count; /* what the interpreter's counter was set to */
    struct crn_coroutine *next_free;
} crn_coroutine;

#define CRN_SCOPE_BIT ((uintptr_t)1)
#define CRN_SPAN_BIT ((uintptr_t)2)    /* the scope is a span */
#define CRN_ADOPTED_BIT ((uintptr_t)4) /* it is a hand-off */
#define CRN_ENTRY_BITS ((uintptr_t)7)

/* From code (a prototype, a C function) to its block; CAIRN_BLOCK_ROOT stands for what is
 * not profiled. Open addressing, linear probing. */
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
struct crn_sampler;
typedef struct crn_ledger crn_ledger;

typedef struct crn_host {
    crn_coroutine *running; /* never NULL */
    cairn_lane *lane;
    crn_code_table codes;
    uint64_t events; /* hook calls, for the estimate of what profiling cost */
    crn_layout layout;
    crn_mode mode;
    int period; /* instructions (ticks) or hertz (sample) */
    bool stopped;
    int finalizing;        /* depth of finalizers that run with our hooks alone */
    int collecting;        /* <gc> is on the stack */
    int naming;            /* what is allocated is for ourselves */
    crn_coroutine *hooked; /* runs the program's own hook, NULL if none does */

    cairn_profile *profile;
    lua_State *main;
    crn_coroutine *main_record;
    const crn_frame *main_base; /* of the main stack, below what is hidden */
    struct crn_coroutine_table *coroutines;
    struct crn_namer *namer;
    struct crn_sampler *sampler;
    struct crn_ledger *ledger; /* NULL where allocations are not followed */

    lua_Alloc allocate; /* the state's own allocator */
    void *allocate_data;

    cairn_block *path; /* room for crn_stack_path */
    size_t path_room;

    uint64_t started_ns;
    pid_t process;
    uint64_t count_events;
} crn_host;

/* ---- host.c: a profile's life in a Lua state -------------------------------- */

typedef struct crn_host_options {
    cairn_options profile;
    crn_mode mode;
    int period;
    bool allocations;    /* follow them */
    uint64_t alloc_mean; /* bytes between two that are followed; 0: all are */
} crn_host_options;

/* The host that profiles the state which runs on this thread; never NULL. */
extern _Thread_local crn_host *crn_host_here;

/* The host of a state, NULL if there is none. */
crn_host *crn_host_of(lua_State *L);

/* Makes the host; the state may come later. On error NULL. */
crn_host *crn_host_open(const crn_host_options *options, cairn_error *error);
/* Begins to profile L. The main stack's frames up to `floor`, if that is not NULL, are left
 * out; `allocate` is the state's own allocator, NULL for that of the C library. */
void crn_host_start(crn_host *host, lua_State *L, const crn_frame *floor, lua_Alloc allocate,
                    void *allocate_data);
/* Ends the profile; the host itself stays, as a state may still hold its hooks. */
void crn_host_stop(crn_host *host);
/* Frees a host whose state is closed. */
void crn_host_discard(crn_host *host);
/* Notes what was run, and how. */
void crn_host_describe(crn_host *host, const crn_host_options *options);
void crn_host_note(crn_host *host, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* An allocator around the state's own, that sees what code and coroutines are freed. */
void *crn_host_allocate(void *data, void *block, size_t old_size, size_t new_size);

/* ---- the interpreter's own functions -------------------------------------------- */

/* cairn-lua stands between the program and these (interpose.c); its own code means the real
 * ones. The module is loaded into an interpreter that is as it is. */
#ifdef CRN_LUA_MODULE
#define CRN_REAL(name) __asm__(#name)
#else
#define CRN_REAL(name) __asm__("__real_" #name)
#endif
void crn_real_sethook(lua_State *L, lua_Hook hook, int mask, int count) CRN_REAL(lua_sethook);
int crn_real_gethookmask(lua_State *L) CRN_REAL(lua_gethookmask);

/* ---- hook.c: events ---------------------------------------------------------- */

/* Sets the interpreter's hook on L to what we and the program want together. */
void crn_hook_install(crn_host *host, crn_coroutine *coroutine);
/* What has passed on the coroutine's counter since it was set is told and taken off. */
void crn_hook_settle(crn_host *host, crn_coroutine *coroutine);
/* `to` runs from now on: it goes on with the count where what ran until now has left it. */
void crn_hook_move(crn_host *host, crn_coroutine *from, crn_coroutine *to);
/* As crn_hook_install, so that the next event is a sample. Safe in a signal handler under the
 * terms of lua_sethook. */
void crn_hook_arm(crn_coroutine *coroutine);
/* As crn_hook_arm where it has been done, and something else was set since; else next to nothing.
 */
void crn_hook_arm_again(crn_coroutine *coroutine);

/* ---- coroutine.c ------------------------------------------------------------- */

bool crn_coroutines_open(crn_host *host);
void crn_coroutines_close(crn_host *host);
/* NULL if the state was never seen. */
crn_coroutine *crn_coroutine_find(const crn_host *host, const lua_State *L);
/* Finds it or makes it, and sees that it has a strand. Never NULL: out of memory, all that
 * has no room shares one entry without a strand. */
crn_coroutine *crn_coroutine_get(crn_host *host, lua_State *L);
/* As crn_coroutine_get, but for what the program's hooks only: no strand is made. */
crn_coroutine *crn_coroutine_record(crn_host *host, lua_State *L);
/* Its strand ends; the record stays only if the program has set a hook there. */
void crn_coroutine_end(crn_host *host, crn_coroutine *coroutine);
/* The collector has freed the state. */
void crn_coroutine_freed(crn_host *host, const lua_State *L);
/* None of ours runs from now on. */
void crn_coroutine_leave(crn_host *host);
/* Says which coroutine runs now. */
void crn_coroutine_switch(crn_host *host, crn_coroutine *coroutine);
/* Makes room for one more frame; false if there is no memory. */
bool crn_coroutine_grow(crn_coroutine *coroutine);

/* ---- stack.c: the interpreter's stack and ours in step ----------------------- */

/* The frame that called `ar`'s, NULL or the base's address at the bottom. */
const crn_frame *crn_stack_caller(const crn_host *host, lua_State *L, const lua_Debug *ar);
/* Drops what an error has unwound, and adds what was called while nobody watched, until
 * `frame` is on top. */
void crn_stack_sync(crn_host *host, crn_coroutine *coroutine, const crn_frame *frame);
/* Whether the frame is on our stack already. */
bool crn_stack_holds(const crn_coroutine *coroutine, const crn_frame *frame);
/* Drops frames until `height` are left above the base. */
void crn_stack_drop(crn_coroutine *coroutine, size_t height);
/* The path of L's stack during a hook's event, outermost first; `skip` leaves out that many
 * frames at the top. Valid until the next one. Returns its length. */
size_t crn_stack_path(crn_host *host, crn_coroutine *coroutine, const lua_Debug *ar, int skip,
                      const cairn_block **path);

/* ---- block.c: what code is called -------------------------------------------- */

bool crn_blocks_open(crn_host *host);
void crn_blocks_close(crn_host *host);
/* The block of the frame's function when `code` is not in the table (or unknown: NULL). */
cairn_block crn_block_find(crn_host *host, lua_State *L, const void *code, lua_Debug *ar);
/* The collector has freed this memory. */
void crn_block_forget(crn_host *host, const void *code);
/* Leaves a C function of the host itself out: it is not the program's. */
void crn_block_hide(crn_host *host, lua_CFunction function);
/* A block for a named scope. */
cairn_block crn_block_scope(crn_host *host, const char *name, const char *file, uint32_t line);
/* The block of the collector and of finalizers. */
cairn_block crn_block_collector(crn_host *host);

static inline size_t crn_code_hash(const void *code)
{
    return (size_t)(((uintptr_t)code >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20);
}

/* The block of what `frame` runs; the common case is one look. */
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
/* A name for the C function on top of L's stack, found in the standard library, in
 * package.loaded or in a metatable. NULL if nothing there holds it. May write to `buffer`. */
const char *crn_library_name(const crn_library *library, lua_State *L, char *buffer, size_t size);

/* ---- source.c: names of Lua functions, as their source has them --------------- */

typedef struct crn_source_name {
    char name[96];   /* "" if the function has none */
    uint32_t column; /* of the word `function`, 1-based; 0 if unknown */
    int on_line;     /* how many functions begin on that line; 0 if there is no text */
} crn_source_name;

/* Looks at one line of source text for functions. `called` is what the caller calls it: it
 * chooses between several. */
void crn_source_scan(const char *line, size_t length, const char *called, crn_source_name *result);

/* ---- program.c: the program's own hooks ------------------------------------------ */

/* What debug.sethook asks for, beside what we have set. */
void crn_program_sethook(crn_host *host, lua_State *L, lua_Hook hook, int mask, int count);
/* A thread was made by L: it inherits L's hook. */
void crn_program_inherit(crn_host *host, lua_State *L, lua_State *thread);

/* ---- module.c: require "cairn" ---------------------------------------------------- */

int luaopen_cairn(lua_State *L);

/* ---- scope.c: scopes and hand-offs of the module --------------------------------------- */

/* Adds its functions to the table on top of the stack; leaves them out of a profile. */
void crn_scope_functions(lua_State *L);
void crn_scope_hide(crn_host *host);
/* Another profile begins. */
void crn_scope_forget_keys(lua_State *L);

/* ---- sample.c ------------------------------------------------------------------ */

bool crn_sampler_open(crn_host *host);
void crn_sampler_close(crn_host *host);
/* Takes a sample on a hook's event, if L is the one that was to give it; `collecting`: of the
 * collector's work, which has just ended. */
void crn_sampler_take(crn_host *host, lua_State *L, lua_Debug *ar, bool collecting);
/* Whether the next event of L is to be a sample. */
bool crn_sampler_armed(const crn_host *host, const lua_State *L);
/* `from` does not run any more, `to` does: a sample that is due goes along. */
void crn_sampler_move(crn_host *host, crn_coroutine *from, crn_coroutine *to);
/* What the samples took so far. */
uint64_t crn_sampler_cost_ns(const crn_host *host);
/* How many of the timer's signals came: fewer than it sent where the machine is busy. */
uint64_t crn_sampler_signals(const crn_host *host);

/* ---- allocation.c ------------------------------------------------------------------ */

/* Follows what is allocated from now on, one in about `mean` bytes, or all if that is 0. */
bool crn_ledger_open(crn_host *host, uint64_t mean, uint64_t seed);
/* What is alive then stays so in the capture. */
void crn_ledger_close(crn_host *host);
void crn_ledger_add(crn_host *host, uintptr_t block, size_t size);
void crn_ledger_remove(crn_host *host, uintptr_t block, size_t size);

/* ---- cost.c ---------------------------------------------------------------------- */

uint64_t crn_now_ns(void);
/* Notes what profiling has cost, by what one event costs in this process. */
void crn_cost_note(crn_host *host);

#endif
