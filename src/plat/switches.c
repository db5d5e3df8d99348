/* SPDX-License-Identifier: MIT
 *
 * Reads the records that the kernel writes to a mapped ring buffer. The mapping keeps the event
 * alive when its file is closed.
 */
#include "plat/switches.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 8, RING = PAGES * PAGE, MAPPED = RING + PAGE };

struct crn_switches {
    struct perf_event_mmap_page page;
};

/* ---- the event of wake-ups ---- */

/* Reads a file of the event sched_waking in tracefs. Returns false if it cannot be read. */
static bool read_event(const char *name, char *text, size_t size)
{
    static const char *const roots[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        char path[96];
        snprintf(path, sizeof path, "%s/events/sched/sched_waking/%s", roots[i], name);
        int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0)
            continue;
        ssize_t got = read(file, text, size - 1);
        close(file);
        text[got > 0 ? got : 0] = 0;
        return got > 0;
    }
    return false;
}

/* The offset of the woken thread's id in a record of sched_waking; 0: not known yet. */
static uint32_t woken_at;

/* Returns the number of sched_waking and sets woken_at; 0 without the event. */
static uint64_t wake_event(void)
{
    enum { DECIMAL = 10, LAST = 128 };
    char text[4096];
    if (!read_event("format", text, sizeof text))
        return 0;
    const char *field = strstr(text, "field:pid_t pid;"), *offset;
    offset = field ? strstr(field, "offset:") : NULL;
    unsigned long at = offset ? strtoul(offset + strlen("offset:"), NULL, DECIMAL) : 0;
    if (!at || at > LAST || !read_event("id", text, sizeof text))
        return 0;
    woken_at = (uint32_t)at;
    return strtoull(text, NULL, DECIMAL);
}

/* ---- opening ---- */

static crn_switches *open_event(struct perf_event_attr *event, pid_t thread)
{
    if (sysconf(_SC_PAGESIZE) != PAGE)
        return NULL; /* with larger pages, MAPPED bytes would hold no ring buffer */
    event->size = sizeof *event;
    event->sample_id_all = 1;
    event->use_clockid = 1;
    event->clockid = CLOCK_MONOTONIC;
    int file = (int)syscall(SYS_perf_event_open, event, thread, -1, -1,
                            (unsigned long)PERF_FLAG_FD_CLOEXEC);
    if (file < 0)
        return NULL;
    void *memory = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return memory == MAP_FAILED ? NULL : memory;
}

crn_switches *crn_switches_open(pid_t thread)
{
    struct perf_event_attr event = {.type = PERF_TYPE_SOFTWARE,
                                    .config = PERF_COUNT_SW_DUMMY,
                                    .sample_type = PERF_SAMPLE_TIME,
                                    .exclude_kernel = 1, /* events of the kernel need a privilege */
                                    .context_switch = 1};
    return open_event(&event, thread);
}

crn_switches *crn_switches_open_wakes(pid_t thread)
{
    struct perf_event_attr event = {.type = PERF_TYPE_TRACEPOINT,
                                    .config = wake_event(),
                                    .sample_period = 1,
                                    .sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW};
    return event.config ? open_event(&event, thread) : NULL;
}

void crn_switches_close(crn_switches *switches)
{
    if (switches)
        munmap(switches, MAPPED);
}

/* ---- reading ---- */

/* A record of the kernel, as far as this file reads it. */
typedef struct record {
    struct perf_event_header header;
    uint64_t at; /* time stamp; an event id in PERF_RECORD_LOST */
    uint32_t raw_size;
    uint8_t raw[160];
} record;

static void copy_from(const crn_switches *switches, uint64_t from, void *to, size_t size)
{
    const uint8_t *ring = (const uint8_t *)switches + PAGE;
    size_t at = from % RING, first = RING - at < size ? RING - at : size;
    memcpy(to, ring + at, first);
    memcpy((uint8_t *)to + first, ring, size - first);
}

/* Reads a wake-up. Returns false if the record does not hold the woken thread's id. */
static bool read_wake(const record *record, crn_switch *next)
{
    enum { FLAGS = 2, INTERRUPT = 0x08 | 0x10 /* flags of a hard and of a soft interrupt */ };
    int32_t woken;
    if (record->raw_size < woken_at + sizeof woken || woken_at + sizeof woken > sizeof record->raw)
        return false;
    memcpy(&woken, record->raw + woken_at, sizeof woken);
    next->kind = CRN_SWITCH_WOKE;
    next->woken = woken;
    next->itself = !(record->raw[FLAGS] & INTERRUPT);
    return true;
}

/* Converts a record. Returns false for records of other kinds. */
static bool understand(const record *record, crn_switch *next)
{
    *next = (crn_switch){.at = record->at};
    switch (record->header.type) {
    case PERF_RECORD_SWITCH:
        next->kind = !(record->header.misc & PERF_RECORD_MISC_SWITCH_OUT)        ? CRN_SWITCH_IN
                     : record->header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? CRN_SWITCH_READY
                                                                                 : CRN_SWITCH_WAITS;
        return true;
    case PERF_RECORD_LOST:
        next->kind = CRN_SWITCH_LOST;
        return true;
    case PERF_RECORD_SAMPLE:
        return read_wake(record, next);
    default:
        return false;
    }
}

bool crn_switches_are_full(const crn_switches *switches)
{
    enum { LARGEST = 128 }; /* bytes of a record */
    return crn_switches_end(switches) - switches->page.data_tail > RING - LARGEST;
}

uint64_t crn_switches_end(const crn_switches *switches)
{
    return __atomic_load_n(&switches->page.data_head, __ATOMIC_ACQUIRE);
}

bool crn_switches_next(crn_switches *switches, uint64_t end, crn_switch *next)
{
    bool found = false;
    uint64_t tail = switches->page.data_tail;
    while (!found && tail < end) {
        record record = {.at = 0};
        copy_from(switches, tail, &record.header, sizeof record.header);
        size_t size = record.header.size;
        if (size < sizeof record.header)
            break;
        copy_from(switches, tail, &record, size < sizeof record ? size : sizeof record);
        found = understand(&record, next);
        tail += size;
    }
    __atomic_store_n(&switches->page.data_tail, tail, __ATOMIC_RELEASE);
    return found;
}
