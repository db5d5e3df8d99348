/* SPDX-License-Identifier: MIT
 *
 * Sites and their blocks. Source that is compiled several times (a function in a header, a clone
 * for one caller) is one block.
 */
#include <cpuid.h>
#include <errno.h>
#include <string.h>

#include "fork_lock.h"
#include "layout.h"
#include "runtime.h"

#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#endif

/* The instruction by which stub_x86_64.S saves vector and x87 registers. 0: fxsave; 1: xsavec; any
 * other number: xsave, into that many bytes. */
int crn_site_xsave __attribute__((visibility("hidden")));

/* Returns the bytes that xsave needs for the register states that the stub saves and the system has
 * enabled. */
static int room_for_states(void)
{
    enum { LEGACY = 576, STATES = 0xe7, FIRST = 2, LAST = 7, UNIT = 64 };
    unsigned enabled, high, room = LEGACY;
    __asm__ volatile("xgetbv" : "=a"(enabled), "=d"(high) : "c"(0));
    for (int i = FIRST; i <= LAST; i++) {
        unsigned size = 0, place = 0, c = 0, d = 0;
        bool is = (enabled & STATES) >> i & 1 && __get_cpuid_count(0xd, i, &size, &place, &c, &d);
        if (is && place + size > room)
            room = place + size;
    }
    return (int)((room + UNIT - 1) / UNIT * UNIT);
}

/* Return true if the system lets programs use xsave, and if xsavec tells which states are in use.
 * Ask glibc where it can answer: to ask the processor takes 8 microseconds a question on a virtual
 * machine. */
#ifdef CPU_FEATURE_PRESENT

static bool has_xsave(void)
{
    return CPU_FEATURE_PRESENT(OSXSAVE);
}

static bool knows_use(void)
{
    return CPU_FEATURE_PRESENT(XSAVEC) && CPU_FEATURE_PRESENT(XGETBV_ECX_1);
}

#else

static bool has_xsave(void)
{
    enum { OSXSAVE = 1 << 27 };
    unsigned a, b, c, d;
    __cpuid(1, a, b, c, d);
    return (c & OSXSAVE) != 0;
}

static bool knows_use(void)
{
    enum { XSAVEC = 1 << 1, IN_USE = 1 << 2 };
    unsigned a, b, c, d;
    __cpuid_count(0xd, 1, a, b, c, d);
    return (a & XSAVEC) != 0 && (a & IN_USE) != 0;
}

#endif

