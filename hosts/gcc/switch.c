/* SPDX-License-Identifier: MIT
 *
 * --standby: a switch, a word, in each program and shared object, which its functions test before
 * they enter and leave. The switch is off without a profile: a function then executes two
 * instructions for an enter and two for a leave.
 *
 * With CAIRN_SWITCH=SIGNAL in the environment that signal switches recording on, and the next one
 * off. The handler only stores to the switches and to the words below, under a lock that no thread
 * holds with the signal unblocked. A function that finds its switch on takes the slow path, as its
 * thread has no strand or one of an earlier period. In the slow path the first thread opens the
 * profile, and each thread gets its strand (`follow`). No thread of Cairn's exists before. While
 * recording is off, functions take no slow path that could write the capture. So a thread that
 * begins with the period writes it at the end (src/runtime/period.c).
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fork_lock.h"
#include "runtime.h"

typedef struct module {
    uint32_t *own; /* its switch */
    struct module *next;
} module;

static bool locked; /* a spin lock, which protects the variables below; atomic */
static module *modules;
static cairn_priv_switch *page; /* NULL: the process cannot be switched */
static bool again;              /* the state is ENDING, and another period follows at once */

/* ---- the lock, which the signal handler takes, too ---- */

static void lock_switches(uint64_t *before)
{
    uint64_t mask = 0;
    crn_site_block_signals(&mask);
    while (__atomic_exchange_n(&locked, true, __ATOMIC_ACQUIRE)) {
    }
    *before = mask;
}

static void unlock_switches(uint64_t before)
{
    __atomic_store_n(&locked, false, __ATOMIC_RELEASE);
    crn_site_restore_signals(before);
}

/* During a fork: the calling thread forks and holds the lock; its signal mask before that. */
static __thread bool holds __attribute__((tls_model("initial-exec")));
static uint64_t mask_before_fork;

static void before_fork_here(void)
{
    uint64_t before;
    if (!page)
        return;
    lock_switches(&before);
    mask_before_fork = before;
    holds = true;
}

static void after_fork_here(void)
{
    if (holds)
        unlock_switches(mask_before_fork);
    holds = false;
}

/* The thread that writes the parent's capture does not exist in the child. */
static void after_fork_in_child(void)
{
    if (holds && page->state == CAIRN_PRIV_SWITCH_ENDING)
        page->state = CAIRN_PRIV_SWITCH_OFF;
    again = false;
    after_fork_here();
}

/* Registers the fork handlers before all others of Cairn. Handlers run in reverse order before a
 * fork, so the fork takes this lock last, and its holder waits for no other lock. */
__attribute__((constructor(101))) static void watch_forks_first(void)
{
    pthread_atfork(before_fork_here, after_fork_here, after_fork_in_child);
}

/* ---- states; under the lock ---- */

static cairn_priv_switch_state state(void)
{
    return (cairn_priv_switch_state)__atomic_load_n(&page->state, __ATOMIC_RELAXED);
}

static void set_state(cairn_priv_switch_state now)
{
    __atomic_store_n(&page->state, now, __ATOMIC_RELEASE);
}

/* Returns what a switch has: a function tests it by a comparison with the stack pointer. */
static uint32_t word(bool on)
{
    return on ? UINT32_MAX : 0;
}

/* Begins or ends a period: its number is odd while recording is on. */
static void turn(bool on, cairn_priv_switch_state now)
{
    set_state(now);
    __atomic_store_n(&crn_site_period, crn_site_period + 1, __ATOMIC_RELEASE);
    for (const module *each = modules; each; each = each->next)
        __atomic_store_n(each->own, word(on), __ATOMIC_RELEASE);
}

/* The handler of the signal. */
static void handle(int number)
{
    (void)number;
    uint64_t before;
    int saved = errno;
    lock_switches(&before);
    switch (state()) {
    case CAIRN_PRIV_SWITCH_OFF:
        turn(true, CAIRN_PRIV_SWITCH_WANTED);
        break;
    case CAIRN_PRIV_SWITCH_WANTED:
        turn(false, CAIRN_PRIV_SWITCH_OFF);
        break;
    case CAIRN_PRIV_SWITCH_OPENING: /* the thread that opens the profile will end the period */
        turn(false, CAIRN_PRIV_SWITCH_ENDING);
        break;
    case CAIRN_PRIV_SWITCH_ON:
        turn(false, CAIRN_PRIV_SWITCH_ENDING);
        cairn_priv_period_ask_end();
        break;
    case CAIRN_PRIV_SWITCH_ENDING:
        again = !again;
        break;
    }
    unlock_switches(before);
    errno = saved;
}

/* ---- following, in the slow path ---- */

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
CRN_LOCK_ACROSS_FORK(opening)

static void set_path(const char *path)
{
    strncpy(page->path, path ? path : "", sizeof page->path - 1);
}

