/* SPDX-License-Identifier: MIT
 *
 * allocation.c - charges allocations and live memory to contexts. Lua tells its allocator the size
 * of what is freed, so only the allocating context must be stored for each allocation.
 *
 * Recording is exact, or sampled with one sample in about `mean` bytes: each byte is sampled with
 * equal probability, so an allocation of s bytes is sampled with p = 1 - exp(-s / mean) and then
 * represents 1 / p such allocations (docs/ALLOC.md).
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/alloc.h>

#include "host.h"

/* Maps an allocation to the context that made it: an entry for each granule of a page of the heap.
 * Consecutive allocations are mostly in one page, which is cached. */
enum { GRANULE_BITS = 3, PAGE_BITS = 16 };

/* Flag in `makers`: the weight was rounded up. Larger than any context's number
 * (cairn_options.context_budget). */
#define ROUNDED_UP ((cairn_context)1 << 31)

typedef struct page {
    uintptr_t number;
    cairn_context makers[1 << (PAGE_BITS - GRANULE_BITS)]; /* 0: none */
} page;

/* Live memory of a context, and its part of the peak in the capture. */
typedef struct share {
    uint64_t live, peak;
    bool changed; /* since the peak was last written */
} share;

struct crn_ledger {
    cairn_metric bytes, objects, freed_bytes, freed_objects, peak_bytes;
    page **pages; /* hash table, linear probing */
    size_t page_mask, page_count;
    page *last;
    share *shares; /* by context */
    cairn_context *changed;
    size_t share_room, changed_count;
    uint64_t live, peak; /* live bytes of all contexts; the peak in the capture */
    double mean;         /* mean bytes between samples; 0: exact */
    double left;         /* bytes until the next sample */
    uint64_t random;
    uint64_t samples;
    uint64_t allocated; /* bytes, so far */
    uint32_t unseen;    /* allocations and frees since the counters were shown */
    bool lost;          /* memory ran out: nothing more is recorded */
    unsigned forks;     /* value of `forks` at the last use */
};

enum { PEAK_PARTS = 100 }; /* the peak is accurate to 1 / PEAK_PARTS */

/* ---- fork --------------------------------------------------------------------------- */

static unsigned forks; /* number of forks that led to this process */

static void after_fork(void)
{
    forks++;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, after_fork);
}

static void forget_pages(crn_ledger *ledger)
{
    for (size_t i = 0; ledger->pages && i <= ledger->page_mask; i++)
        free(ledger->pages[i]);
    free((void *)ledger->pages);
    ledger->pages = NULL;
    ledger->page_mask = ledger->page_count = 0;
    ledger->last = NULL;
}

/* Starts anew in a child of fork, where contexts have other numbers: only the child's own
 * allocations count. */
static void follow_fork(crn_ledger *ledger)
{
    if (CRN_LIKELY(ledger->forks == forks))
        return;
    ledger->forks = forks;
    forget_pages(ledger);
    for (size_t i = 0; i < ledger->share_room; i++)
        ledger->shares[i] = (share){0};
    ledger->changed_count = 0;
    ledger->live = ledger->peak = 0;
}

/* ---- charging ----------------------------------------------------------------------- */

/* Stops recording for want of memory. The capture says so from now on: the program may be killed.
 */
static void lose(crn_host *host)
{
    host->ledger->lost = true;
    crn_host_note(host, "alloc_lost",
                  "memory ran out: later allocations and frees are not recorded");
}

/* Returns a uniform random number in (0, 1]. */
static double draw(crn_ledger *ledger)
{
    uint64_t z = ledger->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return (double)((z >> 11) + 1) * 0x1p-53;
}

/* Returns how many allocations a sampled one of this size represents: 1 / p. */
static double weight_wanted(const crn_ledger *ledger, size_t size)
{
    return ledger->mean == 0 ? 1 : -1 / expm1(-(double)size / ledger->mean);
}

/* Decides at random whether 1 / p is rounded up, so that the mean of the weights is 1 / p. */
static bool is_rounded_up(crn_ledger *ledger, size_t size)
{
    double wanted = weight_wanted(ledger, size);
    return draw(ledger) <= wanted - floor(wanted);
}

