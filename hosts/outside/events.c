/* SPDX-License-Identifier: MIT
 *
 * Samples from the kernel: an event of processor time for each thread on each processor. Threads
 * that are begun later inherit the events. Each processor has a ring of records.
 */
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/order.h"
#include "sampler.h"

enum {
    PAGE = CRN_UNWIND_PAGE,
    RING_MOST = 2048, /* pages; a power of two */
    RING_LEAST = 16,
    RING_LARGE = 512,    /* from this size on, stacks are copied up to STACK_LARGE */
    STACK_LARGE = 61440, /* bytes of a stack */
    STACK_SMALL = 8192,
    REGISTERS_MOST = 33, /* the numbers below, in DWARF, are smaller */
    SETTLE_NS = 200000   /* a record is complete this long after its time stamp */
};

#if defined(__x86_64__)
enum { FRAME = 6, STACK = 7, PC = 16 }; /* numbers in DWARF */
/* The registers that samples have, as bits of the kernel's numbers: ax to ip, r8 to r15; and their
 * numbers in DWARF, in the order of the kernel's. */
#define REGISTERS 0xff01ffull
static const uint8_t dwarf_numbers[] = {0, 3, 2,  1,  4,  5,  FRAME, STACK, PC,
                                        8, 9, 10, 11, 12, 13, 14,    15};
#elif defined(__aarch64__)
enum { FRAME = 29, STACK = 31, PC = 32 };
#define REGISTERS (1ull << FRAME | 1ull << STACK | 1ull << PC)
static const uint8_t dwarf_numbers[] = {FRAME, STACK, PC};
#else
enum { FRAME, STACK, PC };
#define REGISTERS 0
static const uint8_t dwarf_numbers[] = {FRAME, STACK, PC};
#endif

/* A processor's ring. */
typedef struct ring {
    int file; /* descriptor of the event that the ring was mapped for; others write to it, too */
    struct perf_event_mmap_page *page; /* NULL: not mapped */
    const char *data;
    uint64_t size;
} ring;

/* The thread that an event was opened for. Threads that inherit the event share its number. */
typedef struct owner {
    uint64_t id;
    pid_t thread;
} owner;

/* A record that waits to be passed on. */
typedef struct waiting {
    uint64_t time, order;
    size_t place; /* of the record, in `bytes` */
} waiting;

struct crn_events {
    struct perf_event_attr attributes;
    int *files; /* descriptors of all events */
    size_t file_count, file_capacity;
    owner *owners; /* sorted by id */
    size_t owner_count, owner_capacity;
    pid_t *threads; /* that have events of their own; sorted */
    size_t thread_count, thread_capacity;
    ring *rings; /* one for each processor */
    size_t ring_count;
    struct pollfd *polled; /* the rings' */
    char *bytes;           /* records that were copied from the rings */
    size_t used, capacity;
    waiting *waiting;
    size_t waiting_count, waiting_capacity;
};

/* ---- opening ---- */

/* Opens a thread's event on a processor (-1: on all). Raises the limit of open files if it is
 * reached. Returns the descriptor; a negative number, with errno, if the kernel refuses. */
static int open_event(crn_events *events, pid_t thread, int processor)
{
    struct rlimit limit;
    long file = syscall(SYS_perf_event_open, &events->attributes, thread, processor, -1,
                        PERF_FLAG_FD_CLOEXEC);
    if (file < 0 && errno == EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
        limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
        return open_event(events, thread, processor);
    }
    return (int)file;
}

/* Maps a ring of *pages pages, which it halves while the kernel refuses. Returns false if that
 * leaves fewer than RING_LEAST. */
