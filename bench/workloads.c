/* SPDX-License-Identifier: MIT
 *
 * workloads.c - see workloads.h.
 */
#include "workloads.h"

cairn_strand *workload_strand;
cairn_stack *workload_stack;

#define APART __attribute__((noinline))
/* A compiler barrier: keeps the code before and after it apart. */
#define KEEP() __asm__ volatile("")

#define PLAIN_BEGIN(block) KEEP()
#define PLAIN_END() KEEP()
#define CALLS_BEGIN(block) cairn_enter(workload_strand, block)
#define CALLS_END() cairn_leave(workload_strand)
#define TICKS_BEGIN(block) cairn_enter(workload_strand, block)
#define TICKS_END() (cairn_tick(workload_strand, 1), cairn_leave(workload_strand))
#define STACK_BEGIN(block) cairn_stack_enter(workload_stack, block)
#define STACK_END() cairn_stack_leave(workload_stack)
#define MARKS_BEGIN(block) cairn_mark mark = cairn_stack_enter(workload_stack, block)
#define MARKS_END() cairn_stack_unwind(workload_stack, mark)
#define STACK_TICKS_BEGIN(block) MARKS_BEGIN(block)
#define STACK_TICKS_END() (cairn_stack_tick(workload_stack, 1), MARKS_END())

#define EACH_VERSION(DO) DO(PLAIN) DO(CALLS) DO(TICKS) DO(STACK) DO(MARKS) DO(STACK_TICKS)
/* A table of all versions of a function. */
#define TABLE_OF(NAME)                                                                             \
    {                                                                                              \
        NAME##_PLAIN, NAME##_CALLS, NAME##_TICKS, NAME##_STACK, NAME##_MARKS, NAME##_STACK_TICKS   \
    }

enum { BLOCK_LEAF = 1, BLOCK_FIB, BLOCK_SORT, BLOCK_COMPARE, BLOCK_TREE = 10, BLOCK_FAN = 80 };

/* ---- a leaf in a loop: instrumented inside, and around the call ---- */

enum { LEAF_CALLS = 100000 };

#define LEAF(NAME)                                                                                 \
    APART static void leaf_##NAME(void)                                                            \
    {                                                                                              \
        NAME##_BEGIN(BLOCK_LEAF);                                                                  \
        KEEP();                                                                                    \
        NAME##_END();                                                                              \
    }                                                                                              \
    static void leaf_inside_##NAME(void)                                                           \
    {                                                                                              \
        for (int i = 0; i < LEAF_CALLS; i++)                                                       \
            leaf_##NAME();                                                                         \
    }                                                                                              \
    static void leaf_around_##NAME(void)                                                           \
    {                                                                                              \
        for (int i = 0; i < LEAF_CALLS; i++) {                                                     \
            NAME##_BEGIN(BLOCK_LEAF);                                                              \
            leaf_PLAIN();                                                                          \
            NAME##_END();                                                                          \
        }                                                                                          \
    }
EACH_VERSION(LEAF)

static void run_leaf_inside(version kind, uint32_t turn)
{
    static void (*const versions[VERSIONS])(void) = TABLE_OF(leaf_inside);
    (void)turn;
    versions[kind]();
}

static void run_leaf_around(version kind, uint32_t turn)
{
    static void (*const versions[VERSIONS])(void) = TABLE_OF(leaf_around);
    (void)turn;
    versions[kind]();
}

static uint64_t calls_leaf(uint32_t turn)
{
    (void)turn;
    return LEAF_CALLS;
}

/* ---- eight leaves in turn ---- */

enum { FAN_ROUNDS = 10000 };

#define FAN_LEAF(NAME, NUMBER)                                                                     \
    APART static void fan_##NAME##NUMBER(void)                                                     \
    {                                                                                              \
        NAME##_BEGIN(BLOCK_FAN + NUMBER);                                                          \
        KEEP();                                                                                    \
        NAME##_END();                                                                              \
    }