/* Returns 1 / p as an integer: `up` says whether it was rounded up at random. */
static uint64_t weight_of(const crn_ledger *ledger, size_t size, bool up)
{
    return (uint64_t)weight_wanted(ledger, size) + up;
}

static bool shares_grow(crn_ledger *ledger, cairn_context context)
{
    size_t room = ledger->share_room ? ledger->share_room : CRN_FIRST_SIZE(256, 2);
    while (room <= context)
        room *= 2;
    share *shares = realloc(ledger->shares, room * sizeof *shares);
    if (shares)
        ledger->shares = shares;
    cairn_context *changed = shares ? realloc(ledger->changed, room * sizeof *changed) : NULL;
    if (!changed)
        return false;
    ledger->changed = changed;
    memset(shares + ledger->share_room, 0, (room - ledger->share_room) * sizeof *shares);
    ledger->share_room = room;
    return true;
}

static void live_add(crn_host *host, cairn_context context, uint64_t bytes)
{
    crn_ledger *ledger = host->ledger;
    if (context >= ledger->share_room && !shares_grow(ledger, context)) {
        lose(host);
        return;
    }
    share *share = &ledger->shares[context];
    share->live += bytes;
    ledger->live += bytes;
    if (!share->changed)
        ledger->changed[ledger->changed_count++] = context;
    share->changed = true;
}

/* Stores the present live memory as the peak. Only contexts that changed are written, so the cost
 * is proportional to the allocations. */
static void peak_write(crn_host *host, crn_ledger *ledger)
{
    for (size_t i = 0; i < ledger->changed_count; i++) {
        share *share = &ledger->shares[ledger->changed[i]];
        cairn_context_charge(host->lane, ledger->changed[i], ledger->peak_bytes,
                             share->live - share->peak);
        share->peak = share->live;
        share->changed = false;
    }
    ledger->changed_count = 0;
    ledger->peak = ledger->live;
}

/* ---- allocations -------------------------------------------------------------------- */

static page **page_slot(const crn_ledger *ledger, uintptr_t number)
{
    size_t at = (size_t)((uint64_t)number * UINT64_C(0x9e3779b97f4a7c15) >> 24);
    while (ledger->pages[at & ledger->page_mask] &&
           ledger->pages[at & ledger->page_mask]->number != number)
        at++;
    return &ledger->pages[at & ledger->page_mask];
}

static bool pages_grow(crn_ledger *ledger)
{
    page **old = ledger->pages;
    size_t room = old ? ledger->page_mask + 1 : 0;
    size_t grown = room ? room * 2 : CRN_FIRST_SIZE(256, 2);
    page **pages = calloc(grown, sizeof(page *));
    if (!pages)
        return false;
    ledger->pages = pages;
    ledger->page_mask = grown - 1;
    for (size_t i = 0; i < room; i++)
        if (old[i])
            *page_slot(ledger, old[i]->number) = old[i];
    free((void *)old);
    return true;
}

static page *page_make(crn_ledger *ledger, uintptr_t number)
{
    if (ledger->page_count * 2 >= ledger->page_mask && !pages_grow(ledger))
        return NULL;
    page *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->number = number;
    ledger->page_count++;
    return *page_slot(ledger, number) = made;
}

/* Returns where an allocation's context is kept; NULL without a page. */
static cairn_context *maker_of(crn_ledger *ledger, uintptr_t block, bool make)
{
    uintptr_t number = block >> PAGE_BITS;
    page *page = ledger->last;
    if (!page || page->number != number) {
        page = ledger->pages ? *page_slot(ledger, number) : NULL;
        if (!page && make)
            page = page_make(ledger, number);
        if (!page)
            return NULL;
        ledger->last = page;
    }
    return &page->makers[(block >> GRANULE_BITS) & ((1 << (PAGE_BITS - GRANULE_BITS)) - 1)];
}

/* ---- sampling ----------------------------------------------------------------------- */

/* Returns the distance to the next sampled byte: exponentially distributed. */
static double gap_draw(crn_ledger *ledger)
{
    return -log(draw(ledger)) * ledger->mean;
}

