/* SPDX-License-Identifier: MIT
 *
 * What programs of encoding.cc are linked with: the number, the stack of pushes, and the table of
 * counts. The table is the file ENCODING_OUT, if that is set, and survives the process; paths.py
 * reads it. One thread, and a fixed size: the program ends if the table or the
 * numbers do not suffice.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#if !defined(STRIDE) || !defined(BITS)
#error "encoding.py gives the distance between numbers that begin at a push, and the table's size"
#endif
#define ENTRIES (1UL << BITS)

typedef struct {
    uint64_t key, value; /* key 0: unused */
} entry;

static uint64_t stack[1 << 20]; /* pushes: number and site */

__attribute__((visibility("hidden"))) __thread uint64_t crn_encoding_id;
__attribute__((visibility("hidden"))) __thread uint64_t *crn_encoding_top = stack;
__attribute__((visibility("hidden"))) __thread entry *crn_encoding_table;

static uint64_t bases, used;

__attribute__((constructor(101))) static void begin(void)
{
    const char *path = getenv("ENCODING_OUT");
    int file = path ? open(path, O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
    if (file >= 0 && ftruncate(file, ENTRIES * sizeof(entry)))
        abort();
    crn_encoding_table = mmap(NULL, ENTRIES * sizeof(entry), PROT_READ | PROT_WRITE,
                              file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, file, 0);
    if (crn_encoding_table == MAP_FAILED)
        abort();
}

/* Returns the key's entry, at its home: what was there takes its place. Entries between a key's
 * home and its entry are in use, and stay so. */
static entry *find(uint64_t key, entry *home, int is_push)
{
    entry *table = crn_encoding_table, *last = table + ENTRIES, *each = home;
    while (each->key && each->key != key)
        each = each + 1 == last ? table : each + 1;
    entry found = *each;
    if (!found.key) {
        found = (entry){key, is_push ? ++bases * STRIDE : 0};
        if (++used > ENTRIES / 4 * 3 || bases > UINT64_MAX / STRIDE - 1) {
            (void)!write(2, "too many contexts\n", 18);
            abort();
        }
    }
    *each = *home;
    *home = found;
    return home;
}

/* Called by inlined code with all registers in use. */
#define STUB(name, is_push)                                                                        \
    __attribute__((used)) static void name##_inner(uint64_t *pushed)                               \
    {                                                                                              \
        find(pushed[1], (entry *)pushed[0], is_push);                                              \
    }                                                                                              \
    __asm__(".text\n.hidden " #name "\n.globl " #name "\n" #name ":\n"                             \
            "pushq %rax\npushq %rcx\npushq %rdx\npushq %rsi\npushq %rdi\npushq %r8\n"              \
            "pushq %r9\npushq %r10\npushq %r11\npushq %rbp\n"                                      \
            "leaq 88(%rsp), %rdi\nmovq %rsp, %rbp\nandq $-16, %rsp\n"                              \
            "call " #name "_inner\n"                                                               \
            "movq %rbp, %rsp\npopq %rbp\n"                                                         \
            "popq %r11\npopq %r10\npopq %r9\npopq %r8\npopq %rdi\npopq %rsi\npopq %rdx\n"          \
            "popq %rcx\npopq %rax\nret\n")

STUB(crn_encoding_count, 0);
STUB(crn_encoding_push, 1);
