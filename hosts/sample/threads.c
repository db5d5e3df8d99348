/* SPDX-License-Identifier: MIT
 *
 * Finds the program's threads and makes a timer on the processor clock of each.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../native/calls.h"
#include "../native/pages.h"
#include "plat/futex.h"
#include "sample.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { THREADS_MOST = 1 << 16, FILES_MOST = 1 << 18, ABSENT = -2 };

#define NEVER UINT64_MAX

/* Allocated in pages, because the program may replace malloc. */
static crn_sampled **threads;
static crn_sampled_turn *turns; /* of the threads with the same indices */
static size_t thread_count;

static struct {
    int folder;      /* /proc/self/task; -1: to be opened */
    int stays_below; /* files with a lower number stay open: 0 unless the collector has a table of
                        descriptors of its own */
    nlink_t links;   /* of the folder at the last scan: the number of threads plus 2 */
    int newest_file; /* ns_last_pid; -1: to be opened; ABSENT: the kernel has no such file */
    int newest;      /* the newest task's number at the last scan; 0: not known */
    bool again;      /* the next round scans: the last scan found threads that were not known, or
                        a task that had begun may not have been in the list yet */
    uint64_t at;     /* of the last scan, ns */
    uint64_t took;   /* the last scan, ns */
    uint64_t period; /* of processor time between two samples of a thread, ns */
    bool traced;     /* at the first scan: threads get no timers */
} tasks = {.folder = -1, .newest_file = -1};

/* Returns the kernel's number for the processor clock of a thread of the process. */
static clockid_t clock_of(pid_t tid)
{
    enum { SCHED = 2, PER_THREAD = 4 };
    return (clockid_t)(~(unsigned)tid << 3 | PER_THREAD | SCHED);
}

/* ---- timers ---- */

/* Protects the timers, `has_timer`, and what `threads` lists. The collector changes them, and a
 * thread of the program that takes the signal for itself (crn_sample_signal_change). It is held for
 * system calls only, with all signals blocked: a handler may call sigaction. */
static crn_futex_lock lock;

static void lock_timers(sigset_t *mask)
{
    sigset_t all;
    sigfillset(&all);
    crn_sample_mask(SIG_BLOCK, &all, mask);
    crn_futex_lock_take(&lock);
}

static void unlock_timers(const sigset_t *mask)
{
    crn_futex_lock_give(&lock);
    crn_sample_mask(SIG_SETMASK, mask, NULL);
}

/* Reads a file's first `size` - 1 bytes as a text; an empty one if that fails. */
static void text_read(const char *path, char *text, size_t size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, text, size - 1);
    if (file >= 0)
        close(file);
    text[length > 0 ? length : 0] = '\0';
}

/* Returns true if a debugger traces the process: it would stop at each of the timers' signals. */
static bool is_traced(void)
{
    static const char key[] = "TracerPid:";
    char text[1024];
    text_read("/proc/self/status", text, sizeof text);
    const char *tracer = strstr(text, key);
    return tracer && atoi(tracer + sizeof key - 1) != 0;
}

const char *crn_sample_threads_lack_timers(void)
{
    if (tasks.traced)
        return "a debugger traces the process";
    return __atomic_load_n(&crn_sample_signal, __ATOMIC_ACQUIRE)
               ? NULL
               : "the program uses all real-time signals";
}

/* Called under the lock. */
static void timer_create_now(crn_sampled *thread)
{
    int number = __atomic_load_n(&crn_sample_signal, __ATOMIC_ACQUIRE);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = number};
    event.sigev_value.sival_ptr = thread;
    event.sigev_notify_thread_id = thread->tid;
    struct itimerspec every;
    every.it_interval.tv_sec = (time_t)(tasks.period / 1000000000);
    every.it_interval.tv_nsec = (long)(tasks.period % 1000000000);
    every.it_value = every.it_interval;
    thread->has_timer = number && !tasks.traced &&
                        syscall(SYS_timer_create, thread->turn->clock, &event, &thread->timer) == 0;
    if (thread->has_timer)
        syscall(SYS_timer_settime, thread->timer, 0, &every, NULL);
}

static void timer_make(crn_sampled *thread)
{
    sigset_t mask;
    lock_timers(&mask);
    timer_create_now(thread);
    unlock_timers(&mask);
}

static void timer_end(crn_sampled *thread)
{
    sigset_t mask;
    lock_timers(&mask);
    if (thread->has_timer)
        syscall(SYS_timer_delete, thread->timer);
    thread->has_timer = false;
    unlock_timers(&mask);
}

