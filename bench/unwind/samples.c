/* SPDX-License-Identifier: MIT
 *
 * Stacks that the kernel copies: the registers and the upper part of the stack of whichever thread
 * a processor clock's event interrupts.
 */
#include <errno.h>
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
#include "stacks.h"

enum { PAGE = CRN_UNWIND_PAGE, RING_PAGES = 2048, PERIOD_NS = 199999 };

/* Registers in the order of the kernel's numbers; each has its number in DWARF. */
#define REGISTERS 0xff01ffull /* ax to ip, r8 to r15 */
static const uint8_t dwarf_numbers[REGISTER_COUNT] = {0, 3, 2,  1,  4,  5,  6,  7, 16,
                                                      8, 9, 10, 11, 12, 13, 14, 15};

typedef struct sample {
    struct perf_event_header header;
    uint32_t process, thread;
    uint64_t abi, registers[REGISTER_COUNT];
    uint64_t stack_size;
    char stack[STACK_MOST];
    uint64_t stack_copied;
} sample;

typedef struct ring {
    int file;
    struct perf_event_mmap_page *page;
} ring;

static void take(comparison *all, const sample *sample)
{
    all->is_stale |= sample->header.type == PERF_RECORD_MMAP; /* code was loaded */
    if (sample->header.type != PERF_RECORD_SAMPLE || (pid_t)sample->process != all->process ||
        sample->abi == PERF_SAMPLE_REGS_ABI_NONE || sample->stack_size != STACK_MOST)
        return;
    copied_stack stack = {
        .thread = (pid_t)sample->thread, .bytes = sample->stack, .size = sample->stack_copied};
    for (unsigned i = 0; i < REGISTER_COUNT; i++)
        stack.registers[dwarf_numbers[i]] = sample->registers[i];
    compare_stack(all, &stack);
}

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
        .sample_stack_user = STACK_MOST,
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

bool compare_samples(comparison *all, uint64_t most, bool is_child, int go)
{
    long processors = sysconf(_SC_NPROCESSORS_CONF);
    ring *rings = crn_calloc((size_t)processors, sizeof *rings);
    bool ended = false;
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
