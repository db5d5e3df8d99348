/* SPDX-License-Identifier: MIT
 *
 * test_unwind.c - steps of stacks of another process, cached rules and made indexes against parsed
 * tables, and damaged tables and stacks. bench/unwind compares whole stacks with libdw's.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "support/cases.h"
#include "support/random.h"
#include "unwind/unwind.h"

enum { ADDRESSES = 20000, WORDS = 512, FRAMES = 64 };

/* ---- one step ---- */

enum { AT = 0x7000000 /* where the copied stacks were */ };

static crn_unwind_memory stack_copy(const uintptr_t *stack, size_t size)
{
    return (crn_unwind_memory){.low = AT, .high = AT + size, .shift = (uintptr_t)stack - AT};
}

/* A function that has popped the caller's frame pointer and returns next. The copy of its stack
 * begins at the stack pointer. */
static void an_epilogue_has_popped_the_frame_pointer(void **state)
{
    (void)state;
    uintptr_t stack[] = {0x401000, 0, 0}, slot, saved_at;
    crn_unwind_memory memory = stack_copy(stack, sizeof stack);
    crn_unwind_frame frame = {.pc = 0x402000, .stack = AT, .frame = 0x7777, .interrupted = true};
    crn_unwind_rule rule = {
        .kind = CRN_UNWIND_STACK, .offset = 8, .saved = CRN_UNWIND_AT_CFA, .saved_offset = -16};
    assert_true(crn_unwind_step(&rule, &memory, &frame, &slot, &saved_at));
    assert_int_equal(frame.pc, 0x401000);
    assert_int_equal(frame.stack, AT + 8);
    assert_int_equal(frame.frame, 0x7777);
    assert_int_equal(saved_at, 0);
}

/* One instruction earlier it is still on the stack. */
static void before_that_it_is_on_the_stack(void **state)
{
    (void)state;
    uintptr_t stack[] = {0x8888, 0x401000, 0}, slot, saved_at;
    crn_unwind_memory memory = stack_copy(stack, sizeof stack);
    crn_unwind_frame frame = {.pc = 0x402000, .stack = AT, .frame = 0x7777, .interrupted = true};
    crn_unwind_rule rule = {
        .kind = CRN_UNWIND_STACK, .offset = 16, .saved = CRN_UNWIND_AT_CFA, .saved_offset = -16};
    assert_true(crn_unwind_step(&rule, &memory, &frame, &slot, &saved_at));
    assert_int_equal(frame.frame, 0x8888);
    assert_int_equal(saved_at, AT);
}

/* Assembler code keeps its caller's stack pointer in a word of its frame. */
static void the_callers_stack_pointer_is_stored(void **state)
{
    (void)state;
    uintptr_t stack[] = {1, 0x7000018, 2, 0x401000, 0}, slot, saved_at;
    crn_unwind_memory memory = stack_copy(stack, sizeof stack);
    crn_unwind_frame frame = {.pc = 0x402000, .stack = AT, .interrupted = true};
    crn_unwind_rule rule = {.kind = CRN_UNWIND_STACK_STORED, .offset = 8};
    assert_true(crn_unwind_step(&rule, &memory, &frame, &slot, &saved_at));
    assert_int_equal(frame.pc, 0x401000);
    assert_int_equal(frame.stack, AT + 0x20);
}

/* ---- frames by other registers ---- */

#if defined(__x86_64__)
/* Call the function that they are given. One finds its frame by rbx, as the loader does, the other
 * by rax, which its callee must keep, as OpenSSL's code does. */
void by_rbx(void (*function)(void));
void by_rax(void (*function)(void));
__asm__(".text\n"
        ".globl by_rbx\n"
        "by_rbx:\n.cfi_startproc\n"
        "push %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset rbx, -16\n"
        "mov %rsp, %rbx\n.cfi_def_cfa_register rbx\n"
        "and $-64, %rsp\n"
        "call *%rdi\n"
        "mov %rbx, %rsp\n.cfi_def_cfa_register rsp\n"
        "pop %rbx\n.cfi_def_cfa_offset 8\n.cfi_restore rbx\n"
        "ret\n.cfi_endproc\n"
        ".globl by_rax\n"
        "by_rax:\n.cfi_startproc\n"
        "mov %rsp, %rax\n.cfi_def_cfa_register rax\n"
        "sub $192, %rsp\n"
        "and $-64, %rsp\n"
        "mov %rax, (%rsp)\n"
        "int3\n" /* the handler walks */
        "mov (%rsp), %rsp\n.cfi_def_cfa_register rsp\n"
        "ret\n.cfi_endproc\n"
        ".section .note.GNU-stack,\"\",@progbits\n.text\n");

