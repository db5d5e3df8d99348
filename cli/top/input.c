/* SPDX-License-Identifier: MIT
 *
 * Handles keys, by a table of bindings.
 */
#include <stdio.h>
#include <string.h>

#include "profile/profile.h"
#include "top.h"

typedef struct context { /* what a key acts on */
    crn_top_choice *choice;
    const crn_top_look *look;
    const crn_top_rows *rows;
    uint32_t page;
    int argument;
} context;

static const crn_top_row *row_at_cursor(const context *context)
{
    uint32_t cursor = context->choice->cursor;
    return cursor < context->rows->count ? &context->rows->rows[cursor] : NULL;
}

/* ---- movement ---- */

static void move_to(const context *context, int64_t row)
{
    crn_top_choice *choice = context->choice;
    const crn_top_rows *rows = context->rows;
    if (!rows->count)
        return;
    int64_t last = (int64_t)rows->count - 1, step = row < choice->cursor ? -1 : 1;
    row = row < 0 ? 0 : row > last ? last : row;
    while (rows->rows[row].heading && row + step >= 0 && row + step <= last)
        row += step;
    if (rows->rows[row].heading) /* only headings precede it */
        while (row < last && rows->rows[row].heading)
            row++;
    choice->cursor = (uint32_t)row;
    choice->selected = row ? rows->rows[row].identity : 0;
}

static void do_move(context *context)
{
    move_to(context, (int64_t)context->choice->cursor + context->argument);
}

static void do_page(context *context)
{
    int64_t page = context->page > 1 ? context->page - 1 : 1;
    move_to(context, context->choice->cursor + page * context->argument);
}

static void do_home(context *context)
{
    move_to(context, 0);
}

static void do_end(context *context)
{
    move_to(context, context->rows->count);
}

/* Moves the cursor to the parent's row. */
static void to_parent(context *context)
{
    const crn_top_row *rows = context->rows->rows;
    uint32_t cursor = context->choice->cursor, at = cursor;
    uint32_t bars = rows[cursor].only ? rows[cursor].level + 1 : rows[cursor].level;
    while (at > 0) {
        at--;
        uint32_t drawn = rows[at].only ? rows[at].level + 1 : rows[at].level;
        if (drawn < bars || (rows[cursor].only && drawn <= bars))
            break;
    }
    move_to(context, at);
}

/* Left closes an open row, or goes to the parent; right opens a closed row, or goes down. */
static void do_fold(context *context)
{
    const crn_top_row *row = row_at_cursor(context);
    crn_top_view view = context->rows->view;
    if (!row || (view != CRN_TOP_TREE && view != CRN_TOP_CALLERS))
        return;
    bool open = context->argument > 0;
    if (!row->leaf && row->open != open)
        crn_top_fold_set(context->choice, row->identity, open, true);
    else if (!open)
        to_parent(context);
    else if (row->open)
        move_to(context, (int64_t)context->choice->cursor + 1);
}

/* ---- choice ---- */

/* Makes the block at the cursor the one that focus, callers and source show. */
static bool take_focus(context *context)
{
    const crn_top_row *row = row_at_cursor(context);
    const crn_profile *profile = context->look->profile;
    if (!row || !row->block || !profile)
        return false;
    for (uint32_t b = 0; b < profile->block_count; b++) {
        const crn_block_info *block = &profile->blocks[b];
        /* Blocks of a derived profile are compared by name, file and line. */
        if (block == row->block || (context->rows->owned && block->line == row->block->line &&
                                    strcmp(block->name, row->block->name) == 0 &&
                                    strcmp(block->file, row->block->file) == 0)) {
            crn_reference_spell(profile, b, context->choice->focus);
            return true;
        }
    }
    return false;
}

static void show(crn_top_choice *choice, crn_top_view view)
{
    if (choice->view == view)
        return;
    choice->view = view;
    choice->selected = 0;
    choice->cursor = choice->first = 0;
}

