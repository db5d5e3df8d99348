/* SPDX-License-Identifier: MIT
 *
 * sled.h - what a program or shared object compiled by `cairn clang` and libcairn-clang agree on.
 *
 * clang's -fxray-instrument leaves room at each entry and exit of a function, a *sled*, and lists
 * sleds in a section of their own. compiler-rt's part of XRay is not used: it patches the program
 * alone, and what it jumps to saves all registers before it asks whether there is anything to do.
 * Here each object is linked with begin.c, which has its sleds patched when it is loaded into a
 * process with a profile: what is patched in calls begin.c's own few instructions, as a call
 * reaches no further than 2 GiB, and those call what is below.
 *
 * Source: the layout of the section is LLVM 14's (docs/XRay.rst, version 2 of the map).
 */
#ifndef CRN_HOSTS_CLANG_SLED_H
#define CRN_HOSTS_CLANG_SLED_H

#include "../gcc/site.h"

/* An entry of the map. Addresses are counted from the field that they stand in. */
typedef struct crn_sled {
    int64_t address, function;
    uint8_t kind; /* CRN_SLED_ENTRY and so on */
    uint8_t always, version;
    uint8_t spare[13];
} __attribute__((packed)) crn_sled;

enum { CRN_SLED_ENTRY = 0, CRN_SLED_EXIT = 1, CRN_SLED_TAIL = 2, CRN_SLED_ENTRY_ARGUMENTS = 3 };

/* What begin.c says of its object. */
typedef struct crn_sleds {
    const crn_sled *first, *last;
    crn_site **sites; /* where begin.c's instructions look: by function, once it is patched */
    /* What is called at an entry, with the function's number in %r11d; jumped to in place of a
     * return; and called before a jump to what is not profiled, or to what is. */
    void (*enter)(void), (*leave)(void), (*leave_call)(void), (*tail)(void);
    bool zero; /* functions that never ran are to be known */
} crn_sleds;

/* Patches an object. Thread: the one that loads it, before anything runs there. */
CAIRN_API void cairn_priv_sleds_patch(const crn_sleds *sleds);

/* An object was just loaded that has something there. Functions that --inlined knows in its place
 * are gone. */
CAIRN_API void cairn_priv_functions_forget(const void *inside);

/* What begin.c calls, with no registers but general ones. `slot` is where on the machine's stack
 * the function's return address is, which is the same at its entry and at each exit. */
CAIRN_API void cairn_priv_sled_enter(crn_site *site, uintptr_t slot);

/* At a return, and before a jump to what is not profiled, and to what is: all registers are kept.
 */
#define CRN_KEEPS __attribute__((no_caller_saved_registers))
CAIRN_API void cairn_priv_sled_leave(uintptr_t slot) CRN_KEEPS;
CAIRN_API void cairn_priv_sled_tail(uintptr_t slot) CRN_KEEPS;

#endif
