/* SPDX-License-Identifier: MIT
 *
 * Lua's loop is the C function luaV_execute, whose first argument is the coroutine. The loop keeps
 * it in a register, which the walk carries along. A word of a walk has the address of a function's
 * prototype. The structures are those of 5.4, as Debian builds it.
 *
 * Source: Lua 5.4, lstate.h, lobject.h.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../native/lua_source.h"
#include "interpreter.h"

enum {
    /* Offsets of members, in bytes. */
    OBJECT_TYPE = 8,
    THREAD_GLOBAL = 24,
    THREAD_CALL = 32, /* the innermost CallInfo */
    CALL_FUNCTION = 0,
    CALL_PREVIOUS = 16,
    CALL_STATUS = 56, /* a word whose last two bytes are the status */
    VALUE_TYPE = 8,
    CLOSURE_PROTOTYPE = 24,
    STRING_SHORT_LENGTH = 11,
    STRING_LENGTH = 16,
    STRING_TEXT = 24,
    /* Types of objects. */
    TYPE_THREAD = 8,
    TYPE_PROTOTYPE = 10,
    TYPE_SHORT_STRING = 4,
    TYPE_LONG_STRING = 20,
    VALUE_LUA_CLOSURE = 6 | 1 << 6,
    /* Bits of a call's status. */
    STATUS_C = 1 << 1,
    STATUS_FRESH = 1 << 2 /* the loop was called for it */
};

/* The members of a prototype that are needed. */
typedef struct prototype {
    uint32_t spare, first_line, last_line, more_spare;
    uint64_t code[7];
    uint64_t source;
} prototype;

enum { PROTOTYPE_MEMBERS = 40 };
_Static_assert(sizeof(prototype) == 120 - PROTOTYPE_MEMBERS, "from sizeabslineinfo to source");

static struct {
    cairn_profile *profile;
    uintptr_t loop, loop_size; /* machine code; 0: no interpreter */
} lua;

/* ---- frames ---- */

static uintptr_t word_at(crn_unwind_walk *walk, crn_interpreters *state, uintptr_t address)
{
    return crn_word_at(walk, &state->words, address);
}

/* Returns the prototype of a call's function; 0 if it is not a Lua function. */
static uintptr_t prototype_of(crn_unwind_walk *walk, crn_interpreters *state, uintptr_t call)
{
    uintptr_t function = word_at(walk, state, call + CALL_FUNCTION);
    bool is_lua =
        function && (word_at(walk, state, function + VALUE_TYPE) & 0xff) == VALUE_LUA_CLOSURE;
    uintptr_t closure = is_lua ? word_at(walk, state, function) : 0;
    uintptr_t found = closure ? word_at(walk, state, closure + CLOSURE_PROTOTYPE) : 0;
    return found && (word_at(walk, state, found + OBJECT_TYPE) & 0xff) == TYPE_PROTOTYPE ? found
                                                                                         : 0;
}

/* Returns the coroutine of the present frame; 0 if it is not known. */
static uintptr_t thread_of(crn_unwind_walk *walk, crn_interpreters *state)
{
    uintptr_t thread = walk->is_carried ? walk->carried : 0;
    bool is_one = thread && (word_at(walk, state, thread + OBJECT_TYPE) & 0xff) == TYPE_THREAD &&
                  word_at(walk, state, thread + THREAD_GLOBAL);
    return is_one ? thread : 0;
}

/* Adds the Lua functions that the next older call of the loop runs, of the coroutine that this call
 * runs. C functions between them have native frames of their own. */
static size_t add_calls(crn_unwind_walk *walk, void *data, size_t count)
{
    crn_interpreters *state = data;
    crn_lua_state *its = &state->lua;
    uintptr_t thread = thread_of(walk, state);
    if (!thread)
        return count;
    if (thread != its->thread) {
        its->thread = thread;
        its->call = word_at(walk, state, thread + THREAD_CALL);
    }
    bool is_first = false;
    for (size_t turns = 0; its->call && !is_first && count < walk->most && turns < walk->most;
         turns++) {
        uintptr_t call = its->call;
        unsigned status = (unsigned)(word_at(walk, state, call + CALL_STATUS) >> 48);
        its->call = word_at(walk, state, call + CALL_PREVIOUS);
        uintptr_t found = status & STATUS_C ? 0 : prototype_of(walk, state, call);
        if (found)
            walk->addresses[(walk->at + count++) & walk->mask] = found | CRN_LUA_WORD;
        is_first = !(status & STATUS_C) && status & STATUS_FRESH;
    }
    return count;
}

crn_unwind_loop crn_lua_loop(crn_interpreters *state)
{
    return (crn_unwind_loop){.start = lua.loop,
                             .size = lua.loop ? lua.loop_size : 0,
                             .before = add_calls,
                             .data = state};
}

/* ---- names ---- */

enum { TEXT_SIZE = 1024 };

static uint8_t type_of(uintptr_t object)
{
    uint8_t type = 0;
    return crn_copy(object + OBJECT_TYPE, &type, sizeof type) ? type : 0;
}