static void do_view(context *context)
{
    crn_top_choice *choice = context->choice;
    crn_top_view view = (crn_top_view)context->argument;
    if (view == CRN_TOP_VIEWS) /* next view */
        view = choice->view >= CRN_TOP_LANES ? CRN_TOP_SELF : choice->view + 1;
    if ((view == CRN_TOP_CALLERS || view == CRN_TOP_SOURCE) && choice->view != view)
        take_focus(context);
    if (view == CRN_TOP_SOURCE && choice->view != view && choice->view != CRN_TOP_FOCUS)
        choice->back = choice->view;
    if (view == CRN_TOP_SELF)
        choice->sort = CRN_TOP_BY_SELF;
    if (view == CRN_TOP_INCLUSIVE)
        choice->sort = CRN_TOP_BY_INCLUSIVE;
    show(choice, view);
}

static void do_enter(context *context)
{
    crn_top_choice *choice = context->choice;
    if (!take_focus(context))
        return;
    if (choice->view != CRN_TOP_FOCUS)
        choice->back = choice->view;
    choice->view = CRN_TOP_VIEWS; /* makes show() reset the cursor, also from focus to focus */
    show(choice, CRN_TOP_FOCUS);
    if (choice->sort == CRN_TOP_BY_SELF)
        choice->sort = CRN_TOP_BY_INCLUSIVE;
}

/* Leaves help, else the filter, else focus or source. */
static void do_escape(context *context)
{
    crn_top_choice *choice = context->choice;
    if (choice->help) {
        choice->help = false;
    } else if (*choice->filter) {
        /* The cursor follows its row also if that was the first of the filtered rows. */
        const crn_top_row *row = row_at_cursor(context);
        choice->selected = row ? row->identity : choice->selected;
        choice->filter[0] = 0;
    } else if (choice->view == CRN_TOP_FOCUS || choice->view == CRN_TOP_SOURCE) {
        show(choice, choice->back);
        if (choice->back == CRN_TOP_SELF)
            choice->sort = CRN_TOP_BY_SELF;
    } else {
        move_to(context, 0);
    }
}

static void do_metric(context *context)
{
    crn_top_metric_step(context->look, context->choice, context->argument);
}

static void do_sort(context *context)
{
    crn_top_choice *choice = context->choice;
    choice->sort = (choice->sort + 1) % CRN_TOP_SORTS;
}

static void do_total(context *context)
{
    context->choice->total = !context->choice->total;
}

static void do_pause(context *context)
{
    context->choice->paused = !context->choice->paused;
}

/* Sets the next longer or shorter delay of the list, in seconds. */
static void do_delay(context *context)
{
    static const double delays[] = {0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60};
    enum { COUNT = sizeof delays / sizeof *delays };
    double *delay = &context->choice->delay;
    if (context->argument > 0) {
        for (int i = 0; i < COUNT; i++)
            if (delays[i] > *delay * 1.001) {
                *delay = delays[i];
                return;
            }
    } else {
        for (int i = COUNT; i-- > 0;)
            if (delays[i] < *delay * 0.999) {
                *delay = delays[i];
                return;
            }
    }
}

static void do_filter(context *context)
{
    crn_top_choice *choice = context->choice;
    memcpy(choice->filter_before, choice->filter, sizeof choice->filter);
    choice->filter[0] = 0;
    choice->typing = true;
}

static void do_help(context *context)
{
    context->choice->help = !context->choice->help;
}

static void do_quit(context *context)
{
    context->choice->quit = true;
}

/* ---- bindings ---- */

typedef struct binding {
    int key, argument;
    void (*act)(context *context);
} binding;

