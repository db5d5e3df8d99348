/* SPDX-License-Identifier: MIT
 *
 * test_model.c - rows and keys of `cairn top`, given two snapshots of a capture.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/top/top.h"
#include "profile/profile.h"
#include "support/cases.h"
#include "support/random_profile.h"

enum { ROUNDS = 40, BLOCKS = 7, EVENTS = 1500 };

/* ---- differences ---- */

static crn_profile *sum_of(const crn_profile *a, const crn_profile *b)
{
    crn_profile_builder *builder = crn_profile_builder_new();
    crn_profile_builder_add(builder, a);
    if (b)
        crn_profile_builder_add(builder, b);
    return crn_profile_builder_end(builder);
}

/* A context's path, as text. To be freed. */
static char *path_of(const crn_profile *profile, uint32_t context)
{
    uint32_t *path = crn_calloc(profile->context_count, sizeof *path);
    uint32_t length = profile_path(profile, context, path);
    char *text = crn_calloc((size_t)length + 1, 16), *end = text;
    for (uint32_t i = 1; i < length; i++)
        end += sprintf(end, "%s ", profile->blocks[path[i]].name);
    crn_free(path);
    return text;
}

static uint32_t find_path(const crn_profile *profile, const char *path)
{
    for (uint32_t c = 0; c < profile->context_count; c++) {
        char *other = path_of(profile, c);
        bool same = strcmp(other, path) == 0;
        crn_free(other);
        if (same)
            return c;
    }
    return CRN_CONTEXT_NONE;
}

/* The difference equals what was added, context by context, though contexts have other numbers: the
 * added profile comes first in the sum, like a lane with a lower number. */
static void what_came_is_what_was_added(void **state)
{
    (void)state;
    random_source random = {5};
    for (int i = 0; i < ROUNDS; i++) {
        crn_profile *before = random_profile(&random, BLOCKS, 60, NULL);
        crn_profile *added = random_profile(&random, BLOCKS, 60, NULL);
        bool moved = i % 2;
        crn_profile *was = sum_of(before, NULL);
        crn_profile *now = moved ? sum_of(added, before) : sum_of(before, added);
        crn_since since = crn_since_make(was, now);
        assert_false(since.began_anew);
        for (uint32_t m = CRN_METRIC_CALLS; m <= CRN_METRIC_TICKS; m++)
            assert_int_equal(crn_metric_total(&since.profile, m), crn_metric_total(added, m));
        for (uint32_t c = 0; c < now->context_count; c++) {
            char *path = path_of(now, c);
            uint32_t in_added = find_path(added, path), in_before = find_path(was, path);
            assert_int_equal(since.origins[c], in_before);
            for (uint32_t m = CRN_METRIC_CALLS; m <= CRN_METRIC_TICKS; m++)
                assert_int_equal(crn_self(&since.profile, m, c),
                                 in_added == CRN_CONTEXT_NONE ? 0 : crn_self(added, m, in_added));
            crn_free(path);
        }
        /* Calls by edge, for tree edges and aliases. */
        uint64_t calls = 0;
        for (uint32_t c = 0; c < now->context_count; c++)
            calls += since.profile.calls_tree[c];
        for (uint32_t e = 0; e < now->edge_count; e++)
            calls += since.profile.edges[e].calls;
        assert_int_equal(calls, crn_metric_total(added, CRN_METRIC_CALLS));
        crn_since_free(&since);
        crn_profile_free(was);
        crn_profile_free(now);
        crn_profile_free(before);
        crn_profile_free(added);
    }
}

static crn_profile *one_block(const char *name, const char *metric, const char *unit,
                              uint64_t calls, uint64_t amount)
{
    crn_profile_builder *builder = crn_profile_builder_new();
    uint32_t block = crn_profile_builder_block(builder, &(crn_block_info){.name = name});
    uint32_t context =
        crn_profile_builder_child(builder, crn_profile_builder_root(builder), block, calls);
    crn_profile_builder_charge(builder, context, crn_profile_builder_metric(builder, metric, unit),
                               amount);
    return crn_profile_builder_end(builder);
}

