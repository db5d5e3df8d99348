/* SPDX-License-Identifier: MIT
 *
 * Compares Cairn's unwinder with libdw's, on stacks of a real program: bench-unwind COUNT
 * COMMAND... or bench-unwind COUNT --pid PID. The kernel interrupts the program at any instruction
 * and copies all registers and the upper part of the stack; both unwinders walk the same copy.
 * Prints how many stacks are equal, and by cause those that are not.
 */
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "hosts/outside/sampler.h"

enum { RBP = 6, RSP = 7, RIP = 16 }; /* numbers in DWARF */

enum {
    PAGE = CRN_UNWIND_PAGE,
    RING_PAGES = 2048,
    STACK = 61440,
    FRAMES_MOST = 512,
    CAUSES_MOST = 4096,
    CAUSES_SHOWN = 8,
    PERIOD_NS = 199999,
    REGISTER_COUNT = 17
};

/* Registers in the order of the kernel's numbers; each has its number in DWARF. */
#define REGISTERS 0xff01ffull /* ax to ip, r8 to r15 */
static const uint8_t dwarf_numbers[REGISTER_COUNT] = {0, 3, 2,  1,  4,  5,  6,  7, 16,
                                                      8, 9, 10, 11, 12, 13, 14, 15};

typedef struct sample {
    struct perf_event_header header;
    uint32_t process, thread;
    uint64_t abi, registers[REGISTER_COUNT];
    uint64_t stack_size;
    char stack[STACK];
    uint64_t stack_copied;
} sample;

typedef struct ring {
    int file;
    struct perf_event_mmap_page *page;
} ring;

typedef struct frames {
    uint64_t addresses[FRAMES_MOST];
    size_t count;
} frames;

typedef struct cause {
    char text[160];
    uint64_t count;
} cause;

typedef struct comparison {
    pid_t process;
    crn_space *space;
    Dwfl *dwfl;
    const sample *sample;
    uintptr_t registers[REGISTER_COUNT]; /* of the sample, by their numbers in DWARF */
    frames ours, reference;
    bool complete; /* ours reached the thread's outermost function */
    bool is_stale; /* mappings have to be read */
    uint64_t ours_ns, reference_ns;
    uint64_t compared, equal, shorter, longer, different, incomplete;
    uint64_t left_out; /* stacks of a process whose mappings could not be read: it was ending */
    uint64_t frame_count;
    cause causes[CAUSES_MOST];
    size_t cause_count;
} comparison;

/* ---- libdw ---- */

static pid_t next_thread(Dwfl *dwfl, void *data, void **thread_data)
{
    (void)dwfl;
    comparison *all = data;
    if (*thread_data)
        return 0;
    *thread_data = all;
    return (pid_t)all->sample->thread;
}

static bool get_thread(Dwfl *dwfl, pid_t thread, void *data, void **thread_data)
{
    (void)dwfl;
    comparison *all = data;
    *thread_data = all;
    return thread == (pid_t)all->sample->thread;
}

static bool set_registers(Dwfl_Thread *thread, void *data)
{
    const comparison *all = data;
    return dwfl_thread_state_registers(thread, 0, REGISTER_COUNT, all->registers);
}

/* Only the copy: the program has gone on, and its memory is that of a later moment. */
static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *word, void *data)
{
    (void)dwfl;
    const comparison *all = data;
    uint64_t low = all->registers[RSP], size = all->sample->stack_copied;
    if (address < low || size < sizeof *word || address - low > size - sizeof *word)
        return false;
    memcpy(word, all->sample->stack + (address - low), sizeof *word);
    return true;
}

static int take_frame(Dwfl_Frame *frame, void *data)
{
    comparison *all = data;
    frames *reference = &all->reference;
    Dwarf_Addr pc;
    bool interrupted;
    if (!dwfl_frame_pc(frame, &pc, &interrupted) || pc == 0 || reference->count == FRAMES_MOST)
        return DWARF_CB_ABORT;
    reference->addresses[reference->count++] = pc - !interrupted;
    return DWARF_CB_OK;
}

static int no_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                         const char *file, const char *link, GElf_Word sum, char **found)
{
    (void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)sum;
    (void)found;
    return -1;
}

static const Dwfl_Callbacks files = {.find_elf = dwfl_linux_proc_find_elf,
                                     .find_debuginfo = no_debug_file};
static const Dwfl_Thread_Callbacks thread_callbacks = {.next_thread = next_thread,
                                                       .get_thread = get_thread,
                                                       .memory_read = read_memory,
                                                       .set_initial_registers = set_registers};

/* Reads what the process has mapped, for both. False if it has no mappings any more: it has ended,
 * and its last samples are read late. */
