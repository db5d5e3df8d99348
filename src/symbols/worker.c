/* SPDX-License-Identifier: MIT */
#include "symbols/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "symbols/debug_info.h"

enum {
    SILENCE_MS = 120000, /* opening the debug information of a browser takes less */
    FAILURES_MAX = 16,   /* limit on children that may end early */
    BUFFER = 1 << 16
};
#define MEMORY_MOST ((rlim_t)16 << 30) /* bytes of a child's data */
/* Limit on bytes of answers; real programs need a hundredth. */
#define ANSWER_MOST ((uint64_t)1 << 30)

typedef enum answer_kind {
    ANSWER_BEGIN, /* of a module, before it is opened */
    ANSWER_MODULE,
    ANSWER_FUNCTION,
    ANSWER_ADDRESS,
    ANSWER_END
} answer_kind;

/* An answer. The name and file of a function follow it at the function's first answer. */
typedef struct answer {
    uint32_t kind;                 /* answer_kind */
    uint32_t number;               /* of the module or function */
    uint32_t state;                /* of a module */
    uint32_t line, column;         /* of a function's declaration; of an address */
    uint32_t name_size, file_size; /* bytes without NUL */
} answer;

/* ---- child ---------------------------------------------------------------------------- */

static void say(FILE *pipe, const answer *answer, const char *name, const char *file)
{
    fwrite(answer, sizeof *answer, 1, pipe);
    fwrite(name, 1, answer->name_size, pipe);
    fwrite(file, 1, answer->file_size, pipe);
}

static void say_function(void *data, uint64_t number, const crn_frame *frame)
{
    answer answer = {.kind = ANSWER_FUNCTION, .number = (uint32_t)number};
    if (frame) {
        answer.line = frame->line;
        answer.column = frame->column;
        answer.name_size = (uint32_t)strlen(frame->name);
        answer.file_size = (uint32_t)strlen(frame->file);
    }
    say(data, &answer, frame ? frame->name : "", frame ? frame->file : "");
}

static void read_module(const crn_module *module, uint32_t number, FILE *pipe)
{
    crn_module_state state;
    say(pipe, &(answer){.kind = ANSWER_BEGIN, .number = number}, "", "");
    fflush(pipe); /* so that the parent knows what was read if the child ends here */
    crn_module_file *file = crn_module_open(module->path, module->build_id, &state);
    say(pipe, &(answer){.kind = ANSWER_MODULE, .number = number, .state = state}, "", "");
    if (!file)
        return;
    for (uint32_t i = 0; i < module->count; i++) {
        /* A return address is that of the next instruction, which may belong to another function:
         * so the byte before it is looked up. */
        uint32_t line = crn_module_find(file, module->addresses[i].offset - 1, say_function, pipe);
        say(pipe, &(answer){.kind = ANSWER_ADDRESS, .line = line}, "", "");
    }
    crn_module_close(file);
}

/* Sanitizers reserve more address space than any limit allows. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define LIMITED 0
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LIMITED 0
#endif
#endif
#ifndef LIMITED
#define LIMITED 1
#endif

/* Limits the child's memory, as compressed sections can unpack to any size. If the system runs out
 * of memory, the kernel ends the child first (oom_score_adj). */
static void limit_memory(void)
{
    if (LIMITED)
        setrlimit(RLIMIT_DATA, &(struct rlimit){MEMORY_MOST, MEMORY_MOST});
    FILE *score = fopen("/proc/self/oom_score_adj", "w");
    if (score) {
        fputs("1000", score);
        fclose(score);
    }
}

static _Noreturn void work(const crn_addresses *addresses, uint32_t first, int descriptor)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    limit_memory();
    unsetenv("DEBUGINFOD_URLS");
    FILE *pipe = fdopen(descriptor, "w");
    for (uint32_t m = first; pipe && m < addresses->module_count; m++)
        read_module(&addresses->modules[m], m, pipe);
    if (pipe) {
        say(pipe, &(answer){.kind = ANSWER_END}, "", "");
        fflush(pipe);
    }
    _exit(0);
}

/* ---- parent --------------------------------------------------------------------------- */

typedef struct listener {
    const crn_addresses *addresses;
    const crn_symbols_sink *sink;
    int descriptor;
    uint64_t taken; /* bytes received from all children */
    char buffer[BUFFER];
    size_t begin, end;
    uint32_t module;                            /* the module being read */
    uint32_t place;                             /* index of the module's next address */
    bool opened;                                /* the state of the module was received */
    uint32_t known;                             /* number of functions of the module */
    uint32_t functions[CRN_INLINES_MAX], count; /* functions at the next address */
    bool ended;
} listener;

/* Reads more of the child's answers. Returns false if the child has ended, is silent for SILENCE_MS
 * or has said more than ANSWER_MOST. */
