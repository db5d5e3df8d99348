/* SPDX-License-Identifier: MIT
 *
 * The stubs: enter, leave and tail call as functions in the object file, called by the statements
 * of emit.cc. Each is in a section of its own, of which the linker keeps one in each program or
 * library. They do what cairn_enter and cairn_leave (hot.h) do, and handle tail calls.
 *
 * They have a calling convention of their own, so that callers lose hardly any registers. Nothing
 * is pushed, so debuggers and unwinders see the caller at each instruction. stub_x86_64.S has the
 * slow paths.
 */
#include "stub.h"
#include "plugin.h"

#include "output.h"

/* The names of the stubs contain a version, because objects compiled by different versions of Cairn
 * may be linked together. */
/* clang-format off */

/* %rax: the strand; %r11: the site. Pushes the frame, and a guard above it, which the height does
 * not include. Returns the height in %rax; clobbers %r8 to %r11. Stores the new height of the stack
 * first, because a signal handler may push at its end, and the current context last, because the
 * handler preserves it. After a tail call the caller is at the end of the stack; it is selected by
 * cmov, because a branch would be unpredictable. The inline cache misses if something is pending.
 * `load`: code that loads the strand first, and goes to 2 without one; "" if callers load it. */
#define ENTER(name, load)                                                                          \
    BEGIN(name)                                                                                    \
    load                                                                                           \
    "\tmovq " CRN_AT_TOP "(%rax), %r10\n"                                                          \
    "\tcmpq " CRN_AT_HIGH "(%rax), %r10\n"                                                         \
    "\tjae 2f\n"                                                                                   \
    "\t" CRN_TEXT(CRN_CACHE_LOOK_UP(CRN_STRAND_CURRENT(%rax), CRN_SITE_INLINE_CACHE(%r11), %rax, %r8d, %r8, %r9d, %r9)) "\n" \
    "\tcmpl " CRN_AT_CURRENT "(%rax), %r8d\n"                                                      \
    "\tjne 2f\n"                                                                                   \
    "\tmovq " CRN_AT_CURRENT "(%rax), %r11\n"                                                      \
    "\tmovq " CRN_AT_BASE "(%rax), %r9\n"                                                          \
    "\tshrq $32, %r8\n"                                                                            \
    "\taddq $1, (%r9,%r8,8)\n"                                                                     \
    "\ttestq %r11, %r11\n"                                                                         \
    "\tcmovsl (%r10), %r11d\n"                                                                     \
    "\taddq $8, %r10\n"                                                                            \
    "\tmovq %r10, " CRN_AT_TOP "(%rax)\n"                                                          \
    "\tmovl %r11d, -8(%r10)\n"                                                                     \
    "\tmovl %r8d, -4(%r10)\n"                                                                      \
    "\tmovq %r8, " CRN_AT_CURRENT "(%rax)\n"                                                       \
    "\tsubq " CRN_AT_BOTTOM "(%rax), %r10\n"                                                       \
    "\tleaq -4(%r10), %rax\n"                                                                      \
    "\tret\n"                                                                                      \
    "2:\tmovq %r11, %rax\n"                                                                        \
    "\tjmp *cairn_priv_site_2_enter_guarded@GOTPCREL(%rip)\n"                                        \
    END(name)

/* %rax: the site. Returns the caller with the graph's tag in %rax; clobbers %r9 to %r11. After a
 * tail call the caller is at the end of the stack. Without a strand goes to `none`: 1 returns 0; 2
 * takes the slow path, which may give the thread its strand. */