void crn_sample_signal_change(int number)
{
    sigset_t mask;
    lock_timers(&mask);
    __atomic_store_n(&crn_sample_signal, number, __ATOMIC_RELEASE);
    for (size_t i = 0; i < thread_count; i++)
        if (threads[i]->has_timer) { /* libcairn's own threads have none */
            syscall(SYS_timer_delete, threads[i]->timer);
            timer_create_now(threads[i]);
        }
    unlock_timers(&mask);
}

/* ---- threads ---- */

static void name_read(crn_sampled *thread)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", (int)thread->tid);
    text_read(path, thread->name, sizeof thread->name);
    thread->name[strcspn(thread->name, "\n")] = '\0';
}

/* Returns an entry that is not in use; NULL without memory, or if there are THREADS_MOST. */
static crn_sampled *thread_new(void)
{
    for (size_t i = 0; i < thread_count; i++)
        if (!threads[i]->tid)
            return threads[i];
    if (!threads)
        threads = crn_pages(THREADS_MOST * sizeof *threads);
    if (!turns)
        turns = crn_pages(THREADS_MOST * sizeof *turns);
    if (!threads || !turns || thread_count == THREADS_MOST)
        return NULL;
    crn_sampled *thread = crn_pages(sizeof *thread);
    uint64_t *ring = thread ? crn_pages(CRN_RING_WORDS * sizeof *ring) : NULL;
    cairn_block *path = ring ? crn_pages((CRN_FRAMES_MOST + 2) * sizeof *path) : NULL;
    if (!path) { /* the next scan tries again */
        crn_pages_free(ring, CRN_RING_WORDS * sizeof *ring);
        crn_pages_free(thread, sizeof *thread);
        return NULL;
    }
    thread->ring = ring;
    thread->path = path;
    thread->ready_file = thread->call_file = -1;
    thread->turn = &turns[thread_count];
    thread->turn->next = NEVER;
    sigset_t mask;
    lock_timers(&mask);
    threads[thread_count] = thread;
    __atomic_store_n(&thread_count, thread_count + 1, __ATOMIC_RELEASE);
    unlock_timers(&mask);
    return thread;
}

/* Returns true for libcairn's own threads, which it knows by their names. The first thread may have
 * such a name for a moment, while it starts one of them. */
static bool is_own(const crn_sampled *thread)
{
    static const char names[] = "cairn-";
    return thread->tid != getpid() && strncmp(thread->name, names, sizeof names - 1) == 0;
}

static void thread_begin(cairn_profile *profile, pid_t tid)
{
    crn_sampled *thread = thread_new();
    tasks.again = true;
    if (!thread)
        return;
    thread->tid = tid;
    name_read(thread);
    thread->named = false;
    thread->own = is_own(thread); /* the entry stays, so that scans find the thread known */
    if (thread->own)
        return;
    thread->turn->clock = clock_of(tid);
    thread->bounds_known = false;
    thread->turn->read = thread->turn->written;
    uint64_t before = tid == getpid() ? crn_sample_used_before : 0;
    thread->charged = thread->turn->cpu =
        before; /* so what it used until it was found is charged */
    thread->ready = before ? UINT64_MAX : 0;
    thread->turn->looked = crn_sample_clock(CLOCK_MONOTONIC);
    thread->turn->owed = 0;
    thread->turn->blocked = false;
    thread->length = 0;
    thread->context = 0;
    thread->turn->next = 0;
    thread->seen = true;
    thread->lane = cairn_lane_open(profile, thread->name);
    thread->strand = thread->lane ? cairn_strand_open(thread->lane) : NULL;
    cairn_lane_set_thread(thread->lane, tid);
    timer_make(thread);
}

/* Frees the entry of a thread that has ended. The thread's clock has ended with it, so its
 * processor time since the last sample is not known. */
static void thread_end(crn_sampled *thread, void (*finish)(crn_sampled *thread))
{
    timer_end(thread);
    finish(thread);
    crn_sample_thread_close(thread);
    thread->turn->next = NEVER;
    if (thread->lane)
        cairn_lane_close(thread->lane);
    thread->lane = NULL;
    thread->strand = NULL;
    thread->tid = 0;
}

/* Reads a thread's name again: threads name themselves when they begin, which may be after they
 * were found. */
