/* SPDX-License-Identifier: MIT
 *
 * Bounds of a thread's stack, and reading of memory outside it.
 *
 * pthread_getattr_np would give the bounds, but takes a lock of the thread that libc may hold while
 * it calls malloc: called inside malloc, the thread would wait for itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "unwind/unwind.h"

extern void *__libc_stack_end __attribute__((weak));

typedef struct range {
    uintptr_t low, high;
} range;

static bool holds(range range, uintptr_t address)
{
    return address >= range.low && address < range.high;
}

/* ---- the first thread's stack ---- */

static struct {
    bool known;
    pthread_t thread;
    range stack;
} first;

/* Returns the first thread's stack, which grows down from the loader's first stack pointer. The
 * kernel keeps mappings out of the space that the limit allowed when the program began. */
static range stack_of_first(void)
{
    const uintptr_t least = (uintptr_t)64 << 20, unlimited = (uintptr_t)64 << 30;
    struct rlimit limit;
    uintptr_t size = least;
    if (getrlimit(RLIMIT_STACK, &limit) == 0)
        size = limit.rlim_cur > unlimited ? unlimited : limit.rlim_cur;
    uintptr_t high = ((uintptr_t)__libc_stack_end | (CRN_UNWIND_PAGE - 1)) + 1;
    return (range){high - (size < least ? least : size), high};
}

/* Notes the first thread and its stack, if the caller is the first thread on its own stack. It runs
 * before the program's first function, as the program may raise the limit: then mappings, such as
 * the stacks of coroutines, are within the new limit. */
__attribute__((constructor)) static void note_first(void)
{
    if (first.known || gettid() != getpid() || !&__libc_stack_end || !__libc_stack_end)
        return;
    int saved = errno;
    range stack = stack_of_first();
    if (holds(stack, (uintptr_t)__builtin_frame_address(0))) {
        first.stack = stack;
        first.thread = pthread_self();
        __atomic_store_n(&first.known, true, __ATOMIC_RELEASE);
    }
    errno = saved;
}

/* Returns true for the first thread; not in a child that another thread has forked. */
static bool is_first(void)
{
    note_first();
    return __atomic_load_n(&first.known, __ATOMIC_ACQUIRE) &&
           pthread_equal(pthread_self(), first.thread);
}

/* ---- other threads' stacks ---- */

/* The argument of the ioctl PROCMAP_QUERY of /proc/PID/maps (Linux 6.11), which the headers of
 * older systems lack. */
typedef struct map_query {
    uint64_t size, flags, address;
    uint64_t start, end;
    uint64_t other[4];
    uint32_t device[2], name_size, build_id_size;
    uint64_t name, build_id;
} map_query;

#define MAP_QUERY _IOWR('f', 17, map_query)

static bool ask_map(int maps, uintptr_t address, range *found)
{
    map_query query = {.size = sizeof query, .address = address};
    if (ioctl(maps, MAP_QUERY, &query) != 0)
        return false;
    *found = (range){query.start, query.end};
    return true;
}

/* State of reading "low-high " at the begin of each line, one character at a time. */
typedef struct map_parser {
    range range;
    enum { IN_LOW, IN_HIGH, IN_REST } state;
} map_parser;

/* Takes one character. Returns true when the range of a line is complete. */
static bool parse_map(map_parser *parser, char c)
{
    bool complete = parser->state == IN_HIGH && c == ' ';
    uintptr_t *number = parser->state == IN_LOW ? &parser->range.low : &parser->range.high;
    if (c == '\n')
        *parser = (map_parser){.state = IN_LOW};
    else if (parser->state == IN_LOW && c == '-')
        parser->state = IN_HIGH;
    else if (complete)
        parser->state = IN_REST;
    else if (parser->state != IN_REST)
        *number = *number * 16 + (uintptr_t)(c >= 'a' ? c - 'a' + 10 : c - '0');
    return complete;
}

