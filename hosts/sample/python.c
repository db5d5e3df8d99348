/* SPDX-License-Identifier: MIT
 *
 * Python's loop is the C function _PyEval_EvalFrameDefault. A word of a walk has the address of a
 * function's code object. The structures are those of 3.11.
 *
 * Source: CPython 3.11, Include/internal/pycore_frame.h and pycore_runtime.h.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "interpreter.h"

enum {
    VERSION = 0x030b, /* 3.11 */
    /* Offsets of members, in bytes. */
    RUNTIME_INTERPRETERS = 40,
    RUNTIME_KEY = 592, /* the pthread key under which each thread has its PyThreadState */
    INTERPRETER_NEXT = 0,
    INTERPRETER_THREADS = 16,
    THREAD_NEXT = 8,
    THREAD_CHAIN = 56,
    THREAD_NUMBER = 160, /* the kernel's thread id */
    CHAIN_FRAME = 8,
    FRAME_CODE = 32,
    FRAME_PREVIOUS = 48,
    FRAME_FLAGS = 64, /* a word whose fifth byte says that the loop was called for this frame */
    OBJECT_TYPE = 8
};

/* A string has one, two or four bytes a character. Its header is smaller if all characters are
 * below 128. */
enum { STRING_LENGTH = 16, STRING_STATE = 32, STRING_HEADER_ASCII = 48, STRING_HEADER = 72 };

/* The members of a code object that are needed. */
typedef struct code {
    uint32_t line, spare[9];
    uint64_t file, name, qualified_name;
} code;

enum { CODE_LINE = 72 };
_Static_assert(sizeof(code) == 136 - CODE_LINE, "from co_firstlineno to co_qualname");

static struct {
    cairn_profile *profile;
    uintptr_t loop, loop_size; /* machine code; 0: no interpreter */
    uintptr_t runtime, code_type, string_type;
} python;

/* ---- finding ---- */

static uintptr_t symbol(const char *name)
{
    return (uintptr_t)dlsym(RTLD_DEFAULT, name);
}

static uintptr_t size_of_function(uintptr_t function)
{
    Dl_info info;
    const ElfW(Sym) *found = NULL;
    if (!function || !dladdr1((void *)function, &info, (void **)&found, RTLD_DL_SYMENT) || !found)
        return 0;
    return found->st_size;
}

void crn_python_find(cairn_profile *profile)
{
    const unsigned long *version = (const unsigned long *)symbol("Py_Version");
    char text[64];
    if (!version)
        return;
    bool known = *version >> 16 == VERSION && sizeof(void *) == 8;
    snprintf(text, sizeof text, "%lu.%lu.%lu%s", *version >> 24, *version >> 16 & 0xff,
             *version >> 8 & 0xff, known ? "" : ", whose functions are not shown");
    cairn_profile_note(profile, "python", text);
    python.profile = profile;
    python.runtime = symbol("_PyRuntime");
    python.code_type = symbol("PyCode_Type");
    python.string_type = symbol("PyUnicode_Type");
    uintptr_t loop = symbol("_PyEval_EvalFrameDefault");
    if (!known || !python.runtime || !python.code_type || !python.string_type)
        return;
    python.loop_size = size_of_function(loop);
    python.loop = loop;
}

/* ---- frames ---- */

static uintptr_t word_at(crn_unwind_walk *walk, crn_interpreters *state, uintptr_t address)
{
    return crn_word_at(walk, &state->words, address);
}

static bool is_state_of(crn_unwind_walk *walk, crn_interpreters *state, uintptr_t thread)
{
    return thread && word_at(walk, state, thread + THREAD_NUMBER) == (uintptr_t)state->words.thread;
}

/* Returns the state of the calling thread, 0 if it has none. */
static uintptr_t own_state(crn_unwind_walk *walk, crn_interpreters *state)
{
    /* [0]: not 0 if the key is made; [1]: the key. */
    const int *key = (const int *)(python.runtime + RUNTIME_KEY);
    uintptr_t thread = key[0] ? (uintptr_t)pthread_getspecific((pthread_key_t)key[1]) : 0;
    return is_state_of(walk, state, thread) ? thread : 0;
}