static uint64_t gained(const char *metric, const char *unit, uint64_t before, uint64_t now,
                       bool *anew)
{
    crn_profile *earlier = one_block("a", metric, unit, 5, before);
    crn_profile *later = one_block("a", metric, unit, 5, now);
    crn_since since = crn_since_make(earlier, later);
    *anew = since.began_anew;
    uint64_t total = crn_metric_total(&since.profile, (uint32_t)crn_profile_metric(later, metric));
    crn_since_free(&since);
    crn_profile_free(earlier);
    crn_profile_free(later);
    return total;
}

static void counters_that_go_back_began_anew(void **state)
{
    (void)state;
    bool anew;
    assert_int_equal(gained("ticks", "instructions", 1000, 999, &anew), 999);
    assert_true(anew);
    assert_int_equal(gained("ticks", "instructions", 1000, 1000, &anew), 0);
    assert_false(anew);
    assert_int_equal(gained("wall", "nanoseconds", 1000000, 1000, &anew), 1000);
    assert_true(anew);
    /* A new calibration lowered wall by a ten-thousandth. */
    assert_int_equal(gained("wall", "nanoseconds", 1000000, 999900, &anew), 0);
    assert_false(anew);
    /* A metric that may fall shows its current value. */
    assert_int_equal(gained("live bytes", "bytes", 1000, 300, &anew), 300);
    assert_false(anew);
}

/* ---- rows ---- */

/* a 70 ticks, of which b 40 and c 20; d 30 apart. */
static crn_profile *known(uint64_t times)
{
    static const struct {
        int parent;
        const char *name;
        uint64_t ticks, calls;
    } contexts[] = {{0, "a", 10, 1}, {1, "b", 40, 4}, {1, "c", 20, 2}, {0, "d", 30, 3}};
    crn_profile_builder *builder = crn_profile_builder_new();
    uint32_t numbers[5] = {crn_profile_builder_root(builder)};
    for (int i = 0; i < 4; i++) {
        crn_block_info info = {.name = contexts[i].name, .file = "known.c", .line = 7};
        uint32_t block = crn_profile_builder_block(builder, &info);
        numbers[i + 1] = crn_profile_builder_child(builder, numbers[contexts[i].parent], block,
                                                   contexts[i].calls * times);
        crn_profile_builder_charge(builder, numbers[i + 1], CRN_METRIC_TICKS,
                                   contexts[i].ticks * times);
    }
    return crn_profile_builder_end(builder);
}

/* The refresh at `now`, two seconds after `before`. */
static crn_top_look look_at(const crn_profile *before, crn_profile *now)
{
    crn_top_look look = {.state = CRN_TOP_RUNNING, .profile = now, .interval = before ? 2 : 0};
    look.since = crn_since_make(before, now);
    return look;
}

static void assert_names(const crn_top_rows *rows, const char *names)
{
    char found[256] = "";
    for (uint32_t i = 0; i < rows->count; i++)
        strcat(strcat(found, i ? " " : ""),
               rows->rows[i].heading ? "/" : rows->rows[i].block->name);
    assert_string_equal(found, names);
}

static void remake(crn_top_rows *rows, const crn_top_look *look, crn_top_choice *choice)
{
    crn_top_rows_free(rows);
    *rows = crn_top_rows_make(look, choice);
}

static void rows_are_what_came(void **state)
{
    (void)state;
    crn_profile *before = known(1);
    crn_top_look look = look_at(before, known(4));
    crn_top_choice choice = {.view = CRN_TOP_SELF};
    crn_top_rows rows = crn_top_rows_make(&look, &choice);
    assert_names(&rows, "b d c a");
    assert_true(rows.seconds == 2);
    assert_int_equal(rows.whole, 300);
    assert_int_equal(rows.rows[0].self, 120);
    assert_int_equal(rows.rows[0].calls, 12);
    assert_int_equal(rows.rows[0].self_total, 160);
    assert_int_equal(rows.rows[3].inclusive, 210);

    choice = (crn_top_choice){.view = CRN_TOP_INCLUSIVE, .sort = CRN_TOP_BY_INCLUSIVE};
    remake(&rows, &look, &choice);
    assert_names(&rows, "a b d c");

    choice = (crn_top_choice){.total = true, .sort = CRN_TOP_BY_NAME};
    remake(&rows, &look, &choice);
    assert_names(&rows, "a b c d");
    assert_true(rows.seconds == 0);
    assert_int_equal(rows.whole, 400);
    assert_int_equal(rows.rows[1].self, 160);

    choice = (crn_top_choice){.filter = "B"};
    remake(&rows, &look, &choice);
    assert_names(&rows, "b");

    choice = (crn_top_choice){.filter = "KNOWN.c", .most = 2};
    remake(&rows, &look, &choice);
    assert_names(&rows, "b d");
    assert_int_equal(rows.hidden, 2);
    crn_top_rows_free(&rows);
    crn_top_look_free(&look);
    crn_profile_free(before);
}

