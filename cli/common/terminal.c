/* SPDX-License-Identifier: MIT */
#include "terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "base/memory.h"
#include "base/text.h"

static const crn_glyphs utf8_glyphs = {
    .branch = "├─ ",
    .last = "└─ ",
    .bar = "│  ",
    .gap = "   ",
    .only = "↓ ",
    .cycle = "↺",
    .arrow = "→",
    .ellipsis = "…",
    .to = "–",
    .levels = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
};

static const crn_glyphs ascii_glyphs = {
    .branch = "|- ",
    .last = "`- ",
    .bar = "|  ",
    .gap = "   ",
    .only = "v ",
    .cycle = "@",
    .arrow = "->",
    .ellipsis = "~",
    .to = "-",
    .levels = {" ", ".", ":", "-", "=", "+", "*", "#", "@"},
};

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value;
}

/* Returns true for UTF-8, which is the default if no locale is set. */
static bool choose_utf8(void)
{
    bool chosen = is_set("LC_ALL") || is_set("LC_CTYPE") || is_set("LANG");
    if (!setlocale(LC_CTYPE, chosen ? "" : "C.UTF-8"))
        setlocale(LC_CTYPE, "C.UTF-8"); /* the chosen locale is not installed */
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

const crn_terminal *crn_terminal_get(void)
{
    static crn_terminal terminal;
    if (terminal.glyphs)
        return &terminal;
    terminal.glyphs = choose_utf8() ? &utf8_glyphs : &ascii_glyphs;
    terminal.interactive = isatty(STDOUT_FILENO) || isatty(STDERR_FILENO);
    if (isatty(STDOUT_FILENO)) {
        struct winsize size;
        const char *term = getenv("TERM");
        if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
            terminal.width = size.ws_col < 60 ? 60 : size.ws_col;
        else
            terminal.width = 80;
        terminal.colour = !is_set("NO_COLOR") && term && strcmp(term, "dumb") != 0;
    }
    return &terminal;
}

void crn_terminal_style(FILE *out, crn_style style)
{
    static const char *const sequences[] = {"\033[0m", "\033[1m", "\033[2m", "\033[1;31m",
                                            "\033[33m"};
    if (crn_terminal_get()->colour)
        fputs(sequences[style], out);
}

/* A character as printed. */
typedef struct glyph {
    const char *bytes;
    size_t size, columns;
} glyph;

/* Takes the next character off the text. In a locale other than UTF-8, files get the bytes of safe
 * characters; terminals get '?', as they may act on a byte (0x9b is a control in Latin-1). */
static glyph next_glyph(const char **text)
{
    const char *bytes = *text;
    uint32_t character;
    size_t length = crn_text_decode(bytes, &character);
    const crn_terminal *terminal = crn_terminal_get();
    bool utf8 = terminal->glyphs == &utf8_glyphs;
    *text += length ? length : 1;
    if (!length)
        return utf8 ? (glyph){"\xef\xbf\xbd", 3, 1} : (glyph){"?", 1, 1};
    if (crn_text_is_unsafe(character))
        return (glyph){"?", 1, 1};
    if (character < 0x80)
        return (glyph){bytes, 1, 1};
    if (!utf8)
        return terminal->interactive ? (glyph){"?", 1, 1} : (glyph){bytes, length, length};
    int columns = wcwidth((wchar_t)character);
    if (columns < 0) /* unassigned */
        return (glyph){"?", 1, 1};
    return (glyph){bytes, length, (size_t)columns};
}

/* Returns the number of leading bytes that are printable ASCII, as nearly all text is. */
static size_t plain_run(const char *text)
{
    size_t length = 0;
    while (text[length] >= ' ' && text[length] < 0x7f)
        length++;
    return length;
}

size_t crn_terminal_width(const char *text)
{
    size_t width = 0;
    for (;;) {
        size_t run = plain_run(text);
        width += run;
        text += run;
        if (!*text)
            return width;
        width += next_glyph(&text).columns;
    }
}

/* Output for text: a file, or a buffer that keeps what fits. */
typedef struct sink {
    FILE *file;
    char *to;
    size_t left;
} sink;

static void put(sink *sink, const char *bytes, size_t size)
{
    if (sink->file) {
        fwrite(bytes, 1, size, sink->file);
    } else if (size < sink->left) {
        memcpy(sink->to, bytes, size);
        sink->to += size;
        sink->left -= size;
    } else {
        sink->left = 0; /* cut off all that follows */
    }
}

static size_t put_text(sink *sink, const char *text, size_t limit, bool keep_end)
{
    const char *ellipsis = crn_terminal_get()->glyphs->ellipsis;
    size_t width = limit ? crn_terminal_width(text) : 0, printed = 0;
    bool cut = width > limit;
    if (cut && keep_end) {
        printed += (size_t)1;
        while (*text && width > limit - 1)
            width -= next_glyph(&text).columns;
        put(sink, ellipsis, strlen(ellipsis));
    }
    while (*text) {
        size_t run = cut ? 0 : plain_run(text);
        if (run) {
            put(sink, text, run);
            printed += run;
            text += run;
            continue;
        }
        glyph glyph = next_glyph(&text);
        if (cut && !keep_end && printed + glyph.columns > limit - 1) {
            put(sink, ellipsis, strlen(ellipsis));
            return printed + 1;
        }
        put(sink, glyph.bytes, glyph.size);
        printed += glyph.columns;
    }
    return printed;
}

size_t crn_terminal_text(FILE *out, const char *text, size_t limit, bool keep_end)
{
    return put_text(&(sink){.file = out}, text, limit, keep_end);
}

size_t crn_terminal_fit(char *to, size_t size, const char *text, size_t limit, bool keep_end)
{
    sink sink = {NULL, to, size};
    size_t width = put_text(&sink, text, limit, keep_end);
    *sink.to = 0;
    return width;
}

void crn_terminal_format(FILE *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0)
        abort();
    va_end(arguments);
    size_t length = strlen(format);
    bool line = length && format[length - 1] == '\n';
    if (line)
        text[strlen(text) - 1] = 0;
    crn_terminal_text(out, text, 0, false);
    free(text);
    if (line)
        putc('\n', out);
}

void crn_terminal_wrapped(FILE *out, const char *text)
{
    size_t width = crn_terminal_get()->width, used = 0;
    while (*text) {
        size_t length = strcspn(text, " ");
        char *word = crn_calloc(length + 1, 1);
        memcpy(word, text, length);
        size_t columns = crn_terminal_width(word);
        if (used && width && used + 1 + columns > width) {
            putc('\n', out);
            used = 0;
        }
        if (used)
            putc(' ', out);
        crn_terminal_text(out, word, 0, false);
        used += columns + (used > 0);
        crn_free(word);
        text += length + (text[length] == ' ');
    }
    putc('\n', out);
}
