/* SPDX-License-Identifier: MIT
 *
 * Records when threads have no core, and whether they wait or are ready to run.
 *
 * A thread of the profile reads the context switches that the kernel records, every few
 * milliseconds. How long a thread was ready after a wait is known from the moment in which it was
 * woken, or else shared out from what schedstat says of all waits since the last look. Where the
 * kernel records no switches, schedstat and the thread's processor time tell the sums between two
 * looks, but not when in between.
 */
#include "runtime/off_core.h"

#include "base/memory.h"
#include "plat/switches.h"
#include "plat/thread.h"

enum {
    CHUNK = 512, /* entries */
    BATCH = 256,
    WAKES = 4096,
    WAKES_BACK = 256,        /* wake-ups that are searched for that of a thread */
    LOOK_NS = 4000000,       /* between looks */
    LOOK_MOST_NS = 32000000, /* the same if nothing happens */
    SHOW_NS = 10000000,      /* waits longer than this are shown before they end */
    LEAST_NS = 50000,        /* less is within the error of reading the clocks */
};

typedef struct crn_core_watch {
    crn_stream space;
    crn_disk_off_core *next, *end;
    crn_disk_off_core *open; /* entry that is shown and has not ended; NULL: none */
    pid_t thread;            /* whose switches these are; 0: none */
    crn_switches *switches;  /* NULL: not available */
    crn_switches *wakes;     /* what it wakes; NULL: not available */
    /* CLOCK_MONOTONIC, ns: */
    uint64_t left;       /* when it lost its core; 0: it has one */
    uint64_t looked;     /* last look */
    uint64_t cpu, ready; /* the thread's own figures at the last look, ns */
    bool preempted;      /* it lost its core without waiting */
    int64_t owed;        /* ns of being ready after waits that are in no entry yet */
    uint32_t count;
    crn_disk_off_core batch[BATCH]; /* entries that are not written yet */
} crn_core_watch;

typedef struct wake {
    uint64_t at; /* CLOCK_MONOTONIC, ns */
    pid_t woken;
    uint32_t by; /* lane number + 1, 0: an interrupt */
} wake;

/* State of the thread that looks. */
typedef struct looker {
    cairn_profile *profile;
    uint64_t wake_count; /* so far */
    wake wakes[WAKES];   /* the last ones */
} looker;

/* ---- writing ---- */

/* Returns NULL without space. */
static crn_disk_off_core *take(crn_core_watch *off)
{
    if (off->next == off->end) {
        off->next = (crn_disk_off_core *)(void *)crn_stream_take_alone(&off->space);
        off->end = off->next ? off->next + CHUNK : NULL;
    }
    return off->next ? off->next++ : NULL;
}

/* The begin is stored last: it makes the entry valid. */
static crn_disk_off_core *put(crn_core_watch *off, const crn_disk_off_core *entry)
{
    crn_disk_off_core *place = take(off);
    if (!place)
        return NULL;
    place->end = entry->end;
    place->waiting = entry->waiting;
    place->ready = entry->ready;
    place->woken_by = entry->woken_by;
    __atomic_store_n(&place->begin, entry->begin, __ATOMIC_RELEASE);
    return place;
}

/* Ends the entry that is shown as open. */
static void complete(crn_core_watch *off, const crn_disk_off_core *entry)
{
    off->open->waiting = entry->waiting;
    off->open->ready = entry->ready;
    off->open->woken_by = entry->woken_by;
    __atomic_store_n(&off->open->end, entry->end, __ATOMIC_RELEASE);
    off->open = NULL;
}

static void write_entry(crn_core_watch *off, const crn_disk_off_core *entry)
{
    if (off->open)
        complete(off, entry);
    else
        put(off, entry);
}

/* Gives what schedstat counted to the waits whose wake-up is not known: equal parts, but none more
 * than its length. */
static void share_out(crn_core_watch *off)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < off->count; i++)
        left += off->batch[i].waiting != 0;
    for (uint32_t i = 0; i < off->count && off->owed > 0; i++) {
        crn_disk_off_core *entry = &off->batch[i];
        if (!entry->waiting || entry->ready)
            continue;
        uint64_t part = (uint64_t)off->owed / left--;
        entry->ready = part < entry->waiting ? part : entry->waiting;
        entry->waiting -= entry->ready;
        off->owed -= (int64_t)entry->ready;
    }
}

static void flush(crn_core_watch *off)
{
    share_out(off);
    for (uint32_t i = 0; i < off->count; i++)
        write_entry(off, &off->batch[i]);
    off->count = 0;
}