/* Rows without an increase are ordered by their totals, and so keep their places. */
static void rows_of_nothing_keep_their_places(void **state)
{
    (void)state;
    crn_profile *before = known(3);
    crn_top_look look = look_at(before, known(3));
    crn_top_choice choice = {.view = CRN_TOP_SELF};
    crn_top_rows rows = crn_top_rows_make(&look, &choice);
    assert_names(&rows, "b d c a");
    assert_int_equal(rows.rows[0].self, 0);
    look.state = CRN_TOP_ENDED; /* after the end the totals are shown */
    remake(&rows, &look, &choice);
    assert_true(rows.seconds == 0);
    assert_int_equal(rows.rows[0].self, 120);
    crn_top_rows_free(&rows);
    crn_top_look_free(&look);
    crn_profile_free(before);
}

/* a and b have nearly the same share: the one with the larger total is first, even if the other
 * increased a little more. */
static void rows_that_look_alike_keep_their_places(void **state)
{
    (void)state;
    for (uint64_t more = 0; more < 2; more++) {
        crn_profile *looks[2];
        for (uint64_t i = 0; i < 2; i++) {
            crn_profile_builder *builder = crn_profile_builder_new();
            static const char *const names[] = {"a", "b"};
            for (uint64_t n = 0; n < 2; n++) {
                uint32_t block =
                    crn_profile_builder_block(builder, &(crn_block_info){.name = names[n]});
                uint32_t context =
                    crn_profile_builder_child(builder, crn_profile_builder_root(builder), block, 1);
                crn_profile_builder_charge(builder, context, CRN_METRIC_TICKS,
                                           1000 + 500 * n + i * (100000 + (n == more)));
            }
            looks[i] = crn_profile_builder_end(builder);
        }
        crn_top_look look = look_at(looks[0], looks[1]);
        crn_top_choice choice = {.view = CRN_TOP_SELF};
        crn_top_rows rows = crn_top_rows_make(&look, &choice);
        assert_names(&rows, "b a");
        assert_int_equal(rows.rows[0].self, 100000 + (more == 1));
        choice.view = CRN_TOP_TREE; /* in the tree view the order of creation decides */
        remake(&rows, &look, &choice);
        assert_names(&rows, "a b");
        crn_top_rows_free(&rows);
        crn_top_look_free(&look);
        crn_profile_free(looks[0]);
        crn_free(choice.folds);
    }
}

static void trees_fold_and_remember(void **state)
{
    (void)state;
    crn_top_look look = look_at(NULL, known(1));
    crn_top_choice choice = {.view = CRN_TOP_TREE};
    crn_top_rows rows = crn_top_rows_make(&look, &choice);
    assert_names(&rows, "a b c d");
    assert_true(rows.rows[0].open && !rows.rows[0].leaf && rows.rows[1].leaf);
    assert_int_equal(rows.rows[0].level, 1);
    assert_int_equal(rows.rows[1].level, 2);
    assert_true(rows.rows[3].last && rows.rows[2].last && !rows.rows[0].last);
    assert_int_equal(rows.rows[1].bars, 2); /* d follows at the first level */

    assert_true(crn_top_key(&choice, &look, &rows, 10, CRN_KEY_LEFT));
    crn_top_look_free(&look);
    look = look_at(NULL, known(2)); /* another refresh: it is still closed */
    remake(&rows, &look, &choice);
    assert_names(&rows, "a d");
    assert_false(rows.rows[0].open);
    assert_true(crn_top_key(&choice, &look, &rows, 10, CRN_KEY_RIGHT));
    remake(&rows, &look, &choice);
    assert_names(&rows, "a b c d");

    /* Open it, move along, and back up. */
    static const int keys[] = {CRN_KEY_RIGHT, CRN_KEY_DOWN, CRN_KEY_LEFT};
    static const uint32_t cursors[] = {1, 2, 0};
    for (size_t i = 0; i < COUNT(keys); i++) {
        assert_true(crn_top_key(&choice, &look, &rows, 10, keys[i]));
        assert_int_equal(choice.cursor, cursors[i]);
    }
    crn_top_rows_free(&rows);
    crn_top_look_free(&look);
    crn_free(choice.folds);
}

