/* SPDX-License-Identifier: MIT
 *
 * Prints the results of `cairn query`.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "query.h"

/* ---- values ---- */

static char *blob_text(crn_value value)
{
    static const char digits[] = "0123456789ABCDEF";
    char *text = crn_calloc(value.size * 2 + 4, 1), *to = text;
    *to++ = 'x';
    *to++ = '\'';
    for (size_t i = 0; i < value.size; i++) {
        *to++ = digits[(unsigned char)value.text[i] >> 4];
        *to++ = digits[(unsigned char)value.text[i] & 15];
    }
    *to = '\'';
    return text;
}

/* Returns the number with as few digits, from 15 on, as read back as the same number; with a point
 * or an exponent, so that it is no integer. Free it with crn_free. */
static char *number_text(double number)
{
    char text[64];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text - 2, "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            break;
    }
    if (isfinite(number) && !strpbrk(text, ".e"))
        strcat(text, ".0");
    return crn_strdup(text);
}

char *crn_query_value_text(crn_value value, const char *null)
{
    char text[32];
    switch (value.kind) {
    case CRN_VALUE_INTEGER:
        snprintf(text, sizeof text, "%" PRId64, value.integer);
        return crn_strdup(text);
    case CRN_VALUE_NUMBER:
        return number_text(value.number);
    case CRN_VALUE_TEXT:
        return crn_strdup(value.text); /* up to a NUL byte */
    case CRN_VALUE_BLOB:
        return blob_text(value);
    default:
        return crn_strdup(null);
    }
}

/* ---- tables ---- */

enum { MEASURED = 1000 /* rows that decide the widths of columns */ };

typedef struct cell {
    char *text;
    bool right; /* a number */
} cell;

typedef struct page {
    uint32_t columns, rows;
    cell *cells;
    size_t *widths;
} page;

static void read_row(page *page, crn_statement *statement, uint32_t row)
{
    for (uint32_t c = 0; c < page->columns; c++) {
        crn_value value = crn_statement_value(statement, c);
        page->cells[(size_t)row * page->columns + c] =
            (cell){crn_query_value_text(value, "NULL"),
                   value.kind == CRN_VALUE_INTEGER || value.kind == CRN_VALUE_NUMBER};
    }
}

/* Prints a cell. The last column is not padded, and is cut at the edge of the terminal. */
static void print_cell(FILE *out, const page *page, uint32_t column, cell cell, size_t *used)
{
    size_t limit = 0, width = crn_terminal_get()->width, its = crn_terminal_width(cell.text);
    size_t pad = page->widths[column] > its ? page->widths[column] - its : 0;
    bool last = column + 1 == page->columns;
    if (column)
        fputs("  ", out);
    if (cell.right)
        fprintf(out, "%*s", (int)pad, "");
    if (last && width)
        limit = width > *used + 10 ? width - *used : 10;
    crn_terminal_text(out, cell.text, limit, false);
    if (!cell.right && !last)
        fprintf(out, "%*s", (int)pad, "");
    *used += (its > page->widths[column] ? its : page->widths[column]) + 2;
}

static void print_rows(FILE *out, page *page)
{
    for (uint32_t r = 0; r < page->rows; r++) {
        size_t used = 0;
        for (uint32_t c = 0; c < page->columns; c++) {
            cell *cell = &page->cells[(size_t)r * page->columns + c];
            print_cell(out, page, c, *cell, &used);
            crn_free(cell->text);
        }
        putc('\n', out);
    }
    page->rows = 0;
}

static void print_head(FILE *out, page *page, crn_statement *statement)
{
    size_t used = 0;
    for (uint32_t c = 0; c < page->columns; c++) {
        bool right = page->rows > 0;
        page->widths[c] = crn_terminal_width(crn_statement_column(statement, c));
        for (uint32_t r = 0; r < page->rows; r++) {
            const cell *cell = &page->cells[(size_t)r * page->columns + c];
            size_t width = crn_terminal_width(cell->text);
            page->widths[c] = width > page->widths[c] ? width : page->widths[c];
            right &= cell->right || strcmp(cell->text, "NULL") == 0;
        }
        crn_terminal_style(out, CRN_STYLE_TITLE);
        print_cell(out, page, c, (cell){(char *)crn_statement_column(statement, c), right}, &used);
        crn_terminal_style(out, CRN_STYLE_PLAIN);
    }
    putc('\n', out);
}

static bool print_table(FILE *out, crn_statement *statement, crn_error *error)
{
    page page = {.columns = crn_statement_columns(statement)};
    page.cells = crn_calloc((size_t)page.columns * MEASURED, sizeof *page.cells);
    page.widths = crn_calloc(page.columns, sizeof *page.widths);
    int more;
    while ((more = crn_statement_step(statement, error)) > 0 && page.rows < MEASURED - 1)
        read_row(&page, statement, page.rows++);
    if (more > 0)
        read_row(&page, statement, page.rows++);
    if (more >= 0 || page.rows)
        print_head(out, &page, statement);
    print_rows(out, &page);
    while (more > 0 && (more = crn_statement_step(statement, error)) > 0) {
        read_row(&page, statement, page.rows++);
        print_rows(out, &page);
    }
    crn_free(page.cells);
    crn_free(page.widths);
    return more == 0;
}

