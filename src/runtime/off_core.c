/* SPDX-License-Identifier: MIT
 *
 * The off-core thread: records when threads have no core, and whether they wait or are ready.
 *
 * Every few milliseconds the off-core thread *looks* at each thread that owns a lane: it reads the
 * context switches that the kernel has recorded. If the kernel also records wake-ups, a thread is
 * ready from its wake-up until it gets a core. Otherwise the ready time in schedstat is divided
 * among all waits since the last look. If the kernel records no switches, schedstat and the
 * thread's processor time give the sums between two looks, but not the moments.
 */
#include "runtime/off_core.h"

#include "base/memory.h"
#include "plat/switches.h"
#include "plat/thread.h"

enum {
    CHUNK = 512,             /* entries */
    BATCH = 1024,            /* entries: the kernel's buffer has no space for more switches */
    WAKES = 4096,            /* number of newest wake-ups that are kept */
    WAKES_BACK = 256,        /* number of newest wake-ups among which a thread's wake-up is
                                searched */
    LOOK_NS = 4000000,       /* ns between looks */
    LOOK_MOST_NS = 32000000, /* most ns between looks, while nothing happens */
    SHOW_NS = 10000000,      /* a longer time without a core is written to the file before it
                                ends */
    LEAST_NS = 50000,        /* a shorter time is within the error of reading the clocks */
};

/* A thread's clocks and the end of its switches in a look. They are read before the wake-ups by all
 * threads. */
typedef struct reading {
    bool valid;
    uint64_t at;         /* CLOCK_MONOTONIC, ns */
    uint64_t cpu, ready; /* processor and ready time of the thread up to `at`, ns */
    uint64_t end;        /* end of the switches that are read in this look: of all up to `at` */
} reading;

/* The off-core thread's state for one lane: the lane's thread, and its entries. */
typedef struct crn_core_watch {
    crn_stream space;
    crn_disk_off_core *next, *end;
    crn_disk_off_core *open; /* entry that was written before the thread got a core again, or
                                NULL */
    pid_t thread;            /* id of the thread to look at; 0: no thread */
    crn_switches *switches;  /* context switches of the thread; NULL: not available */
    crn_switches *wakes;     /* wake-ups by the thread; NULL: not available */
    reading reading;
    /* CLOCK_MONOTONIC, ns: */
    uint64_t left;                  /* when the thread lost its core; 0: it has a core */
    uint64_t looked;                /* moment of the last look */
    uint64_t told;                  /* end of the last entry */
    uint64_t cpu, ready;            /* processor and ready time of the thread at the last look */
    bool preempted;                 /* the thread was preempted when it lost its core */
    int64_t owed;                   /* ready time in schedstat that no entry has yet, ns */
    uint32_t count;                 /* number of entries in `batch` */
    crn_disk_off_core batch[BATCH]; /* entries that are not written yet */
} crn_core_watch;

typedef struct wake {
    uint64_t at; /* CLOCK_MONOTONIC, ns */
    pid_t woken;
    uint32_t by; /* number of the waking thread's lane, plus 1; 0: an interrupt */
} wake;

/* State of the off-core thread. */
typedef struct looker {
    cairn_profile *profile;
    cairn_lane *lanes;   /* the lanes of this look */
    uint64_t wake_count; /* number of wake-ups so far */
    wake wakes[WAKES];   /* the newest, indexed by number modulo WAKES */
} looker;

/* ---- writing ---- */

/* Takes space for an entry. Returns NULL without space. */
static crn_disk_off_core *take(crn_core_watch *off)
{
    if (off->next == off->end) {
        off->next = (crn_disk_off_core *)(void *)crn_stream_take_alone(&off->space);
        off->end = off->next ? off->next + CHUNK : NULL;
    }
    return off->next ? off->next++ : NULL;
}

/* Writes an entry. Stores the begin last: it makes the entry valid. */
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

/* Completes the open entry. Stores the end last: it makes the other fields valid. */
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
    off->told = entry->end;
    if (off->open)
        complete(off, entry);
    else
        put(off, entry);
}

/* Returns true if the thread waited and the moment of its wake-up is not known. */
static bool is_unexplained(const crn_disk_off_core *entry)
{
    return entry->waiting && !entry->ready;
}

void crn_off_core_share(crn_disk_off_core *entries, uint32_t count, int64_t *owed)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < count; i++)
        left += is_unexplained(&entries[i]);
    for (uint32_t i = 0; i < count; i++) {
        crn_disk_off_core *entry = &entries[i];
        if (*owed <= 0 || !is_unexplained(entry))
            continue;
        uint64_t part = (uint64_t)*owed / left--;
        entry->ready = part < entry->waiting ? part : entry->waiting;
        entry->waiting -= entry->ready;
        *owed -= (int64_t)entry->ready;
    }
}

static void flush(crn_core_watch *off)
{
    crn_off_core_share(off->batch, off->count, &off->owed);
    for (uint32_t i = 0; i < off->count; i++)
        write_entry(off, &off->batch[i]);
    off->count = 0;
}

/* Returns where the entry of a thread without a core begins. Up to `told`, an earlier look may have
 * estimated the time, or the thread was not recorded. */
