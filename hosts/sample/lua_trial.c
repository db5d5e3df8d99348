/* SPDX-License-Identifier: MIT
 *
 * Finds Lua's loop, and the register in which it keeps the coroutine, by a trial: a C function
 * looks at the stack when it is called by C, and when it is called by Lua code in several ways. The
 * loop is the function that is on the stack only in the second case.
 */
#include <dlfcn.h>
#include <string.h>
#include <ucontext.h>

#include "../native/pages.h"
#include "interpreter.h"

enum { ARENA = 1 << 18, FRAMES = 64, FUNCTIONS_MOST = FRAMES };

/* Registers that calls preserve: rbx, rbp, r12 to r15, by their numbers in DWARF. */
static const uint8_t kept[] = {3, 6, 12, 13, 14, 15};

/* Lua's interface, found by name: the program may not have it. */
static struct {
    void *(*newstate)(void *(*allocate)(void *, void *, size_t, size_t), void *data);
    void (*close)(void *L);
    int (*load)(void *L, const char *(*reader)(void *, void *, size_t *), void *data,
                const char *chunk, const char *mode);
    int (*pcallk)(void *L, int arguments, int results, int handler, intptr_t context, void *then);
    void (*pushcclosure)(void *L, int (*function)(void *), int values);
    void (*pushvalue)(void *L, int index);
    void (*createtable)(void *L, int list, int records);
    void (*setfield)(void *L, int index, const char *name);
    int (*setmetatable)(void *L, int index);
} api;

static bool find_api(void)
{
    static const char *const names[] = {"lua_newstate",    "lua_close",        "lua_load",
                                        "lua_pcallk",      "lua_pushcclosure", "lua_pushvalue",
                                        "lua_createtable", "lua_setfield",     "lua_setmetatable"};
    void **all = (void **)&api;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!(all[i] = dlsym(RTLD_DEFAULT, names[i])))
            return false;
    return true;
}

/* ---- memory, without the program's malloc; it is freed as a whole, at the end ---- */

typedef struct arena {
    char *base;
    size_t used;
} arena;

static void *allocate(void *data, void *old, size_t old_size, size_t size)
{
    arena *all = data;
    size_t room = (size + 15) & ~(size_t)15;
    if (!size || room > ARENA - all->used)
        return NULL;
    void *made = all->base + all->used;
    all->used += room;
    if (old)
        memcpy(made, old, old_size < size ? old_size : size);
    return made;
}

/* ---- looking ---- */

static struct {
    crn_lua_trial *result;
    bool (*fits)(uintptr_t thread, const char *chunk);
    bool by_lua;
    uintptr_t known[FUNCTIONS_MOST]; /* functions on the stack when C called the probe */
    size_t known_count;
} trial;

static const char chunk_name[] = "=cairn";

static bool is_known(uintptr_t start)
{
    for (size_t i = 0; i < trial.known_count; i++)
        if (trial.known[i] == start)
            return true;
    return false;
}

/* Returns the registers that have the value `wanted` in the frame `steps` calls above `first`, as
 * bits. */
static unsigned registers_with(const crn_unwind_walk *walk, crn_unwind_frame first, size_t steps,
                               uintptr_t wanted)
{
    unsigned found = 0;
    uintptr_t value;
    for (size_t i = 0; i < sizeof kept; i++)
        if (crn_unwind_find_register(walk, first, steps, kept[i], &value) && value == wanted)
            found |= 1u << kept[i];
    return found;
}

/* Returns the function of a frame; 0 if it has no entry. */
static uintptr_t function_of(const crn_unwind_walk *walk, size_t frame, uintptr_t *size)
{
    uintptr_t start;
    return crn_unwind_function((uintptr_t)walk->addresses[frame], &start, size) ? start : 0;
}

static void keep_known(const crn_unwind_walk *walk, size_t count)
{
    uintptr_t size;
    for (size_t i = 0; i < count && i < FUNCTIONS_MOST; i++)
        trial.known[trial.known_count++] = function_of(walk, i, &size);
}

/* The frames are, from the youngest on: the probe, functions by which Lua calls C functions, the
 * loop, functions that call it. The last are known, from the call by C, so the loop is the oldest
 * function that is not. */