static bool read_mappings(comparison *all)
{
    crn_space_clear(all->space);
    crn_space_read(all->space);
    if (all->dwfl)
        dwfl_end(all->dwfl);
    all->dwfl = all->space->count ? dwfl_begin(&files) : NULL;
    if (all->dwfl && dwfl_linux_proc_report(all->dwfl, all->process) == 0 &&
        dwfl_report_end(all->dwfl, NULL, NULL) == 0 &&
        dwfl_attach_state(all->dwfl, NULL, all->process, &thread_callbacks, all))
        all->is_stale = false;
    return !all->is_stale;
}

/* ---- the two walks ---- */

static void walk_ours(comparison *all)
{
    const sample *sample = all->sample;
    uint64_t low = all->registers[RSP];
    crn_unwind_memory memory = {
        .low = low, .high = low + sample->stack_copied, .shift = (uintptr_t)sample->stack - low};
    crn_unwind_walk walk = {.memory = &memory,
                            .registers = all->registers,
                            .local = crn_space_local,
                            .data = all->space,
                            .entry = all->space->entry,
                            .addresses = all->ours.addresses,
                            .most = FRAMES_MOST,
                            .mask = UINT64_MAX};
    crn_unwind_frame frame = {
        .pc = all->registers[RIP], .stack = low, .frame = all->registers[RBP], .interrupted = true};
    uint64_t began = crn_outside_now();
    all->ours.count = crn_unwind_stack(&walk, frame);
    all->ours_ns += crn_outside_now() - began;
    all->complete = walk.complete;
}

static void walk_reference(comparison *all)
{
    uint64_t began = crn_outside_now();
    all->reference.count = 0;
    dwfl_getthread_frames(all->dwfl, (pid_t)all->sample->thread, take_frame, all);
    all->reference_ns += crn_outside_now() - began;
}

/* ---- causes ---- */

static void name_of(const comparison *all, uint64_t address, char text[96])
{
    Dwfl_Module *module = dwfl_addrmodule(all->dwfl, address);
    if (!module) {
        snprintf(text, 96, "code in no file");
        return;
    }
    const char *file = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    const char *symbol = dwfl_module_addrname(module, address), *slash = strrchr(file, '/');
    snprintf(text, 96, "%.40s in %.40s", symbol ? symbol : "?", slash ? slash + 1 : file);
}

static void count_cause(comparison *all, const char *kind, size_t common)
{
    char place[96], text[160];
    name_of(all, all->reference.addresses[common ? common - 1 : 0], place);
    snprintf(text, sizeof text, "%s after frame %zu, %s", kind, common, place);
    size_t i = 0;
    while (i < all->cause_count && strcmp(all->causes[i].text, text) != 0)
        i++;
    if (i == CAUSES_MOST)
        return;
    if (i == all->cause_count)
        memcpy(all->causes[all->cause_count++].text, text, sizeof text);
    all->causes[i].count++;
}

/* libdw ends in epilogues: it reads the register that was popped from below the stack pointer,
 * which the copy does not have. Cairn's stack counts as longer if it goes on to the thread's start.
 */
static void compare(comparison *all)
{
    const frames *ours = &all->ours, *reference = &all->reference;
    size_t common = 0;
    while (common < ours->count && common < reference->count &&
           ours->addresses[common] == reference->addresses[common])
        common++;
    all->compared++;
    all->frame_count += ours->count;
    all->incomplete += !all->complete;
    if (common == ours->count && common == reference->count) {
        all->equal++;
    } else if (common == reference->count && all->complete) {
        all->longer++;
        count_cause(all, "libdw ends", common);
    } else if (common == ours->count) {
        all->shorter++;
        count_cause(all, "Cairn ends", common);
    } else {
        all->different++;
        count_cause(all, "differs", common);
    }
}

static void take(comparison *all, const sample *sample)
{
    all->is_stale |= sample->header.type == PERF_RECORD_MMAP; /* code was loaded */
    if (sample->header.type != PERF_RECORD_SAMPLE || (pid_t)sample->process != all->process ||
        sample->abi == PERF_SAMPLE_REGS_ABI_NONE || sample->stack_size != STACK)
        return;
    all->sample = sample;
    for (unsigned i = 0; i < REGISTER_COUNT; i++)
        all->registers[dwarf_numbers[i]] = sample->registers[i];
    if (all->is_stale && !read_mappings(all)) {
        all->left_out++;
        return;
    }
    walk_ours(all);
    walk_reference(all);
    compare(all);
}

/* ---- samples ---- */

static void open_rings(ring *rings, long count, pid_t process, bool begins)
{
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attributes,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = PERIOD_NS,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
        .inherit = 1,
        .mmap = 1,
        .disabled = begins,
        .enable_on_exec = begins,
        .exclude_kernel = 0,
        .sample_regs_user = REGISTERS,
        .sample_stack_user = STACK,
    };
    for (long i = 0; i < count; i++) {
        rings[i].file = (int)syscall(SYS_perf_event_open, &attributes, process, (int)i, -1, 0);
        rings[i].page = rings[i].file < 0
                            ? MAP_FAILED
                            : mmap(NULL, (1 + RING_PAGES) * (size_t)PAGE, PROT_READ | PROT_WRITE,
                                   MAP_SHARED, rings[i].file, 0);
        if (rings[i].page == MAP_FAILED) {
            perror("bench-unwind: perf_event_open");
            exit(1);
        }
    }
}

