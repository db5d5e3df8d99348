/* SPDX-License-Identifier: MIT
 *
 * sled.h - the interface between objects compiled by `cairn clang` and libcairn-clang.
 *
 * clang's -fxray-instrument leaves space at each entry and exit of a function, a *sled*, and lists
 * the sleds in a section. compiler-rt's XRay runtime is not used: it patches the main program only,
 * and its trampolines save all registers before they check whether there is anything to do.
 * Instead, begin.c is linked into each object and has the object's sleds patched when it is loaded
 * into a process with a profile. Patched sleds call the short code in begin.c, as calls reach only
 * 2 GiB; that code calls the functions below.
 *
 * Source: the layout of the section is LLVM 14's (docs/XRay.rst, version 2 of the map).
 */
#ifndef CRN_HOSTS_CLANG_SLED_H
#define CRN_HOSTS_CLANG_SLED_H

#include "../gcc/site.h"

/* An entry of the map. Addresses are relative to the field that they are in. */
typedef struct crn_sled {
    int64_t address, function;
    uint8_t kind;            /* CRN_SLED_ENTRY etc. */
    uint8_t always, version; /* always: the source asks for sleds in this function; not used */
    uint8_t spare[13];
} __attribute__((packed)) crn_sled;

enum { CRN_SLED_ENTRY = 0, CRN_SLED_EXIT = 1, CRN_SLED_TAIL = 2, CRN_SLED_ENTRY_ARGUMENTS = 3 };

/* The sleds of a program or shared object, as its begin.c describes them. */
typedef struct crn_sleds {
    const crn_sled *first, *last;
    crn_site **sites; /* by function number; used by begin.c's code once the object is patched */
    /* Targets of patched sleds: called at an entry with the function's number in %r11d; jumped to
     * in place of a return; called before a jump to code that is not profiled; called before a jump
     * to code that is. */
    void (*enter)(void), (*leave)(void), (*leave_call)(void), (*tail)(void);
    bool zero; /* functions that never ran are to be reported */
} crn_sleds;

/* Patches an object. Called by the thread that loads it, before any of its code runs. */
CAIRN_API void cairn_priv_sleds_patch(const crn_sleds *sleds);

/* Called when an object has been loaded that contains the address `inside`: forgets the functions
 * that --inlined found at its addresses before. */
CAIRN_API void cairn_priv_functions_forget(const void *inside);

/* Called by begin.c, with general registers only. `slot` is the address of the function's return
 * address, the same at its entry and at each exit. */
CAIRN_API void cairn_priv_sled_enter(crn_site *site, uintptr_t slot);

/* cairn_priv_sled_leave is called at a return, or before a jump to code that is not profiled;
 * cairn_priv_sled_tail before a jump to code that is. Both preserve all registers. */
#define CRN_KEEPS __attribute__((no_caller_saved_registers))
CAIRN_API void cairn_priv_sled_leave(uintptr_t slot) CRN_KEEPS;
CAIRN_API void cairn_priv_sled_tail(uintptr_t slot) CRN_KEEPS;

#endif
