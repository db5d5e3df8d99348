/* SPDX-License-Identifier: MIT
 *
 * Enter, Leave and tail as functions of the object file itself: what emit.cc calls where they are
 * not inlined. Each is in a section of its own, of which the linker keeps one in each program or
 * library. They are cairn_enter and cairn_leave of hot.h, but for who gave its frame back.
 *
 * Their convention is their own, so that who calls them loses next to no register. Nothing is
 * pushed, so a debugger or an unwinder sees the caller through them at each instruction. What is
 * unusual is done by stub_x86_64.S.
 */
#include "plugin.h"
#include "stub.h"

#include "output.h"

/* The version is in the names: objects of two versions of Cairn may be linked together. */
/* clang-format off */

/* %rax: the strand; %r11: the site. Gives the height in %rax; %r9 and %r10 are lost, too. A record's
 * slot is read at once: a signal handler may change it. Where it has another block, the way is
 * looked up, as crn_graph_recall does. A frame that was given back by a tail call keeps what
 * is saved: by cmov, as no branch could be foretold. */
#define ENTER(name, slot)                                                                          \
    BEGIN(name)                                                                                    \
    "\tmovq " CRN_AT_TOP "(%rax), %r9\n"                                                           \
    "\tcmpq " CRN_AT_HIGH "(%rax), %r9\n"                                                          \
    "\tjae 2f\n"                                                                                   \
    "\tmovq " CRN_AT_LANE "(%rax), %r9\n"                                                          \
    "\tmovq " CRN_AT_CURRENT "(%rax), %r10\n"                                                      \
    "\tmovq (%r9), %r9\n"                                                                          \
    "\tmovq " slot "(%r9,%r10,8), %r10\n"                                                          \
    "\tcmpl (%r11), %r10d\n"                                                                       \
    "\tjne 3f\n"                                                                                   \
    "\tmovq " CRN_AT_CURRENT "(%rax), %r11\n"                                                      \
    "\tshrq $32, %r10\n"                                                                           \
    "1:\taddq $1, (%r9,%r10,8)\n"                                                                  \
    "\tmovq " CRN_AT_TOP "(%rax), %r9\n"                                                           \
    "\ttestq %r11, %r11\n"                                                                         \
    "\tcmovsl (%r9), %r11d\n"                                                                      \
    "\tmovl %r11d, (%r9)\n"                                                                        \
    "\taddq $4, %r9\n"                                                                             \
    "\tmovq %r9, " CRN_AT_TOP "(%rax)\n"                                                           \
    "\tmovq %r10, " CRN_AT_CURRENT "(%rax)\n"                                                      \
    "\tsubq " CRN_AT_BOTTOM "(%rax), %r9\n"                                                        \
    "\tmovq %r9, %rax\n"                                                                           \
    "\tret\n"                                                                                      \
    "3:\tpushq %rcx\n"                                                                             \
    "\t.cfi_adjust_cfa_offset 8\n"                                                                 \
    "\tmovl " CRN_AT_CURRENT "(%rax), %r10d\n"                                                     \
    "\tmovl %r10d, %ecx\n"                                                                         \
    "\tshrl $2, %ecx\n"                                                                            \
    "\tmovq " CRN_AT_LANE "(%rax), %r9\n"                                                          \
    "\taddl 4(%r11), %ecx\n"                                                                       \
    "\tandq " CRN_AT_WAY_MASK "(%r9), %rcx\n"                                                      \
    "\tshlq $4, %rcx\n"                                                                            \
    "\taddq " CRN_AT_WAYS "(%r9), %rcx\n"                                                          \
    "\tcmpl %r10d, (%rcx)\n"                                                                       \
    "\tjne 4f\n"                                                                                   \
    "\tmovl (%r11), %r10d\n"                                                                       \
    "\tcmpl %r10d, 4(%rcx)\n"                                                                      \
    "\tjne 4f\n"                                                                                   \
    "\tmovq 8(%rcx), %rcx\n"                                                                       \
    "\tmovq (%r9), %r9\n"                                                                          \
    "\tmovq %rcx, %r10\n"                                                                          \
    "\tmovq " CRN_AT_CURRENT "(%rax), %r11\n"                                                      \
    "\tshrq $32, %r10\n"                                                                           \
    "\tmovq %rcx, " slot "(%r9,%r11,8)\n"                                                          \
    "\tpopq %rcx\n"                                                                                \
    "\t.cfi_adjust_cfa_offset -8\n"                                                                \
    "\tjmp 1b\n"                                                                                   \
    "4:\t.cfi_adjust_cfa_offset 8\n"                                                               \
    "\tpopq %rcx\n"                                                                                \
    "\t.cfi_adjust_cfa_offset -8\n"                                                                \
    "2:\tmovq %r11, %rax\n"                                                                        \
    "\tjmp *cairn_priv_site_enter_slowly@GOTPCREL(%rip)\n"                                         \
    END(name)