/* Returns the state of another thread, 0 if it has none. */
static uintptr_t other_state(crn_unwind_walk *walk, crn_interpreters *state)
{
    enum { INTERPRETERS = 16, THREADS = 1024 }; /* limits, as lists may change meanwhile */
    uintptr_t interpreter = word_at(walk, state, python.runtime + RUNTIME_INTERPRETERS);
    for (int i = 0; interpreter && i < INTERPRETERS; i++) {
        uintptr_t thread = word_at(walk, state, interpreter + INTERPRETER_THREADS);
        for (int t = 0; thread && t < THREADS; t++) {
            if (is_state_of(walk, state, thread))
                return thread;
            thread = word_at(walk, state, thread + THREAD_NEXT);
        }
        interpreter = word_at(walk, state, interpreter + INTERPRETER_NEXT);
    }
    return 0;
}

/* Adds the functions that the next older call of the loop runs. */
static size_t add_chain(crn_unwind_walk *walk, void *data, size_t count)
{
    crn_interpreters *state = data;
    crn_python_state *its = &state->python;
    if (!its->found) {
        uintptr_t thread = state->words.own ? own_state(walk, state) : other_state(walk, state);
        uintptr_t chain = thread ? word_at(walk, state, thread + THREAD_CHAIN) : 0;
        its->frame = chain ? word_at(walk, state, chain + CHAIN_FRAME) : 0;
        its->found = true;
    }
    while (its->frame && count < walk->most) {
        uintptr_t frame = its->frame, object = word_at(walk, state, frame + FRAME_CODE);
        bool is_first = word_at(walk, state, frame + FRAME_FLAGS) >> 32 & 0xff;
        its->frame = word_at(walk, state, frame + FRAME_PREVIOUS);
        if (object)
            walk->addresses[(walk->at + count++) & walk->mask] = object | CRN_PYTHON_WORD;
        if (is_first)
            break;
    }
    return count;
}

crn_unwind_loop crn_python_loop(crn_interpreters *state)
{
    return (crn_unwind_loop){.start = python.loop,
                             .size = python.loop ? python.loop_size : 0,
                             .before = add_chain,
                             .data = state};
}

/* ---- names ---- */

static bool has_type(uintptr_t object, uintptr_t type)
{
    uintptr_t its;
    return crn_copy(object + OBJECT_TYPE, &its, sizeof its) && its == type;
}

static size_t put_character(char *to, uint32_t character)
{
    if (character < 0x80) {
        to[0] = (char)character;
        return 1;
    }
    size_t size = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    static const uint8_t first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = size; i-- > 1; character >>= 6)
        to[i] = (char)(0x80 | (character & 0x3f));
    to[0] = (char)(first[size] | character);
    return size;
}

enum { MOST_CHARACTERS = 512, TEXT_SIZE = 4 * MOST_CHARACTERS + 1 };

/* Writes a Python string as UTF-8, cut to MOST_CHARACTERS. False if it cannot be read. */
static bool read_string(uintptr_t string, char text[TEXT_SIZE])
{
    static uint8_t bytes[4 * MOST_CHARACTERS];
    uint64_t length;
    uint32_t state;
    if (!has_type(string, python.string_type) ||
        !crn_copy(string + STRING_LENGTH, &length, sizeof length) ||
        !crn_copy(string + STRING_STATE, &state, sizeof state))
        return false;
    uint32_t width = state >> 2 & 7; /* 1, 2 or 4 */
    bool is_compact = state >> 5 & 1, is_ascii = state >> 6 & 1;
    if (!is_compact || (width != 1 && width != 2 && width != 4))
        return false;
    size_t count = length < MOST_CHARACTERS ? length : MOST_CHARACTERS, used = 0;
    if (!crn_copy(string + (is_ascii ? STRING_HEADER_ASCII : STRING_HEADER), bytes, count * width))
        return false;
    for (size_t i = 0; i < count; i++) {
        uint32_t character = 0;
        memcpy(&character, bytes + i * width, width);
        used += put_character(text + used, character & 0x1fffff);
    }
    text[used] = '\0';
    return true;
}

/* Adds the block of a function; `members` are of its code object, from CODE_LINE on. */
static cairn_block add(uintptr_t object, const void *members)
{
    static char name[TEXT_SIZE], file[TEXT_SIZE];
    const code *its = members;
    if (!has_type(object, python.code_type) || !read_string(its->qualified_name, name) ||
        !read_string(its->file, file))
        return 0;
    cairn_block_info info = {.name = name, .file = file, .line = its->line};
    return cairn_block_once(python.profile, &info);
}

cairn_block crn_python_block(uintptr_t object)
{
    cairn_block block = crn_object_block(object, object + CODE_LINE, sizeof(code), add);
    return block
               ? block
               : cairn_block_once(python.profile, &(cairn_block_info){.name = "[Python function]"});
}
