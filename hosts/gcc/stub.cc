/* SPDX-License-Identifier: MIT
 *
 * The stubs: enter, leave and tail call as functions in the object file, called by the code of
 * emit.cc where it is not inlined. Each is in a section of its own, of which the linker keeps one
 * in each program or library. They do what cairn_enter and cairn_leave (hot.h) do, and handle tail
 * calls.
 *
 * They have a calling convention of their own, so that callers lose hardly any registers. Nothing
 * is pushed, so debuggers and unwinders see the caller at each instruction. stub_x86_64.S has the
 * slow paths.
 */
#include "stub.h"
#include "plugin.h"

#include "output.h"

/* The names contain a version, because objects compiled by different versions of Cairn may be
 * linked together. */
/* clang-format off */

/* %r8: the edge found. Leaves the node offset there, and the caller in %r11; clobbers %r9. */
#define COUNT_BLOCK                                                                                \
    "\tmovq " CRN_AT_CURRENT "(%rax), %r11\n"                                                      \
    "\tmovq " CRN_AT_BASE "(%rax), %r9\n"                                                          \
    "\tshrq $32, %r8\n"                                                                            \
    "\taddq $1, (%r9,%r8,8)\n"
#define SLOWLY(site)                                                                               \
    "2:\tmovq %r11, %rax\n"                                                                        \
    "\tjmp *" site "@GOTPCREL(%rip)\n"

/* %rax: the strand; %r11: the site. Returns the height in %rax; clobbers %r8 to %r10. */
static const char enter[] =
    BEGIN(CRN_STUB_ENTER)
    FIND_SPACE("%r10")
    FIND_BLOCK("2f")
    COUNT_BLOCK
    PUSH_BLOCK("%r10")
    "\tmovq %r10, %rax\n"
    "\tret\n"
    SLOWLY("cairn_priv_site_enter_frame")
    END(CRN_STUB_ENTER);

/* The same with a guard above the frame. */
static const char enter_guarded[] =
    BEGIN(CRN_STUB_ENTER_GUARDED)
    FIND_SPACE("%r10")
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

/* %rcx: the height; clobbers it, %r10 and %r11. */
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

/* Like leave; also clobbers %r9. The frame must be the top one, `size` bytes on the stack; its
 * context stays current, flagged as replaced. A signal handler may push at the end of the stack
 * meanwhile: that is the caller, which is stored there anyway. */
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

/* %rcx: the result of enter; clobbers %r9 to %r11. Leaves the node offset in %r10. Goes to 2 if the
 * upper half is not the strand's tag for leave: the caller is of another graph, or something is
 * pending. */
#define TAKE_SAVED_CALLER                                                                                  \
    STRAND                                                                                         \
    "\tmovl %ecx, %r10d\n"                                                                         \
    "\tmovq %rcx, %r9\n"                                                                           \
    "\tsubq " CRN_AT_LEAVING "(%r11), %r9\n"                                                       \
    "\tcmpq %r10, %r9\n"                                                                           \
    "\tjne 2f\n"
#define LEAVE_SAVED_CALLER(name)                                                                           \
    BEGIN(name)                                                                                    \
    TAKE_SAVED_CALLER                                                                                      \
    "\tmovq %r10, " CRN_AT_CURRENT "(%r11)\n"                                                      \
    "1:\tret\n"                                                                                    \
    SLOW("cairn_priv_site_leave_saved_caller")                                                             \
    END(name)

/* The caller is stored at the end of the stack. */
#define TAIL_SAVED_CALLER(name)                                                                            \
    BEGIN(name)                                                                                    \
    TAKE_SAVED_CALLER                                                                                      \
    "\tmovq " CRN_AT_CURRENT "(%r11), %r9\n"                                                       \
    "\tmovq " CRN_AT_TOP "(%r11), %rcx\n"                                                          \
    "\tmovq %r10, " CRN_AT_CURRENT "(%r11)\n"                                                      \
    "\tmovl %r10d, (%rcx)\n"                                                                       \
    "\tbtsq $63, %r9\n"                                                                            \
    "\tmovq %r9, " CRN_AT_CURRENT "(%r11)\n"                                                       \
    "1:\tret\n"                                                                                    \
    SLOW("cairn_priv_site_tail_saved_caller")                                                              \
    END(name)

static const char text[] =
    LEAVE(CRN_STUB_LEAVE)
    TAIL(CRN_STUB_TAIL, "0", "4")
    TAIL(CRN_STUB_TAIL_GUARDED, "4", "8")
    LEAVE_SAVED_CALLER(CRN_STUB_LEAVE_SAVED_CALLER)
    TAIL_SAVED_CALLER(CRN_STUB_TAIL_SAVED_CALLER)
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