static uint64_t walked[FRAMES];
static size_t walked_count;
static bool walk_complete;
static void *traced[FRAMES]; /* by libgcc */
static int traced_count;

__attribute__((noinline)) static void walk(const ucontext_t *context)
{
    uintptr_t registers[CRN_UNWIND_REGISTERS];
    crn_unwind_frame frame = crn_unwind_interrupted(context, registers);
    crn_unwind_memory memory = {0};
    crn_unwind_stack_of_thread(&memory.low, &memory.high);
    crn_unwind_walk walk = {.memory = &memory,
                            .registers = registers,
                            .addresses = walked,
                            .most = FRAMES,
                            .mask = FRAMES - 1};
    walked_count = crn_unwind_stack(&walk, frame);
    walk_complete = walk.complete;
}

__attribute__((noinline)) static void walk_here(void)
{
    ucontext_t context;
    assert_int_equal(getcontext(&context), 0);
    walk(&context);
    traced_count = backtrace(traced, FRAMES);
}

static void walk_interrupted(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    walk(context);
    traced_count = backtrace(traced, FRAMES);
}

/* Both end with the same frames; `differ` inner ones may be of the two walks themselves. */
static void assert_same_callers(size_t differ)
{
    assert_true(walk_complete);
    assert_true(walked_count > differ + 2);
    assert_true((size_t)traced_count >= walked_count);
    for (size_t i = 1; i <= walked_count - differ; i++)
        assert_int_equal(walked[walked_count - i], (uintptr_t)traced[traced_count - i] - 1);
}

static void a_frame_is_found_by_another_register(void **state)
{
    (void)state;
    void *warm[1];
    backtrace(warm, 1); /* loads libgcc */
    by_rbx(walk_here);
    assert_same_callers(1);
    struct sigaction action = {.sa_sigaction = walk_interrupted, .sa_flags = SA_SIGINFO}, before;
    assert_int_equal(sigaction(SIGTRAP, &action, &before), 0);
    by_rax(NULL);
    assert_int_equal(sigaction(SIGTRAP, &before, NULL), 0);
    assert_same_callers(1);
}

/* ---- a register that is carried along ---- */

typedef struct carried {
    crn_unwind_frame first;
    size_t steps, known;
} carried;

/* Each frame is one of the "loop": its register is compared with that of a walk from the first. */
static size_t compare_register(crn_unwind_walk *walk, void *data, size_t count)
{
    carried *all = data;
    uintptr_t value;
    bool known = crn_unwind_find_register(walk, all->first, all->steps++,
                                          (unsigned)crn_unwind_carried, &value);
    assert_int_equal(walk->is_carried, known);
    if (known)
        assert_int_equal(walk->carried, value);
    all->known += known;
    return count;
}

static void walk_carrying(const ucontext_t *context)
{
    uintptr_t registers[CRN_UNWIND_REGISTERS];
    crn_unwind_memory memory = {0};
    crn_unwind_stack_of_thread(&memory.low, &memory.high);
    carried all = {.first = crn_unwind_interrupted(context, registers)};
    const crn_unwind_loop everywhere = {
        .size = UINTPTR_MAX, .before = compare_register, .data = &all};
    crn_unwind_walk walk = {.memory = &memory,
                            .registers = registers,
                            .loops = &everywhere,
                            .loop_count = 1,
                            .addresses = walked,
                            .most = FRAMES,
                            .mask = FRAMES - 1};
    walked_count = crn_unwind_stack(&walk, all.first);
    assert_int_equal(all.steps, walked_count);
    assert_int_equal(all.known, walked_count);
    for (size_t i = 0; i < walked_count; i++) { /* the next walk has the rule from the cache */
        crn_unwind_code code;
        crn_unwind_look((uintptr_t)walked[i], &code);
    }
}