/* Returns true if a byte of a new allocation is sampled. */
static bool is_drawn(crn_ledger *ledger, size_t size)
{
    if (ledger->mean == 0)
        return true;
    ledger->left -= (double)size;
    if (ledger->left >= 0)
        return false;
    /* The exponential distribution has no memory, so the position within the allocation does not
     * matter. */
    ledger->left = gap_draw(ledger);
    ledger->samples++;
    return true;
}

/* Shows live bytes and the rate of allocation as counters, once in UNSEEN_MOST calls. */
static void show(crn_host *host)
{
    enum { UNSEEN_MOST = 64 }; /* allocations and frees until they are shown */
    crn_ledger *ledger = host->ledger;
    if (++ledger->unseen < UNSEEN_MOST)
        return;
    ledger->unseen = 0;
    cairn_priv_memory_show(host->running->strand, ledger->live, ledger->allocated);
}

void crn_ledger_add(crn_host *host, uintptr_t block, size_t size)
{
    crn_ledger *ledger = host->ledger;
    follow_fork(ledger);
    if (host->naming || ledger->lost || !is_drawn(ledger, size))
        return;
    cairn_context *maker = maker_of(ledger, block, true);
    if (!maker) {
        lose(host);
        return;
    }
    cairn_context context = cairn_strand_context(host->running->strand);
    if (!context)
        context = CAIRN_CONTEXT_ROOT;
    bool up = ledger->mean != 0 && is_rounded_up(ledger, size);
    uint64_t weight = weight_of(ledger, size, up);
    *maker = context | (up ? ROUNDED_UP : 0);
    cairn_context_charge(host->lane, context, ledger->bytes, weight * size);
    cairn_context_charge(host->lane, context, ledger->objects, weight);
    live_add(host, context, weight * size);
    ledger->allocated += weight * size;
    show(host);
    if (ledger->live > ledger->peak + ledger->peak / PEAK_PARTS)
        peak_write(host, ledger);
}

void crn_ledger_remove(crn_host *host, uintptr_t block, size_t size)
{
    crn_ledger *ledger = host->ledger;
    follow_fork(ledger);
    cairn_context *maker = maker_of(ledger, block, false);
    if (!maker || !*maker || ledger->lost)
        return;
    cairn_context context = *maker & ~ROUNDED_UP;
    uint64_t weight = weight_of(ledger, size, (*maker & ROUNDED_UP) != 0);
    *maker = 0;
    cairn_context_charge(host->lane, context, ledger->freed_bytes, weight * size);
    cairn_context_charge(host->lane, context, ledger->freed_objects, weight);
    live_add(host, context, -(weight * size));
    show(host);
}

/* ---- open and close ----------------------------------------------------------------- */

bool crn_ledger_open(crn_host *host, uint64_t mean, uint64_t seed)
{
    crn_ledger *ledger = calloc(1, sizeof *ledger);
    if (!ledger)
        return false;
    ledger->bytes = cairn_metric_add(host->profile, "alloc bytes", "bytes");
    ledger->objects = cairn_metric_add(host->profile, "alloc objects", "count");
    ledger->freed_bytes = cairn_metric_add(host->profile, "freed bytes", "bytes");
    ledger->freed_objects = cairn_metric_add(host->profile, "freed objects", "count");
    ledger->peak_bytes = cairn_metric_add(host->profile, "peak bytes", "bytes");
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    ledger->forks = forks;
    ledger->mean = (double)mean;
    ledger->random = seed;
    ledger->left = mean ? gap_draw(ledger) : 0;
    cairn_priv_memory_begin(host->profile);
    host->ledger = ledger;
    return true;
}

void crn_ledger_close(crn_host *host)
{
    crn_ledger *ledger = host->ledger;
    if (!ledger)
        return;
    if (ledger->live > ledger->peak)
        peak_write(host, ledger);
    host->ledger = NULL;
    if (ledger->mean != 0)
        crn_host_note(host, "alloc_samples", "%llu", (unsigned long long)ledger->samples);
    forget_pages(ledger);
    free(ledger->shares);
    free(ledger->changed);
    free(ledger);
}
