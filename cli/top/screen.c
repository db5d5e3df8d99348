/* SPDX-License-Identifier: MIT
 *
 * Runs `cairn top` on a terminal.
 */
#include <curses.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <term.h>
#include <time.h>
#include <unistd.h>

#include "cli/common/cli.h"
#include "cli/common/clock.h"
#include "top.h"

/* ---- the screen ---- */

typedef struct screen {
    const crn_top_options *options;
    crn_top_choice *choice;
    crn_top_looker looker;
    crn_top_look look;
    crn_top_rows rows;
    crn_top_history history;
    bool asked; /* a snapshot is requested and not yet taken over */
    /* Times of the last and the next snapshot (CLOCK_MONOTONIC); time between snapshots. In
     * seconds. */
    double taken_at, next_at, every;
    double spent; /* processor seconds of the tool at the request */
    uint64_t looks;
    int signals;
    uint32_t page; /* rows that fit */
} screen;

/* Seconds to the second snapshot: soon, so that there are rates. */
#define SECOND_LOOK 0.3

/* Least seconds between snapshots; rates over less mean nothing. */
#define LEAST_INTERVAL 0.1

enum { PAIR_HOT = 1, PAIR_WARM };

static attr_t attributes_of(crn_style style)
{
    bool colour = crn_terminal_get()->colour && has_colors();
    switch (style) {
    case CRN_STYLE_TITLE:
        return A_BOLD;
    case CRN_STYLE_DIM:
        return colour ? A_DIM : A_NORMAL;
    case CRN_STYLE_HOT:
        return A_BOLD | (colour ? COLOR_PAIR(PAIR_HOT) : 0);
    case CRN_STYLE_WARM:
        return colour ? COLOR_PAIR(PAIR_WARM) : A_NORMAL;
    default:
        return A_NORMAL;
    }
}

static void put(crn_pen *pen, crn_style style, const char *text)
{
    /* The cursor's row is in reverse video, in which dim text is hard to read. */
    attr_t attributes = pen->marked ? A_REVERSE : attributes_of(style);
    attrset(attributes);
    addstr(text);
    attrset(A_NORMAL);
}

/* Returns a pen at the begin of a line. It leaves the last column free: writing there moves the
 * cursor on some terminals. */
static crn_pen pen_at(int line)
{
    move(line, 0);
    return (crn_pen){.put = put, .width = (size_t)(COLS > 1 ? COLS - 1 : 1)};
}

static void draw_keys(screen *screen, int line)
{
    static const char *const keys[][2] = {
        {"1-7", "view"},    {"m", "metric"}, {"s", "sort"}, {"r", "total"},     {"/", "filter"},
        {"Enter", "focus"}, {"h", "help"},   {"q", "quit"}, {"Space", "pause"}, {"+ -", "pace"}};
    crn_pen pen = pen_at(line);
    const crn_top_choice *choice = screen->choice;
    if (choice->typing) {
        crn_pen_format(&pen, CRN_STYLE_TITLE, "filter: ");
        crn_pen_text(&pen, CRN_STYLE_PLAIN, choice->filter, 0, true);
        crn_pen_text(&pen, CRN_STYLE_DIM, "_  (Enter keeps it, Esc drops it)", 0, false);
        return;
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        size_t width = strlen(keys[i][0]) + strlen(keys[i][1]) + 1;
        if (pen.used + width > pen.width)
            break;
        crn_pen_text(&pen, CRN_STYLE_TITLE, keys[i][0], 0, false);
        crn_pen_format(&pen, CRN_STYLE_DIM, " %s  ", keys[i][1]);
    }
}

static void draw_help(int first, int last)
{
    for (int i = 0; crn_top_help[i].keys && first + i < last; i++) {
        crn_pen pen = pen_at(first + i);
        crn_pen_to(&pen, 2);
        crn_pen_text(&pen, CRN_STYLE_TITLE, crn_top_help[i].keys, 0, false);
        crn_pen_to(&pen, pen.used > 14 ? pen.used + 2 : 14);
        crn_pen_text(&pen, CRN_STYLE_PLAIN, crn_top_help[i].what, 0, false);
    }
}

static void scroll_to_cursor(screen *screen)
{
    crn_top_choice *choice = screen->choice;
    if (choice->cursor < choice->first)
        choice->first = choice->cursor;
    if (choice->cursor >= choice->first + screen->page)
        choice->first = choice->cursor - screen->page + 1;
    /* A heading just above the first row is shown with it. */
    while (choice->first && choice->first == choice->cursor &&
           screen->rows.rows[choice->first - 1].heading && screen->page > 1)
        choice->first--;
    if (choice->first >= screen->rows.count)
        choice->first = 0;
}