__attribute__((constructor(101))) static void look_at_processor(void)
{
    if (has_xsave()) /* implies leaf 0xd */
        crn_site_xsave = knows_use() ? 1 : room_for_states();
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the table, and making blocks */
CRN_LOCK_ACROSS_FORK(lock)

/* ---- packed sites ---- */

static const void *at(const crn_packed_site *site, int32_t distance)
{
    return distance ? (const char *)site + distance : NULL;
}

static bool is_packed(const crn_site *site)
{
    return site->line & CRN_SITE_PACKED;
}

static crn_site unpacked(const crn_site *site)
{
    if (!is_packed(site))
        return *site;
    const crn_packed_site *packed = (const crn_packed_site *)site;
    return (crn_site){.block = packed->block,
                      .name = at(packed, packed->name),
                      .file = at(packed, packed->file),
                      .line = packed->line & ~CRN_SITE_PACKED,
                      .column = packed->column & (((uint32_t)1 << CRN_SITE_FLAGS) - 1),
                      .flags = packed->column >> CRN_SITE_FLAGS,
                      .parent = (crn_site *)(uintptr_t)at(packed, packed->parent),
                      .left = at(packed, packed->left)};
}

const char *crn_site_name(const crn_site *site)
{
    return unpacked(site).name;
}

/* ---- table of blocks ---- */

/* A block, found by a hash of its name, place and lexical parent: a branch in a template has one
 * block for each instance. An entry of a hash table with open addressing. */
typedef struct known {
    uint64_t hash; /* 0: free */
    cairn_block block;
} known;

static known *table;
static size_t mask, used;
static cairn_profile *whose; /* the profile that the table is for */

static uint64_t mix(uint64_t hash, const char *text)
{
    for (; text && *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return (hash ^ 0xff) * 0x100000001b3u;
}

static uint64_t hash_of(const crn_site *any)
{
    const crn_site own = unpacked(any), *site = &own;
    uint64_t hash = mix(mix(0xcbf29ce484222325u, site->name), site->file);
    hash = (hash ^ site->line) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ site->column ^ hash >> 29) * 0x9e3779b97f4a7c15u;
    if (site->parent)
        hash = (hash ^ hash_of(site->parent) ^ hash >> 31) * 0x9e3779b97f4a7c15u;
    return hash | 1;
}

static known *place_of(uint64_t hash)
{
    size_t i = hash >> 32 & mask;
    while (table[i].hash && table[i].hash != hash)
        i = (i + 1) & mask;
    return &table[i];
}

static bool grow(void)
{
    enum { FIRST = 256 };
    known *before = table;
    size_t count = before ? mask + 1 : 0, room = count ? count * 2 : FIRST;
    known *fresh = cairn_priv_calloc(room, sizeof *fresh);
    if (!fresh)
        return false;
    table = fresh;
    mask = room - 1;
    for (size_t i = 0; i < count; i++)
        if (before[i].hash)
            *place_of(before[i].hash) = before[i];
    cairn_priv_free(before);
    return true;
}

static cairn_block add(const crn_site *site, cairn_profile *profile, cairn_block parent)
{
    cairn_block_info info = {.name = site->name,
                             .file = site->file,
                             .line = site->line,
                             .column = site->column,
                             .parent = parent,
                             .flags = site->flags};
    return cairn_block_add(profile, &info);
}

/* Returns the block of a site. Without memory for the table, adds a new block. */
static cairn_block block_of(const crn_site *any, cairn_profile *profile)
{
    const crn_site own = unpacked(any), *site = &own;
    cairn_block parent = site->parent ? block_of(site->parent, profile) : CAIRN_BLOCK_ROOT;
    if (whose != profile) {
        cairn_priv_free(table);
        table = NULL;
        mask = used = 0;
        whose = profile;
    }
    if ((used * 2 >= mask || !table) && !grow() && (!table || used >= mask))
        return add(site, profile, parent);
    uint64_t hash = hash_of(site);
    known *known = place_of(hash);
    if (!known->hash) {
        cairn_block block = add(site, profile, parent);
        known->hash = hash;
        known->block = block;
        used++;
    }
    return known->block;
}

/* Stores the block in its site, after the fields derived from it, because another thread may be
 * entering the site. */
static void store(crn_site *site, cairn_block block)
{
    if (is_packed(site)) {
        crn_packed_site *packed = (crn_packed_site *)site;
        __atomic_store_n(&packed->inline_cache, cairn_priv_inline_cache_of(block),
                         __ATOMIC_RELAXED);
        __atomic_store_n(&packed->block, block, __ATOMIC_RELEASE);
        return;
    }
    size_t offset =
        offsetof(cairn_priv_record, callees) + cairn_priv_callee_index(block) * sizeof(uint32_t);
    __atomic_store_n(&site->callee_offset, (uint32_t)offset, __ATOMIC_RELAXED);
    __atomic_store_n(&site->block, block, __ATOMIC_RELEASE);
}

void crn_site_resolve(crn_site *site, cairn_profile *profile)
{
    static const char *noted;
    pthread_mutex_lock(&lock);
    if (site->block == CRN_SITE_NEW)
        store(site, block_of(site, profile));
    const char *left = unpacked(site).left;
    if (left && left != noted) {
        cairn_profile_note(profile, "left_out", left);
        noted = left;
    }
    pthread_mutex_unlock(&lock);
}

/* The thread has no strand meanwhile: otherwise an event in a signal handler, or in the program's
 * own malloc or strlen, would wait for the lock. */
void cairn_priv_sites_add(crn_packed_site *first, crn_packed_site *last)
{
    int saved = errno;
    cairn_profile *profile = cairn_process_profile();
    cairn_strand *strand = crn_site_hold();
    for (; profile && first < last; first++)
        crn_site_resolve((crn_site *)first, profile);
    if (strand)
        crn_site_release(strand);
    errno = saved;
}