static void find_loop(const crn_unwind_walk *walk, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uintptr_t size, start = function_of(walk, i, &size);
        if (start && !is_known(start)) {
            trial.result->loop = start;
            trial.result->loop_size = size;
        }
    }
}

/* Drops the registers that do not have the coroutine in the loop's frame. Fails unless the loop has
 * just one frame. */
static void check_loop(void *thread, const crn_unwind_walk *walk, crn_unwind_frame first,
                       size_t count)
{
    crn_lua_trial *result = trial.result;
    size_t loops = 0;
    for (size_t i = 0; i < count; i++) {
        uintptr_t size;
        if (function_of(walk, i, &size) != result->loop)
            continue;
        result->registers &= registers_with(walk, first, i, (uintptr_t)thread);
        loops++;
    }
    result->failed |= loops != 1;
}

static void look(void *thread, const crn_unwind_walk *walk, crn_unwind_frame first, size_t count)
{
    if (!trial.by_lua) {
        keep_known(walk, count);
        return;
    }
    if (!trial.result->calls++) {
        trial.result->failed |= !trial.fits((uintptr_t)thread, chunk_name);
        trial.result->registers = ~0u;
        find_loop(walk, count);
    }
    check_loop(thread, walk, first, count);
}

static int probe(void *thread)
{
    static uint64_t addresses[FRAMES];
    uintptr_t registers[CRN_UNWIND_REGISTERS];
    crn_unwind_memory memory = {.low = 0};
    ucontext_t context;
    getcontext(&context);
    crn_unwind_frame first = crn_unwind_interrupted(&context, registers);
    crn_unwind_stack_of_thread(&memory.low, &memory.high);
    crn_unwind_walk walk = {.memory = &memory,
                            .registers = registers,
                            .addresses = addresses,
                            .most = FRAMES,
                            .mask = UINT64_MAX};
    size_t count = crn_unwind_stack(&walk, first);
    look(thread, &walk, first, count);
    return 0;
}

/* ---- running ---- */

static const char *read_once(void *thread, void *data, size_t *size)
{
    const char **text = data, *part = *text;
    (void)thread;
    *text = NULL;
    *size = part ? strlen(part) : 0;
    return part;
}

/* Pushes a table whose metamethods are the probe, which is at index 1. */
static void push_object(void *L)
{
    static const char *const events[] = {"__index", "__call", "__add", "__concat",
                                         "__lt",    "__len",  "__eq",  "__newindex"};
    api.createtable(L, 0, 0);
    api.createtable(L, 0, 0);
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        api.pushvalue(L, 1);
        api.setfield(L, -2, events[i]);
    }
    api.setmetatable(L, -2);
}

static void run(void *L)
{
    const char *text = "local probe, object = ...; probe(); probe(1, 2); local a = object.x; "
                       "a = object + 1; a = object .. ''; a = #object; a = object < object; "
                       "object(); object.x = 1; for k in probe do end; return probe()";
    api.pushcclosure(L, probe, 0);
    api.pushvalue(L, 1);
    trial.by_lua = false;
    bool good = api.pcallk(L, 0, 0, 0, 0, NULL) == 0;
    trial.by_lua = true;
    good = good && api.load(L, read_once, &text, chunk_name, "t") == 0;
    if (good) {
        api.pushvalue(L, 1);
        push_object(L);
        good = api.pcallk(L, 2, 0, 0, 0, NULL) == 0;
    }
    trial.result->failed |= !good;
}

void crn_lua_try(crn_lua_trial *result, bool (*fits)(uintptr_t thread, const char *chunk))
{
    arena all = {.base = crn_pages(ARENA)};
    *result = (crn_lua_trial){.failed = true};
    if (!all.base)
        return;
    void *L = find_api() ? api.newstate(allocate, &all) : NULL;
    if (L) {
        memset(&trial, 0, sizeof trial);
        trial.result = result;
        trial.fits = fits;
        result->failed = false;
        run(L);
        api.close(L);
    }
    crn_pages_free(all.base, ARENA);
}
