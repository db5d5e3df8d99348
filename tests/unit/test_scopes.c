/* SPDX-License-Identifier: MIT
 *
 * test_scopes.c - scope macros, places that cache block numbers, and wrong uses of spans,
 * attributes and hand-offs.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/scope.h>
#include <cairn/wrap.h>

#include "base/memory.h"
#include "runtime/runtime.h"
#include "support/cases.h"
#include "support/profiles.h"
#include "support/recorded.h"
#include "support/scratch.h"

typedef struct opened {
    setup s;
    char path[SCRATCH_PATH];
} opened;

static opened open_here(bool spans, cairn_wall wall)
{
    opened here;
    cairn_options options = path_options(scratch_path(here.path, "scopes.cairn"));
    options.spans = spans;
    options.wall = wall;
    here.s = setup_open(&options, 3);
    return here;
}

static recorded close_here(opened *here)
{
    setup_close(&here->s);
    return recorded_load(here->path);
}

/* ---- scopes ---- */

static void render(cairn_strand *strand, int64_t i)
{
    CAIRN_SCOPE("render", .iteration = i, .strand = strand);
    CAIRN_SCOPE_INTEGER("width", 7 + i, strand);
    CAIRN_SCOPE_NUMBER("scale", 0.5, strand);
    CAIRN_SCOPE_TEXT("image", i ? "some" : "other", strand);
    CAIRN_SCOPE_NAME("phase", "loading", strand);
    {
        CAIRN_FUNCTION(.strand = strand);
    }
    cairn_scope own = CAIRN_SCOPE_BEGIN("own", .strand = strand);
    cairn_scope_end(&own);
    cairn_scope named = cairn_scope_begin_named(strand, i % 2 ? "odd" : "even", i);
    cairn_scope_end(&named);
}

static void one_line_is_a_span(void **state)
{
    (void)state;
    static const cairn_wall walls[] = {CAIRN_WALL_OFF, CAIRN_WALL_SAMPLED, CAIRN_WALL_EXACT};
    for (size_t w = 0; w < COUNT(walls); w++) {
        opened here = open_here(true, walls[w]);
        for (int64_t i = 0; i < 10; i++)
            render(here.s.strand, i);
        assert_int_equal(cairn_strand_depth(here.s.strand), 0);
        recorded recorded = close_here(&here);
        assert_int_equal(recorded_count(&recorded, "render/render"), 10); /* by function */
        assert_int_equal(recorded_count(&recorded, "render"), 20);
        assert_int_equal(recorded_count(&recorded, "render/own"), 10);
        assert_int_equal(recorded_count(&recorded, "render/odd"), 5);
        assert_int_equal(recorded_calls(&recorded, "even"), 5);
        uint32_t first = recorded_find(&recorded, "render");
        assert_string_equal(recorded_attribute(&recorded, first, "width"), "7");
        assert_string_equal(recorded_attribute(&recorded, first, "scale"), "0.5");
        assert_string_equal(recorded_attribute(&recorded, first, "image"), "other");
        assert_string_equal(recorded_attribute(&recorded, first, "phase"), "loading");
        assert_int_equal(recorded.trace->key_count, 4);
        assert_int_equal(recorded.profile->block_count, 4 + 5); /* [root], b1 to b3 */
        assert_string_equal(crn_profile_note(recorded.profile, "misuses", ""), "0");
        recorded_free(&recorded);
    }
}

/* Calls of scopes by context are the same, whether spans are recorded or not. */
static void without_spans_they_are_calls(void **state)
{
    (void)state;
    opened here = open_here(false, CAIRN_WALL_OFF);
    for (int64_t i = 0; i < 10; i++) {
        CAIRN_SCOPE("outer", .strand = here.s.strand);
        render(here.s.strand, i);
    }
    assert_int_equal(cairn_strand_depth(here.s.strand), 0);
    recorded recorded = close_here(&here);
    assert_int_equal(recorded.trace->span_count, 0);
    assert_int_equal(recorded_calls(&recorded, "outer"), 10);
    assert_int_equal(recorded_calls(&recorded, "own"), 10);
    assert_int_equal(recorded_calls(&recorded, "odd"), 5);
    recorded_free(&recorded);
}