#define STRAND                                                                                     \
    "\tmovq cairn_priv_thread_strand@gottpoff(%rip), %r11\n"                                       \
    "\tmovq %fs:(%r11), %r11\n"                                                                    \
    "\ttestq %r11, %r11\n"                                                                         \
    "\tje 1f\n"

#define SLOW(site)                                                                                 \
    "2:\txchgq %rax, %rcx\n"                                                                       \
    "\tcall *" site "@GOTPCREL(%rip)\n"                                                            \
    "\txchgq %rax, %rcx\n"                                                                         \
    "\tret\n"

/* %rcx: the height; it, %r10 and %r11 are lost. */
#define LEAVE(name)                                                                                \
    BEGIN(name)                                                                                    \
    STRAND                                                                                         \
    "\tmovq " CRN_AT_BOTTOM "(%r11), %r10\n"                                                       \
    "\tleaq -4(%r10,%rcx), %r10\n"                                                                 \
    "\tcmpq " CRN_AT_LOW "(%r11), %r10\n"                                                          \
    "\tjbe 2f\n"                                                                                   \
    "\tcmpq " CRN_AT_TOP "(%r11), %r10\n"                                                          \
    "\tjae 2f\n"                                                                                   \
    "\tmovl (%r10), %ecx\n"                                                                        \
    "\tmovq %r10, " CRN_AT_TOP "(%r11)\n"                                                          \
    "\tmovq %rcx, " CRN_AT_CURRENT "(%r11)\n"                                                      \
    "1:\tret\n"                                                                                    \
    SLOW("cairn_priv_site_leave")                                                                  \
    END(name)

/* As Leave. The frame must be the top one; what runs stays current, marked as replaced. */
#define TAIL(name)                                                                                 \
    BEGIN(name)                                                                                    \
    STRAND                                                                                         \
    "\tmovq " CRN_AT_BOTTOM "(%r11), %r10\n"                                                       \
    "\taddq %rcx, %r10\n"                                                                          \
    "\tcmpq " CRN_AT_TOP "(%r11), %r10\n"                                                          \
    "\tjne 2f\n"                                                                                   \
    "\tmovq " CRN_AT_CURRENT "(%r11), %rcx\n"                                                      \
    "\tsubq $4, %r10\n"                                                                            \
    "\tbtsq $63, %rcx\n"                                                                           \
    "\tmovq %r10, " CRN_AT_TOP "(%r11)\n"                                                          \
    "\tmovq %rcx, " CRN_AT_CURRENT "(%r11)\n"                                                      \
    "1:\tret\n"                                                                                    \
    SLOW("cairn_priv_site_tail")                                                                   \
    END(name)

static const char text[] =
    ENTER(CRN_STUB_ENTER "16", "16")
    ENTER(CRN_STUB_ENTER "24", "24")
    LEAVE(CRN_STUB_LEAVE)
    TAIL(CRN_STUB_TAIL)
    "\t.text\n";
/* clang-format on */

static bool used;

void crn_stubs_use(void)
{
    used = true;
}

static void write(void *event, void *data)
{
    (void)event;
    (void)data;
    if (used && asm_out_file)
        fputs(text, asm_out_file);
    used = false;
}

void crn_stubs_begin(const char *plugin)
{
    register_callback(plugin, PLUGIN_FINISH_UNIT, write, NULL);
}
