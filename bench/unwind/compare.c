/* SPDX-License-Identifier: MIT
 *
 * Walks a copied stack with Cairn's unwinder and with libdw's, and counts by cause what is not
 * equal.
 */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stacks.h"

enum { CAUSES_SHOWN = 8 };

/* ---- libdw ---- */

static pid_t next_thread(Dwfl *dwfl, void *data, void **thread_data)
{
    (void)dwfl;
    comparison *all = data;
    if (*thread_data)
        return 0;
    *thread_data = all;
    return all->stack->thread;
}

static bool get_thread(Dwfl *dwfl, pid_t thread, void *data, void **thread_data)
{
    (void)dwfl;
    comparison *all = data;
    *thread_data = all;
    return thread == all->stack->thread;
}

static bool set_registers(Dwfl_Thread *thread, void *data)
{
    const comparison *all = data;
    return dwfl_thread_state_registers(thread, 0, REGISTER_COUNT, all->stack->registers);
}

/* Only the copy: the program has gone on, and its memory is that of a later moment. */
static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *word, void *data)
{
    (void)dwfl;
    const comparison *all = data;
    const copied_stack *stack = all->stack;
    uint64_t low = stack->registers[RSP] - stack->below, size = stack->below + stack->size;
    if (address < low || size < sizeof *word || address - low > size - sizeof *word)
        return false;
    memcpy(word, stack->bytes - stack->below + (address - low), sizeof *word);
    return true;
}

static int take_frame(Dwfl_Frame *frame, void *data)
{
    comparison *all = data;
    frames *reference = &all->reference;
    Dwarf_Addr pc;
    bool interrupted;
    if (!dwfl_frame_pc(frame, &pc, &interrupted) || pc == 0 || reference->count == FRAMES_MOST)
        return DWARF_CB_ABORT;
    reference->addresses[reference->count++] = pc - !interrupted;
    return DWARF_CB_OK;
}

static int no_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                         const char *file, const char *link, GElf_Word sum, char **found)
{
    (void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)sum;
    (void)found;
    return -1;
}

static const Dwfl_Callbacks files = {.find_elf = dwfl_linux_proc_find_elf,
                                     .find_debuginfo = no_debug_file};
static const Dwfl_Thread_Callbacks thread_callbacks = {.next_thread = next_thread,
                                                       .get_thread = get_thread,
                                                       .memory_read = read_memory,
                                                       .set_initial_registers = set_registers};

/* Reads what the process has mapped, for both. False if it has no mappings any more: it has ended,
 * and its last samples are read late. */
static bool read_mappings(comparison *all)
{
    crn_space_clear(all->space);
    crn_space_read(all->space);
    if (all->dwfl)
        dwfl_end(all->dwfl);
    all->dwfl = all->space->count ? dwfl_begin(&files) : NULL;
    if (all->dwfl && dwfl_linux_proc_report(all->dwfl, all->process) == 0 &&
        dwfl_report_end(all->dwfl, NULL, NULL) == 0 &&
        dwfl_attach_state(all->dwfl, NULL, all->process, &thread_callbacks, all))
        all->is_stale = false;
    return !all->is_stale;
}

/* ---- the two walks ---- */

static void walk_ours(comparison *all)
{
    const copied_stack *stack = all->stack;
    uint64_t low = stack->registers[RSP];
    crn_unwind_memory memory = {
        .low = low, .high = low + stack->size, .shift = (uintptr_t)stack->bytes - low};
    crn_unwind_walk walk = {.memory = &memory,
                            .registers = stack->registers,
                            .local = crn_space_local,
                            .data = all->space,
                            .entry = all->space->entry,
                            .addresses = all->ours.addresses,
                            .most = FRAMES_MOST,
                            .mask = UINT64_MAX};
    crn_unwind_frame frame = {.pc = stack->registers[RIP],
                              .stack = low,
                              .frame = stack->registers[RBP],
                              .interrupted = true};
    uint64_t began = crn_outside_now();
    all->ours.count = crn_unwind_stack(&walk, frame);
    all->ours_ns += crn_outside_now() - began;
    all->complete = walk.complete;
}

