/* SPDX-License-Identifier: MIT
 *
 * Patches sleds into calls, and makes a site for each function that has sleds.
 *
 * A function's block is its address until the capture is read, as for samples: name and place are
 * in the debug information.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../gcc/module.h"
#include "sled.h"

enum {
    SLED_SIZE = 11, /* bytes of a sled's code */
    PAGE = 4096,
    NAME = 24 /* "0x", 16 digits and the end */
};

typedef struct object {
    const crn_sleds *sleds;
    uintptr_t *functions; /* their addresses, sorted */
    crn_site *sites;      /* by the same index */
    size_t count;
} object;

static uintptr_t address_of(const crn_sled *sled)
{
    return (uintptr_t)&sled->address + (uintptr_t)sled->address;
}

/* Returns true for a sled as clang writes it: a jump over nine bytes, or a return followed by ten
 * bytes of nop. Others (another version, already patched) are left alone. */
static bool is_sled(const crn_sled *sled)
{
    const uint8_t *code = (const uint8_t *)address_of(sled);
    if (sled->version != 2)
        return false;
    return sled->kind == CRN_SLED_EXIT ? code[0] == 0xc3 : code[0] == 0xeb && code[1] == 0x09;
}

static bool is_entry(const crn_sled *sled)
{
    return (sled->kind == CRN_SLED_ENTRY || sled->kind == CRN_SLED_ENTRY_ARGUMENTS) &&
           is_sled(sled);
}

static int compare(const void *left, const void *right)
{
    uintptr_t a = *(const uintptr_t *)left, b = *(const uintptr_t *)right;
    return a < b ? -1 : a > b;
}

/* Returns the function that begins at an address; NULL if none does. */
static const uintptr_t *find(const object *object, uintptr_t address)
{
    return bsearch(&address, object->functions, object->count, sizeof address, compare);
}

/* ---- functions -------------------------------------------------------------------------- */

/* Names sites by address plus 1, because symbols/symbols.h takes names for return addresses, and
 * looks up the address before. */
static void name_sites(object *object, cairn_profile *profile, char *names)
{
    crn_unwind_module module;
    bool known = crn_unwind_module_find(object->functions[0], &module);
    const char *path = known ? crn_module_path(profile, &module) : "";
    uintptr_t bias = known ? module.bias : 0;
    for (size_t i = 0; i < object->count; i++, names += NAME) {
        snprintf(names, NAME, "0x%lx", (unsigned long)(object->functions[i] - bias + 1));
        object->sites[i] = (crn_site){.block = CRN_SITE_NEW,
                                      .callee_offset = CRN_SITE_NEW_CALLEE,
                                      .name = names,
                                      .file = path};
    }
}

/* Makes a site for each function that has an entry sled. Returns false if there is none, or without
 * memory. Sites and their names stay when the object is unloaded. */
static bool make_sites(object *object, cairn_profile *profile)
{
    const crn_sleds *sleds = object->sleds;
    size_t most = (size_t)(sleds->last - sleds->first);
    object->functions = calloc(most, sizeof *object->functions);
    if (!object->functions)
        return false;
    for (const crn_sled *sled = sleds->first; sled < sleds->last; sled++)
        if (is_entry(sled))
            object->functions[object->count++] = address_of(sled);
    if (!object->count)
        return false;
    qsort(object->functions, object->count, sizeof *object->functions, compare);
    object->sites = calloc(object->count, sizeof *object->sites + NAME);
    if (!object->sites)
        return false;
    name_sites(object, profile, (char *)(object->sites + object->count));
    *sleds->sites = object->sites;
    return true;
}

/* ---- code --------------------------------------------------------------------------------- */

static uint8_t *put_number(uint8_t *code, uint32_t number)
{
    memcpy(code, &number, sizeof number);
    return code + sizeof number;
}

/* Writes a call or a jump. */
static void put_branch(uint8_t *code, uint8_t kind, void (*target)(void))
{
    *code++ = kind;
    put_number(code, (uint32_t)((uintptr_t)target - (uintptr_t)(code + 4)));
}

enum { CALL = 0xe8, JUMP = 0xe9, JUMP_SHORT = 0xeb };

/* Returns true if the jump behind a sled leads to a function with sleds. */
static bool leads_to_function(const object *object, const uint8_t *jump)
{
    int32_t far;
    memcpy(&far, jump + 1, sizeof far);
    if (*jump == JUMP)
        return find(object, (uintptr_t)(jump + 5) + (uintptr_t)(intptr_t)far);
    if (*jump == JUMP_SHORT)
        return find(object, (uintptr_t)(jump + 2) + (uintptr_t)(intptr_t)(int8_t)jump[1]);
    return false;
}

static void patch(const object *object, const crn_sled *sled)
{
    static const uint8_t nothing[] = {0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00};
    const crn_sleds *sleds = object->sleds;
    uint8_t *code = (uint8_t *)address_of(sled);
    if (!is_sled(sled))
        return;
    if (is_entry(sled)) {
        size_t number = (size_t)(find(object, (uintptr_t)code) - object->functions);
        *code++ = 0x41; /* 41 bb: movl $number, %r11d */
        *code++ = 0xbb;
        put_branch(put_number(code, (uint32_t)number), CALL, sleds->enter);
    } else if (sled->kind == CRN_SLED_EXIT) {
        put_branch(code, JUMP, sleds->leave);
    } else if (sled->kind == CRN_SLED_TAIL) {
        bool known = leads_to_function(object, code + SLED_SIZE);
        put_branch(code, CALL, known ? sleds->tail : sleds->leave_call);
        memcpy(code + 5, nothing, sizeof nothing);
    }
}

/* Sets the access rights (PROT_*) of the object's code. Returns false if the system refuses. */
static bool protect(const object *object, int rights)
{
    uintptr_t low = UINTPTR_MAX, high = 0;
    for (const crn_sled *sled = object->sleds->first; sled < object->sleds->last; sled++) {
        uintptr_t at = address_of(sled);
        low = at < low ? at : low;
        high = at > high ? at : high;
    }
    low &= ~(uintptr_t)(PAGE - 1);
    return mprotect((void *)low, high + SLED_SIZE - low, rights) == 0;
}

/* Registers a single site as an array of one, because cairn_priv_sites_add steps through arrays by
 * the size of packed sites. */
static void add_site(crn_site *site)
{
    crn_packed_site *any = (crn_packed_site *)site;
    cairn_priv_sites_add(any, any + 1);
}

void cairn_priv_sleds_patch(const crn_sleds *sleds)
{
    int saved = errno;
    cairn_profile *profile = cairn_process_profile();
    object object = {.sleds = sleds};
    if (profile && make_sites(&object, profile)) {
        if (protect(&object, PROT_READ | PROT_WRITE | PROT_EXEC)) {
            for (const crn_sled *sled = sleds->first; sled < sleds->last; sled++)
                patch(&object, sled);
            protect(&object, PROT_READ | PROT_EXEC);
            for (size_t i = 0; sleds->zero && i < object.count; i++)
                add_site(&object.sites[i]);
        } else {
            cairn_profile_note(profile, "sleds",
                               "the system does not allow changes of code: functions of a program "
                               "or library are not recorded");
        }
    }
    free(object.functions);
    errno = saved;
}