static const binding bindings[] = {
    {CRN_KEY_UP, -1, do_move},
    {'k', -1, do_move},
    {CRN_KEY_DOWN, 1, do_move},
    {'j', 1, do_move},
    {CRN_KEY_PAGE_UP, -1, do_page},
    {CRN_KEY_PAGE_DOWN, 1, do_page},
    {CRN_KEY_HOME, 0, do_home},
    {'g', 0, do_home},
    {CRN_KEY_END, 0, do_end},
    {'G', 0, do_end},
    {CRN_KEY_LEFT, -1, do_fold},
    {CRN_KEY_RIGHT, 1, do_fold},
    {CRN_KEY_ENTER, 0, do_enter},
    {CRN_KEY_ESCAPE, 0, do_escape},
    {CRN_KEY_BACKSPACE, 0, do_escape},
    {'m', 1, do_metric},
    {'M', -1, do_metric},
    {'v', CRN_TOP_VIEWS, do_view},
    {'1', CRN_TOP_SELF, do_view},
    {'2', CRN_TOP_INCLUSIVE, do_view},
    {'3', CRN_TOP_TREE, do_view},
    {'4', CRN_TOP_CALLERS, do_view},
    {'5', CRN_TOP_LANES, do_view},
    {'6', CRN_TOP_SOURCE, do_view},
    {'7', CRN_TOP_SPANS, do_view},
    {'s', 0, do_sort},
    {'r', 0, do_total},
    {'/', 0, do_filter},
    {' ', 0, do_pause},
    {'+', 1, do_delay},
    {'-', -1, do_delay},
    {'h', 0, do_help},
    {'?', 0, do_help},
    {'q', 0, do_quit},
    {'Q', 0, do_quit},
};

const crn_top_key_help crn_top_help[] = {
    {"1", "functions by self cost"},
    {"2", "functions by total cost"},
    {"3", "tree of contexts, costly ones open"},
    {"4", "callers of the function at the cursor"},
    {"5", "lanes: the threads and their current functions"},
    {"6", "source of the function at the cursor, with costs by line"},
    {"7", "durations of spans, and missed deadlines"},
    {"v", "next view"},
    {"m  M", "next metric, previous metric"},
    {"s", "sort by the next column"},
    {"r", "figures since the last refresh, or since the start"},
    {"/", "filter by name or file"},
    {"Enter", "callers and callees of a function"},
    {"Left Right", "close and open a context of the tree"},
    {"Esc", "leave a function, its source, a filter, this help"},
    {"Up Down PgUp PgDn Home End", "move; the cursor follows its row"},
    {"Space", "pause, continue"},
    {"+  -", "refresh slower, faster"},
    {"q", "quit"},
    {NULL, NULL},
};

/* ---- text input ---- */

static void drop_character(char *text)
{
    size_t length = strlen(text);
    while (length && ((unsigned char)text[length - 1] & 0xc0) == 0x80)
        length--;
    text[length ? length - 1 : 0] = 0;
}

static bool type(crn_top_choice *choice, int key)
{
    size_t length = strlen(choice->filter);
    if (key == CRN_KEY_ENTER) {
        choice->typing = false;
    } else if (key == CRN_KEY_ESCAPE) {
        memcpy(choice->filter, choice->filter_before, sizeof choice->filter);
        choice->typing = false;
    } else if (key == CRN_KEY_BACKSPACE) {
        drop_character(choice->filter);
    } else if (key >= ' ' && key != 0x7f && key < 0x100 && length + 1 < sizeof choice->filter) {
        choice->filter[length] = (char)key; /* UTF-8 arrives byte by byte */
        choice->filter[length + 1] = 0;
    } else {
        return false;
    }
    return true;
}

bool crn_top_key(crn_top_choice *choice, const crn_top_look *look, const crn_top_rows *rows,
                 uint32_t page, int key)
{
    if (choice->typing)
        return type(choice, key);
    for (size_t i = 0; i < sizeof bindings / sizeof *bindings; i++) {
        if (bindings[i].key != key)
            continue;
        if (choice->help && bindings[i].act != do_escape && bindings[i].act != do_quit) {
            choice->help = false; /* any other key only leaves help */
            return true;
        }
        context context = {choice, look, rows, page, bindings[i].argument};
        bindings[i].act(&context);
        return true;
    }
    return false;
}