static void scopes_without_a_profile_do_nothing(void **state)
{
    (void)state;
    int evaluated = 0;
    render(NULL, 1);
    CAIRN_SCOPE("nothing");
    CAIRN_SCOPE_INTEGER("once", ++evaluated);
    CAIRN_SCOPE_TEXT("once", (++evaluated, "text"), NULL);
    assert_int_equal(evaluated, 2);
    assert_int_equal(cairn_text_add(NULL, "text"), CAIRN_TEXT_NONE);
    assert_int_equal(cairn_block_once(NULL, NULL), CAIRN_BLOCK_ROOT);
    cairn_scope named = cairn_scope_begin_named(NULL, "name", 1);
    cairn_scope_end(&named);
    CAIRN_ADOPT(cairn_handoff_take(NULL));
    CAIRN_ADOPT(cairn_handoff_take(NULL), NULL);
}

static void a_disabled_profile_has_scopes_too(void **state)
{
    (void)state;
    opened here = open_here(true, CAIRN_WALL_OFF);
    render(here.s.strand, 0);
    {
        CAIRN_SCOPE("across", .strand = here.s.strand);
        cairn_profile_disable(here.s.profile);
        render(here.s.strand, 1);
    }
    cairn_scope off = CAIRN_SCOPE_BEGIN("begun while off", .strand = here.s.strand);
    cairn_profile_enable(here.s.profile);
    render(here.s.strand, 2);
    cairn_scope_end(&off);
    assert_int_equal(cairn_strand_depth(here.s.strand), 0);
    recorded recorded = close_here(&here);
    assert_int_equal(recorded_calls(&recorded, "own"), 2);
    assert_int_equal(recorded_count(&recorded, "across"), 1);
    assert_int_equal(recorded_calls(&recorded, "begun while off"), 0);
    recorded_free(&recorded);
}

/* A strand that records only its stack records no spans; its scopes are frames. */
static void stacks_have_scopes(void **state)
{
    (void)state;
    opened here = open_here(true, CAIRN_WALL_OFF);
    cairn_lane *lane = cairn_lane_open(here.s.profile, "stack");
    cairn_stack *stack = cairn_stack_open(lane);
    cairn_strand *strand = cairn_stack_strand(stack);
    cairn_stack_enter(stack, 1);
    for (int i = 0; i < 5; i++) {
        CAIRN_SCOPE("frame", .strand = strand);
        assert_int_equal(cairn_strand_depth(strand), 2);
        render(strand, i);
        cairn_stack_tick(stack, 1);
    }
    assert_int_equal(cairn_strand_depth(strand), 1);
    cairn_lane_close(lane);
    recorded recorded = close_here(&here);
    assert_int_equal(recorded.trace->span_count, 0);
    recorded_free(&recorded);
}

/* ---- scopes that are left open ---- */

static jmp_buf back;

static void jump_out(cairn_strand *strand)
{
    CAIRN_SCOPE("jumps", .strand = strand);
    cairn_enter(strand, 1);
    longjmp(back, 1);
}

static void a_scope_ends_scopes_left_open_in_it(void **state)
{
    (void)state;
    opened here = open_here(true, CAIRN_WALL_OFF);
    cairn_strand *strand = here.s.strand;
    for (volatile int i = 0; i < 10; i++) {
        CAIRN_SCOPE("outer", .strand = strand);
        if (!setjmp(back))
            jump_out(strand);
        cairn_enter(strand, 2); /* never left */
        cairn_handoff_adopt(strand, cairn_handoff_take(strand));
        cairn_span_begin(strand, 3, i);
    }
    assert_int_equal(cairn_strand_depth(strand), 0);
    render(strand, 0);
    recorded recorded = close_here(&here);
    assert_int_equal(recorded_count(&recorded, "outer"), 10);
    assert_int_equal(recorded_count(&recorded, "outer/jumps"), 10);
    for (uint32_t s = 0; s < recorded.trace->span_count; s++)
        assert_false(recorded.trace->spans[s].open);
    assert_int_equal(recorded.trace->spans[recorded_find(&recorded, "render")].parent,
                     CRN_SPAN_NONE);
    recorded_free(&recorded);
}