static bool map_ring(ring *ring, int file, size_t *pages)
{
    for (; *pages >= RING_LEAST; *pages /= 2) {
        void *map = mmap(NULL, (1 + *pages) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (map == MAP_FAILED)
            continue;
        ring->file = file;
        ring->page = map;
        ring->data = (const char *)map + PAGE;
        ring->size = *pages * PAGE;
        return true;
    }
    return false;
}

static int by_id(const void *one, const void *other)
{
    uint64_t a = ((const owner *)one)->id, b = ((const owner *)other)->id;
    return CRN_ORDER(a, b);
}

static int by_number(const void *one, const void *other)
{
    pid_t a = *(const pid_t *)one, b = *(const pid_t *)other;
    return CRN_ORDER(a, b);
}

/* Opens a thread's events on all processors. Returns false, with errno, if the kernel refuses; a
 * thread that has ended is no error. */
static bool open_thread(crn_events *events, pid_t thread)
{
    for (size_t i = 0; i < events->ring_count; i++) {
        ring *ring = &events->rings[i];
        int file = open_event(events, thread, (int)i);
        if (file < 0 && errno == ENODEV) /* the processor is off */
            continue;
        if (file < 0)
            return errno == ESRCH;
        CRN_GROW(events->files, events->file_count, events->file_capacity);
        events->files[events->file_count++] = file;
        if (ring->page && ioctl(file, PERF_EVENT_IOC_SET_OUTPUT, ring->file) != 0)
            return false;
        size_t pages = RING_MOST;
        if (!ring->page && !map_ring(ring, file, &pages))
            return false;
        owner owner = {.thread = thread};
        if (ioctl(file, PERF_EVENT_IOC_ID, &owner.id) == 0) {
            CRN_GROW(events->owners, events->owner_count, events->owner_capacity);
            events->owners[events->owner_count++] = owner;
        }
    }
    CRN_GROW(events->threads, events->thread_count, events->thread_capacity);
    events->threads[events->thread_count++] = thread;
    qsort(events->threads, events->thread_count, sizeof *events->threads, by_number);
    return true;
}

static bool is_open(const crn_events *events, pid_t thread)
{
    return events->thread_count && bsearch(&thread, events->threads, events->thread_count,
                                           sizeof *events->threads, by_number);
}

/* Opens events of all threads, and lists the threads again until that opens none. (Threads without
 * events do not count: the kernel lists a first thread that has ended until its process is gone.) A
 * thread that was begun meanwhile may have inherited events as well, whose samples is_double
 * finds. */
static bool open_threads(crn_events *events, pid_t process)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    size_t before;
    do {
        DIR *folder = opendir(path);
        if (!folder)
            return errno == ENOENT && events->thread_count;
        before = events->thread_count;
        for (struct dirent *entry; (entry = readdir(folder));) {
            pid_t thread = (pid_t)atoi(entry->d_name);
            if (thread <= 0 || is_open(events, thread))
                continue;
            if (!open_thread(events, thread)) {
                int reason = errno;
                closedir(folder);
                errno = reason;
                return false;
            }
        }
        closedir(folder);
    } while (events->thread_count > before);
    errno = ESRCH;
    return events->thread_count > 0;
}

static void set_attributes(struct perf_event_attr *attributes, uint64_t period_ns, bool begins)
{
    *attributes = (struct perf_event_attr){
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof *attributes,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = period_ns,
        .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                       PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
        .inherit = 1,
        .mmap = 1,
        .mmap2 = 1,
        .comm = 1,
        .comm_exec = 1,
        .task = 1,
        .sample_id_all = 1,
        .exclude_callchain_user = 1,
        .exclude_hv = 1,
        .disabled = begins,
        .enable_on_exec = begins,
        .watermark = 1,
        .wakeup_watermark = RING_MOST * PAGE / 4,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .sample_regs_user = REGISTERS,
        .sample_stack_user = STACK_LARGE,
    };
}

typedef struct search {
    crn_events *events;
    pid_t thread; /* found, 0: none */
} search;

/* Chooses a thread that has not ended, for try_attributes. */
static void choose_thread(void *data, pid_t process, pid_t thread)
{
    search *search = data;
    (void)process;
    if (search->thread)
        return;
    int file = open_event(search->events, thread, -1);
    if (file >= 0 || errno != ESRCH)
        search->thread = thread;
    if (file >= 0)
        close(file);
}

/* Finds out what the kernel allows this user: samples in the kernel, and how much memory for
 * rings. */
static bool try_attributes(crn_events *events, pid_t thread)
{
    int file = open_event(events, thread, -1);
    if (file < 0 && (errno == EACCES || errno == EPERM)) {
        events->attributes.exclude_kernel = 1;
        file = open_event(events, thread, -1);
    }
    if (file < 0)
        return false;
    close(file);
    events->attributes.inherit = 0; /* an inherited event for all processors has no ring */
    ring ring = {0};
    size_t pages = RING_MOST;
    file = open_event(events, thread, -1);
    bool fits = file >= 0 && map_ring(&ring, file, &pages);
    if (fits)
        munmap(ring.page, PAGE + ring.size);
    if (file >= 0)
        close(file);
    events->attributes.inherit = 1;
    if (pages < RING_LARGE)
        events->attributes.sample_stack_user = STACK_SMALL;
    events->attributes.wakeup_watermark = (uint32_t)(pages * PAGE / 4);
    return fits;
}

crn_events *crn_events_open(pid_t process, uint64_t period_ns, bool begins)
{
    crn_events *events = crn_calloc(1, sizeof *events);
    long processors = sysconf(_SC_NPROCESSORS_CONF);
    set_attributes(&events->attributes, period_ns, begins);
    events->ring_count = processors > 0 ? (size_t)processors : 1;
    events->rings = crn_calloc(events->ring_count, sizeof *events->rings);
    events->polled = crn_calloc(events->ring_count, sizeof *events->polled);
    search search = {events, 0};
    crn_threads_find(process, choose_thread, &search);
    if (!REGISTERS || !try_attributes(events, search.thread ? search.thread : process) ||
        !open_threads(events, process)) {
        int reason = REGISTERS ? errno : ENOSYS;
        crn_events_close(events);
        errno = reason;
        return NULL;
    }
    qsort(events->owners, events->owner_count, sizeof *events->owners, by_id);
    for (size_t i = 0; i < events->ring_count; i++)
        events->polled[i] =
            (struct pollfd){events->rings[i].page ? events->rings[i].file : -1, POLLIN, 0};
    return events;
}