static bool fill(listener *listener)
{
    struct pollfd poll_entry = {.fd = listener->descriptor, .events = POLLIN};
    ssize_t size;
    do {
        int ready = poll(&poll_entry, 1, SILENCE_MS);
        if (ready == 0)
            return false;
        size = ready < 0 ? -1 : read(listener->descriptor, listener->buffer, BUFFER);
    } while (size < 0 && errno == EINTR);
    if (size <= 0)
        return false;
    listener->taken += (uint64_t)size;
    listener->begin = 0;
    listener->end = (size_t)size;
    return listener->taken <= ANSWER_MOST;
}

/* Takes `size` bytes of the child's answers. Returns false if no more come. The functions below
 * return false, too, if an answer does not fit what was asked. */
static bool take(listener *listener, void *bytes, size_t size)
{
    char *to = bytes;
    while (size) {
        if (listener->begin == listener->end && !fill(listener))
            return false;
        size_t part = listener->end - listener->begin;
        part = part < size ? part : size;
        memcpy(to, listener->buffer + listener->begin, part);
        listener->begin += part;
        to += part;
        size -= part;
    }
    return true;
}

static bool take_begin(listener *listener, const answer *answer)
{
    if (answer->number >= listener->addresses->module_count)
        return false;
    listener->module = answer->number;
    listener->place = listener->known = listener->count = 0;
    listener->opened = false;
    return true;
}

static bool take_module(listener *listener, const answer *answer)
{
    if (answer->number != listener->module || answer->state > CRN_MODULE_OTHER || listener->opened)
        return false;
    listener->opened = true;
    listener->sink->module(listener->sink->data, &listener->addresses->modules[answer->number],
                           (crn_module_state)answer->state);
    return true;
}

static bool take_function(listener *listener, const answer *answer)
{
    static char name[CRN_SYMBOL_NAME_MAX], file[CRN_SYMBOL_NAME_MAX];
    if (answer->name_size >= sizeof name || answer->file_size >= sizeof file ||
        listener->count == CRN_INLINES_MAX || !listener->opened ||
        (answer->name_size ? answer->number != listener->known : answer->number >= listener->known))
        return false;
    listener->functions[listener->count++] = answer->number;
    if (!answer->name_size)
        return true;
    if (!take(listener, name, answer->name_size) || !take(listener, file, answer->file_size))
        return false;
    name[answer->name_size] = file[answer->file_size] = '\0';
    listener->known++;
    listener->sink->function(listener->sink->data, name, file, answer->line, answer->column);
    return true;
}

static bool take_address(listener *listener, const answer *answer)
{
    const crn_module *module = &listener->addresses->modules[listener->module];
    if (!listener->opened || listener->place == module->count)
        return false;
    listener->sink->address(listener->sink->data, module, &module->addresses[listener->place++],
                            listener->functions, listener->count, answer->line);
    listener->count = 0;
    return true;
}

static bool take_answer(listener *listener)
{
    answer answer;
    if (!take(listener, &answer, sizeof answer))
        return false;
    switch (answer.kind) {
    case ANSWER_BEGIN:
        return take_begin(listener, &answer);
    case ANSWER_MODULE:
        return take_module(listener, &answer);
    case ANSWER_FUNCTION:
        return take_function(listener, &answer);
    case ANSWER_ADDRESS:
        return take_address(listener, &answer);
    case ANSWER_END:
        listener->ended = true;
        return false;
    default:
        return false;
    }
}

/* Lets a child read the modules from `first` on. Returns the module at which the child ended early;
 * the number of modules if it read all. */
static uint32_t ask_from(listener *listener, uint32_t first)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return first;
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        work(listener->addresses, first, ends[1]);
    }
    close(ends[1]);
    listener->descriptor = ends[0];
    listener->begin = listener->end = 0;
    listener->module = UINT32_MAX;
    listener->opened = false;
    listener->ended = false;
    while (child > 0 && take_answer(listener)) {
    }
    close(ends[0]);
    if (child > 0) {
        kill(child, SIGKILL);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    uint32_t count = listener->addresses->module_count;
    return listener->ended ? count : listener->module < count ? listener->module : first;
}

void crn_symbols_ask(const crn_addresses *addresses, const crn_symbols_sink *sink)
{
    listener *listener = crn_calloc(1, sizeof *listener);
    listener->addresses = addresses;
    listener->sink = sink;
    uint32_t next = 0;
    for (int failures = 0; next < addresses->module_count; failures++) {
        bool give_up = failures == FAILURES_MAX || listener->taken > ANSWER_MOST;
        uint32_t stopped = give_up ? next : ask_from(listener, next);
        if (stopped < addresses->module_count)
            sink->module(sink->data, &addresses->modules[stopped], CRN_MODULE_DAMAGED);
        next = stopped + 1;
    }
    crn_free(listener);
}
