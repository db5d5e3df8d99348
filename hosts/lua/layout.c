/* SPDX-License-Identifier: MIT
 *
 * layout.c - verifies in a separate state that the offsets of frame.h are right for this
 * interpreter.
 *
 * Nothing is read through an offset unless the address is known to be within memory that the state
 * has allocated, so a wrong offset gives "no", not a crash.
 */
#include <lualib.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"

/* Lua tells the allocator the kind of a new object; prototypes come after the public types and
 * upvalues. */
enum { KIND_PROTOTYPE = LUA_NUMTYPES + 1 };

typedef struct memory {
    char *start;
    size_t size;
    size_t kind; /* kind that Lua gave when it was allocated */
} memory;

typedef struct trial {
    memory *live;
    size_t count, capacity;
    unsigned seen;       /* kinds of functions compared so far */
    bool wrong;          /* a comparison failed */
    bool hook_denied;    /* the byte at CRN_STATE_ALLOW_HOOK is 0 inside a hook */
    int counts;          /* count events so far */
    const void *code[4]; /* by defining line */
} trial;

enum { SEEN_LUA = 1, SEEN_LIGHT_C = 2, SEEN_C_CLOSURE = 4, SEEN_PARENT = 8, SEEN_ALL = 15 };

static memory *memory_find(const trial *trial, const void *address)
{
    const char *at = address;
    for (size_t i = trial->count; i-- > 0;)
        if (at >= trial->live[i].start && at < trial->live[i].start + trial->live[i].size)
            return &trial->live[i];
    return NULL;
}

static bool readable(const trial *trial, const void *address, size_t size)
{
    const memory *memory = memory_find(trial, address);
    return memory && (size_t)(memory->start + memory->size - (const char *)address) >= size;
}

static void *trial_allocate(void *data, void *block, size_t old_size, size_t new_size)
{
    trial *trial = data;
    memory *memory = block ? memory_find(trial, block) : NULL;
    if (new_size == 0) {
        if (memory)
            *memory = trial->live[--trial->count];
        free(block);
        return NULL;
    }
    if (!memory && trial->count == trial->capacity) {
        size_t capacity = trial->capacity ? trial->capacity * 2 : 1024;
        void *grown = realloc(trial->live, capacity * sizeof *trial->live);
        if (!grown)
            return NULL;
        trial->live = grown;
        trial->capacity = capacity;
    }
    void *moved = realloc(block, new_size);
    if (!moved)
        return NULL;
    if (!memory) {
        memory = &trial->live[trial->count++];
        memory->kind = old_size;
    }
    memory->start = moved;
    memory->size = new_size;
    return moved;
}

/* Reads the frame's function like crn_frame_code, checking each step. */
static bool code_checked(const trial *trial, const crn_frame *frame, bool is_c)
{
    if (!readable(trial, frame, CRN_FRAME_PREVIOUS + 16))
        return false;
    const char *slot = CRN_FIELD(const char *const, frame, CRN_FRAME_FUNCTION);
    if (!readable(trial, slot, CRN_VALUE_TAG + 1))
        return false;
    unsigned tag = CRN_FIELD(const unsigned char, slot, CRN_VALUE_TAG) & CRN_TAG_MASK;
    if (tag == CRN_TAG_LIGHT_C)
        return is_c;
    if ((tag & CRN_TAG_TYPE_MASK) != LUA_TFUNCTION ||
        !readable(trial, CRN_FIELD(const char *const, slot, 0), CRN_CLOSURE_CODE + sizeof(void *)))
        return false;
    const void *code = crn_frame_code(frame);
    const memory *memory = memory_find(trial, code);
    /* The code of a Lua function is an object of the kind "prototype". */
    return is_c || (memory && memory->start == code && memory->kind == KIND_PROTOTYPE);
}

static void compare(trial *trial, lua_State *L, lua_Debug *ar)
{
    const crn_frame *frame = crn_frame_of(ar);
    lua_getinfo(L, "Sf", ar);
    bool is_c = lua_iscfunction(L, -1);
    if (!code_checked(trial, frame, is_c)) {
        trial->wrong = true;
        lua_pop(L, 1);
        return;
    }
    const void *code = crn_frame_code(frame);
    const char *slot = CRN_FIELD(const char *const, frame, CRN_FRAME_FUNCTION);
    if (is_c) {
        lua_CFunction function = lua_tocfunction(L, -1);
        if (memcmp(&function, &code, sizeof code) != 0)
            trial->wrong = true;
        bool closure = lua_getupvalue(L, -1, 1) != NULL;
        lua_pop(L, closure);
        trial->seen |= closure ? SEEN_C_CLOSURE : SEEN_LIGHT_C;
    } else {
        if (CRN_FIELD(const void *const, slot, 0) != lua_topointer(L, -1))
            trial->wrong = true;
        /* Each line of the chunk defines one prototype; that of line 2 is run through two
         * closures. */
        if (ar->linedefined >= 1 && ar->linedefined <= 3) {
            const void **known = &trial->code[ar->linedefined];
            if (*known && *known != code)
                trial->wrong = true;
            *known = code;
        }
        trial->seen |= SEEN_LUA;
    }
    lua_pop(L, 1);

    lua_Debug caller;
    if (lua_getstack(L, 1, &caller)) {
        if (crn_frame_previous(frame) != crn_frame_of(&caller))
            trial->wrong = true;
        trial->seen |= SEEN_PARENT;
    }
}