/* Attributes of a scope that is not the innermost one, or not open any more. */
static void attributes_go_to_the_scope_they_are_aimed_at(void **state)
{
    (void)state;
    opened here = open_here(true, CAIRN_WALL_OFF);
    cairn_strand *strand = here.s.strand;
    cairn_scope outer = CAIRN_SCOPE_BEGIN("outer", .strand = strand);
    cairn_scope middle = CAIRN_SCOPE_BEGIN("middle", .strand = strand);
    cairn_adoption adoption = cairn_adoption_begin(strand, cairn_handoff_take(strand));
    cairn_scope inner = CAIRN_SCOPE_BEGIN("inner", .strand = strand);
    cairn_span named = cairn_span_current(strand);
    const cairn_scope *scopes[] = {&outer, &middle, &inner};
    for (int i = 0; i < 3; i++) {
        cairn_scope_aim(scopes[i]);
        CAIRN_SCOPE_INTEGER("number", i, strand);
        assert_true((cairn_span_current(strand) == named) == (i == 2));
        cairn_scope_aim_end(scopes[i]);
    }
    cairn_scope ended = inner;
    cairn_scope_end(&inner);
    cairn_scope_aim(&ended);
    CAIRN_SCOPE_INTEGER("number", 9, strand);
    cairn_scope_aim_end(&ended);
    cairn_adoption_end(&adoption);
    CAIRN_SCOPE_INTEGER("after", 1, strand);
    cairn_scope_end(&middle);
    cairn_scope_end(&outer);
    recorded recorded = close_here(&here);
    static const char *const names[] = {"outer", "middle", "inner"};
    for (int i = 0; i < 3; i++) {
        char number[2] = {(char)('0' + i), 0};
        uint32_t span = recorded_find(&recorded, names[i]);
        assert_string_equal(recorded_attribute(&recorded, span, "number"), number);
        assert_string_equal(recorded_attribute(&recorded, span, "after"), i == 1 ? "1" : "");
    }
    recorded_free(&recorded);
}

static void an_adoption_ends_scopes_left_open_in_it(void **state)
{
    (void)state;
    opened here = open_here(true, CAIRN_WALL_OFF);
    cairn_strand *strand = here.s.strand;
    for (int i = 0; i < 10; i++) {
        CAIRN_ADOPT(cairn_handoff_take(strand), strand);
        cairn_handoff_adopt(strand, cairn_handoff_take(strand));
        cairn_span_begin(strand, 1, i);
        cairn_enter(strand, 2);
    }
    assert_int_equal(cairn_strand_depth(strand), 0);
    recorded recorded = close_here(&here);
    assert_int_equal(recorded_count(&recorded, "b1"), 10);
    assert_string_equal(crn_profile_note(recorded.profile, "misuses", ""), "0");
    recorded_free(&recorded);
}

/* ---- places ---- */

static void twice(cairn_strand *strand)
{
    CAIRN_SCOPE("of either", .strand = strand);
    CAIRN_SCOPE_NAME("key", "name", strand);
}

static void a_place_knows_each_profile(void **state)
{
    (void)state;
    char other_path[SCRATCH_PATH];
    opened here = open_here(true, CAIRN_WALL_OFF);
    cairn_options options = span_options(scratch_path(other_path, "other.cairn"));
    setup other = setup_open(&options, 20);
    for (int i = 0; i < 100; i++) {
        twice(here.s.strand);
        twice(other.strand);
    }
    setup_close(&other);
    recorded second = recorded_load(other_path), first = close_here(&here);
    assert_int_equal(recorded_count(&first, "of either"), 100);
    assert_int_equal(recorded_count(&second, "of either"), 100);
    assert_int_equal(second.profile->block_count - first.profile->block_count, 17);
    assert_int_equal(first.trace->key_count, 1);
    assert_string_equal(recorded_attribute(&first, 99, "key"), "name");
    assert_string_equal(recorded_attribute(&second, 99, "key"), "name");
    recorded_free(&first);
    recorded_free(&second);
}