static void thread_name_again(crn_sampled *thread)
{
    thread->named = true;
    if (thread->own)
        return;
    name_read(thread);
    thread->own = is_own(thread);
    if (!thread->own)
        return;
    timer_end(thread);
    thread->turn->next = NEVER;
    cairn_lane_close(thread->lane);
    thread->lane = NULL;
    thread->strand = NULL;
}

/* Finds a thread's entry. Begins behind the entry found last: the kernel lists threads in the order
 * in which they began. */
static crn_sampled *thread_find(pid_t tid)
{
    static size_t last;
    for (size_t i = 1; i <= thread_count; i++) {
        size_t at = (last + i) % thread_count;
        if (threads[at]->tid == tid) {
            last = at;
            return threads[at];
        }
    }
    return NULL;
}

/* Handles one entry of /proc/self/task; `own` is the collector's thread id. */
static void see(cairn_profile *profile, const char *name, pid_t own)
{
    pid_t tid = (pid_t)atoi(name);
    if (tid <= 0 || tid == own)
        return;
    crn_sampled *thread = thread_find(tid);
    if (thread && !thread->named)
        thread_name_again(thread);
    if (thread)
        thread->seen = true;
    else
        thread_begin(profile, tid);
}

/* An entry of getdents64. */
typedef struct entry {
    uint64_t inode, offset;
    uint16_t size;
    uint8_t type;
    char name[];
} entry;