#define ENTER_SAVED_CALLER(name, none)                                                             \
    BEGIN(name)                                                                                    \
    "\tmovq cairn_priv_thread_strand@gottpoff(%rip), %r11\n"                                       \
    "\tmovq %fs:(%r11), %r11\n"                                                                    \
    "\ttestq %r11, %r11\n"                                                                         \
    "\tje " none "f\n"                                                                             \
    "\t" CRN_TEXT(CRN_CACHE_LOOK_UP(CRN_STRAND_CURRENT(%r11), CRN_SITE_INLINE_CACHE(%rax), %r11, %r10d, %r10, %r9d, %r9)) "\n" \
    "\tmovq " CRN_AT_CURRENT "(%r11), %r9\n"                                                       \
    "\tcmpl %r9d, %r10d\n"                                                                         \
    "\tjne 2f\n"                                                                                   \
    "\tshrq $32, %r10\n"                                                                           \
    "\tmovq " CRN_AT_BASE "(%r11), %rax\n"                                                         \
    "\taddq $1, (%rax,%r10,8)\n"                                                                   \
    "\ttestq %r9, %r9\n"                                                                           \
    "\tjs 5f\n"                                                                                    \
    "6:\tmovq %r10, " CRN_AT_CURRENT "(%r11)\n"                                                    \
    "\tmovq " CRN_AT_GRAPH_TAG "(%r11), %rax\n"                                                    \
    "\taddq %r9, %rax\n"                                                                           \
    "\tret\n"                                                                                      \
    "1:\txorl %eax, %eax\n"                                                                        \
    "\tret\n"                                                                                      \
    "5:\tmovq " CRN_AT_TOP "(%r11), %r9\n"                                                         \
    "\tmovl (%r9), %r9d\n"                                                                         \
    "\tjmp 6b\n"                                                                                   \
    "2:\tjmp *cairn_priv_site_2_enter_saved_caller@GOTPCREL(%rip)\n"                                 \
    END(name)

static const char enter[] = ENTER(CRN_STUB_ENTER, "");
static const char enter_saved_caller[] = ENTER_SAVED_CALLER(CRN_STUB_ENTER_SAVED_CALLER, "1");
static const char standby_stubs[] =
    ENTER(CRN_STUB_ENTER_STANDBY,
    "\tmovq cairn_priv_thread_strand@gottpoff(%rip), %rax\n"
    "\tmovq %fs:(%rax), %rax\n"
    "\ttestq %rax, %rax\n"
    "\tje 2f\n")
    ENTER_SAVED_CALLER(CRN_STUB_ENTER_SAVED_CALLER_STANDBY, "2")
    BEGIN(CRN_STUB_ENTER_SITE_BEHIND)
    "\tmovq (%rsp), %rax\n"
    "\tmovslq 1(%rax), %r10\n"
    "\tleaq 5(%rax,%r10), %rax\n"
    "\tjmp " CRN_STUB_ENTER_SAVED_CALLER_STANDBY "\n"
    END(CRN_STUB_ENTER_SITE_BEHIND);

/* Loads the strand into %r11. Goes to 1 without a strand. */
#define STRAND_IN_R11                                                                              \
    "\tmovq cairn_priv_thread_strand@gottpoff(%rip), %r11\n"                                       \
    "\tmovq %fs:(%r11), %r11\n"                                                                    \
    "\ttestq %r11, %r11\n"                                                                         \
    "\tje 1f\n"

/* The slow path, at label 2: calls `site` with the argument in %rcx. Clobbers %rcx. */
#define SLOW(site)                                                                                 \
    "2:\txchgq %rax, %rcx\n"                                                                       \
    "\tcall *" site "@GOTPCREL(%rip)\n"                                                            \
    "\txchgq %rax, %rcx\n"                                                                         \
    "\tret\n"

/* Pops the frame with the height in %rcx, and all frames above it. Takes the slow path if that
 * frame is not on the stack or something is pending. Clobbers %rcx, %r10 and %r11. */
#define LEAVE(name)                                                                                \
    BEGIN(name)                                                                                    \
    STRAND_IN_R11                                                                                  \
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

/* Like LEAVE; also clobbers %r9. Takes the slow path unless the frame is the top one, below its
 * guard. The frame's context stays current, with the flag CRN_REPLACED. A signal handler that runs
 * between the stores pushes the current context at the end of the stack: that is the caller, which
 * is stored there anyway. */
#define TAIL(name)                                                                                 \
    BEGIN(name)                                                                                    \
    STRAND_IN_R11                                                                                  \
    "\tmovq " CRN_AT_BOTTOM "(%r11), %r10\n"                                                       \
    "\tleaq 4(%r10,%rcx), %r10\n"                                                               \
    "\tcmpq " CRN_AT_TOP "(%r11), %r10\n"                                                          \
    "\tjne 2f\n"                                                                                   \
    "\tmovq " CRN_AT_CURRENT "(%r11), %rcx\n"                                                      \
    "\tsubq $8, %r10\n"                                                                           \
    "\tmovl (%r10), %r9d\n"                                                                        \
    "\tmovq %r9, " CRN_AT_CURRENT "(%r11)\n"                                                       \
    "\tmovq %r10, " CRN_AT_TOP "(%r11)\n"                                                          \
    "\tbtsq $63, %rcx\n"                                                                           \
    "\tmovq %rcx, " CRN_AT_CURRENT "(%r11)\n"                                                      \
    "1:\tret\n"                                                                                    \
    SLOW("cairn_priv_site_tail")                                                                   \
    END(name)