static bool read_map(int maps, uintptr_t address, range *found)
{
    char text[1024]; /* small, as a thread's stack may be */
    map_parser parser = {.state = IN_LOW};
    for (;;) {
        long got = syscall(SYS_read, maps, text, sizeof text);
        if (got <= 0)
            return false;
        for (long i = 0; i < got; i++)
            if (parse_map(&parser, text[i]) && holds(parser.range, address)) {
                *found = parser.range;
                return true;
            }
    }
}

/* Finds the mapping that holds the address. Reads the maps of the thread: those of the process are
 * empty once the first thread has ended. Makes system calls directly, because open, read and close
 * of libc are cancellation points, and malloc, which may be the caller, is none. */
static bool find_mapping(uintptr_t address, range *found)
{
    long maps = syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/maps", O_RDONLY | O_CLOEXEC);
    if (maps < 0)
        return false;
    bool is_found = ask_map((int)maps, address, found) || read_map((int)maps, address, found);
    syscall(SYS_close, maps);
    return is_found;
}

/* Returns the stack of a thread other than the first, also if the thread runs on another stack:
 * that of a coroutine or of a signal handler. libc puts the thread descriptor at the stack's upper
 * end. The mapping need not end there, because the kernel merges adjacent mappings. Returns an
 * empty range on failure. */
static range stack_of_other(void)
{
    range stack;
    uintptr_t descriptor = (uintptr_t)pthread_self() & ~(uintptr_t)(sizeof(uintptr_t) - 1);
    if (!find_mapping(descriptor, &stack))
        return (range){0, 0};
    stack.high = descriptor;
    /* Not noted as the first thread, or a child that another thread has forked: only in the second
     * case the descriptor is at a stack's end. */
    if (gettid() == getpid() && !holds(stack, (uintptr_t)__builtin_frame_address(0)))
        return (range){0, 0};
    return stack;
}

void crn_unwind_stack_of_thread(uintptr_t *low, uintptr_t *high)
{
    int saved = errno;
    range stack = is_first() ? first.stack : stack_of_other();
    *low = stack.low;
    *high = stack.high;
    errno = saved;
}

crn_unwind_memory crn_unwind_above(const crn_unwind_memory *all, uintptr_t stack)
{
    crn_unwind_memory above = *all;
    above.low = stack >= all->low && stack < all->high ? stack : all->high;
    return above;
}

bool crn_unwind_has_room(const void *context)
{
    enum { NEEDED = 4096 };
    const stack_t *alternate = &((const ucontext_t *)context)->uc_stack;
    uintptr_t room = (uintptr_t)__builtin_frame_address(0) - (uintptr_t)alternate->ss_sp;
    return room >= alternate->ss_size || room >= NEEDED;
}

bool crn_unwind_is_entry(uintptr_t stack)
{
    const uintptr_t near = 256; /* the loader may have pushed some words */
    uintptr_t end = &__libc_stack_end ? (uintptr_t)__libc_stack_end : 0;
    return stack <= end + near && stack + near >= end;
}

static bool copy_page(crn_unwind_memory *memory, uintptr_t page)
{
    int saved = errno;
    struct iovec here = {memory->copy, CRN_UNWIND_PAGE};
    struct iovec there = {(void *)page, CRN_UNWIND_PAGE};
    /* gettid() rather than getpid(), because the first thread, which has the process's number, may
     * have ended. */
    pid_t process = memory->process ? memory->process : gettid();
    bool whole = process_vm_readv(process, &here, 1, &there, 1, 0) == CRN_UNWIND_PAGE;
    memory->page = whole ? page : 0;
    errno = saved;
    return whole;
}

bool crn_unwind_read_outside(crn_unwind_memory *memory, uintptr_t address, uintptr_t *value)
{
    uintptr_t page = address & ~(uintptr_t)(CRN_UNWIND_PAGE - 1);
    if (!memory->copy || address % sizeof *value || page == 0)
        return false;
    if (memory->page != page && !copy_page(memory, page))
        return false;
    memcpy(value, memory->copy + (address - page), sizeof *value);
    return true;
}