/* A context opens by itself from 5 % on, and closes below 2 %. */
static void trees_do_not_flap(void **state)
{
    (void)state;
    static const struct {
        uint64_t below;
        bool open;
    } steps[] = {{4, false}, {6, true}, {4, true}, {3, true}, {1, false}, {4, false}, {5, true}};
    crn_top_choice choice = {.view = CRN_TOP_TREE};
    for (size_t i = 0; i < COUNT(steps); i++) {
        crn_profile_builder *builder = crn_profile_builder_new();
        uint32_t root = crn_profile_builder_root(builder);
        uint32_t one = crn_profile_builder_block(builder, &(crn_block_info){.name = "one"});
        uint32_t two = crn_profile_builder_block(builder, &(crn_block_info){.name = "two"});
        uint32_t big = crn_profile_builder_block(builder, &(crn_block_info){.name = "big"});
        uint32_t above = crn_profile_builder_child(builder, root, one, 1);
        uint32_t below = crn_profile_builder_child(builder, above, two, 1);
        uint32_t rest = crn_profile_builder_child(builder, root, big, 1);
        crn_profile_builder_charge(builder, below, CRN_METRIC_TICKS, steps[i].below);
        crn_profile_builder_charge(builder, rest, CRN_METRIC_TICKS, 100 - steps[i].below);
        crn_top_look look = look_at(NULL, crn_profile_builder_end(builder));
        crn_top_rows rows = crn_top_rows_make(&look, &choice);
        assert_names(&rows, steps[i].open ? "big one two" : "big one");
        crn_top_rows_free(&rows);
        crn_top_look_free(&look);
    }
    crn_free(choice.folds);
}

static void a_block_is_looked_at_from_both_sides(void **state)
{
    (void)state;
    crn_top_look look = look_at(NULL, known(1));
    crn_top_choice choice = {.view = CRN_TOP_TREE};
    crn_top_rows rows = crn_top_rows_make(&look, &choice);
    crn_top_key(&choice, &look, &rows, 10, CRN_KEY_ENTER);
    assert_int_equal(choice.view, CRN_TOP_FOCUS);
    assert_string_equal(choice.focus, "a");
    remake(&rows, &look, &choice);
    assert_names(&rows, "/ [root] / a / b c");
    assert_int_equal(choice.cursor, 1); /* not on a heading */
    for (int i = 0; i < 2; i++)
        crn_top_key(&choice, &look, &rows, 10, CRN_KEY_DOWN);
    assert_int_equal(choice.cursor, 5);
    crn_top_key(&choice, &look, &rows, 10, CRN_KEY_ENTER);
    assert_string_equal(choice.focus, "b");
    remake(&rows, &look, &choice);
    assert_names(&rows, "/ a / b /");
    crn_top_key(&choice, &look, &rows, 10, CRN_KEY_ESCAPE);
    assert_int_equal(choice.view, CRN_TOP_TREE);
    crn_top_rows_free(&rows);

    crn_top_key(&choice, &look, &rows, 10, '4');
    rows = crn_top_rows_make(&look, &choice);
    assert_names(&rows, "b a");
    crn_top_rows_free(&rows);
    crn_top_look_free(&look);
    crn_free(choice.folds);
}

