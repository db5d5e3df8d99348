/* SPDX-License-Identifier: MIT
 *
 * Charges samples to contexts. As with libcairn-alloc, a block's name is an address in a file until
 * the capture is read.
 */
#include <stdio.h>
#include <string.h>

#include "module.h"
#include "timed.h"

static cairn_block nothing;

/* Adds the block of a return address, or of an interrupted address plus 1. */
static cairn_block add(cairn_profile *profile, uintptr_t back)
{
    crn_unwind_module module;
    char name[2 + 16 + 1];
    cairn_block_info info = {.name = name, .file = ""};
    if (crn_unwind_module_find(back - 1, &module) && (!*module.name || strchr(module.name, '/'))) {
        info.file = crn_module_path(profile, &module);
        back -= module.bias;
    }
    snprintf(name, sizeof name, "0x%lx", (unsigned long)back);
    return cairn_block_add(profile, &info);
}

static cairn_block block_of(cairn_profile *profile, uintptr_t back)
{
    crn_unwind_code code = {.tag = 0};
    if (crn_unwind_recall(back - 1, &code) && code.tag)
        return code.tag;
    crn_unwind_look(back - 1, &code); /* also caches it for the next walk */
    code.tag = add(profile, back);
    if (code.tag)
        crn_unwind_tag(back - 1, code.tag);
    return code.tag;
}

static cairn_block block_of_nothing(cairn_profile *profile)
{
    if (!nothing)
        nothing = cairn_block_add(profile, &(cairn_block_info){.name = "[callers not known yet]"});
    return nothing;
}

static uint64_t word(const crn_timed *timed, uint64_t at)
{
    return timed->words[at % CRN_TIME_WORDS];
}

/* Charges the sample that begins at word `at`. Returns the sample's number of words. */
static uint64_t charge(cairn_profile *profile, const crn_timed *timed, uint64_t at, uint64_t period)
{
    cairn_block path[CRN_TIME_DEEPEST + 1];
    uint64_t head = word(timed, at);
    size_t count = head & 0xffff, length = 0;
    uint64_t periods = (head & ~CRN_TIME_CUT) >> 16;
    if (head & CRN_TIME_CUT)
        path[length++] = block_of_nothing(profile);
    for (size_t i = count; i-- > 0;)
        path[length++] = block_of(profile, word(timed, at + 1 + i));
    cairn_sample(timed->strand, path, length, CAIRN_METRIC_CPU, periods * period);
    return count + 1;
}

bool crn_time_charge(cairn_profile *profile, crn_timed *timed, uint64_t period)
{
    uint64_t written = __atomic_load_n(&timed->written, __ATOMIC_ACQUIRE);
    uint64_t at = timed->read;
    bool any = at < written;
    if (at < written && !timed->strand)
        timed->strand = cairn_strand_open(cairn_lane_open(profile, timed->name));
    while (at < written)
        at += charge(profile, timed, at, period);
    __atomic_store_n(&timed->read, at, __ATOMIC_RELEASE);
    return any;
}