static void read_ring(comparison *all, const ring *ring, uint64_t most)
{
    static sample record;
    const uint64_t size = (uint64_t)RING_PAGES * PAGE;
    const char *data = (const char *)ring->page + PAGE;
    uint64_t tail = ring->page->data_tail;
    while (all->compared < most &&
           tail < __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE)) {
        struct perf_event_header header;
        memcpy(&header, data + tail % size, sizeof header);
        for (size_t i = 0; i < header.size && i < sizeof record; i++)
            ((char *)&record)[i] = data[(tail + i) % size];
        tail += header.size;
        __atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
        take(all, &record);
    }
}

static bool has_ended(pid_t process, bool is_child)
{
    return is_child ? waitpid(process, NULL, WNOHANG) == process : kill(process, 0) != 0;
}

/* Returns true if the process has ended before enough stacks were compared. */
static bool run(comparison *all, uint64_t most, bool is_child, int go)
{
    long processors = sysconf(_SC_NPROCESSORS_CONF);
    ring *rings = crn_calloc((size_t)processors, sizeof *rings);
    bool ended = false;
    all->space = crn_space_of(all->process);
    all->is_stale = true;
    open_rings(rings, processors, all->process, is_child);
    if (is_child)
        close(go);
    while (all->compared < most && !ended) {
        for (long i = 0; i < processors; i++)
            read_ring(all, &rings[i], most);
        poll(NULL, 0, 1);
        ended = has_ended(all->process, is_child);
    }
    for (long i = 0; i < processors; i++) {
        munmap(rings[i].page, (1 + RING_PAGES) * (size_t)PAGE);
        close(rings[i].file);
    }
    crn_free(rings);
    return ended;
}

static pid_t start(char **command, int *go)
{
    int pipes[2];
    char byte;
    if (pipe2(pipes, O_CLOEXEC) != 0)
        exit(1);
    pid_t child = fork();
    if (child == 0) {
        close(pipes[1]);
        if (read(pipes[0], &byte, 1) < 0) /* until the events are open */
            _exit(127);
        if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
            _exit(127);
        execvp(command[0], command);
        _exit(127);
    }
    close(pipes[0]);
    *go = pipes[1];
    return child;
}

static int by_count(const void *one, const void *other)
{
    const cause *a = one, *b = other;
    return a->count < b->count ? 1 : -(a->count > b->count);
}

static void show(comparison *all)
{
    double stacks = all->compared ? (double)all->compared : 1;
    printf("%lu stacks, %.1f frames: equal %.3f %%, libdw ends %.3f %%, Cairn ends %.3f %%, "
           "different %.3f %%; not to the thread's start %.3f %%; %.2f µs each, libdw %.1f µs\n",
           all->compared, (double)all->frame_count / stacks, 100 * (double)all->equal / stacks,
           100 * (double)all->longer / stacks, 100 * (double)all->shorter / stacks,
           100 * (double)all->different / stacks, 100 * (double)all->incomplete / stacks,
           (double)all->ours_ns / stacks / 1000, (double)all->reference_ns / stacks / 1000);
    if (all->left_out)
        printf("  %7lu  left out, as the process was ending\n", all->left_out);
    qsort(all->causes, all->cause_count, sizeof *all->causes, by_count);
    for (size_t i = 0; i < all->cause_count && i < CAUSES_SHOWN; i++)
        printf("  %7lu  %s\n", all->causes[i].count, all->causes[i].text);
}

int main(int count, char **arguments)
{
    static comparison all;
    if (count < 3) {
        fputs("usage: bench-unwind COUNT COMMAND... | bench-unwind COUNT --pid PID\n", stderr);
        return 2;
    }
    uint64_t most = strtoull(arguments[1], NULL, 10);
    bool attach = strcmp(arguments[2], "--pid") == 0 && count == 4;
    bool ended = true;
    while (all.compared < most && ended) { /* a program that ends runs again */
        int go = -1;
        uint64_t before = all.compared;
        all.process = attach ? atoi(arguments[3]) : start(&arguments[2], &go);
        ended = run(&all, most, !attach, go);
        if (all.dwfl)
            dwfl_end(all.dwfl);
        all.dwfl = NULL;
        if (!ended && !attach) {
            kill(all.process, SIGKILL);
            waitpid(all.process, NULL, 0);
        }
        if (attach || all.compared == before)
            break;
    }
    show(&all);
    return all.compared < most;
}