/* The cursor follows its row; on the first row it stays on the first row. */
static void the_cursor_stays_with_its_row(void **state)
{
    (void)state;
    crn_top_look look = look_at(NULL, known(1));
    crn_top_choice choice = {.view = CRN_TOP_SELF};
    crn_top_rows rows = crn_top_rows_make(&look, &choice);
    crn_top_key(&choice, &look, &rows, 10, CRN_KEY_DOWN);
    crn_top_key(&choice, &look, &rows, 10, 's');
    remake(&rows, &look, &choice);
    assert_names(&rows, "a b d c");
    assert_int_equal(choice.cursor, 2); /* d */
    crn_top_key(&choice, &look, &rows, 10, CRN_KEY_HOME);
    crn_top_key(&choice, &look, &rows, 10, '1');
    choice.sort = CRN_TOP_BY_SELF;
    remake(&rows, &look, &choice);
    assert_int_equal(choice.cursor, 0);
    crn_top_key(&choice, &look, &rows, 10, CRN_KEY_END);
    assert_int_equal(choice.cursor, 3);
    snprintf(choice.filter, sizeof choice.filter, "d");
    remake(&rows, &look, &choice); /* its row is gone */
    assert_int_equal(choice.cursor, 0);
    uint64_t filtered = rows.rows[0].identity;
    crn_top_key(&choice, &look, &rows, 10, CRN_KEY_ESCAPE); /* ends the filter */
    remake(&rows, &look, &choice);
    assert_int_equal(rows.count, 4);
    assert_int_equal(rows.rows[choice.cursor].identity, filtered);
    assert_int_not_equal(choice.cursor, 0);
    crn_top_rows_free(&rows);
    crn_top_look_free(&look);
}

/* ---- keys ---- */

static void keys_change_the_choice(void **state)
{
    (void)state;
    crn_top_look look = look_at(NULL, known(1));
    crn_top_choice choice = {.view = CRN_TOP_SELF, .delay = 1};
    crn_top_rows rows = crn_top_rows_make(&look, &choice);
#define PRESS(key) assert_true(crn_top_key(&choice, &look, &rows, 10, key))
    PRESS('m');
    assert_string_equal(choice.metric, "calls");
    PRESS('m'); /* wall and cpu are empty */
    assert_string_equal(choice.metric, "ticks");
    PRESS('M');
    assert_string_equal(choice.metric, "calls");
    PRESS('2');
    assert_int_equal(choice.view, CRN_TOP_INCLUSIVE);
    assert_int_equal(choice.sort, CRN_TOP_BY_INCLUSIVE);
    static const crn_top_view next[] = {CRN_TOP_TREE, CRN_TOP_CALLERS, CRN_TOP_LANES, CRN_TOP_SELF};
    for (size_t i = 0; i < COUNT(next); i++) {
        PRESS('v');
        assert_int_equal(choice.view, next[i]);
    }
    PRESS('r');
    assert_true(choice.total);
    PRESS(' ');
    assert_true(choice.paused);
    PRESS('+');
    assert_true(choice.delay == 2);
    PRESS('-');
    PRESS('-');
    assert_true(choice.delay == 0.5);
    for (int i = 0; i < 20; i++)
        PRESS('-');
    assert_true(choice.delay >= 0.05);
    PRESS('h');
    assert_true(choice.help);
    PRESS('2'); /* only leaves the help */
    assert_false(choice.help);
    assert_int_equal(choice.view, CRN_TOP_SELF);
    assert_false(crn_top_key(&choice, &look, &rows, 10, 'z'));
    PRESS('q');
    assert_true(choice.quit);
    crn_top_rows_free(&rows);
    crn_top_look_free(&look);
}

static void filters_are_written(void **state)
{
    (void)state;
    crn_top_look look = look_at(NULL, known(1));
    crn_top_choice choice = {.filter = "old"};
    crn_top_rows rows = {0};
    for (const char *key = "/xq\xc3\xa9"; *key; key++)
        PRESS((unsigned char)*key);
    assert_string_equal(choice.filter, "xq\xc3\xa9");
    assert_false(choice.quit);
    PRESS(CRN_KEY_BACKSPACE); /* a character, not a byte */
    assert_string_equal(choice.filter, "xq");
    PRESS(CRN_KEY_ENTER);
    assert_false(choice.typing);
    PRESS('/');
    PRESS('y');
    PRESS(CRN_KEY_ESCAPE);
    assert_string_equal(choice.filter, "xq");
    PRESS(CRN_KEY_ESCAPE);
    assert_string_equal(choice.filter, "");
    PRESS('/');
    for (int i = 0; i < 1000; i++)
        crn_top_key(&choice, &look, &rows, 10, 'w');
    assert_int_equal(strlen(choice.filter), sizeof choice.filter - 1);
    crn_top_look_free(&look);
}

