/* SPDX-License-Identifier: MIT
 *
 * Cache of rules by address: open addressing, one writer at a time, readers without a lock. An
 * outgrown table is kept, as a thread may be reading it; all outgrown tables together are smaller
 * than the present one.
 */
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plat/futex.h"
#include "unwind/unwind.h"

enum {
    SLOTS_FIRST = 1 << 12,
    SLOTS_LAST = 1 << 22 /* a table of this size does not grow. When half of it is used, rules of
                            further addresses are parsed each time */
};

crn_unwind_table *crn_unwind_known;
uint32_t crn_unwind_generation = 1;
int crn_unwind_carried = -1;
static crn_futex_lock lock;

static crn_unwind_table *table_new(uint64_t slots)
{
    int saved = errno;
    size_t size = sizeof(crn_unwind_table) + slots * sizeof(crn_unwind_slot);
    crn_unwind_table *table =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    errno = saved;
    if (table == MAP_FAILED)
        return NULL;
    table->mask = slots - 1;
    return table;
}

/* Returns the slot of `address`, or the free slot to put the address in. Hold the lock. */
static crn_unwind_slot *slot_of(crn_unwind_table *table, uintptr_t address)
{
    uint64_t at = crn_unwind_hash(address);
    while (table->slots[at & table->mask].address &&
           table->slots[at & table->mask].address != address)
        at++;
    return &table->slots[at & table->mask];
}

static void copy_slots(const crn_unwind_table *from, crn_unwind_table *to)
{
    for (uint64_t i = 0; i <= from->mask; i++)
        if (from->slots[i].address)
            *slot_of(to, from->slots[i].address) = from->slots[i];
    to->count = from->count;
}

/* Returns the table with space for one more address; NULL if the table is full or without memory.
 * Hold the lock. */
static crn_unwind_table *table_with_room(void)
{
    crn_unwind_table *table = crn_unwind_known;
    uint64_t slots = table ? table->mask + 1 : 0;
    if (table && table->count < slots / 2)
        return table;
    if (slots == SLOTS_LAST)
        return NULL;
    crn_unwind_table *larger = table_new(slots ? slots * 2 : SLOTS_FIRST);
    if (!larger)
        return NULL;
    if (table)
        copy_slots(table, larger);
    __atomic_store_n(&crn_unwind_known, larger, __ATOMIC_RELEASE);
    return larger;
}

static void remember(uintptr_t address, const crn_unwind_code *code, uint32_t generation)
{
    crn_unwind_table *table = table_with_room();
    if (!table)
        return;
    crn_unwind_slot *slot = slot_of(table, address);
    uint64_t rule;
    memcpy(&rule, &code->rule, sizeof rule);
    __atomic_store_n(&slot->rule, rule, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->carried, code->carried, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->tagged, (uint64_t)code->tag << 32 | generation, __ATOMIC_RELEASE);
    if (slot->address)
        return;
    __atomic_store_n(&slot->address, address, __ATOMIC_RELEASE);
    table->count++;
}

void crn_unwind_code_find(uintptr_t address, crn_unwind_code *code)
{
    int64_t offset;
    code->rule = crn_unwind_rule_find(address);
    code->tag = 0;
    code->carried = CRN_UNWIND_NOT_SAVED;
    if (crn_unwind_carried >= 0 &&
        crn_unwind_register_saved(address, (unsigned)crn_unwind_carried, &offset) &&
        offset == (int32_t)offset)
        code->carried = (int32_t)offset;
}

void crn_unwind_look(uintptr_t address, crn_unwind_code *code)
{
    if (crn_unwind_recall(address, code))
        return;
    if (!address) { /* marks free slots, and is no code */
        *code = (crn_unwind_code){.rule = {.kind = CRN_UNWIND_NOTHING},
                                  .carried = CRN_UNWIND_NOT_SAVED};
        return;
    }
    uint32_t generation = __atomic_load_n(&crn_unwind_generation, __ATOMIC_ACQUIRE);
    crn_unwind_code found;
    crn_unwind_code_find(address, &found);
    crn_futex_lock_take(&lock);
    if (!crn_unwind_recall(address, code)) { /* no other thread has cached it meanwhile */
        remember(address, &found, generation);
        *code = found;
    }
    crn_futex_lock_give(&lock);
}

void crn_unwind_tag(uintptr_t address, uint32_t tag)
{
    crn_unwind_code code;
    crn_futex_lock_take(&lock);
    if (crn_unwind_recall(address, &code)) {
        crn_unwind_slot *slot = slot_of(crn_unwind_known, address);
        __atomic_store_n(&slot->tagged, (uint64_t)tag << 32 | (uint32_t)slot->tagged,
                         __ATOMIC_RELEASE);
    }
    crn_futex_lock_give(&lock);
}

/* ---- unloaded code ---- */

/* Numbers of objects that were loaded and unloaded so far; zeros where libc does not tell. */
typedef struct load_counts {
    unsigned long long loads, unloads;
} load_counts;

static int read_loads(struct dl_phdr_info *object, size_t size, void *loads)
{
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof object->dlpi_subs)
        *(load_counts *)loads = (load_counts){object->dlpi_adds, object->dlpi_subs};
    return 1;
}

static load_counts count_loads(void)
{
    load_counts loads = {0, 0};
    dl_iterate_phdr(read_loads, &loads);
    return loads;
}

/* Keeps the rules of code that is still loaded: signal handlers cannot find rules anew. Hold the
 * lock. */
static void keep_loaded(crn_unwind_table *table, uint32_t generation)
{
    for (uint64_t i = 0; i <= table->mask; i++) {
        crn_unwind_slot *slot = &table->slots[i];
        crn_unwind_module module;
        if (slot->address && (uint32_t)slot->tagged == generation - 1 &&
            crn_unwind_module_find(slot->address, &module))
            __atomic_store_n(&slot->tagged, slot->tagged >> 32 << 32 | generation,
                             __ATOMIC_RELEASE);
    }
}

void crn_unwind_forget(void)
{
    __atomic_add_fetch(&crn_unwind_generation, 1, __ATOMIC_RELEASE);
}

/* `before`: the numbers before dlclose. */
static void forget_unloaded(const load_counts *before)
{
    enum { KEPT_MOST = 1 << 16 };      /* rules; to look at more of them would take too long */
    static unsigned long long unloads; /* at the last call */
    const load_counts after = count_loads();
    uint64_t all = ~UINT64_C(0), mask;
    if (after.unloads == __atomic_load_n(&unloads, __ATOMIC_ACQUIRE))
        return;
    /* A signal handler that allocates may need the lock. */
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, sizeof all);
    crn_futex_lock_take(&lock);
    uint32_t generation = __atomic_add_fetch(&crn_unwind_generation, 1, __ATOMIC_RELEASE);
    /* If other code may have come to the place of unloaded code already, all rules are forgotten.
     */
    bool same_place = after.loads != before->loads || before->unloads != unloads;
    if (crn_unwind_known && crn_unwind_known->count <= KEPT_MOST && !same_place)
        keep_loaded(crn_unwind_known, generation);
    __atomic_store_n(&unloads, after.unloads, __ATOMIC_RELEASE);
    crn_futex_lock_give(&lock);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof mask);
}

int crn_unwind_close(int (*real)(void *handle), void *handle)
{
    const load_counts before = count_loads();
    int result = real(handle);
    forget_unloaded(&before);
    return result;
}

void crn_unwind_lock(void)
{
    crn_futex_lock_take(&lock);
}

void crn_unwind_unlock(void)
{
    crn_futex_lock_give(&lock);
}
