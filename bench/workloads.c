/* SPDX-License-Identifier: MIT
 *
 * workloads.c - see workloads.h.
 */
#include "workloads.h"

cairn_strand *workload_strand;

#define APART __attribute__((noinline))
/* Keeps the compiler from joining, moving or dropping what stands before and after. */
#define KEEP() __asm__ volatile("")

#define PLAIN_BEGIN(block) KEEP()
#define PLAIN_END() KEEP()
#define CALLS_BEGIN(block) cairn_enter(workload_strand, block)
#define CALLS_END() cairn_leave(workload_strand)
#define TICKS_BEGIN(block) cairn_enter(workload_strand, block)
#define TICKS_END() (cairn_tick(workload_strand, 1), cairn_leave(workload_strand))

enum { BLOCK_LEAF = 1, BLOCK_FIB = 2, BLOCK_TREE = 10, BLOCK_FAN = 80 };

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
LEAF(PLAIN)
LEAF(CALLS)
LEAF(TICKS)

static void run_leaf_inside(version kind, uint32_t turn)
{
    static void (*const versions[VERSIONS])(void) = {leaf_inside_PLAIN, leaf_inside_CALLS,
                                                     leaf_inside_TICKS};
    (void)turn;
    versions[kind]();
}

static void run_leaf_around(version kind, uint32_t turn)
{
    static void (*const versions[VERSIONS])(void) = {leaf_around_PLAIN, leaf_around_CALLS,
                                                     leaf_around_TICKS};
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
FAN(PLAIN)
FAN(CALLS)
FAN(TICKS)

static void run_fan(version kind, uint32_t turn)
{
    static void (*const versions[VERSIONS])(void) = {fan_PLAIN, fan_CALLS, fan_TICKS};
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
FIB(PLAIN)
FIB(CALLS)
FIB(TICKS)

static void run_fib(version kind, uint32_t turn)
{
    static int (*const versions[VERSIONS])(int) = {fib_PLAIN, fib_CALLS, fib_TICKS};
    (void)turn;
    int result = versions[kind](FIB_N);
    __asm__ volatile("" ::"r"(result));
}

static uint64_t calls_fib(uint32_t turn)
{
    (void)turn;
    return FIB_CALLS;
}

/* ---- 64 functions that call one another through pointers, 40 deep ----
 *
 * What a call does follows from the path that led to it alone, so that the tree is the same
 * in every round. A call makes one further call, or two, until the depth is reached; it may
 * make the first of them twice, as a loop would. */

enum { TREE_DEPTH = 40 };

typedef struct tree_shape {
    uint32_t roots;    /* calls at the top */
    uint32_t branches; /* of 256 calls, how many call two others */
    uint32_t repeats;  /* of 256 calls, how many make the first call twice */
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
#define TREE_PLAIN(NUMBER) TREE_FUNCTION(PLAIN, NUMBER)
#define TREE_CALLS(NUMBER) TREE_FUNCTION(CALLS, NUMBER)
#define TREE_TICKS(NUMBER) TREE_FUNCTION(TICKS, NUMBER)
#define NAME_PLAIN(NUMBER) tree_PLAIN##NUMBER,
#define NAME_CALLS(NUMBER) tree_CALLS##NUMBER,
#define NAME_TICKS(NUMBER) tree_TICKS##NUMBER,

static tree_function *const tree_PLAIN[64], *const tree_CALLS[64], *const tree_TICKS[64];
EACH64(TREE_PLAIN)
EACH64(TREE_CALLS)
EACH64(TREE_TICKS)
static tree_function *const tree_PLAIN[64] = {EACH64(NAME_PLAIN)};
static tree_function *const tree_CALLS[64] = {EACH64(NAME_CALLS)};
static tree_function *const tree_TICKS[64] = {EACH64(NAME_TICKS)};

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
    static tree_function *const *const versions[VERSIONS] = {tree_PLAIN, tree_CALLS, tree_TICKS};
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
    {"tree", "a call tree, 40 deep, some calls made twice", run_tree, calls_tree},
    {"tree-once", "a call tree, each path once a round", run_once, calls_once},
    {"chains", "chains of 40 calls, each path once a round", run_chains, calls_chains},
    {"tree-random", "a call tree, one way at each branch, at random", run_wander, calls_wander},
};
const unsigned workload_count = sizeof(workloads) / sizeof(*workloads);