/* ---- drawing ---- */

static void amounts_fit_their_columns(void **state)
{
    (void)state;
    static const struct {
        const char *unit;
        double amount;
        const char *text;
    } cases[] = {
        {"count", 0, "-"},
        {"count", 7, "7"},
        {"count", 0.25, "0.25"},
        {"count", 999, "999"},
        {"count", 999.6, "1.00k"},
        {"count", 12345, "12.3k"},
        {"count", 9996, "10.0k"},
        {"count", 1.8e19, "18.0E"},
        {"nanoseconds", 999, "999 ns"},
        {"nanoseconds", 1e6, "1.00 ms"},
        {"nanoseconds", 1.5e3, "1.50 µs"},
        {"nanoseconds", 99.9e9, "99.9 s"},
        {"nanoseconds", 99.96e9, "1:40"},
        {"nanoseconds", 5999e9, "99:59"},
        {"nanoseconds", 6000e9, "1h40m"},
        {"nanoseconds", 1e15, "11d13h"},
        {"nanoseconds", 1.8e19, "208333d08h"},
        {"bytes", 1023, "1023 B"},
        {"bytes", 512, "512 B"},
        {"bytes", 3 << 20, "3.00 MiB"},
    };
    char text[CRN_AMOUNT_SIZE];
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_string_equal(crn_top_amount(text, cases[i].unit, cases[i].amount), cases[i].text);
    random_source random = {9};
    for (int i = 0; i < 100000; i++) {
        double amount = (double)(random_next(&random) >> random_below(&random, 64));
        for (size_t u = 0; u < 3; u++) {
            static const char *const units[] = {"count", "nanoseconds", "bytes"};
            if (u == 1 && amount > 8e17)
                continue; /* 25 years: wider than the column */
            crn_top_amount(text, units[u], amount);
            assert_true(crn_terminal_width(text) <= CRN_AMOUNT_WIDTH);
        }
    }
}

typedef struct line {
    crn_pen pen;
    char text[16384];
} line;

static void put(crn_pen *pen, crn_style style, const char *text)
{
    (void)style;
    line *line = (struct line *)pen;
    assert_true(strlen(line->text) + strlen(text) < sizeof line->text);
    strcat(line->text, text);
}

static void check_line(line *line)
{
    for (const char *c = line->text; *c; c++)
        assert_true((unsigned char)*c >= ' ' && *c != 0x7f);
    assert_int_equal(crn_terminal_width(line->text), line->pen.used);
    assert_true(!line->pen.width || line->pen.used <= line->pen.width);
    line->pen.used = 0;
    *line->text = 0;
}

static void draw_all(const crn_top_look *look, const crn_top_choice *choice,
                     const crn_top_rows *rows, size_t width)
{
    static line line;
    line.pen = (crn_pen){.put = put, .width = width};
    crn_top_history *history = crn_calloc(1, sizeof *history);
    crn_top_history_add(history, look);
    crn_top_history_add(history, look);
    crn_top_header header = {"a\x1b.cairn", look, choice, rows, history, 1};
    for (int i = 0; i < CRN_TOP_HEADER_LINES; i++) {
        crn_top_header_line(&line.pen, i, &header);
        check_line(&line);
    }
    crn_free(history);
    if (rows->count)
        crn_top_titles(&line.pen, rows, choice);
    check_line(&line);
    for (uint32_t i = 0; i < rows->count; i++) {
        crn_top_row_draw(&line.pen, rows, &rows->rows[i]);
        check_line(&line);
    }
}