static void walk_reference(comparison *all)
{
    uint64_t began = crn_outside_now();
    all->reference.count = 0;
    dwfl_getthread_frames(all->dwfl, all->stack->thread, take_frame, all);
    all->reference_ns += crn_outside_now() - began;
}

/* ---- causes ---- */

static void name_of(const comparison *all, uint64_t address, char text[96])
{
    Dwfl_Module *module = dwfl_addrmodule(all->dwfl, address);
    if (!module) {
        snprintf(text, 96, "code in no file");
        return;
    }
    Dwarf_Addr base;
    const char *file = dwfl_module_info(module, NULL, &base, NULL, NULL, NULL, NULL, NULL);
    const char *symbol = dwfl_module_addrname(module, address), *slash = strrchr(file, '/');
    char offset[24];
    snprintf(offset, sizeof offset, "0x%lx", (unsigned long)(address - base));
    snprintf(text, 96, "%.40s in %.40s", symbol ? symbol : offset, slash ? slash + 1 : file);
}

static void count_cause(comparison *all, const char *kind, size_t common)
{
    char place[96], text[160];
    name_of(all, all->reference.addresses[common ? common - 1 : 0], place);
    snprintf(text, sizeof text, "%s after frame %zu, %s", kind, common, place);
    size_t i = 0;
    while (i < all->cause_count && strcmp(all->causes[i].text, text) != 0)
        i++;
    if (i == CAUSES_MOST)
        return;
    if (i == all->cause_count)
        memcpy(all->causes[all->cause_count++].text, text, sizeof text);
    all->causes[i].count++;
}

/* libdw ends in epilogues if the copy has nothing below the stack pointer: there it reads registers
 * that were popped. Cairn's stack counts as longer if it goes on to the thread's start. */
static void count_stack(comparison *all)
{
    const frames *ours = &all->ours, *reference = &all->reference;
    size_t common = 0;
    while (common < ours->count && common < reference->count &&
           ours->addresses[common] == reference->addresses[common])
        common++;
    all->compared++;
    all->frame_count += ours->count;
    all->incomplete += !all->complete;
    if (common == ours->count && common == reference->count) {
        all->equal++;
    } else if (common == reference->count && all->complete) {
        all->longer++;
        count_cause(all, "libdw ends", common);
    } else if (common == ours->count) {
        all->shorter++;
        count_cause(all, "Cairn ends", common);
    } else {
        all->different++;
        count_cause(all, "differs", common);
    }
}

void compare_stack(comparison *all, const copied_stack *stack)
{
    all->stack = stack;
    if (all->is_stale && !read_mappings(all)) {
        all->left_out++;
        return;
    }
    walk_ours(all);
    walk_reference(all);
    count_stack(all);
}

/* ---- the result ---- */

static int by_count(const void *one, const void *other)
{
    const cause *a = one, *b = other;
    return a->count < b->count ? 1 : -(a->count > b->count);
}

void show_comparison(comparison *all)
{
    double stacks = all->compared ? (double)all->compared : 1;
    printf("%lu stacks, %.1f frames: equal %.3f %%, libdw ends %.3f %%, Cairn ends %.3f %%, "
           "different %.3f %%; not to the thread's start %.3f %%; %.2f µs each, libdw %.1f µs\n",
           all->compared, (double)all->frame_count / stacks, 100 * (double)all->equal / stacks,
           100 * (double)all->longer / stacks, 100 * (double)all->shorter / stacks,
           100 * (double)all->different / stacks, 100 * (double)all->incomplete / stacks,
           (double)all->ours_ns / stacks / 1000, (double)all->reference_ns / stacks / 1000);
    if (all->left_out)
        printf("  %7lu  left out, as the process was ending\n", all->left_out);
    qsort(all->causes, all->cause_count, sizeof *all->causes, by_count);
    for (size_t i = 0; i < all->cause_count && i < CAUSES_SHOWN; i++)
        printf("  %7lu  %s\n", all->causes[i].count, all->causes[i].text);
}