__attribute__((noinline)) static void walk_carrying_here(void)
{
    ucontext_t context;
    assert_int_equal(getcontext(&context), 0);
    walk_carrying(&context);
}

/* Uses all registers that calls keep. */
__attribute__((noinline)) static long carry_through(int depth, const long *values)
{
    long a = values[0], b = values[1], c = values[2], d = values[3], e = values[4], f = values[5];
    long below = 0;
    for (int i = 0; i < 2 && depth > 0; i++)
        below += carry_through(depth - 1 - i, (long[]){b, c, d, e, f, a + i});
    if (depth <= 0)
        walk_carrying_here();
    return below + a * b + c * d + e * f;
}

static int carry_in_callback(const void *one, const void *other)
{
    carry_through(3, (long[]){*(const char *)one, *(const char *)other, 3, 4, 5, 6});
    return *(const char *)one - *(const char *)other;
}

static void a_carried_register_is_that_of_each_frame(void **state)
{
    (void)state;
    static const int kept[] = {3, 6, 12, 13, 14, 15};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        char text[] = "carried";
        crn_unwind_carried = kept[i];
        crn_unwind_forget(); /* rules that are cached do not know this register */
        qsort(text, sizeof text - 1, 1, carry_in_callback);
    }
    crn_unwind_carried = -1;
    crn_unwind_forget();
}
#else
static void a_frame_is_found_by_another_register(void **state)
{
    (void)state;
    skip();
}

static void a_carried_register_is_that_of_each_frame(void **state)
{
    (void)state;
    skip();
}
#endif

/* ---- rules ---- */

/* The module of the C library, which has all kinds of code. */
static bool library(crn_unwind_module *module)
{
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD); /* a sanitizer has a qsort, too */
    return libc && crn_unwind_module_find((uintptr_t)dlsym(libc, "qsort"), module) && module->index;
}

static void assert_same_rule(uintptr_t address, crn_unwind_rule one, crn_unwind_rule other)
{
    if (memcmp(&one, &other, sizeof one) != 0)
        fail_msg("the rules of %p differ: kind %d and %d, offset %d and %d", (void *)address,
                 one.kind, other.kind, one.offset, other.offset);
}

static void cached_rules_are_the_parsed_ones(void **state)
{
    (void)state;
    crn_unwind_module module;
    random_source random = {1};
    if (!library(&module))
        skip();
    uint32_t size = (uint32_t)(module.end - module.start), known = 0;
    for (int i = 0; i < ADDRESSES; i++) {
        uintptr_t address = module.start + random_below(&random, size);
        crn_unwind_code first, again = {0};
        crn_unwind_look(address, &first);
        assert_true(crn_unwind_recall(address, &again));
        assert_same_rule(address, first.rule, crn_unwind_rule_find(address));
        assert_same_rule(address, first.rule, again.rule);
        known += first.rule.kind != CRN_UNWIND_NOTHING;
    }
    assert_true(known > ADDRESSES / 4);
    crn_unwind_forget();
    crn_unwind_code code;
    assert_false(crn_unwind_recall(module.start, &code));
}

typedef struct copying {
    const crn_unwind_module *module;
    char *to;
} copying;

static int copy_module(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    const copying *copying = data;
    if (info->dlpi_addr != copying->module->bias || !*info->dlpi_name)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD && header->p_flags & PF_R)
            memcpy(copying->to + (from - copying->module->start), (void *)from, header->p_memsz);
    }
    return 1;
}