/* ---- CSV ---- */

/* Prints a field. On a terminal, prints "?" for unsafe characters except line ends. */
static void print_field(FILE *out, const char *text, bool quoted)
{
    static int terminal = -1;
    if (terminal < 0)
        terminal = isatty(STDOUT_FILENO);
    if (quoted)
        putc('"', out);
    while (*text) {
        uint32_t character;
        size_t length = crn_text_decode(text, &character);
        if (*text == '"')
            putc('"', out);
        if (terminal && *text != '\n' && (!length || crn_text_is_unsafe(character)))
            putc('?', out);
        else
            fwrite(text, 1, length ? length : 1, out);
        text += length ? length : 1;
    }
    if (quoted)
        putc('"', out);
}

/* Prints a text; an empty one as "", because an empty field is NULL. */
static void print_text_field(FILE *out, const char *text)
{
    print_field(out, text, !*text || strpbrk(text, "\",\n\r"));
}

/* Prints a text. A spreadsheet would run a text that begins like a formula: an apostrophe before it
 * prevents that (OWASP, "CSV Injection"). */
static void print_value(FILE *out, const char *text)
{
    if (!*text || !strchr("=+-@\t\r", *text)) {
        print_text_field(out, text);
        return;
    }
    char *shown = crn_calloc(strlen(text) + 2, 1);
    *shown = '\'';
    strcpy(shown + 1, text);
    print_text_field(out, shown);
    crn_free(shown);
}

static bool print_csv(FILE *out, crn_statement *statement, crn_error *error)
{
    uint32_t columns = crn_statement_columns(statement);
    for (uint32_t c = 0; c < columns; c++) {
        if (c)
            putc(',', out);
        print_text_field(out, crn_statement_column(statement, c));
    }
    putc('\n', out);
    int more;
    while ((more = crn_statement_step(statement, error)) > 0) {
        for (uint32_t c = 0; c < columns; c++) {
            crn_value value = crn_statement_value(statement, c);
            char *text = crn_query_value_text(value, "");
            if (c)
                putc(',', out);
            if (value.kind == CRN_VALUE_TEXT)
                print_value(out, text);
            else
                fputs(text, out);
            crn_free(text);
        }
        putc('\n', out);
    }
    return more == 0;
}

/* ---- JSON ---- */

static json_t *value_json(crn_value value)
{
    switch (value.kind) {
    case CRN_VALUE_INTEGER:
        return json_integer(value.integer);
    case CRN_VALUE_NUMBER: /* null if not finite */
        return crn_json_real(value.number);
    case CRN_VALUE_TEXT:
        return crn_json_text(value.text);
    case CRN_VALUE_BLOB: {
        char *text = blob_text(value);
        json_t *json = crn_json_text(text);
        crn_free(text);
        return json;
    }
    default:
        return json_null();
    }
}

bool crn_query_print_json(FILE *out, crn_statement *statement, const char *const *paths,
                          uint32_t path_count, uint32_t most, crn_error *error)
{
    json_t *files = json_array(), *names = json_array();
    uint32_t columns = crn_statement_columns(statement), count = 0;
    for (uint32_t i = 0; i < path_count; i++)
        json_array_append_new(files, crn_json_text(paths[i]));
    for (uint32_t c = 0; c < columns; c++)
        json_array_append_new(names, crn_json_text(crn_statement_column(statement, c)));
    fputs("{\"schema\":\"cairn-query/1\"", out);
    crn_json_write_member(out, "files", files);
    crn_json_write_member(out, "columns", names);
    fputs(",\n\"rows\":[", out);
    int more;
    while ((more = crn_statement_step(statement, error)) > 0 && count < most) {
        json_t *row = json_array();
        for (uint32_t c = 0; c < columns; c++)
            json_array_append_new(row, value_json(crn_statement_value(statement, c)));
        fputs(count++ ? ",\n" : "\n", out);
        crn_json_write(out, row);
    }
    fputs("]", out);
    if (more > 0)
        crn_json_write_member(out, "more", json_true());
    fputs("}\n", out);
    return more >= 0;
}

bool crn_query_print(FILE *out, crn_statement *statement, crn_query_form form,
                     const char *const *paths, uint32_t path_count, crn_error *error)
{
    switch (form) {
    case CRN_QUERY_CSV:
        return print_csv(out, statement, error);
    case CRN_QUERY_JSON:
        return crn_query_print_json(out, statement, paths, path_count, UINT32_MAX, error);
    default:
        return print_table(out, statement, error);
    }
}