static void show_open(crn_core_watch *off, uint64_t now)
{
    if (off->left && !off->open && now > off->left + SHOW_NS)
        off->open = put(off, &(crn_disk_off_core){.begin = off->left});
}

/* ---- switches ---- */

static const wake *find_wake(const looker *looker, pid_t thread, uint64_t from, uint64_t to)
{
    uint64_t count = looker->wake_count, least = count > WAKES_BACK ? count - WAKES_BACK : 0;
    for (uint64_t i = count; i-- > least;) {
        const wake *wake = &looker->wakes[i % WAKES];
        if (wake->woken == thread && wake->at >= from && wake->at <= to)
            return wake;
    }
    return NULL;
}

/* The thread has a core again. */
static void add(const looker *looker, crn_core_watch *off, uint64_t until)
{
    crn_disk_off_core entry = {.begin = off->left, .end = until};
    uint64_t length = until - off->left;
    const wake *wake = off->preempted ? NULL : find_wake(looker, off->thread, off->left, until);
    entry.ready = off->preempted ? length : wake ? until - wake->at : 0;
    entry.waiting = length - entry.ready;
    entry.woken_by = wake ? wake->by : 0;
    off->owed -= (int64_t)entry.ready;
    if (off->count == BATCH)
        flush(off);
    off->batch[off->count++] = entry;
}

/* Returns true if the thread has been switched. Sets `*lost` if some switches are missing: the
 * kernel says so before those that follow, which are then left to the estimate. */
static bool read_switches(const looker *looker, crn_core_watch *off, bool *lost)
{
    crn_switch next;
    bool any = false;
    while (crn_switches_next(off->switches, &next)) {
        any = true;
        if (next.kind == CRN_SWITCH_IN && off->left && next.at > off->left && !*lost)
            add(looker, off, next.at);
        *lost |= next.kind == CRN_SWITCH_LOST;
        off->left = next.kind == CRN_SWITCH_IN ? 0 : next.at;
        off->preempted = next.kind == CRN_SWITCH_READY;
    }
    return any;
}

static void read_wakes(looker *looker, const cairn_lane *lane)
{
    crn_switch next;
    while (crn_switches_next(lane->off_core->wakes, &next))
        if (next.kind == CRN_SWITCH_WOKE)
            looker->wakes[looker->wake_count++ % WAKES] =
                (wake){next.at, next.woken, next.itself ? lane->number + 1 : 0};
}

/* ---- estimates ---- */

/* Adds what the thread's figures say of the time since the last look. Returns true if it ran. */
static bool estimate(crn_core_watch *off, uint64_t now, uint64_t cpu, uint64_t ready)
{
    uint64_t ran = cpu - off->cpu, waited = ready - off->ready;
    if (!ran && !waited) { /* all the time since then it waits */
        off->left = off->left ? off->left : off->looked;
        return false;
    }
    uint64_t from = off->left ? off->left : off->looked, length = now - from;
    uint64_t away = length > ran ? length - ran : 0;
    off->left = 0;
    if (away < LEAST_NS && !off->open)
        return true;
    waited = waited < away ? waited : away;
    write_entry(off, &(crn_disk_off_core){from, now, away - waited, waited, 0, 0});
    return true;
}

/* ---- looking ---- */

static void note_source(cairn_profile *profile, const crn_core_watch *off)
{
    const char *source = off->wakes      ? "context switches and wake-ups"
                         : off->switches ? "context switches"
                                         : "schedstat";
    if (profile->off_core_source == source)
        return;
    __atomic_store_n(&profile->off_core_source, source, __ATOMIC_RELEASE);
    crn_profile_lock(profile);
    crn_profile_add_note(profile, "off_core", source);
    crn_profile_unlock(profile);
}

static void begin(cairn_lane *lane, crn_core_watch *off, pid_t thread)
{
    off->thread = thread;
    off->switches = crn_switches_open(thread);
    off->wakes = off->switches ? crn_switches_open_wakes(thread) : NULL;
    off->looked = crn_clock_monotonic();
    off->left = crn_thread_is_runnable(thread) ? 0 : off->looked;
    off->preempted = false;
    off->owed = 0;
    if (!crn_thread_time(crn_thread_clock(thread), &off->cpu) ||
        !crn_thread_ready_time(thread, &off->ready))
        off->cpu = off->ready = 0;
    /* Says from when on the thread is known. */
    put(off, &(crn_disk_off_core){.begin = off->looked, .end = off->looked});
    note_source(lane->profile, off);
}