static void draw_rows(screen *screen, int first, int last)
{
    crn_top_rows *rows = &screen->rows;
    screen->page = last > first ? (uint32_t)(last - first) : 1;
    scroll_to_cursor(screen);
    for (uint32_t i = 0; i < screen->page && screen->choice->first + i < rows->count; i++) {
        uint32_t at = screen->choice->first + i;
        crn_pen pen = pen_at(first + (int)i);
        pen.marked = at == screen->choice->cursor;
        crn_top_row_draw(&pen, rows, &rows->rows[at]);
        if (pen.marked)
            crn_pen_to(&pen, pen.width);
    }
    if (!rows->count && last > first) {
        crn_pen pen = pen_at(first);
        crn_pen_text(&pen, CRN_STYLE_DIM, rows->remark, 0, false);
    }
}

static void draw(screen *screen)
{
    erase();
    int line = 0, last = LINES - 1;
    crn_top_header header = {screen->options->path, &screen->look,    screen->choice,
                             &screen->rows,         &screen->history, screen->every};
    for (int i = 0; i < CRN_TOP_HEADER_LINES && line < last; i++) {
        crn_pen pen = pen_at(line);
        line += crn_top_header_line(&pen, i, &header);
    }
    if (line + 2 < last)
        line++;
    if (screen->choice->help) {
        draw_help(line, last);
    } else {
        if (line < last && screen->rows.count) {
            crn_pen pen = pen_at(line++);
            crn_top_titles(&pen, &screen->rows, screen->choice);
        }
        draw_rows(screen, line, last);
    }
    if (LINES > 1)
        draw_keys(screen, LINES - 1);
    refresh();
}

static void remake(screen *screen)
{
    crn_top_rows_free(&screen->rows);
    screen->rows = crn_top_rows_make(&screen->look, screen->choice);
}

/* ---- events ---- */

static int translate(int key)
{
    static const int keys[][2] = {{KEY_UP, CRN_KEY_UP},
                                  {KEY_DOWN, CRN_KEY_DOWN},
                                  {KEY_LEFT, CRN_KEY_LEFT},
                                  {KEY_RIGHT, CRN_KEY_RIGHT},
                                  {KEY_PPAGE, CRN_KEY_PAGE_UP},
                                  {KEY_NPAGE, CRN_KEY_PAGE_DOWN},
                                  {KEY_HOME, CRN_KEY_HOME},
                                  {KEY_END, CRN_KEY_END},
                                  {KEY_ENTER, CRN_KEY_ENTER},
                                  {'\n', CRN_KEY_ENTER},
                                  {'\r', CRN_KEY_ENTER},
                                  {27, CRN_KEY_ESCAPE},
                                  {KEY_BACKSPACE, CRN_KEY_BACKSPACE},
                                  {0x7f, CRN_KEY_BACKSPACE},
                                  {'\b', CRN_KEY_BACKSPACE}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] == key)
            return keys[i][1];
    return key < 0x100 ? key : 0; /* 0: function keys without a binding */
}

static void read_keys(screen *screen)
{
    for (int key; (key = getch()) != ERR && !screen->choice->quit;) {
        if (key == 12) { /* ^L redraws */
            clearok(curscr, TRUE);
            continue;
        }
        if (key == 3) /* ^C, if the terminal makes no signal of it */
            screen->choice->quit = true;
        if (crn_top_key(screen->choice, &screen->look, &screen->rows, screen->page, translate(key)))
            remake(screen);
    }
}

static void read_signals(screen *screen)
{
    struct signalfd_siginfo info;
    while (read(screen->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGWINCH) {
            endwin();
            refresh(); /* adopts the new size */
        } else if (info.ssi_signo == SIGTSTP) {
            endwin();
            kill(getpid(), SIGSTOP);
            refresh();
        } else {
            screen->choice->quit = true;
        }
    }
}

/* Takes over a snapshot. If the capture could not be read, takes its state only: the figures
 * stay. */