#define FAN(NAME)                                                                                  \
    FAN_LEAF(NAME, 0)                                                                              \
    FAN_LEAF(NAME, 1)                                                                              \
    FAN_LEAF(NAME, 2)                                                                              \
    FAN_LEAF(NAME, 3)                                                                              \
    FAN_LEAF(NAME, 4)                                                                              \
    FAN_LEAF(NAME, 5)                                                                              \
    FAN_LEAF(NAME, 6)                                                                              \
    FAN_LEAF(NAME, 7)                                                                              \
    static void fan_##NAME(void)                                                                   \
    {                                                                                              \
        for (int i = 0; i < FAN_ROUNDS; i++) {                                                     \
            fan_##NAME##0();                                                                       \
            fan_##NAME##1();                                                                       \
            fan_##NAME##2();                                                                       \
            fan_##NAME##3();                                                                       \
            fan_##NAME##4();                                                                       \
            fan_##NAME##5();                                                                       \
            fan_##NAME##6();                                                                       \
            fan_##NAME##7();                                                                       \
        }                                                                                          \
    }
EACH_VERSION(FAN)

static void run_fan(version kind, uint32_t turn)
{
    static void (*const versions[VERSIONS])(void) = TABLE_OF(fan);
    (void)turn;
    versions[kind]();
}

static uint64_t calls_fan(uint32_t turn)
{
    (void)turn;
    return FAN_ROUNDS * (uint64_t)8;
}

/* ---- double recursion ---- */

enum { FIB_N = 22, FIB_CALLS = 57313 };

#define FIB(NAME)                                                                                  \
    APART static int fib_##NAME(int n)                                                             \
    {                                                                                              \
        int result = n;                                                                            \
        NAME##_BEGIN(BLOCK_FIB);                                                                   \
        if (n >= 2)                                                                                \
            result = fib_##NAME(n - 1) + fib_##NAME(n - 2);                                        \
        NAME##_END();                                                                              \
        return result;                                                                             \
    }
EACH_VERSION(FIB)

static void run_fib(version kind, uint32_t turn)
{
    static int (*const versions[VERSIONS])(int) = TABLE_OF(fib);
    (void)turn;
    int result = versions[kind](FIB_N);
    __asm__ volatile("" ::"r"(result));
}

static uint64_t calls_fib(uint32_t turn)
{
    (void)turn;
    return FIB_CALLS;
}

/* ---- a sort that calls its comparison through a pointer ---- */

enum { SORTED = 1 << 12 };

static uint32_t sorted[SORTED];
static uint64_t sort_calls;

typedef int sort_compare(const uint32_t *left, const uint32_t *right);

/* Counts the calls. */
#define COUNT_BEGIN(block) sort_calls++
#define COUNT_END() KEEP()

#define SORT(NAME)                                                                                 \
    APART static int compare_##NAME(const uint32_t *left, const uint32_t *right)                   \
    {                                                                                              \
        NAME##_BEGIN(BLOCK_COMPARE);                                                               \
        int result = (*left > *right) - (*left < *right);                                          \
        NAME##_END();                                                                              \
        return result;                                                                             \
    }                                                                                              \
    APART static void sort_##NAME(uint32_t *low, uint32_t *high, sort_compare *compare)            \
    {                                                                                              \
        NAME##_BEGIN(BLOCK_SORT);                                                                  \
        if (high - low > 1) {                                                                      \
            uint32_t pivot = low[(high - low - 1) / 2], *left = low - 1, *right = high;            \
            for (;;) {                                                                             \
                while (compare(++left, &pivot) < 0)                                                \
                    ;                                                                              \
                while (compare(--right, &pivot) > 0)                                               \
                    ;                                                                              \
                if (left >= right)                                                                 \
                    break;                                                                         \
                uint32_t other = *left;                                                            \
                *left = *right;                                                                    \
                *right = other;                                                                    \
            }                                                                                      \
            sort_##NAME(low, right + 1, compare);                                                  \
            sort_##NAME(right + 1, high, compare);                                                 \
        }                                                                                          \
        NAME##_END();                                                                              \
    }
EACH_VERSION(SORT)
SORT(COUNT)