static trial *trial_of(lua_State *L)
{
    void *data;
    lua_getallocf(L, &data);
    return data;
}

static void trial_hook(lua_State *L, lua_Debug *ar)
{
    trial *trial = trial_of(L);
    if (readable(trial, L, CRN_STATE_ALLOW_HOOK + 1))
        trial->hook_denied = CRN_FIELD(const unsigned char, L, CRN_STATE_ALLOW_HOOK) == 0;
    compare(trial, L, ar);
}

static int c_closure(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(1));
    return 1;
}

static int trial_run(lua_State *L)
{
    static const char text[] = "local make = function() return\n"
                               "function() return math.abs(-1) end end\n"
                               "local function second(...) return (select('#', ...)) end\n"
                               "make()() make()() second(1, 2) second() upvalue()\n";
    luaL_requiref(L, LUA_GNAME, luaopen_base, 1);
    luaL_requiref(L, LUA_MATHLIBNAME, luaopen_math, 1);
    lua_pushinteger(L, 1);
    lua_pushcclosure(L, c_closure, 1);
    lua_setglobal(L, "upvalue");
    if (luaL_loadbuffer(L, text, sizeof text - 1, "=trial") != LUA_OK)
        return lua_error(L);
    lua_sethook(L, trial_hook, LUA_MASKCALL, 0);
    lua_call(L, 0, 0);
    lua_sethook(L, NULL, 0, 0);
    return 0;
}

/* Returns the size of objects of a kind; 0 if it varies. */
static size_t kind_size(const trial *trial, size_t kind)
{
    size_t size = 0;
    for (size_t i = 0; i < trial->count; i++) {
        if (trial->live[i].kind != kind)
            continue;
        if (size && size != trial->live[i].size)
            return 0;
        size = trial->live[i].size;
    }
    return size;
}

/* ---- the counter of instructions ---- */

static void count_hook(lua_State *L, lua_Debug *ar)
{
    (void)ar;
    trial_of(L)->counts++;
}

static int counter_run(lua_State *L)
{
    if (luaL_loadstring(L, "local x = 0 for i = 1, 100 do x = x + i end") != LUA_OK)
        return lua_error(L);
    lua_call(L, 0, 0);
    return 0;
}

/* Runs the loop with a counter of 100,000, lowered to `left` unless that is 0. Returns the counter
 * afterwards; 0 if the result is inconsistent. */
static int counter_turn(trial *trial, lua_State *L, int left)
{
    enum { BASE = 100000 };
    int *counter = &CRN_FIELD(int, L, CRN_STATE_COUNTER);
    const int *base = &CRN_FIELD(const int, L, CRN_STATE_COUNT_BASE);
    lua_sethook(L, count_hook, LUA_MASKCOUNT, BASE);
    bool as_set = *counter == BASE && *base == BASE;
    if (as_set && left)
        *counter = left;
    trial->counts = 0;
    lua_pushcfunction(L, counter_run);
    bool ran = lua_pcall(L, 0, 0, 0) == LUA_OK;
    int end = *counter;
    as_set = as_set && *base == BASE && trial->counts == (left != 0);
    lua_sethook(L, NULL, 0, 0);
    return ran && as_set ? end : 0;
}

/* The loop has about 200 instructions: checks that they are counted, and that an event comes after
 * 100 if the counter is set to 100. */
static bool counter_proven(trial *trial, lua_State *thread)
{
    if (!readable(trial, thread, CRN_STATE_COUNTER + sizeof(int)))
        return false;
    int all = counter_turn(trial, thread, 0);
    return all > 99700 && all < 99800 && counter_turn(trial, thread, 100) == all + 100;
}

void crn_layout_prove(crn_layout *layout)
{
    memset(layout, 0, sizeof *layout);
    trial trial = {0};
    lua_State *L = lua_newstate(trial_allocate, &trial);
    if (!L) {
        free(trial.live);
        return;
    }
    lua_pushcfunction(L, trial_run);
    bool ran = lua_pcall(L, 0, 0, 0) == LUA_OK;

    lua_State *thread = lua_newthread(L);
    const memory *memory = memory_find(&trial, thread);
    if (memory && memory->kind == LUA_TTHREAD) {
        layout->thread_size = memory->size;
        layout->thread_offset = (size_t)((char *)thread - memory->start);
    }
    const char *forced = secure_getenv("CAIRN_LUA_LAYOUT");
    bool allowed = !forced || strcmp(forced, "api") != 0;
    layout->prototype_size = kind_size(&trial, KIND_PROTOTYPE);
    layout->frames = allowed && ran && !trial.wrong && trial.seen == SEEN_ALL && trial.code[2] &&
                     trial.code[2] != trial.code[3] && layout->prototype_size != 0 &&
                     layout->thread_size != 0;
    layout->allow_hook = layout->frames && trial.hook_denied &&
                         CRN_FIELD(const unsigned char, L, CRN_STATE_ALLOW_HOOK) == 1;
    layout->counter = layout->frames && counter_proven(&trial, thread);
    lua_close(L);
    free(trial.live);
}