/* Reads a Lua string, cut to TEXT_SIZE - 1 bytes. False if it cannot be read. */
static bool read_string(uintptr_t string, char text[TEXT_SIZE])
{
    uint8_t type = type_of(string), brief = 0;
    uint64_t length = 0;
    bool known = type == TYPE_LONG_STRING
                     ? crn_copy(string + STRING_LENGTH, &length, sizeof length)
                     : type == TYPE_SHORT_STRING &&
                           crn_copy(string + STRING_SHORT_LENGTH, &brief, sizeof brief);
    length = type == TYPE_SHORT_STRING ? brief : length;
    length = length < TEXT_SIZE - 1 ? length : TEXT_SIZE - 1;
    text[known ? length : 0] = '\0';
    return known && crn_copy(string + STRING_TEXT, text, length);
}

/* Reads a line of a regular file: reading a pipe would take data from the program. Returns the
 * line's length, 0 if it cannot be read. */
static size_t read_line(const char *path, uint32_t line, char *text, size_t size)
{
    char part[4096];
    uint32_t at = 1;
    size_t length = 0;
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return 0;
    bool regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    for (ssize_t got; regular && at <= line && (got = read(file, part, sizeof part)) > 0;)
        for (ssize_t i = 0; i < got && at <= line; i++) {
            if (at == line && part[i] != '\n' && length < size)
                text[length++] = part[i];
            at += part[i] == '\n';
        }
    close(file);
    return length;
}

/* Writes a short name of a chunk: the file's base name, or the begin of its text. */
static void write_label(const char *source, char label[TEXT_SIZE])
{
    const char *slash = strrchr(source, '/');
    if (*source == '@')
        snprintf(label, TEXT_SIZE, "%s", slash && slash[1] ? slash + 1 : source + 1);
    else if (*source == '=')
        snprintf(label, TEXT_SIZE, "%s", source + 1);
    else
        snprintf(label, TEXT_SIZE, "[string \"%.*s\"]", (int)strcspn(source, "\n"), source);
}

/* Names a function as its source does; if the source has no name, as Lua's messages do. */
static void write_name(const char *source, const char *label, uint32_t first_line,
                       char name[TEXT_SIZE])
{
    static char line[4096];
    crn_source_name written = {.name = ""};
    size_t length = *source == '@' ? read_line(source + 1, first_line, line, sizeof line) : 0;
    if (length)
        crn_source_scan(line, length, NULL, &written);
    if (first_line == 0)
        snprintf(name, TEXT_SIZE, "main chunk of %.900s", label);
    else if (*written.name)
        snprintf(name, TEXT_SIZE, "%s", written.name);
    else
        snprintf(name, TEXT_SIZE, "function <%.900s:%u>", label, first_line);
}

/* Adds the block of a function; `members` are of its prototype. */
static cairn_block add(uintptr_t object, const void *members)
{
    static char source[TEXT_SIZE], label[TEXT_SIZE], name[TEXT_SIZE];
    const prototype *its = members;
    if (type_of(object) != TYPE_PROTOTYPE || !read_string(its->source, source))
        return 0;
    write_label(source, label);
    write_name(source, label, its->first_line, name);
    cairn_block_info info = {.name = name,
                             .file = *source == '@' ? source + 1 : label,
                             .line = its->first_line ? its->first_line : 1};
    return cairn_block_once(lua.profile, &info);
}

cairn_block crn_lua_block(uintptr_t object)
{
    cairn_block block =
        crn_object_block(object, object + PROTOTYPE_MEMBERS, sizeof(prototype), add);
    return block ? block
                 : cairn_block_once(lua.profile, &(cairn_block_info){.name = "[Lua function]"});
}

/* ---- finding ---- */

/* For the trial: returns true if the structures are those that are described above. */
static bool fits(uintptr_t thread, const char *chunk)
{
    char text[TEXT_SIZE];
    prototype its;
    crn_unwind_memory memory = {.low = 0};
    crn_unwind_walk walk = {.memory = &memory};
    crn_interpreters state = {.words = {.own = true}};
    uintptr_t call = word_at(&walk, &state, thread + THREAD_CALL);
    uintptr_t caller = word_at(&walk, &state, call + CALL_PREVIOUS);
    unsigned status = (unsigned)(word_at(&walk, &state, call + CALL_STATUS) >> 48);
    unsigned before = (unsigned)(word_at(&walk, &state, caller + CALL_STATUS) >> 48);
    uintptr_t found = prototype_of(&walk, &state, caller);
    return type_of(thread) == TYPE_THREAD && status & STATUS_C && !(before & STATUS_C) &&
           before & STATUS_FRESH && found &&
           crn_copy(found + PROTOTYPE_MEMBERS, &its, sizeof its) && its.first_line == 0 &&
           read_string(its.source, text) && strcmp(text, chunk) == 0;
}

void crn_lua_find(cairn_profile *profile)
{
    enum { VERSION = 504 };
    double (*version)(void *thread);
    *(void **)&version = dlsym(RTLD_DEFAULT, "lua_version");
    if (!version || !dlsym(RTLD_DEFAULT, "lua_setwarnf")) /* new in 5.4 */
        return;
    crn_lua_trial trial = {0};
    int number = (int)version(NULL);
    char text[64];
    if (number == VERSION && sizeof(void *) == 8)
        crn_lua_try(&trial, fits);
    bool known = trial.loop && trial.calls && !trial.failed && trial.registers;
    snprintf(text, sizeof text, "%d.%d%s", number / 100, number % 100,
             known ? "" : ", whose functions are not shown");
    cairn_profile_note(profile, "lua", text);
    if (!known)
        return;
    lua.profile = profile;
    lua.loop = trial.loop;
    lua.loop_size = trial.loop_size;
    crn_unwind_carried = __builtin_ctz(trial.registers); /* any one of these registers */
}