/* Other numbers in each turn, so that no branch predictor learns them by heart. */
static void mix(uint32_t turn)
{
    uint32_t state = turn * 0x85ebca6bu + 1;
    for (uint32_t i = 0; i < SORTED; i++) {
        state = state * 1664525u + 1013904223u;
        sorted[i] = state >> 8;
    }
}

static void run_sort(version kind, uint32_t turn)
{
    static void (*const versions[VERSIONS])(uint32_t *, uint32_t *, sort_compare *) =
        TABLE_OF(sort);
    static sort_compare *const compares[VERSIONS] = TABLE_OF(compare);
    mix(turn);
    versions[kind](sorted, sorted + SORTED, compares[kind]);
}

static uint64_t calls_sort(uint32_t turn)
{
    sort_calls = 0;
    mix(turn);
    sort_COUNT(sorted, sorted + SORTED, compare_COUNT);
    return sort_calls;
}

/* ---- 64 functions that call one another through pointers, 40 deep ----
 *
 * A call's actions depend only on the path to it, so the tree is the same in every round. A call
 * makes one or two further calls until the depth is reached; it may make the first of them twice,
 * as a loop would. */

enum { TREE_DEPTH = 40 };

typedef struct tree_shape {
    uint32_t roots;    /* calls at the top */
    uint32_t branches; /* calls among 256 that call two others */
    uint32_t repeats;  /* calls among 256 that make the first call twice */
    bool wander;       /* at a branch go one way, at random, and not both */
} tree_shape;

static tree_shape shape;
static uint32_t wander_state;
static uint64_t tree_calls;

static uint32_t scramble(uint32_t x)
{
    x = (x ^ x >> 16) * 0x7feb352du;
    return x ^ x >> 15;
}

static uint32_t next_random(uint32_t x)
{
    return x * 1664525u + 1013904223u;
}

typedef void tree_function(uint32_t depth, uint32_t seed);

#define TREE_BODY(TABLE)                                                                           \
    if (depth < TREE_DEPTH) {                                                                      \
        uint32_t here = scramble(seed * 0x9e3779b1u + depth);                                      \
        uint32_t first = next_random(here), second = next_random(first);                           \
        bool both = (here & 255) < shape.branches;                                                 \
        uint32_t times = 1 + ((here >> 8 & 255) < shape.repeats);                                  \
        if (shape.wander && both) {                                                                \
            wander_state = next_random(wander_state);                                              \
            first = wander_state >> 31 ? second : first;                                           \
            both = false;                                                                          \
        }                                                                                          \
        for (uint32_t i = 0; i < times; i++)                                                       \
            TABLE[first >> 26](depth + 1, first);                                                  \
        if (both)                                                                                  \
            TABLE[second >> 26](depth + 1, second);                                                \
    }

#define EACH8(DO, A) DO(A##0) DO(A##1) DO(A##2) DO(A##3) DO(A##4) DO(A##5) DO(A##6) DO(A##7)
#define EACH64(DO)                                                                                 \
    EACH8(DO, 0)                                                                                   \
    EACH8(DO, 1) EACH8(DO, 2) EACH8(DO, 3) EACH8(DO, 4) EACH8(DO, 5) EACH8(DO, 6) EACH8(DO, 7)

