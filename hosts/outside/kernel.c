/* SPDX-License-Identifier: MIT
 *
 * Makes a block for each address in the kernel's code. The report looks its name up in
 * /proc/kallsyms, unless the system was started again since.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "sampler.h"

typedef struct code {
    uint64_t address; /* 0: free */
    cairn_block block;
} code;

static code *codes;
static size_t count, slots;

static code *slot_of(uint64_t address)
{
    size_t at = crn_unwind_hash(address) & (slots - 1);
    while (codes[at].address && codes[at].address != address)
        at = (at + 1) & (slots - 1);
    return &codes[at];
}

static void grow(void)
{
    code *old = codes;
    size_t before = slots;
    slots = before ? before * 2 : 1024;
    codes = crn_calloc(slots, sizeof *codes);
    for (size_t i = 0; i < before; i++)
        if (old[i].address)
            *slot_of(old[i].address) = old[i];
    crn_free(old);
}

/* Notes the system's boot id, in place of a build id of the kernel. */
static void note_system(cairn_profile *profile)
{
    char boot[64] = "";
    int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? 0 : read(file, boot, sizeof boot - 1);
    if (file >= 0)
        close(file);
    boot[size > 0 ? size : 0] = '\0';
    boot[strcspn(boot, "\n")] = '\0';
    cairn_profile_note(profile, "module /proc/kallsyms", boot);
}

cairn_block crn_kernel_block(cairn_profile *profile, uint64_t address, bool interrupted)
{
    char name[32];
    address += interrupted; /* as if it were a return address */
    if (!count)
        note_system(profile);
    if (count >= slots / 2)
        grow();
    code *found = slot_of(address);
    if (!found->address) {
        snprintf(name, sizeof name, "0x%lx", (unsigned long)address);
        cairn_block_info info = {.name = name, .file = "/proc/kallsyms"};
        *found = (code){address, cairn_block_add(profile, &info)};
        count++;
    }
    return found->block;
}