/* %rcx: the saved caller with its tag. Loads the strand into %r11 and the caller's node offset into
 * %r10; clobbers %r9. Goes to 1 without a strand. Goes to 2 if the tag is not the one that leave
 * expects: the caller is of another graph, or something is pending. */
#define TAKE_SAVED_CALLER                                                                                  \
    STRAND_IN_R11                                                                                  \
    "\tmovl %ecx, %r10d\n"                                                                         \
    "\tmovq %rcx, %r9\n"                                                                           \
    "\tsubq " CRN_AT_LEAVE_TAG "(%r11), %r9\n"                                                       \
    "\tcmpq %r10, %r9\n"                                                                           \
    "\tjne 2f\n"

/* Makes the caller current. %rcx: the saved caller with its tag; clobbers %rcx and %r9 to %r11. */
#define LEAVE_SAVED_CALLER(name)                                                                           \
    BEGIN(name)                                                                                    \
    TAKE_SAVED_CALLER                                                                                      \
    "\tmovq %r10, " CRN_AT_CURRENT "(%r11)\n"                                                      \
    "1:\tret\n"                                                                                    \
    SLOW("cairn_priv_site_leave_saved_caller")                                                             \
    END(name)

/* Stores the caller at the end of the stack. The current context stays current, with the flag
 * CRN_REPLACED; as in TAIL, the caller is current between the stores. %rcx: the saved caller with
 * its tag; clobbers %rcx and %r9 to %r11. */
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
    TAIL(CRN_STUB_TAIL)
    LEAVE_SAVED_CALLER(CRN_STUB_LEAVE_SAVED_CALLER)
    TAIL_SAVED_CALLER(CRN_STUB_TAIL_SAVED_CALLER)
    "\t.text\n";

/* The switch of --standby, the constructor that sets it when the program or library is loaded, and
 * the destructor that forgets it. */
#define CALL_WITH_SWITCH(name, called)                                                             \
    BEGIN(name)                                                                                    \
    "\tleaq " CRN_SWITCH "(%rip), %rdi\n"                                                          \
    "\tjmp *" called "@GOTPCREL(%rip)\n"                                                           \
    END(name)
static const char switch_[] =
    "\t.section .data." CRN_SWITCH ",\"awG\",@progbits," CRN_SWITCH ",comdat\n"
    "\t.weak " CRN_SWITCH "\n"
    "\t.hidden " CRN_SWITCH "\n"
    "\t.type " CRN_SWITCH ", @object\n"
    "\t.size " CRN_SWITCH ", 4\n"
    "\t.p2align 2\n"
    CRN_SWITCH ":\n"
    "\t.long 0\n"
    "\t.section .init_array.00099,\"awG\",%init_array," CRN_SWITCH ",comdat\n"
    "\t.p2align 3\n"
    "\t.quad " CRN_SWITCH "_begin\n"
    "\t.section .fini_array.00099,\"awG\",%fini_array," CRN_SWITCH ",comdat\n"
    "\t.p2align 3\n"
    "\t.quad " CRN_SWITCH "_end\n"
    CALL_WITH_SWITCH(CRN_SWITCH "_begin", "cairn_priv_standby_begin")
    CALL_WITH_SWITCH(CRN_SWITCH "_end", "cairn_priv_standby_end")
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
        fprintf(asm_out_file, "%s%s%s%s%s", enter, text, crn_chosen.lean ? enter_saved_caller : "",
                crn_chosen.standby ? standby_stubs : "", crn_chosen.standby ? switch_ : "");
    if (used && asm_out_file && crn_chosen.lean)
        crn_lean_write_stubs();
    used = false;
}

void crn_stubs_begin(const char *plugin)
{
    register_callback(plugin, PLUGIN_FINISH_UNIT, write, NULL);
}