static void end(const looker *looker, crn_core_watch *off)
{
    bool lost = false;
    if (off->switches)
        read_switches(looker, off, &lost);
    flush(off);
    uint64_t now = crn_clock_monotonic();
    if (off->open)
        complete(off, &(crn_disk_off_core){.end = now, .waiting = now - off->open->begin});
    crn_switches_close(off->switches);
    crn_switches_close(off->wakes);
    off->switches = off->wakes = NULL;
    off->thread = 0;
}

static crn_core_watch *make(cairn_lane *lane)
{
    crn_core_watch *off = crn_try_calloc(1, sizeof *off);
    crn_stream_plan plan = {.kind = CRN_SECTION_OFF_CORE,
                            .lane = lane->number,
                            .chunk_size = CHUNK * sizeof(crn_disk_off_core),
                            .ahead = 1};
    if (off && !crn_stream_open(&off->space, &lane->profile->capture, &plan)) {
        crn_free(off);
        return NULL;
    }
    return off;
}

/* Returns the lane's own, if its thread is to be looked at; begins with a new thread. */
static crn_core_watch *following(const looker *looker, cairn_lane *lane)
{
    clockid_t clock = __atomic_load_n(&lane->thread_clock, __ATOMIC_ACQUIRE);
    pid_t thread = __atomic_load_n(&lane->thread_id, __ATOMIC_RELAXED);
    if (!lane->off_core && clock)
        lane->off_core = make(lane);
    crn_core_watch *off = lane->off_core;
    if (!off)
        return NULL;
    if (off->thread && (!clock || off->thread != thread))
        end(looker, off);
    if (clock && !off->thread)
        begin(lane, off, thread);
    return off->thread ? off : NULL;
}

/* Returns true if something happened on the thread. */
static bool look_at(const looker *looker, crn_core_watch *off)
{
    uint64_t cpu, ready, now = crn_clock_monotonic();
    uint64_t before = off->left;
    bool lost = !off->switches, any = false;
    if (!crn_thread_time(crn_thread_clock(off->thread), &cpu) ||
        !crn_thread_ready_time(off->thread, &ready))
        return false;
    if (off->switches) {
        off->owed += (int64_t)(ready - off->ready);
        any = read_switches(looker, off, &lost);
    }
    if (lost) {
        uint64_t left = off->left; /* since its last switch */
        off->count = 0;
        off->owed = 0;
        off->left = before;
        any = estimate(off, now, cpu, ready);
        if (off->switches)
            off->left = !left ? 0 : any ? now : off->left;
    } else {
        flush(off);
    }
    show_open(off, now);
    off->looked = now;
    off->cpu = cpu;
    off->ready = ready;
    return any;
}

static bool look(looker *looker)
{
    bool any = false;
    cairn_lane *first = __atomic_load_n(&looker->profile->lanes, __ATOMIC_ACQUIRE);
    for (cairn_lane *lane = first; lane; lane = lane->next)
        if (following(looker, lane) && lane->off_core->wakes)
            read_wakes(looker, lane);
    for (cairn_lane *lane = first; lane; lane = lane->next)
        if (lane->off_core && lane->off_core->thread)
            any |= look_at(looker, lane->off_core);
    return any;
}

static void *run(void *data)
{
    looker *looker = crn_try_calloc(1, sizeof *looker);
    cairn_profile *profile = data;
    uint64_t gap = LOOK_NS;
    if (!looker)
        return NULL;
    looker->profile = profile;
    do {
        gap = look(looker) ? LOOK_NS : gap * 2 < LOOK_MOST_NS ? gap * 2 : LOOK_MOST_NS;
    } while (crn_helper_wait(&profile->off_core, crn_clock_monotonic() + gap));
    for (cairn_lane *lane = profile->lanes; lane; lane = lane->next)
        if (lane->off_core && lane->off_core->thread)
            look_at(looker, lane->off_core);
    crn_free(looker);
    return NULL;
}

/* ---- for others ---- */

bool crn_off_core_start(cairn_profile *profile)
{
    return crn_helper_start(&profile->off_core, "cairn-switches", true, run, profile);
}

void crn_off_core_free(cairn_lane *lane)
{
    crn_core_watch *off = lane->off_core;
    lane->off_core = NULL;
    if (!off)
        return;
    crn_switches_close(off->switches);
    crn_switches_close(off->wakes);
    crn_stream_close(&off->space);
    crn_free(off);
}

void crn_off_core_forget(cairn_lane *lane)
{
    if (lane->off_core)
        lane->off_core->switches = lane->off_core->wakes = NULL; /* not mapped in a child */
    crn_off_core_free(lane);
}