static crn_profile *with_hostile_names(const crn_profile *profile)
{
    crn_profile_builder *builder = crn_profile_builder_new();
    crn_profile_builder_add(builder, profile);
    crn_block_info info = {.name = "\x1b[2J\x9b\xff\xe6\xbc\xa2 \n\t\x7f", .file = "\x1b]0;x\x07"};
    uint32_t context = crn_profile_builder_root(builder);
    for (int i = 0; i < 100; i++) {
        info.line = (uint32_t)i;
        context = crn_profile_builder_child(builder, context,
                                            crn_profile_builder_block(builder, &info), 3);
        crn_profile_builder_charge(builder, context, CRN_METRIC_TICKS, 50);
    }
    crn_profile_builder_note(builder, "command", "\x1b[31mcommand");
    return crn_profile_builder_end(builder);
}

/* After any keys, for any capture: the cursor is on a row, lines fit and contain no control
 * characters. */
static void any_keys_at_any_time(void **state)
{
    (void)state;
    static const int keys[] = {CRN_KEY_UP,
                               CRN_KEY_DOWN,
                               CRN_KEY_LEFT,
                               CRN_KEY_RIGHT,
                               CRN_KEY_PAGE_UP,
                               CRN_KEY_PAGE_DOWN,
                               CRN_KEY_HOME,
                               CRN_KEY_END,
                               CRN_KEY_ENTER,
                               CRN_KEY_ESCAPE,
                               CRN_KEY_BACKSPACE,
                               'j',
                               'k',
                               'm',
                               'M',
                               'v',
                               '1',
                               '2',
                               '3',
                               '4',
                               '5',
                               '6',
                               's',
                               'r',
                               '/',
                               ' ',
                               '+',
                               '-',
                               'h',
                               '?',
                               'b',
                               0,
                               27,
                               0x7f,
                               0xff,
                               0x110100};
    static const size_t widths[] = {0, 1, 10, 39, 79, 119, 199};
    random_source random = {77};
    crn_top_choice choice = {.delay = 1};
    crn_top_look look = {.state = CRN_TOP_WAITING};
    crn_profile *before = NULL;
    for (int i = 0; i < ROUNDS; i++) {
        crn_top_rows rows = crn_top_rows_make(&look, &choice);
        for (int k = 0; k < 60; k++) {
            crn_top_key(&choice, &look, &rows, random_below(&random, 40),
                        keys[random_below(&random, COUNT(keys))]);
            remake(&rows, &look, &choice);
            assert_true(choice.cursor < rows.count || (!rows.count && !choice.cursor));
            draw_all(&look, &choice, &rows, widths[random_below(&random, COUNT(widths))]);
        }
        crn_top_rows_free(&rows);
        crn_profile_free(before);
        before = look.profile;
        look.profile = NULL;
        crn_top_look_free(&look);
        crn_profile *plain = random_profile(&random, BLOCKS, i % 5 ? EVENTS : 1, NULL);
        look = look_at(i % 3 ? before : NULL, with_hostile_names(plain));
        look.state = (crn_top_state)random_below(&random, CRN_TOP_UNREADABLE + 1);
        crn_profile_free(plain);
        if (look.state != CRN_TOP_WAITING) {
            look.lanes = (crn_lanes){2, crn_calloc(2, sizeof *look.lanes.lanes)};
            look.lanes.lanes[1] = (crn_lane_info){.number = 9,
                                                  .name = "\x1b[5m",
                                                  .open = true,
                                                  .current = random_below(&random, 1 << 20)};
        }
    }
    crn_top_look_free(&look);
    crn_profile_free(before);
    crn_free(choice.folds);
}

int main(void)
{
    setenv("LC_ALL", "C.UTF-8", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_came_is_what_was_added),
        cmocka_unit_test(counters_that_go_back_began_anew),
        cmocka_unit_test(rows_are_what_came),
        cmocka_unit_test(rows_of_nothing_keep_their_places),
        cmocka_unit_test(rows_that_look_alike_keep_their_places),
        cmocka_unit_test(trees_fold_and_remember),
        cmocka_unit_test(trees_do_not_flap),
        cmocka_unit_test(a_block_is_looked_at_from_both_sides),
        cmocka_unit_test(the_cursor_stays_with_its_row),
        cmocka_unit_test(keys_change_the_choice),
        cmocka_unit_test(filters_are_written),
        cmocka_unit_test(amounts_fit_their_columns),
        cmocka_unit_test(any_keys_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