/* Called when the period's capture is complete, or could not be opened or written. */
static void note_end(const char *path, cairn_error error)
{
    uint64_t before;
    lock_switches(&before);
    page->error = (int32_t)error;
    set_path(path);
    if (again)
        turn(true, CAIRN_PRIV_SWITCH_WANTED);
    else if (state() == CAIRN_PRIV_SWITCH_ENDING)
        set_state(CAIRN_PRIV_SWITCH_OFF);
    again = false;
    __atomic_store_n(&page->captures, page->captures + 1, __ATOMIC_RELEASE);
    unlock_switches(before);
}

static bool change_state(cairn_priv_switch_state from, cairn_priv_switch_state to)
{
    uint64_t before;
    lock_switches(&before);
    bool changes = state() == from;
    if (changes)
        set_state(to);
    unlock_switches(before);
    return changes;
}

static void open_period(void)
{
    const char *out = secure_getenv("CAIRN_SWITCH_OUT"), *path;
    uint64_t before;
    if (!change_state(CAIRN_PRIV_SWITCH_WANTED, CAIRN_PRIV_SWITCH_OPENING))
        return;
    path = cairn_priv_period_begin(out && *out ? out : "%p.cairn", note_end);
    set_path(path);
    if (!path) {
        lock_switches(&before);
        if (state() == CAIRN_PRIV_SWITCH_OPENING)
            turn(false, CAIRN_PRIV_SWITCH_ENDING);
        unlock_switches(before);
        note_end(NULL, CAIRN_E_OPEN);
    } else if (!change_state(CAIRN_PRIV_SWITCH_OPENING, CAIRN_PRIV_SWITCH_ON)) {
        cairn_priv_period_ask_end();
    }
}

static void follow(void)
{
    if (cairn_priv_thread_is_busy())
        return;
    int saved = errno;
    crn_site_begin_hold();
    pthread_mutex_lock(&opening);
    open_period();
    uint32_t now = __atomic_load_n(&crn_site_period, __ATOMIC_ACQUIRE);
    pthread_mutex_unlock(&opening);
    crn_site_held.period = now;
    cairn_priv_period_follow(now % 2);
    crn_site_end_hold();
    errno = saved;
}

/* ---- the process ---- */

/* Returns the number of a signal: USR2, SIGUSR2, RTMIN+3 or a number; 0 if it is none that may be
 * used. */
static int number_of(const char *text)
{
    enum { DECIMAL = 10 };
    char *end;
    text += strncmp(text, "SIG", 3) == 0 ? 3 : 0;
    bool real_time = strncmp(text, "RTMIN+", 6) == 0;
    long number = strtol(text + (real_time ? 6 : 0), &end, DECIMAL);
    number = *end || end == text ? 0 : number + (real_time ? SIGRTMIN : 0);
    for (int i = 1; !number && i < SIGRTMIN; i++) {
        const char *name = sigabbrev_np(i);
        number = name && strcmp(name, text) == 0 ? i : 0;
    }
    bool usable = number > 0 && number <= SIGRTMAX && number != SIGKILL && number != SIGSTOP &&
                  CRN_SITE_DEFERRABLE >> (number - 1) & 1;
    return usable ? (int)number : 0;
}

/* Makes the page that `cairn attach` reads. It is a private copy, so that a child of fork has its
 * own. */
static cairn_priv_switch *make_page(int number)
{
    int file = memfd_create(strchr(CAIRN_PRIV_SWITCH_NAME, ':') + 1, MFD_CLOEXEC);
    cairn_priv_switch *made = MAP_FAILED;
    if (file >= 0 && ftruncate(file, sizeof *made) == 0)
        made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    if (file >= 0)
        close(file);
    if (made == MAP_FAILED)
        return NULL;
    *made = (cairn_priv_switch){.magic = CAIRN_PRIV_SWITCH_MAGIC, .signal = number};
    return made;
}

static void begin_process(void)
{
    const char *text = secure_getenv("CAIRN_SWITCH");
    int number = text ? number_of(text) : 0;
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART | SA_ONSTACK};
    if (!number || !(page = make_page(number)))
        return;
    sigfillset(&action.sa_mask);
    crn_site_follow_period = follow;
    crn_site_install(number, &action, &page->taken);
}

/* ---- modules ---- */

static void add(uint32_t *own)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin_process);
    module *made = page ? cairn_priv_calloc(1, sizeof *made) : NULL;
    if (!made)
        return;
    uint64_t before;
    lock_switches(&before);
    *made = (module){own, modules};
    modules = made;
    *own = word(crn_site_period % 2);
    unlock_switches(before);
}

void cairn_priv_standby_begin(uint32_t *own)
{
    int saved = errno;
    *own = word(cairn_process_profile() != NULL);
    if (page || !*own)
        add(own);
    errno = saved;
}

void cairn_priv_standby_end(uint32_t *own)
{
    if (!page)
        return;
    uint64_t before;
    lock_switches(&before);
    module **place = &modules, *found;
    while (*place && (*place)->own != own)
        place = &(*place)->next;
    found = *place;
    if (found)
        *place = found->next;
    unlock_switches(before);
    cairn_priv_free(found);
}