/* The numbers are octal: 000 to 077. */
#define TREE_FUNCTION(NAME, NUMBER)                                                                \
    APART static void tree_##NAME##NUMBER(uint32_t depth, uint32_t seed)                           \
    {                                                                                              \
        NAME##_BEGIN(BLOCK_TREE + 0##NUMBER);                                                      \
        TREE_BODY(tree_##NAME)                                                                     \
        NAME##_END();                                                                              \
    }
#define NAME_OF(NAME, NUMBER) tree_##NAME##NUMBER,
#define TREE_PLAIN(NUMBER) TREE_FUNCTION(PLAIN, NUMBER)
#define TREE_CALLS(NUMBER) TREE_FUNCTION(CALLS, NUMBER)
#define TREE_TICKS(NUMBER) TREE_FUNCTION(TICKS, NUMBER)
#define TREE_STACK(NUMBER) TREE_FUNCTION(STACK, NUMBER)
#define TREE_MARKS(NUMBER) TREE_FUNCTION(MARKS, NUMBER)
#define TREE_STACK_TICKS(NUMBER) TREE_FUNCTION(STACK_TICKS, NUMBER)
#define NAME_PLAIN(NUMBER) NAME_OF(PLAIN, NUMBER)
#define NAME_CALLS(NUMBER) NAME_OF(CALLS, NUMBER)
#define NAME_TICKS(NUMBER) NAME_OF(TICKS, NUMBER)
#define NAME_STACK(NUMBER) NAME_OF(STACK, NUMBER)
#define NAME_MARKS(NUMBER) NAME_OF(MARKS, NUMBER)
#define NAME_STACK_TICKS(NUMBER) NAME_OF(STACK_TICKS, NUMBER)
#define TREE_FUNCTIONS(NAME)                                                                       \
    static tree_function *const tree_##NAME[64];                                                   \
    EACH64(TREE_##NAME)                                                                            \
    static tree_function *const tree_##NAME[64] = {EACH64(NAME_##NAME)};

EACH_VERSION(TREE_FUNCTIONS)

/* Counts the calls without making them: the same tree, walked by one function. */
static void count_tree(uint32_t depth, uint32_t seed);
static tree_function *const tree_counting[64] = {[0 ... 63] = count_tree};
static void count_tree(uint32_t depth, uint32_t seed)
{
    tree_calls++;
    TREE_BODY(tree_counting)
}

static void call_roots(tree_function *const *table)
{
    for (uint32_t i = 0; i < shape.roots; i++) {
        uint32_t root = i;
        if (shape.wander) {
            wander_state = next_random(wander_state);
            root = (wander_state >> 16) % shape.roots;
        }
        uint32_t seed = scramble(root * 77777 + 5);
        table[seed >> 26](1, seed);
    }
}

static void walk_tree(const tree_shape *form, version kind, uint32_t turn)
{
    static tree_function *const *const versions[VERSIONS] = TABLE_OF(tree);
    shape = *form;
    wander_state = turn;
    call_roots(versions[kind]);
}

static uint64_t count_calls(const tree_shape *form, uint32_t turn)
{
    shape = *form;
    wander_state = turn;
    tree_calls = 0;
    call_roots(tree_counting);
    return tree_calls;
}

#define TREE(NAME, ...)                                                                            \
    static const tree_shape shape_##NAME = __VA_ARGS__;                                            \
    static void run_##NAME(version kind, uint32_t turn)                                            \
    {                                                                                              \
        walk_tree(&shape_##NAME, kind, turn);                                                      \
    }                                                                                              \
    static uint64_t calls_##NAME(uint32_t turn)                                                    \
    {                                                                                              \
        return count_calls(&shape_##NAME, turn);                                                   \
    }
TREE(tree, {.roots = 124, .branches = 16, .repeats = 16})
TREE(once, {.roots = 124, .branches = 16})
TREE(chains, {.roots = 520})
TREE(wander, {.roots = 124, .branches = 16, .wander = true})

const workload workloads[] = {
    {"leaf-inside", "a leaf that profiles itself", run_leaf_inside, calls_leaf},
    {"leaf-around", "a leaf profiled by its caller", run_leaf_around, calls_leaf},
    {"fan", "eight leaves in turn", run_fan, calls_fan},
    {"fib", "double recursion", run_fib, calls_fib},
    {"sort", "a sort that compares through a pointer", run_sort, calls_sort},
    {"tree", "a call tree, 40 deep, some calls made twice", run_tree, calls_tree},
    {"tree-once", "a call tree, each path once a round", run_once, calls_once},
    {"chains", "chains of 40 calls, each path once a round", run_chains, calls_chains},
    {"tree-random", "a call tree, one way at each branch, at random", run_wander, calls_wander},
};
const unsigned workload_count = sizeof(workloads) / sizeof(*workloads);