enum { THREADS = 4, EACH = 2000 };

static void *name_often(void *data)
{
    cairn_profile *profile = data;
    uintptr_t sum = 0;
    for (int i = 0; i < EACH; i++) {
        char name[32];
        snprintf(name, sizeof name, "name %d", i % 500);
        cairn_block block = cairn_block_once(profile, &(cairn_block_info){.name = name, .line = 1});
        cairn_text text = cairn_text_add(profile, name);
        sum = sum * 31 + block * 7 + text;
    }
    return (void *)sum;
}

static void names_are_written_once(void **state)
{
    (void)state;
    opened here = open_here(true, CAIRN_WALL_OFF);
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, name_often, here.s.profile);
    void *sums[THREADS];
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], &sums[t]);
    for (int t = 1; t < THREADS; t++)
        assert_ptr_equal(sums[t], sums[0]);
    cairn_block_info info = {.name = "name 1", .file = "file", .line = 1};
    cairn_block block = cairn_block_once(here.s.profile, &info);
    assert_int_equal(cairn_block_once(here.s.profile, &info), block);
    info.line = 2;
    assert_int_not_equal(cairn_block_once(here.s.profile, &info), block);
    info.line = 1;
    assert_int_not_equal(cairn_block_add(here.s.profile, &info), block);
    assert_int_equal(cairn_text_add(here.s.profile, ""), CAIRN_TEXT_NONE);
    recorded recorded = close_here(&here);
    uint32_t named = 0;
    for (uint32_t b = 0; b < recorded.profile->block_count; b++)
        named += strncmp(recorded.profile->blocks[b].name, "name ", 5) == 0;
    assert_int_equal(named, 500 + 3);
    recorded_free(&recorded);
}

/* ---- the limits ---- */

static void iterations_are_exact(void **state)
{
    (void)state;
    static const int64_t iterations[] = {INT64_MIN + 1, -1, 0, 1, INT64_MAX, INT64_MIN};
    opened here = open_here(true, CAIRN_WALL_OFF);
    for (size_t i = 0; i < COUNT(iterations); i++) {
        CAIRN_SCOPE("scope", .iteration = iterations[i], .strand = here.s.strand);
        CAIRN_SCOPE_INTEGER("same", iterations[i], here.s.strand);
    }
    recorded recorded = close_here(&here);
    for (uint32_t s = 0; s < COUNT(iterations); s++) {
        assert_true(recorded.trace->spans[s].iteration == iterations[s]);
        assert_true(crn_trace_attributes(recorded.trace, s, &(uint32_t){0})->value.integer ==
                    iterations[s]);
    }
    assert_true(iterations[COUNT(iterations) - 1] == CAIRN_ITERATION_NONE);
    recorded_free(&recorded);
}

/* Names are stored completely; texts of attributes up to CAIRN_TEXT_MAX bytes. */
static void a_name_may_be_long(void **state)
{
    (void)state;
    enum { LONG = 1 << 20 };
    char *name = crn_calloc(LONG + 1, 1);
    memset(name, 'n', LONG);
    opened here = open_here(true, CAIRN_WALL_OFF);
    cairn_strand *strand = here.s.strand;
    for (int i = 0; i < 3; i++) {
        cairn_scope scope = cairn_scope_begin_named(strand, name, i);
        cairn_span_text(strand, cairn_key_add(here.s.profile, "text"), name);
        cairn_span_name(strand, cairn_key_add(here.s.profile, "name"),
                        cairn_text_add(here.s.profile, name));
        cairn_span_integer(strand, cairn_key_add(here.s.profile, name), i);
        cairn_scope_end(&scope);
    }
    recorded recorded = close_here(&here);
    assert_int_equal(recorded_count(&recorded, name), 3);
    assert_int_equal(strlen(recorded_attribute(&recorded, 0, "text")), CAIRN_TEXT_MAX);
    assert_int_equal(strlen(recorded_attribute(&recorded, 0, "name")), CAIRN_TEXT_MAX);
    assert_string_equal(recorded_attribute(&recorded, 2, name), "2");
    recorded_free(&recorded);
    crn_free(name);
}

