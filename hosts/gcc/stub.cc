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
#include "stub.h"
#include "plugin.h"

#include "output.h"

/* The version is in the names: objects of two versions of Cairn may be linked together. */
/* clang-format off */

/* %r8: what was found. Leaves the unit there, and what ran in %r11; %r9 is lost. */
#define COUNT_BLOCK                                                                                \
    "\tmovq " CRN_AT_CURRENT "(%rax), %r11\n"                                                      \
    "\tmovq " CRN_AT_BASE "(%rax), %r9\n"                                                          \
    "\tshrq $32, %r8\n"                                                                            \
    "\taddq $1, (%r9,%r8,8)\n"
#define SLOWLY(site)                                                                               \
    "2:\tmovq %r11, %rax\n"                                                                        \
    "\tjmp *" site "@GOTPCREL(%rip)\n"

/* %rax: the strand; %r11: the site. Gives the height in %rax; %r8 to %r10 are lost, too. */
static const char enter[] =
    BEGIN(CRN_STUB_ENTER)
    FIND_ROOM("%r10")
    FIND_BLOCK("2f")
    COUNT_BLOCK
    PUSH_BLOCK("%r10")
    "\tmovq %r10, %rax\n"
    "\tret\n"
    SLOWLY("cairn_priv_site_enter_frame")
    END(CRN_STUB_ENTER);

/* The same; above the frame lies what it runs. */
static const char enter_guarded[] =
    BEGIN(CRN_STUB_ENTER_GUARDED)
    FIND_ROOM("%r10")
    FIND_BLOCK("2f")
    COUNT_BLOCK
    PUSH_GUARDED("%r10")
    "\tleaq -4(%r10), %rax\n"
    "\tret\n"
    SLOWLY("cairn_priv_site_enter_guarded")
    END(CRN_STUB_ENTER_GUARDED);

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

/* As Leave, but %r9 is lost, too. The frame must be the top one; what runs stays current, marked as
 * replaced. It has so many bytes on the stack. What a signal handler pushes meanwhile is who called,
 * which lies there in any case. */
#define TAIL(name, above, size)                                                                    \
    BEGIN(name)                                                                                    \
    STRAND                                                                                         \
    "\tmovq " CRN_AT_BOTTOM "(%r11), %r10\n"                                                       \
    "\tleaq " above "(%r10,%rcx), %r10\n"                                                          \
    "\tcmpq " CRN_AT_TOP "(%r11), %r10\n"                                                          \
    "\tjne 2f\n"                                                                                   \
    "\tmovq " CRN_AT_CURRENT "(%r11), %rcx\n"                                                      \
    "\tsubq $" size ", %r10\n"                                                                     \
    "\tmovl (%r10), %r9d\n"                                                                        \
    "\tmovq %r9, " CRN_AT_CURRENT "(%r11)\n"                                                       \
    "\tmovq %r10, " CRN_AT_TOP "(%r11)\n"                                                          \
    "\tbtsq $63, %rcx\n"                                                                           \
    "\tmovq %rcx, " CRN_AT_CURRENT "(%r11)\n"                                                      \
    "1:\tret\n"                                                                                    \
    SLOW("cairn_priv_site_tail")                                                                   \
    END(name)

/* %rcx: what Enter gave; %r9 to %r11 are lost. The unit is left in %r10. Goes to 2 if what is above it is
 * not the word for leaving: it has another mark, or something is due. */
#define TAKE_KEPT                                                                                  \
    STRAND                                                                                         \
    "\tmovl %ecx, %r10d\n"                                                                         \
    "\tmovq %rcx, %r9\n"                                                                           \
    "\tsubq " CRN_AT_LEAVING "(%r11), %r9\n"                                                       \
    "\tcmpq %r10, %r9\n"                                                                           \
    "\tjne 2f\n"
#define LEAVE_KEPT(name)                                                                           \
    BEGIN(name)                                                                                    \
    TAKE_KEPT                                                                                      \
    "\tmovq %r10, " CRN_AT_CURRENT "(%r11)\n"                                                      \
    "1:\tret\n"                                                                                    \
    SLOW("cairn_priv_site_leave_kept")                                                             \
    END(name)

/* Who called lies where the stack ends. */
#define TAIL_KEPT(name)                                                                            \
    BEGIN(name)                                                                                    \
    TAKE_KEPT                                                                                      \
    "\tmovq " CRN_AT_CURRENT "(%r11), %r9\n"                                                       \
    "\tmovq " CRN_AT_TOP "(%r11), %rcx\n"                                                          \
    "\tmovq %r10, " CRN_AT_CURRENT "(%r11)\n"                                                      \
    "\tmovl %r10d, (%rcx)\n"                                                                       \
    "\tbtsq $63, %r9\n"                                                                            \
    "\tmovq %r9, " CRN_AT_CURRENT "(%r11)\n"                                                       \
    "1:\tret\n"                                                                                    \
    SLOW("cairn_priv_site_tail_kept")                                                              \
    END(name)

static const char text[] =
    LEAVE(CRN_STUB_LEAVE)
    TAIL(CRN_STUB_TAIL, "0", "4")
    TAIL(CRN_STUB_TAIL_GUARDED, "4", "8")
    LEAVE_KEPT(CRN_STUB_LEAVE_KEPT)
    TAIL_KEPT(CRN_STUB_TAIL_KEPT)
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
        fprintf(asm_out_file, "%s%s%s", enter, enter_guarded, text);
    used = false;
}

void crn_stubs_begin(const char *plugin)
{
    register_callback(plugin, PLUGIN_FINISH_UNIT, write, NULL);
}