static void accept_look(screen *screen, crn_top_look *found)
{
    screen->asked = false;
    screen->looks++;
    bool second = found->profile && !screen->look.profile;
    double helpers = found->helpers;
    screen->taken_at = (double)found->taken_ns / 1e9;
    if (!found->profile && screen->look.profile) {
        screen->look.state = found->state;
        memcpy(screen->look.problem, found->problem, sizeof found->problem);
        crn_top_look_free(found);
    } else {
        crn_top_rows_free(&screen->rows);
        if (found->run != screen->look.run)
            screen->choice->selected = 0;
        crn_top_look_free(&screen->look);
        screen->look = *found;
        crn_top_history_add(&screen->history, found);
    }
    remake(screen);
    /* processor seconds since the request: for reading, and for making rows */
    double cost = crn_cli_clock_s(CLOCK_PROCESS_CPUTIME_ID) - screen->spent + helpers;
    screen->every = crn_top_wait(screen->choice, cost);
    second &= screen->every <= screen->choice->delay && screen->every > SECOND_LOOK;
    screen->next_at = screen->taken_at + (second ? SECOND_LOOK : screen->every);
    if (screen->options->count && screen->looks >= screen->options->count)
        screen->choice->quit = true;
}

static void ask_if_due(screen *screen)
{
    double now = crn_cli_clock_s(CLOCK_MONOTONIC);
    if (screen->asked || screen->choice->paused || now < screen->next_at)
        return;
    screen->asked = true;
    screen->spent = crn_cli_clock_s(CLOCK_PROCESS_CPUTIME_ID);
    const crn_top_needs needs = {screen->choice->view, &screen->options->deadlines};
    crn_top_looker_ask(&screen->looker, &screen->look, needs);
}

static int wait_ms(const screen *screen)
{
    if (screen->asked || screen->choice->paused)
        return -1;
    double wait = screen->next_at - crn_cli_clock_s(CLOCK_MONOTONIC);
    return wait <= 0 ? 0 : wait > 60 ? 60000 : (int)(wait * 1000) + 1;
}

static void loop(screen *screen)
{
    while (!screen->choice->quit) {
        crn_top_view view = screen->choice->view;
        double delay = screen->choice->delay;
        bool paused = screen->choice->paused;
        draw(screen);
        ask_if_due(screen);
        struct pollfd files[] = {{STDIN_FILENO, POLLIN, 0},
                                 {screen->signals, POLLIN, 0},
                                 {screen->looker.event, POLLIN, 0}};
        if (poll(files, 3, wait_ms(screen)) < 0 && errno != EINTR)
            return;
        if (files[1].revents)
            read_signals(screen);
        if (files[0].revents & (POLLHUP | POLLERR))
            return; /* the terminal is gone */
        if (files[0].revents)
            read_keys(screen);
        crn_top_look found;
        if (files[2].revents && crn_top_looker_take(&screen->looker, &found))
            accept_look(screen, &found);
        /* A view that needs other data is refreshed at once. */
        bool more = screen->choice->view != view && screen->choice->view >= CRN_TOP_LANES &&
                    screen->choice->view <= CRN_TOP_SPANS;
        if (more || delay != screen->choice->delay || (paused && !screen->choice->paused))
            screen->next_at = screen->taken_at + LEAST_INTERVAL;
    }
}

static void restore(void)
{
    if (!isendwin())
        endwin();
}

static bool open_screen(screen *screen)
{
    int found = 0;
    if (setupterm(NULL, STDOUT_FILENO, &found) != OK)
        return false;
    del_curterm(cur_term);
    if (!newterm(NULL, stdout, stdin))
        return false;
    atexit(restore);
    cbreak();
    noecho();
    nonl();
    curs_set(0);
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(25);
    if (crn_terminal_get()->colour && has_colors()) {
        start_color();
        use_default_colors();
        init_pair(PAIR_HOT, COLOR_RED, -1);
        init_pair(PAIR_WARM, COLOR_YELLOW, -1);
    }
    screen->page = 1;
    return true;
}

/* Blocks signals and returns a signalfd for them. Must run before the first thread starts, as
 * threads inherit the mask. */
static int open_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGQUIT);
    sigaddset(&set, SIGTSTP);
    sigaddset(&set, SIGWINCH);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int crn_top_screen(const crn_top_options *options, crn_top_choice *choice)
{
    screen screen = {.options = options, .choice = choice, .every = 0};
    crn_terminal_get(); /* sets the locale, which curses needs */
    screen.signals = open_signals();
    if (!open_screen(&screen))
        return crn_top_batch(stdout, options, choice); /* a terminal that curses does not know */
    if (screen.signals < 0 || !crn_top_looker_start(&screen.looker, options->path)) {
        restore();
        return crn_cli_fail("no thread or file descriptor available; close other programs");
    }
    loop(&screen);
    restore();
    crn_top_looker_end(&screen.looker);
    crn_top_rows_free(&screen.rows);
    crn_top_look_free(&screen.look);
    close(screen.signals);
    return CRN_EXIT_OK;
}