static void a_span_may_have_10000_attributes(void **state)
{
    (void)state;
    enum { MANY = 10000, MANY_MOST = 100 * MANY };
    opened here = open_here(true, CAIRN_WALL_OFF);
    cairn_key key = cairn_key_add(here.s.profile, "one of many");
    cairn_span_begin(here.s.strand, 1, 0);
    const crn_disk_lane *disk = here.s.lane->disk;
    int begun = 0;
    while (begun < MANY || (begun < MANY_MOST && begun - (int)disk->details_dropped <= MANY / 2)) {
        cairn_span_integer(here.s.strand, key, begun++);
        if (begun % 1000 == 0) /* space is prepared by a thread: time to come by */
            nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    cairn_span_end(here.s.strand);
    recorded recorded = close_here(&here);
    uint32_t count;
    const crn_attribute *attributes = crn_trace_attributes(recorded.trace, 0, &count);
    assert_int_equal(count + recorded.trace->details_dropped, begun);
    for (uint32_t i = 1; i < count; i++)
        assert_true(attributes[i].value.integer > attributes[i - 1].value.integer);
    assert_true(count > MANY / 2);
    recorded_free(&recorded);
}

static void more_keys_than_there_can_be_are_dropped(void **state)
{
    (void)state;
    opened here = open_here(true, CAIRN_WALL_OFF);
    cairn_key last = 0;
    for (uint32_t i = 0; i <= CAIRN_KEY_MAX; i++)
        last = cairn_key_add(here.s.profile, "key");
    assert_int_equal(last, CAIRN_KEY_MAX);
    {
        CAIRN_SCOPE("scope", .strand = here.s.strand);
        CAIRN_SCOPE_INTEGER("a new one", 1, here.s.strand);
        CAIRN_SCOPE_INTEGER("key", 2, here.s.strand);
    }
    recorded recorded = close_here(&here);
    assert_int_equal(recorded.trace->attribute_count, 1);
    recorded_free(&recorded);
}

/* ---- hand-offs ---- */

typedef struct submitter {
    cairn_profile *profile;
    cairn_handoff handoff;
} submitter;

/* Its lane and strand are closed before the token is adopted. */
static void *submit(void *data)
{
    submitter *own = data;
    cairn_lane *lane = cairn_lane_open(own->profile, "submitter");
    cairn_strand *strand = cairn_strand_open(lane);
    {
        CAIRN_SCOPE("asks", .strand = strand);
        own->handoff = cairn_handoff_take(strand);
    }
    cairn_lane_close(lane);
    return NULL;
}

static void a_token_outlives_its_span(void **state)
{
    (void)state;
    opened here = open_here(true, CAIRN_WALL_OFF);
    submitter own = {.profile = here.s.profile};
    pthread_t thread;
    pthread_create(&thread, NULL, submit, &own);
    pthread_join(thread, NULL);
    cairn_lane *reused = cairn_lane_open(here.s.profile, "another"); /* the submitter's */
    cairn_strand *strand = cairn_strand_open(reused);
    for (int i = 0; i < 3; i++) {
        CAIRN_ADOPT(own.handoff, i % 2 ? strand : here.s.strand);
        CAIRN_SCOPE("does", .iteration = i, .strand = i % 2 ? strand : here.s.strand);
    }
    cairn_lane_close(reused);
    recorded recorded = close_here(&here);
    assert_int_equal(recorded_count(&recorded, "asks/does"), 3);
    recorded_free(&recorded);
}

/* Damaged tokens and those of other profiles break nothing, and give no wrong parent. */
static void any_token_may_be_adopted(void **state)
{
    (void)state;
    opened here = open_here(true, CAIRN_WALL_OFF);
    const cairn_handoff taken = cairn_handoff_take(here.s.strand);
    cairn_handoff tokens[6] = {taken, taken, taken, taken, taken, taken};
    memset(&tokens[0], 0, sizeof tokens[0]);
    memset(&tokens[1], 0xff, sizeof tokens[1]);
    tokens[2].lane = 77;
    tokens[3].context = 1u << 31;
    tokens[4].span = UINT64_MAX - 1;
    tokens[5].span = 5;
    for (size_t i = 0; i < COUNT(tokens); i++) {
        CAIRN_ADOPT(tokens[i], here.s.strand);
        CAIRN_SCOPE("does", .strand = here.s.strand);
    }
    assert_int_equal(cairn_strand_depth(here.s.strand), 0);
    recorded recorded = close_here(&here);
    assert_in_range(recorded_count(&recorded, "does"), COUNT(tokens) - 1, COUNT(tokens));
    for (uint32_t s = 0; s < recorded.trace->span_count; s++)
        assert_int_equal(recorded.trace->spans[s].parent, CRN_SPAN_NONE);
    recorded_free(&recorded);
}

static void a_token_that_is_never_used_leaves_nothing(void **state)
{
    (void)state;
    opened here = open_here(true, CAIRN_WALL_OFF);
    for (int i = 0; i < 100000; i++)
        cairn_handoff_take(here.s.strand);
    recorded recorded = close_here(&here);
    assert_int_equal(recorded.trace->span_count, 0);
    assert_int_equal(recorded.profile->context_count, 1);
    recorded_free(&recorded);
}

/* ---- no memory ---- */

/* Each allocation fails once: the program continues, and the stack is unchanged. */
static void without_memory_the_program_continues(void **state)
{
    (void)state;
    for (uint64_t nth = 1; nth < 60; nth++) {
        cairn_options options = CAIRN_OPTIONS_DEFAULT;
        cairn_profile *profile = NULL;
        options.spans = true;
        crn_memory_fail_at(nth);
        cairn_profile_open(&profile, &options);
        cairn_strand *strand = cairn_strand_open(cairn_lane_open(profile, "lane"));
        for (int i = 0; i < 40; i++) {
            CAIRN_SCOPE("outer", .strand = strand);
            CAIRN_ADOPT(cairn_handoff_take(strand), strand);
            render(strand, i);
        }
        assert_int_equal(cairn_strand_depth(strand), 0);
        cairn_profile_close(profile);
        crn_memory_fail_at(0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_line_is_a_span),
        cmocka_unit_test(without_spans_they_are_calls),
        cmocka_unit_test(scopes_without_a_profile_do_nothing),
        cmocka_unit_test(a_disabled_profile_has_scopes_too),
        cmocka_unit_test(stacks_have_scopes),
        cmocka_unit_test(a_scope_ends_scopes_left_open_in_it),
        cmocka_unit_test(attributes_go_to_the_scope_they_are_aimed_at),
        cmocka_unit_test(an_adoption_ends_scopes_left_open_in_it),
        cmocka_unit_test(a_place_knows_each_profile),
        cmocka_unit_test(names_are_written_once),
        cmocka_unit_test(iterations_are_exact),
        cmocka_unit_test(a_name_may_be_long),
        cmocka_unit_test(a_span_may_have_10000_attributes),
        cmocka_unit_test(more_keys_than_there_can_be_are_dropped),
        cmocka_unit_test(a_token_outlives_its_span),
        cmocka_unit_test(any_token_may_be_adopted),
        cmocka_unit_test(a_token_that_is_never_used_leaves_nothing),
        cmocka_unit_test(without_memory_the_program_continues),
    };
    unsetenv("CAIRN_OUT");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