static uint64_t begin_of_entry(const crn_core_watch *off)
{
    return off->left > off->told ? off->left : off->told;
}

static void show_open(crn_core_watch *off, uint64_t now)
{
    uint64_t from = begin_of_entry(off);
    if (off->left && !off->open && now > from + SHOW_NS)
        off->open = put(off, &(crn_disk_off_core){.begin = from});
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

/* Adds an entry for the time without a core up to `until`. */
static void add(const looker *looker, crn_core_watch *off, uint64_t until)
{
    uint64_t from = begin_of_entry(off);
    if (until <= from)
        return;
    crn_disk_off_core entry = {.begin = from, .end = until};
    uint64_t length = until - from;
    const wake *wake = off->preempted ? NULL : find_wake(looker, off->thread, off->left, until);
    entry.ready = off->preempted ? length : wake ? until - wake->at : 0;
    entry.waiting = length - entry.ready;
    entry.woken_by = wake ? wake->by : 0;
    off->owed -= (int64_t)entry.ready;
    if (off->count == BATCH)
        flush(off);
    off->batch[off->count++] = entry;
}

/* Reads the thread's new context switches. Returns true if there were any. Sets `*lost` if the
 * kernel has lost switches: then makes no entries for the switches that follow, and look_at
 * estimates the time. A full buffer counts as a loss, which the kernel may record only after the
 * next look. */
static bool read_switches(const looker *looker, crn_core_watch *off, bool *lost)
{
    crn_switch next;
    bool any = false;
    *lost |= crn_switches_are_full(off->switches);
    while (crn_switches_next(off->switches, off->reading.end, &next)) {
        any = true;
        if (next.kind == CRN_SWITCH_LOST) {
            *lost = true;
            continue;
        }
        if (next.kind == CRN_SWITCH_IN && off->left && next.at > off->left && !*lost)
            add(looker, off, next.at);
        off->left = next.kind == CRN_SWITCH_IN ? 0 : next.at;
        off->preempted = next.kind == CRN_SWITCH_READY;
    }
    return any;
}

static void read_wakes_by(looker *looker, const cairn_lane *lane)
{
    crn_switch next;
    uint64_t end = crn_switches_end(lane->off_core->wakes);
    while (crn_switches_next(lane->off_core->wakes, end, &next))
        if (next.kind == CRN_SWITCH_WOKE)
            looker->wakes[looker->wake_count++ % WAKES] =
                (wake){next.at, next.woken, next.itself ? lane->number + 1 : 0};
}

static void read_wakes(looker *looker)
{
    for (const cairn_lane *lane = looker->lanes; lane; lane = lane->next)
        if (lane->off_core && lane->off_core->wakes)
            read_wakes_by(looker, lane);
}

/* Reads the thread's clocks, and then the end of its switches. Reads the clocks again if this
 * thread lost its core in between, as they would then not be of one moment. */
static void read_clocks(crn_core_watch *off)
{
    enum { TRIES = 4 };
    reading *its = &off->reading;
    for (int i = 0; i < TRIES && (i == 0 || crn_clock_monotonic() - its->at > LEAST_NS); i++) {
        its->at = crn_clock_monotonic();
        its->valid = crn_thread_time(crn_thread_clock(off->thread), &its->cpu) &&
                     crn_thread_ready_time(off->thread, &its->ready);
    }
    its->end = off->switches ? crn_switches_end(off->switches) : 0;
}

/* ---- estimates ---- */

/* Returns as much of the owed ready time as there is space for, and owes the rest to later entries:
 * the kernel counts ready time when it is over, which may be after its entry was written. */
static uint64_t pay(crn_core_watch *off, uint64_t most)
{
    uint64_t owed = off->owed > 0 ? (uint64_t)off->owed : 0, paid = owed < most ? owed : most;
    off->owed -= (int64_t)paid;
    return paid;
}

/* Writes an entry for the time since the last look, estimated from the thread's processor time and
 * the ready time that is owed. Returns false, without an entry, if the thread has waited all the
 * time. */
static bool estimate(crn_core_watch *off)
{
    const reading *its = &off->reading;
    uint64_t ran = its->cpu - off->cpu;
    uint64_t from = off->left ? off->left : off->looked;
    from = from > off->told ? from : off->told; /* the last look may have read switches after its
                                                   `looked` */
    if (!ran && its->ready == off->ready) {     /* it has waited since `from` */
        off->left = from;
        return false;
    }
    uint64_t length = its->at > from ? its->at - from : 0;
    uint64_t away = length > ran ? length - ran : 0;
    off->left = 0;
    if (away < LEAST_NS && !off->open)
        return true;
    uint64_t ready = pay(off, away);
    write_entry(off, &(crn_disk_off_core){from, its->at, away - ready, ready, 0, 0});
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
    /* An entry of length 0 tells readers from when on the thread is recorded. `told` keeps earlier
     * switches out. */
    off->told = off->looked;
    put(off, &(crn_disk_off_core){.begin = off->looked, .end = off->looked});
    note_source(lane->profile, off);
}

static void stop_watching(crn_core_watch *off)
{
    crn_switches_close(off->switches);
    crn_switches_close(off->wakes);
    off->switches = off->wakes = NULL;
    off->thread = 0;
}

static void end(looker *looker, crn_core_watch *off)
{
    bool lost = false;
    if (off->switches) {
        off->reading.end = crn_switches_end(off->switches);
        read_wakes(looker);
        read_switches(looker, off, &lost);
    }
    flush(off);
    uint64_t now = crn_clock_monotonic();
    if (off->open)
        complete(off, &(crn_disk_off_core){.end = now, .waiting = now - off->open->begin});
    stop_watching(off);
}

static crn_core_watch *make(cairn_lane *lane)
{
    crn_core_watch *off = crn_try_calloc(1, sizeof *off);
    crn_stream_plan plan = {.kind = CRN_SECTION_OFF_CORE,
                            .lane = lane->number,
                            .chunk_size = CHUNK * sizeof(crn_disk_off_core),
                            .most = CRN_STREAM_CHUNKS * CHUNK * sizeof(crn_disk_off_core),
                            .ahead = 1};
    if (off && !crn_stream_open(&off->space, &lane->profile->capture, &plan)) {
        crn_free(off);
        return NULL;
    }
    return off;
}

/* Begins the lane's watch anew if the lane has another owner than before. */
static void follow(looker *looker, cairn_lane *lane)
{
    clockid_t clock = __atomic_load_n(&lane->thread_clock, __ATOMIC_ACQUIRE);
    pid_t thread = __atomic_load_n(&lane->thread_id, __ATOMIC_RELAXED);
    if (!lane->off_core && clock)
        lane->off_core = make(lane);
    crn_core_watch *off = lane->off_core;
    if (off && off->thread && (!clock || off->thread != thread))
        end(looker, off);
    if (off && clock && !off->thread)
        begin(lane, off, thread);
}

/* Looks at a thread. Returns true if it ran since the last look. */
static bool look_at(const looker *looker, crn_core_watch *off)
{
    const reading *its = &off->reading;
    uint64_t before = off->left;
    int64_t owed = off->owed + (int64_t)(its->ready - off->ready);
    bool lost = !off->switches, any = false;
    if (!its->valid)
        return false;
    off->owed = owed;
    if (off->switches)
        any = read_switches(looker, off, &lost);
    if (lost) {
        uint64_t left = off->left; /* as the last switch read says */
        off->count = 0;
        off->owed = owed;
        off->left = before;
        any = estimate(off);
        if (off->switches)
            off->left = !left ? 0 : !any ? off->left : its->at > off->told ? its->at : off->told;
    } else {
        flush(off);
    }
    show_open(off, its->at);
    off->looked = its->at;
    off->cpu = its->cpu;
    off->ready = its->ready;
    return any;
}

static bool is_followed(const cairn_lane *lane)
{
    return lane->off_core && lane->off_core->thread;
}

/* Looks at all threads that are followed. Reads the wake-ups first, and then only switches from
 * before: the wake-ups explain the threads' waits. Returns true if a thread ran. */
static bool look(looker *looker)
{
    bool any = false;
    for (const cairn_lane *lane = looker->lanes; lane; lane = lane->next)
        if (is_followed(lane))
            read_clocks(lane->off_core);
    read_wakes(looker);
    for (const cairn_lane *lane = looker->lanes; lane; lane = lane->next)
        if (is_followed(lane))
            any |= look_at(looker, lane->off_core);
    return any;
}

static void follow_all(looker *looker)
{
    looker->lanes = __atomic_load_n(&looker->profile->lanes, __ATOMIC_ACQUIRE);
    for (cairn_lane *lane = looker->lanes; lane; lane = lane->next)
        follow(looker, lane);
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
        follow_all(looker);
        gap = look(looker) ? LOOK_NS : gap * 2 < LOOK_MOST_NS ? gap * 2 : LOOK_MOST_NS;
    } while (crn_helper_wait(&profile->off_core, crn_clock_monotonic() + gap));
    look(looker);
    crn_free(looker);
    return NULL;
}

/* ---- for others ---- */

bool crn_off_core_start(cairn_profile *profile)
{
    int file = crn_capture_file_in_memory(&profile->capture);
    return crn_helper_start_apart(&profile->off_core, "cairn-switches", file, run, profile);
}

void crn_off_core_rewind(cairn_lane *lane)
{
    crn_core_watch *off = lane->off_core;
    if (!off)
        return;
    stop_watching(off);
    off->next = off->end = off->open = NULL;
    crn_stream_rewind(&off->space);
}

void crn_off_core_free(cairn_lane *lane)
{
    crn_core_watch *off = lane->off_core;
    lane->off_core = NULL;
    if (!off)
        return;
    stop_watching(off);
    crn_stream_close(&off->space);
    crn_free(off);
}

void crn_off_core_forget(cairn_lane *lane)
{
    if (lane->off_core)
        lane->off_core->switches = lane->off_core->wakes = NULL; /* a child of fork does not inherit
                                                                    their mappings */
    crn_off_core_free(lane);
}