void crn_sample_threads_begin(uint64_t period_ns, bool files_are_own)
{
    tasks.folder = tasks.newest_file = -1;
    tasks.newest = 0;
    struct rlimit limit = {0};
    if (!files_are_own || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        limit.rlim_cur = 0;
    tasks.stays_below = limit.rlim_cur < FILES_MOST ? (int)limit.rlim_cur / 2 : FILES_MOST / 2;
    tasks.period = period_ns;
    for (size_t i = 0; i < thread_count; i++)
        threads[i]->ready_file = threads[i]->call_file = -1;
}

/* ---- files ---- */

static void file_close(int *file)
{
    if (*file >= 0)
        close(*file);
    *file = -1;
}

void crn_sample_thread_read(const crn_sampled *thread, const char *name, int *file, char *text,
                            size_t size)
{
    char path[64];
    if (*file < 0) {
        snprintf(path, sizeof path, "/proc/self/task/%d/%s", (int)thread->tid, name);
        *file = open(path, O_RDONLY | O_CLOEXEC);
    }
    ssize_t got = *file < 0 ? 0 : pread(*file, text, size - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    if (got <= 0 || *file >= tasks.stays_below)
        file_close(file);
}

void crn_sample_thread_close(crn_sampled *thread)
{
    file_close(&thread->ready_file);
    file_close(&thread->call_file);
}

/* Returns the number that the kernel gave to the newest task, which may be another process's; 0 if
 * it does not say. The file needs a kernel with CONFIG_CHECKPOINT_RESTORE. */
static int newest_task(void)
{
    char text[16];
    if (tasks.newest_file == -1)
        tasks.newest_file = open("/proc/sys/kernel/ns_last_pid", O_RDONLY | O_CLOEXEC);
    if (tasks.newest_file < 0)
        tasks.newest_file = ABSENT;
    ssize_t got =
        tasks.newest_file == ABSENT ? 0 : pread(tasks.newest_file, text, sizeof text - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    if (tasks.newest_file >= tasks.stays_below)
        file_close(&tasks.newest_file);
    return atoi(text);
}

/* Returns true if the list of threads has to be read, which takes some time if there are many: if
 * their number has changed, or one may have begun when another ended. Where many tasks begin, the
 * list of many threads is read only now and then. Threads that were new are read again, for their
 * names. */
static bool scan_is_due(uint64_t now, int newest)
{
    enum {
        FEW = 64, /* threads, up to which a scan does not wait */
        SCAN_NS = 50000000,
        AGAIN_NS = 1000000000, /* the list is read once a second in any case */
        SHARE = 400            /* a scan is due after 400 times the duration of the last one */
    };
    struct stat status = {0};
    uint64_t since = now - tasks.at;
    bool same = fstat(tasks.folder, &status) == 0 && status.st_nlink == tasks.links;
    bool none_began = newest && newest == tasks.newest && !tasks.again && since < AGAIN_NS;
    tasks.links = status.st_nlink;
    if (!same)
        return true;
    return !none_began && (tasks.links <= FEW || (since >= SCAN_NS && since >= SHARE * tasks.took));
}

static void scan(cairn_profile *profile, void (*finish)(crn_sampled *thread))
{
    char buffer[4096];
    pid_t own = gettid();
    for (size_t i = 0; i < thread_count; i++)
        threads[i]->seen = false;
    lseek(tasks.folder, 0, SEEK_SET);
    for (long got; (got = syscall(SYS_getdents64, tasks.folder, buffer, sizeof buffer)) > 0;)
        for (long at = 0; at < got;) {
            const entry *found = (const entry *)(buffer + at);
            if (found->name[0] != '.')
                see(profile, found->name, own);
            at += found->size;
        }
    for (size_t i = 0; i < thread_count; i++)
        if (threads[i]->tid && !threads[i]->seen)
            thread_end(threads[i], finish);
}

void crn_sample_threads_scan(cairn_profile *profile, void (*finish)(crn_sampled *thread))
{
    uint64_t now = crn_sample_clock(CLOCK_MONOTONIC);
    if (!thread_count)
        tasks.traced = is_traced();
    if (tasks.folder < 0)
        tasks.folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (tasks.folder < 0)
        return;                 /* a chroot without /proc: the threads that are known go on */
    int newest = newest_task(); /* before the scan: the next one sees what begins meanwhile */
    if (scan_is_due(now, newest)) {
        tasks.again = newest != tasks.newest;
        tasks.newest = newest;
        scan(profile, finish);
        tasks.at = now;
        tasks.took = crn_sample_clock(CLOCK_MONOTONIC) - now;
    }
    if (tasks.folder >= tasks.stays_below)
        file_close(&tasks.folder);
}

/* Returns true if the first thread has ended: the kernel keeps it until the process ends. Sets
 * `status` to its exit status: the 49th number behind the state. */
static bool first_has_ended(int *status)
{
    enum { NUMBERS_BETWEEN = 49 };
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
    const char *at = crn_thread_stat(path, text, sizeof text);
    if (!at || *at != 'Z')
        return false;
    for (int i = 0; at && i < NUMBERS_BETWEEN; i++)
        at = strchr(at + 1, ' ');
    *status = at ? atoi(at) >> 8 & 0xff : 0;
    return true;
}

/* Asked at each round in which nothing ran, so it ends at the first thread that is left. */
bool crn_sample_threads_are_gone(int *status)
{
    pid_t first = getpid();
    bool has_first = false;
    for (size_t i = 0; i < thread_count; i++) {
        pid_t tid = threads[i]->tid;
        if (tid && tid != first && !threads[i]->own)
            return false;
        has_first |= tid == first;
    }
    return has_first && first_has_ended(status);
}

void crn_sample_threads_look(bool (*sleeps_on)(crn_sampled_turn *turn, uint64_t now),
                             void (*look)(crn_sampled *thread, uint64_t now))
{
    uint64_t now = crn_sample_clock(CLOCK_MONOTONIC);
    for (size_t i = 0; i < thread_count; i++) {
        crn_sampled_turn *turn = &turns[i];
        bool sampled = __atomic_load_n(&turn->written, __ATOMIC_ACQUIRE) != turn->read;
        if (sampled ? turn->next != NEVER : now >= turn->next && !sleeps_on(turn, now))
            look(threads[i], now);
    }
}

bool crn_sample_threads_have_samples(void)
{
    size_t count = __atomic_load_n(&thread_count, __ATOMIC_ACQUIRE);
    for (size_t i = 0; i < count; i++)
        if (__atomic_load_n(&turns[i].next, __ATOMIC_RELAXED) != NEVER &&
            __atomic_load_n(&turns[i].written, __ATOMIC_RELAXED) !=
                __atomic_load_n(&turns[i].read, __ATOMIC_RELAXED))
            return true;
    return false;
}

void crn_sample_threads_each(void (*each)(crn_sampled *thread, uint64_t now))
{
    uint64_t now = crn_sample_clock(CLOCK_MONOTONIC);
    for (size_t i = 0; i < thread_count; i++)
        if (threads[i]->tid && !threads[i]->own)
            each(threads[i], now);
}

void crn_sample_threads_end(bool child)
{
    if (child) /* the collector, which is not in the child, may have held it */
        lock = (crn_futex_lock){0};
    for (size_t i = 0; i < thread_count; i++) {
        if (!child)
            timer_end(threads[i]);
        threads[i]->has_timer = false;
        if (child) {
            threads[i]->tid = 0;
            threads[i]->turn->next = NEVER;
        }
    }
}
