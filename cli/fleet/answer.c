/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/common/json.h"
#include "cli/common/texts.h"
#include "fleet.h"

crn_database *crn_fleet_open(const crn_fleet_given *given)
{
    crn_error error = {0};
    const char *url = given->url ? given->url : getenv("CAIRN_FLEET");
    if (!url || !*url) {
        crn_cli_fail(
            "no database given; write --to clickhouse://HOST/DATABASE, or set CAIRN_FLEET");
        return NULL;
    }
    crn_database_options options = {
        .url = url, .password_file = given->password_file, .retry_s = (unsigned)given->retry_s};
    crn_database *database = crn_database_open(&options, &error);
    if (!database)
        crn_cli_fail("%s", error.message);
    return database;
}

/* A value of an answer: a number, or a text, which it owns. */
typedef struct value {
    uint64_t number;
    char *text;
} value;

static value value_read(crn_answer *answer, crn_question_kind kind)
{
    value value = {0};
    crn_fleet_id id;
    if (kind == CRN_QUESTION_TEXT) {
        value.text = crn_answer_copy(answer);
    } else if (kind == CRN_QUESTION_ID) {
        id = crn_answer_id(answer);
        value.text = crn_fleet_id_text(crn_calloc(33, 1), &id);
    } else if (kind == CRN_QUESTION_TIME) {
        enum { SIZE = 32 };
        time_t seconds = (time_t)crn_answer_number(answer, 4);
        struct tm parts;
        value.text = crn_calloc(SIZE, 1);
        strftime(value.text, SIZE, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &parts));
    } else {
        value.number = crn_answer_number(answer, 8);
    }
    return value;
}

static bool print_json(FILE *out, const crn_question *question, crn_answer *answer)
{
    json_t *rows = json_array();
    while (crn_answer_more(answer)) {
        json_t *row = json_object();
        for (size_t c = 0; c < question->column_count; c++) {
            value value = value_read(answer, question->columns[c].kind);
            json_object_set_new(row, question->columns[c].title,
                                value.text ? crn_json_text(value.text)
                                           : crn_json_number(value.number));
            crn_free(value.text);
        }
        json_array_append_new(rows, row);
    }
    crn_json_write(out, rows);
    return !answer->bad;
}

/* Returns true for name, file and line, which tables have at the end of a row. */
static bool is_place(const crn_question_column *column)
{
    return strcmp(column->title, "name") == 0 || strcmp(column->title, "file") == 0 ||
           strcmp(column->title, "line") == 0;
}

static void put_place(crn_texts_row *row, const crn_question_column *column, const value *value)
{
    size_t length = strlen(row->before), room = sizeof row->before - length;
    if (column->title[0] == 'n')
        snprintf(row->before, sizeof row->before, "%s", value->text);
    else if (column->title[0] == 'f' && *value->text)
        snprintf(row->before + length, room, "  %s", value->text);
    else if (column->title[0] == 'l' && value->number)
        snprintf(row->before + length, room, ":%" PRIu64, value->number);
}

static void put_cell(crn_texts_row *row, size_t cell, const crn_question_column *column,
                     const value *value, const char *unit)
{
    char figure[CRN_FIGURE_SIZE];
    const char *measure = column->kind == CRN_QUESTION_NS      ? CRN_UNIT_TIME
                          : column->kind == CRN_QUESTION_COUNT ? ""
                                                               : unit;
    if (value->text)
        crn_texts_cell(row, cell, "%s", *value->text ? value->text : "-");
    else
        crn_texts_cell(row, cell, "%s", crn_figure_alone(figure, measure, value->number));
}

/* Sets `used` for each column that has a value in any row: the others are not shown. Resets the
 * answer to its begin. */
static void find_used(const crn_question *question, crn_answer *answer, bool *used)
{
    while (crn_answer_more(answer))
        for (size_t c = 0; c < question->column_count; c++) {
            value value = value_read(answer, question->columns[c].kind);
            used[c] |= value.text ? *value.text != '\0' : value.number != 0;
            crn_free(value.text);
        }
    answer->at = 0;
}

/* Adds a row. `run` becomes the answer's first run id. */
static void add_row(crn_texts *texts, const crn_question *question, crn_answer *answer,
                    const bool *used, const char *unit, char run[33])
{
    crn_texts_row *row = crn_texts_add(texts);
    row->block.name = row->block.file = "";
    for (size_t c = 0, cell = 0; c < question->column_count; c++) {
        value value = value_read(answer, question->columns[c].kind);
        if (is_place(&question->columns[c]))
            put_place(row, &question->columns[c], &value);
        else if (used[c])
            put_cell(row, cell++, &question->columns[c], &value, unit);
        if (question->columns[c].kind == CRN_QUESTION_ID && !*run)
            snprintf(run, 33, "%s", value.text);
        crn_free(value.text);
    }
}

bool crn_fleet_print(FILE *out, const crn_question *question, crn_answer *answer, const char *unit,
                     bool json)
{
    crn_texts texts = {0};
    bool named = false, used[CRN_TEXTS_COLUMNS + 3] = {false};
    char run[33] = "";
    if (json)
        return print_json(out, question, answer);
    find_used(question, answer, used);
    for (size_t c = 0; c < question->column_count; c++) {
        named |= is_place(&question->columns[c]);
        if (!is_place(&question->columns[c]) && used[c])
            texts.titles[texts.columns++] = question->columns[c].title;
    }
    while (crn_answer_more(answer))
        add_row(&texts, question, answer, used, unit, run);
    bool good = !answer->bad;
    if (texts.count)
        crn_texts_print(out, &texts, named ? "name" : "");
    else
        fprintf(out, "no run matches; cairn fleet runs lists all\n");
    if (*run)
        fprintf(out, "\nthe whole run of the first line: cairn fleet get %s -o run.cairn\n", run);
    return good;
}