void crn_events_close(crn_events *events)
{
    for (size_t i = 0; i < events->ring_count; i++)
        if (events->rings[i].page)
            munmap(events->rings[i].page, PAGE + events->rings[i].size);
    for (size_t i = 0; i < events->file_count; i++)
        close(events->files[i]);
    crn_free(events->files);
    crn_free(events->owners);
    crn_free(events->threads);
    crn_free(events->rings);
    crn_free(events->polled);
    crn_free(events->bytes);
    crn_free(events->waiting);
    crn_free(events);
}

bool crn_events_have_kernel(const crn_events *events)
{
    return !events->attributes.exclude_kernel;
}

void crn_events_wait(crn_events *events, int ms)
{
    poll(events->polled, events->ring_count, ms);
}

/* ---- records ---- */

/* The end of each record that is no sample. */
typedef struct trailer {
    uint32_t process, thread;
    uint64_t time, id;
} trailer;

static const char *contents(const struct perf_event_header *header)
{
    return (const char *)(header + 1);
}

static uint64_t time_of(const struct perf_event_header *header)
{
    uint64_t time;
    const size_t id_and_thread = 16;
    const char *place =
        header->type == PERF_RECORD_SAMPLE
            ? contents(header) + id_and_thread
            : (const char *)header + header->size - sizeof(trailer) + offsetof(trailer, time);
    memcpy(&time, place, sizeof time);
    return time;
}

/* Copies the records of a ring. */
static void copy_ring(crn_events *events, ring *ring)
{
    uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = ring->page->data_tail;
    while (tail < head) {
        struct perf_event_header header;
        uint64_t at = tail % ring->size;
        memcpy(&header, ring->data + at, sizeof header); /* 8 bytes, aligned: never split */
        if (header.size < sizeof header)
            break;
        while (events->used + header.size > events->capacity) {
            events->capacity = events->capacity ? events->capacity * 2 : 1 << 20;
            events->bytes = crn_realloc(events->bytes, events->capacity, 1);
        }
        char *to = events->bytes + events->used;
        uint64_t first = ring->size - at < header.size ? ring->size - at : header.size;
        memcpy(to, ring->data + at, first);
        memcpy(to + first, ring->data, header.size - first);
        CRN_GROW(events->waiting, events->waiting_count, events->waiting_capacity);
        events->waiting[events->waiting_count] = (waiting){
            time_of((const struct perf_event_header *)to), events->waiting_count, events->used};
        events->waiting_count++;
        events->used += header.size;
        tail += header.size;
    }
    __atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
}

static int by_time(const void *one, const void *other)
{
    const waiting *a = one, *b = other;
    return CRN_ORDER(a->time, b->time) ?: CRN_ORDER(a->order, b->order);
}

/* Returns true if the event `id` is inherited, although the thread has events of its own. */
static bool is_double(const crn_events *events, uint64_t id, pid_t thread)
{
    const owner *found = bsearch(&(owner){.id = id}, events->owners, events->owner_count,
                                 sizeof *events->owners, by_id);
    return found && found->thread != thread && is_open(events, thread);
}

/* A cursor over words of a record. */
typedef struct words {
    const char *at, *end;
} words;

static uint64_t next_word(words *words)
{
    uint64_t word = 0;
    if (words->end - words->at >= (ptrdiff_t)sizeof word) {
        memcpy(&word, words->at, sizeof word);
        words->at += sizeof word;
    }
    return word;
}

/* Reads a sample's call chain. With exclude_callchain_user it has only the kernel's functions, and
 * markers (PERF_CONTEXT_KERNEL and others). */
static void read_kernel(words *words, crn_event_sample *sample)
{
    uint64_t count = next_word(words);
    if (count > (uint64_t)(words->end - words->at) / sizeof(uint64_t))
        count = 0;
    sample->kernel = (const uint64_t *)words->at; /* records are aligned to 8 */
    sample->kernel_count = count;
    words->at += count * sizeof(uint64_t);
}