/* Copies the C library to pages that nothing readable follows, with `room` bytes behind it. */
static crn_unwind_module copy_of(const crn_unwind_module *module, size_t room)
{
    size_t size = module->end - module->start;
    size_t whole = (size + room + CRN_UNWIND_PAGE - 1) & -(size_t)CRN_UNWIND_PAGE;
    char *pages = mmap(NULL, whole + CRN_UNWIND_PAGE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(mprotect(pages + whole, CRN_UNWIND_PAGE, PROT_NONE), 0);
    copying copying = {module, pages};
    assert_int_equal(dl_iterate_phdr(copy_module, &copying), 1);
    return (crn_unwind_module){.start = (uintptr_t)pages,
                               .end = (uintptr_t)pages + size,
                               .bias = (uintptr_t)pages + (module->bias - module->start),
                               .name = "copy",
                               .index = (uintptr_t)pages + (module->index - module->start)};
}

/* Begin of .eh_frame, by the index's second word. */
static uintptr_t frames_of(const crn_unwind_module *module)
{
    int32_t distance;
    memcpy(&distance, (const char *)module->index + 4, sizeof distance);
    return module->index + 4 + (uintptr_t)(intptr_t)distance;
}

static void a_made_index_finds_the_same_rules(void **state)
{
    (void)state;
    crn_unwind_module module;
    random_source random = {2};
    if (!library(&module))
        skip();
    uintptr_t begin = frames_of(&module), end = crn_unwind_segment_end(&module, begin);
    size_t size = crn_unwind_index_size(&module, begin, end);
    crn_unwind_module copy = copy_of(&module, size);
    uintptr_t shift = copy.start - module.start;
    memset((char *)copy.index, 0, 8); /* of the linker's index */
    crn_unwind_index_make(&copy, begin + shift, end + shift, (void *)copy.end);
    copy.index = copy.end;
    copy.index_end = copy.end + size;
    assert_true(crn_unwind_module_add(&copy));
    for (int i = 0; i < ADDRESSES; i++) {
        uintptr_t offset = random_below(&random, (uint32_t)(module.end - module.start));
        assert_same_rule(module.start + offset, crn_unwind_rule_find(module.start + offset),
                         crn_unwind_rule_find(copy.start + offset));
    }
}

/* Nothing outside of the copy is read: its next page cannot be. */
static void damaged_tables_are_survived(void **state)
{
    (void)state;
    crn_unwind_module module;
    random_source random = {3};
    if (!library(&module))
        skip();
    crn_unwind_module copy = copy_of(&module, 0);
    assert_true(crn_unwind_module_add(&copy));
    uintptr_t from = copy.index, to = crn_unwind_segment_end(&copy, from);
    assert_true(to > from);
    for (int i = 0; i < ADDRESSES; i++) {
        uintptr_t at = from + random_below(&random, (uint32_t)(to - from));
        *(uint8_t *)at = (uint8_t)random_next(&random);
        if (i % 64 == 0) /* counts and sizes of the index's head */
            *(uint8_t *)(from + random_below(&random, 12)) = (uint8_t)random_next(&random);
        for (int j = 0; j < 4; j++)
            crn_unwind_rule_find(copy.start +
                                 random_below(&random, (uint32_t)(copy.end - copy.start)));
    }
}

/* ---- stacks ---- */

static uintptr_t word_of(random_source *random, const crn_unwind_module *module, uintptr_t low)
{
    switch (random_below(random, 4)) {
    case 0:
        return random_next(random);
    case 1:
        return low + random_below(random, WORDS + 16) * sizeof(uintptr_t);
    case 2:
        return 0;
    default:
        return module->start + random_below(random, (uint32_t)(module->end - module->start));
    }
}

/* Returns the page of a file whose only segment is at 8 and has that size, and adds it. */
static crn_unwind_module file_of(uint64_t size, uint64_t place_of_headers)
{
    char *page =
        mmap(NULL, CRN_UNWIND_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    ElfW(Ehdr) *file = (ElfW(Ehdr) *)(void *)page;
    *file =
        (ElfW(Ehdr)){.e_phoff = place_of_headers, .e_phnum = 1, .e_phentsize = sizeof(ElfW(Phdr))};
    memcpy(file->e_ident, ELFMAG, SELFMAG);
    *(ElfW(Phdr) *)(void *)(page + sizeof *file) =
        (ElfW(Phdr)){.p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = 8, .p_memsz = size};
    crn_unwind_module module = {.start = (uintptr_t)page,
                                .end = (uintptr_t)page + CRN_UNWIND_PAGE,
                                .bias = (uintptr_t)page,
                                .name = "file"};
    assert_true(crn_unwind_module_add(&module));
    return module;
}

/* A copy of a file whose headers lie: a segment ends beyond the copy, or before it begins; the
 * headers are before the file. */
static void a_segment_ends_in_the_copy(void **state)
{
    (void)state;
    const uint64_t usual = sizeof(ElfW(Ehdr));
    crn_unwind_module honest = file_of(100, usual), large = file_of((uint64_t)1 << 40, usual),
                      wraps = file_of(UINT64_MAX - 7, usual),
                      before = file_of(100, UINT64_MAX - sizeof(ElfW(Phdr)) + 1);
    assert_int_equal(crn_unwind_segment_end(&honest, honest.start + 16), honest.start + 108);
    assert_int_equal(crn_unwind_segment_end(&large, large.start + 16), large.end);
    assert_int_equal(crn_unwind_segment_end(&wraps, wraps.start + 16), 0);
    assert_int_equal(crn_unwind_segment_end(&before, before.start + 16), 0);
}

/* Address 0 marks free slots of the cache. */
static void address_zero_takes_no_space(void **state)
{
    (void)state;
    crn_unwind_code code;
    crn_unwind_look((uintptr_t)address_zero_takes_no_space, &code);
    uint64_t before = crn_unwind_known->count;
    for (int i = 0; i < 100; i++) {
        code.rule.kind = CRN_UNWIND_FRAME;
        crn_unwind_look(0, &code);
        assert_int_equal(code.rule.kind, CRN_UNWIND_NOTHING);
        crn_unwind_tag(0, 7);
        assert_false(crn_unwind_recall(0, &code));
    }
    assert_int_equal(crn_unwind_known->count, before);
}

/* A word that is no return address is not taken for a frame: interpreters' words are above. */
static void no_address_is_above_those_of_programs(void **state)
{
    (void)state;
    static const uintptr_t words[] = {1, UINTPTR_MAX, (uintptr_t)1 << 63,
                                      (uintptr_t)1 << 62 | 4096};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        uint64_t addresses[FRAMES];
        uintptr_t stack[] = {0, words[i], 0, 0};
        crn_unwind_memory memory = {.low = (uintptr_t)stack, .high = (uintptr_t)(stack + 4)};
        crn_unwind_walk walk = {
            .memory = &memory, .addresses = addresses, .most = FRAMES, .mask = UINT64_MAX};
        crn_unwind_frame frame = {.pc = 4096, /* code without tables */
                                  .stack = (uintptr_t)stack,
                                  .frame = (uintptr_t)stack,
                                  .interrupted = true};
        assert_int_equal(crn_unwind_stack(&walk, frame), 1);
        assert_int_equal(addresses[0], 4096);
        assert_false(walk.complete);
    }
}

static void any_stack_ends(void **state)
{
    (void)state;
    crn_unwind_module module;
    random_source random = {4};
    uintptr_t stack[WORDS];
    uint64_t addresses[FRAMES];
    int deeper = 0;
    const uintptr_t low = 0x7f0000000000;
    if (!library(&module))
        skip();
    crn_unwind_memory memory = {
        .low = low, .high = low + sizeof stack, .shift = (uintptr_t)stack - low};
    for (int i = 0; i < ADDRESSES / 10; i++) {
        for (int w = 0; w < WORDS; w++)
            stack[w] = word_of(&random, &module, low);
        crn_unwind_walk walk = {.memory = &memory,
                                .find_frame = i % 2,
                                .addresses = addresses,
                                .most = FRAMES,
                                .mask = FRAMES - 1};
        crn_unwind_frame frame = {.pc = word_of(&random, &module, low),
                                  .stack = low + random_below(&random, WORDS) * sizeof *stack,
                                  .frame = word_of(&random, &module, low),
                                  .interrupted = i % 3 == 0};
        size_t count = crn_unwind_stack(&walk, frame);
        assert_true(count <= FRAMES);
        deeper += count > 1;
    }
    assert_true(deeper > ADDRESSES / 1000); /* some have callers */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_epilogue_has_popped_the_frame_pointer),
        cmocka_unit_test(before_that_it_is_on_the_stack),
        cmocka_unit_test(the_callers_stack_pointer_is_stored),
        cmocka_unit_test(a_frame_is_found_by_another_register),
        cmocka_unit_test(a_carried_register_is_that_of_each_frame),
        cmocka_unit_test(cached_rules_are_the_parsed_ones),
        cmocka_unit_test(a_made_index_finds_the_same_rules),
        cmocka_unit_test(damaged_tables_are_survived),
        cmocka_unit_test(a_segment_ends_in_the_copy),
        cmocka_unit_test(address_zero_takes_no_space),
        cmocka_unit_test(no_address_is_above_those_of_programs),
        cmocka_unit_test(any_stack_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