/* Reads the registers of a sample, which come in the order of the kernel's numbers for them. */
static void read_registers(words *words, crn_event_sample *sample)
{
    uintptr_t all[REGISTERS_MOST] = {0};
    uint64_t abi = next_word(words);
    if (abi == PERF_SAMPLE_REGS_ABI_NONE)
        return;
    for (size_t i = 0; i < sizeof dwarf_numbers; i++)
        all[dwarf_numbers[i]] = next_word(words);
    memcpy(sample->registers, all, sizeof sample->registers);
    sample->frame = (crn_unwind_frame){
        .pc = all[PC], .stack = all[STACK], .frame = all[FRAME], .interrupted = true};
}

static void read_stack(words *words, crn_event_sample *sample)
{
    uint64_t size = next_word(words);
    if (size == 0 || size > (uint64_t)(words->end - words->at))
        return;
    sample->stack = words->at;
    words->at += size;
    uint64_t copied = next_word(words);
    sample->stack_size = copied < size ? copied : size;
}

static void pass_sample(const crn_events *events, const struct perf_event_header *header,
                        const crn_event_sink *sink)
{
    words words = {contents(header), (const char *)header + header->size};
    crn_event_sample sample = {0};
    uint64_t id = next_word(&words), numbers = next_word(&words);
    sample.process = (pid_t)(uint32_t)numbers;
    sample.thread = (pid_t)(numbers >> 32);
    sample.time = next_word(&words);
    if (is_double(events, id, sample.thread))
        return;
    read_kernel(&words, &sample);
    read_registers(&words, &sample);
    read_stack(&words, &sample);
    sink->sample(sink->data, &sample);
}

static void pass_map(const struct perf_event_header *header, const crn_event_sink *sink)
{
    struct {
        uint32_t process, thread;
        uint64_t start, size, offset;
        uint8_t file[24];
        uint32_t protection, flags;
    } map;
    if (header->size < sizeof *header + sizeof map + sizeof(trailer))
        return;
    memcpy(&map, contents(header), sizeof map);
    sink->map(sink->data, (pid_t)map.process, map.start, map.start + map.size, map.offset,
              contents(header) + sizeof map);
}

static void pass_name(const struct perf_event_header *header, const crn_event_sink *sink)
{
    uint32_t numbers[2];
    memcpy(numbers, contents(header), sizeof numbers);
    sink->named(sink->data, (pid_t)numbers[0], (pid_t)numbers[1], contents(header) + sizeof numbers,
                header->misc & PERF_RECORD_MISC_COMM_EXEC);
}

static void pass_task(const struct perf_event_header *header, const crn_event_sink *sink)
{
    uint32_t numbers[4]; /* process, parent, thread, parent's thread */
    memcpy(numbers, contents(header), sizeof numbers);
    if (header->type == PERF_RECORD_FORK)
        sink->forked(sink->data, (pid_t)numbers[0], (pid_t)numbers[1], (pid_t)numbers[2]);
    else
        sink->ended(sink->data, (pid_t)numbers[0], (pid_t)numbers[2]);
}

static void pass(const crn_events *events, const struct perf_event_header *header,
                 const crn_event_sink *sink)
{
    uint64_t lost[2]; /* the event's id, the number of records */
    switch (header->type) {
    case PERF_RECORD_SAMPLE:
        pass_sample(events, header, sink);
        break;
    case PERF_RECORD_MMAP2:
        pass_map(header, sink);
        break;
    case PERF_RECORD_COMM:
        pass_name(header, sink);
        break;
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
        pass_task(header, sink);
        break;
    case PERF_RECORD_LOST:
        memcpy(lost, contents(header), sizeof lost);
        sink->lost(sink->data, lost[1]);
        break;
    default:
        break;
    }
}

/* Moves the records that stay to the front. */
static void keep(crn_events *events, size_t passed)
{
    size_t used = 0, count = 0;
    char *kept = events->waiting_count > passed ? crn_calloc(events->used, 1) : NULL;
    for (size_t i = passed; i < events->waiting_count; i++) {
        const struct perf_event_header *header =
            (const void *)(events->bytes + events->waiting[i].place);
        memcpy(kept + used, header, header->size);
        events->waiting[count] = (waiting){events->waiting[i].time, count, used};
        used += header->size;
        count++;
    }
    if (used)
        memcpy(events->bytes, kept, used);
    crn_free(kept);
    events->used = used;
    events->waiting_count = count;
}

void crn_events_read(crn_events *events, const crn_event_sink *sink, bool all)
{
    uint64_t until = all ? UINT64_MAX : crn_outside_now() - SETTLE_NS;
    size_t passed = 0;
    for (size_t i = 0; i < events->ring_count; i++)
        if (events->rings[i].page)
            copy_ring(events, &events->rings[i]);
    if (events->waiting_count)
        qsort(events->waiting, events->waiting_count, sizeof *events->waiting, by_time);
    for (; passed < events->waiting_count && events->waiting[passed].time < until; passed++)
        pass(events, (const void *)(events->bytes + events->waiting[passed].place), sink);
    keep(events, passed);
}
