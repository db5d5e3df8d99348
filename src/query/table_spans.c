/* SPDX-License-Identifier: MIT
 *
 * The virtual table `spans`, which reads spans by scan.h.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "query/scan.h"

static const struct {
    const char *name, *type;
} columns[CRN_SPANS_COLUMNS] = {
    [CRN_SPANS_ID] = {"id", "INTEGER"},
    [CRN_SPANS_NAME] = {"name", "TEXT"},
    [CRN_SPANS_ITERATION] = {"iteration", "INTEGER"},
    [CRN_SPANS_START] = {"start", "INTEGER"},
    [CRN_SPANS_END] = {"end", "INTEGER"},
    [CRN_SPANS_DURATION] = {"duration", "INTEGER"},
    [CRN_SPANS_SELF] = {"self", "INTEGER"},
    [CRN_SPANS_CPU] = {"cpu", "INTEGER"},
    [CRN_SPANS_READY] = {"ready", "INTEGER"},
    [CRN_SPANS_PARENT] = {"parent", "INTEGER"},
    [CRN_SPANS_LANE] = {"lane", "INTEGER"},
    [CRN_SPANS_OPEN] = {"open", "INTEGER"},
    [CRN_SPANS_HANDED_OFF] = {"handed_off", "INTEGER"},
    [CRN_SPANS_WEIGHT] = {"weight", "REAL"},
    [CRN_SPANS_BLOCK] = {"block", "INTEGER"},
    [CRN_SPANS_CAPTURE] = {"capture", "INTEGER"},
};

bool crn_spans_has_column(const char *name)
{
    for (int i = 0; i < CRN_SPANS_COLUMNS; i++)
        if (sqlite3_stricmp(columns[i].name, name) == 0)
            return true;
    return sqlite3_stricmp(name, "rowid") == 0 || sqlite3_stricmp(name, "oid") == 0 ||
           sqlite3_stricmp(name, "_rowid_") == 0;
}

typedef struct table {
    sqlite3_vtab base;
    crn_query *query;
} table;

typedef struct cursor {
    sqlite3_vtab_cursor base;
    crn_scan scan;
    uint32_t attribute; /* index of the last attribute found; the next search begins there */
} cursor;

static int connect(sqlite3 *database, void *query, int count, const char *const *arguments,
                   sqlite3_vtab **made, char **error)
{
    (void)count, (void)arguments, (void)error;
    sqlite3_str *text = sqlite3_str_new(database);
    for (int i = 0; i < CRN_SPANS_COLUMNS; i++)
        sqlite3_str_appendf(text, "%s\"%w\" %s", i ? "," : "CREATE TABLE x(", columns[i].name,
                            columns[i].type);
    crn_query *asked = query;
    for (uint32_t k = 0; k < asked->column_keys; k++)
        sqlite3_str_appendf(text, ",\"%w\" BLOB HIDDEN", asked->key_columns[k]);
    sqlite3_str_appendall(text, ")");
    char *declaration = sqlite3_str_finish(text);
    int status = declaration ? sqlite3_declare_vtab(database, declaration) : SQLITE_NOMEM;
    sqlite3_free(declaration);
    if (status != SQLITE_OK)
        return status;
    table *table = crn_calloc(1, sizeof *table);
    table->query = query;
    *made = &table->base;
    return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *base)
{
    crn_free(base);
    return SQLITE_OK;
}

/* ---- query planning ---- */

/* Returns true if a condition on an attribute can hold for a span without the attribute. */
static bool holds_of_null(unsigned char op)
{
    switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
    case SQLITE_INDEX_CONSTRAINT_LT:
    case SQLITE_INDEX_CONSTRAINT_LE:
    case SQLITE_INDEX_CONSTRAINT_GT:
    case SQLITE_INDEX_CONSTRAINT_GE:
    case SQLITE_INDEX_CONSTRAINT_NE:
    case SQLITE_INDEX_CONSTRAINT_LIKE:
    case SQLITE_INDEX_CONSTRAINT_GLOB:
    case SQLITE_INDEX_CONSTRAINT_ISNOTNULL:
        return false;
    default:
        return true;
    }
}

/* Returns the letter for a condition; 0 if a scan does not support it. */
static char letter_of(const sqlite3_index_info *info, int i)
{
    int column = info->aConstraint[i].iColumn < 0 ? CRN_SPANS_ID : info->aConstraint[i].iColumn;
    if (column == CRN_SPANS_NAME) {
        bool plain = strcmp(sqlite3_vtab_collation((sqlite3_index_info *)info, i), "BINARY") == 0;
        switch (info->aConstraint[i].op) {
        case SQLITE_INDEX_CONSTRAINT_EQ:
            return plain ? 'n' : 0;
        case SQLITE_INDEX_CONSTRAINT_GLOB:
            return 'g';
        case SQLITE_INDEX_CONSTRAINT_LIKE:
            return 'l';
        default:
            return 0;
        }
    }
    if (column >= CRN_SPANS_COLUMNS)
        return holds_of_null(info->aConstraint[i].op) ? 0 : 'h';
    if (column == CRN_SPANS_WEIGHT)
        return 0;
    switch (info->aConstraint[i].op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
        return '=';
    case SQLITE_INDEX_CONSTRAINT_LT:
        return '<';
    case SQLITE_INDEX_CONSTRAINT_LE:
        return '(';
    case SQLITE_INDEX_CONSTRAINT_GT:
        return '>';
    case SQLITE_INDEX_CONSTRAINT_GE:
        return ')';
    case SQLITE_INDEX_CONSTRAINT_ISNULL:
        return '0';
    default:
        return 0;
    }
}

/* Estimates how many of `rows` satisfy a condition. */
static double rows_after(double rows, int column, char letter)
{
    if (letter == '=' && column == CRN_SPANS_ID)
        return 1;
    if (letter == '=' && column == CRN_SPANS_PARENT)
        return rows < 10 ? rows : 10;
    return rows / (letter == '=' || letter == 'n' ? 20 : 3);
}

static bool order_is_known(crn_query *query, const sqlite3_index_info *info)
{
    if (info->nOrderBy <= 0 || info->nOrderBy > CRN_TERMS_MAX)
        return false;
    for (int i = 0; i < info->nOrderBy; i++) {
        int column = info->aOrderBy[i].iColumn;
        if (column == CRN_SPANS_WEIGHT ||
            (column >= CRN_SPANS_COLUMNS &&
             !crn_captures_order_key(query, (uint32_t)(column - CRN_SPANS_COLUMNS))))
            return false;
    }
    return true;
}

/* Appends a condition or an order to the plan, a text: two characters for the column, then the
 * condition's letter, or + or - for an order. */
static void add_step(sqlite3_str *plan, int column, char letter)
{
    sqlite3_str_appendchar(plan, 1, (char)('0' + column / 64));
    sqlite3_str_appendchar(plan, 1, (char)('0' + column % 64));
    sqlite3_str_appendchar(plan, 1, letter);
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    crn_query *query = ((table *)base)->query;
    double rows = query->spans + 1.0;
    sqlite3_str *plan = sqlite3_str_new(NULL);
    double cost = rows;
    for (int i = 0, used = 0; i < info->nConstraint && used < CRN_CONDITIONS_MAX; i++) {
        int column = info->aConstraint[i].iColumn < 0 ? CRN_SPANS_ID : info->aConstraint[i].iColumn;
        char letter = info->aConstraint[i].usable ? letter_of(info, i) : 0;
        if (!letter)
            continue;
        info->aConstraintUsage[i].argvIndex = ++used;
        add_step(plan, column, letter);
        rows = rows_after(rows, column, letter);
        if (letter == '=' && column == CRN_SPANS_ID) {
            info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
            cost = 2;
        } else if (letter == '=' && column == CRN_SPANS_PARENT && cost > 2) {
            cost = 20;
        }
    }
    if (order_is_known(query, info)) {
        info->orderByConsumed = 1;
        for (int i = 0; i < info->nOrderBy; i++) {
            int column = info->aOrderBy[i].iColumn < 0 ? CRN_SPANS_ID : info->aOrderBy[i].iColumn;
            add_step(plan, column, info->aOrderBy[i].desc ? '-' : '+');
        }
    }
    info->estimatedCost = cost;
    info->estimatedRows = rows < 1 ? 1 : (sqlite3_int64)rows;
    bool empty = sqlite3_str_length(plan) == 0;
    info->idxStr = sqlite3_str_finish(plan);
    info->needToFreeIdxStr = 1;
    return empty || info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

/* ---- conditions with values ---- */

static void add_condition(crn_scan *scan, crn_spans_column column, char op, int64_t value)
{
    scan->conditions[scan->condition_count++] = (crn_condition){column, op, value};
}

static bool name_matches(char letter, const char *name, const char *text)
{
    switch (letter) {
    case 'g':
        return sqlite3_strglob(text, name) == 0;
    case 'l':
        return sqlite3_strlike(text, name, 0) == 0;
    default:
        return strcmp(name, text) == 0;
    }
}

/* Restricts the scan to names that equal or match the value. */
static void add_name(crn_scan *scan, char letter, sqlite3_value *value)
{
    const char *text = (const char *)sqlite3_value_text(value);
    const crn_query *query = scan->query;
    uint32_t ranks = 1;
    if (!text) {
        scan->nothing |= sqlite3_value_type(value) == SQLITE_NULL;
        return;
    }
    for (uint32_t i = 0; i < query->count; i++)
        ranks += query->captures[i].profile->block_count;
    uint8_t *names = crn_calloc(ranks, 1);
    for (uint32_t i = 0; i < query->count; i++) {
        const crn_profile *profile = query->captures[i].profile;
        for (uint32_t b = 0; b < profile->block_count; b++) {
            uint32_t rank = query->captures[i].name_rank[b];
            const char *name = profile->blocks[b].name;
            names[rank] = name_matches(letter, name, text) && (!scan->names || scan->names[rank]);
        }
    }
    crn_free(scan->names);
    scan->names = names;
}

/* Adds a comparison with a number, made one with the integer below or above it. */
static void add_number(crn_scan *scan, crn_spans_column column, char letter, double number)
{
    if (!(fabs(number) < 9e18))
        return;
    int64_t low = (int64_t)floor(number), high = (int64_t)ceil(number);
    if (letter == '=' && low == high)
        add_condition(scan, column, '=', low);
    else if (letter == '=')
        scan->nothing = true;
    else if (letter == '>' || letter == ')')
        add_condition(scan, column, ')', low);
    else
        add_condition(scan, column, '(', high);
}

static void add_value(crn_scan *scan, crn_spans_column column, char letter, sqlite3_value *value)
{
    if (letter == '0') {
        add_condition(scan, column, '0', 0);
        return;
    }
    if (column == CRN_SPANS_NAME) {
        if (sqlite3_value_type(value) == SQLITE_TEXT || sqlite3_value_type(value) == SQLITE_NULL)
            add_name(scan, letter, value);
        return;
    }
    switch (sqlite3_value_numeric_type(value)) {
    case SQLITE_INTEGER:
        add_condition(scan, column, letter, sqlite3_value_int64(value));
        break;
    case SQLITE_FLOAT:
        add_number(scan, column, letter, sqlite3_value_double(value));
        break;
    case SQLITE_NULL:
        scan->nothing = true;
        break;
    default: /* SQLite compares */
        break;
    }
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *plan, int count,
                  sqlite3_value **values)
{
    cursor *cursor = (struct cursor *)base;
    crn_scan *scan = &cursor->scan;
    (void)number;
    crn_scan_free(scan);
    *scan = (crn_scan){.query = ((table *)base->pVtab)->query, .key = UINT32_MAX};
    for (int i = 0; plan && *plan; plan += 3) {
        int column = (plan[0] - '0') * 64 + plan[1] - '0';
        if (plan[2] == '+' || plan[2] == '-')
            scan->terms[scan->term_count++] = (crn_order_term){column, plan[2] == '-'};
        else if (plan[2] == 'h' && i++ < count)
            scan->key = (uint32_t)(column - CRN_SPANS_COLUMNS);
        else if (i < count)
            add_value(scan, (crn_spans_column)column, plan[2], values[i++]);
    }
    crn_scan_begin(scan);
    return SQLITE_OK;
}

/* ---- rows ---- */

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **made)
{
    (void)base;
    cursor *cursor = crn_calloc(1, sizeof *cursor);
    *made = &cursor->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    crn_scan_free(&((cursor *)base)->scan);
    crn_free(base);
    return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
    crn_scan_next(&((cursor *)base)->scan);
    return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base)
{
    return ((cursor *)base)->scan.ended;
}

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
    *id = ((cursor *)base)->scan.id;
    return SQLITE_OK;
}

/* Returns the index of the span's first attribute, or where it would be. Looks first after the last
 * one found: SQLite mostly visits spans in order. */
static uint32_t find_attributes(cursor *cursor, const crn_span_store *store, uint32_t span)
{
    uint32_t at = cursor->attribute, count;
    bool near = at <= store->attribute_count && (!at || store->attributes[at - 1].span < span);
    for (int steps = 0; near && at < store->attribute_count && store->attributes[at].span < span;
         steps++, at++)
        near = steps < 8;
    return cursor->attribute = near ? at : crn_store_attributes_of(store, span, &count);
}

/* Sets the SQL result to the span's last value for the key. */
static void result_attribute(cursor *cursor, uint32_t key, sqlite3_context *context)
{
    const crn_scan *scan = &cursor->scan;
    const crn_query_capture *capture = scan->capture;
    const crn_span_store *store = capture->store;
    const uint32_t *key_of = scan->query->key_of[capture - scan->query->captures];
    uint32_t span = scan->id - capture->span, found = UINT32_MAX;
    char text[CAIRN_TEXT_MAX + 1];
    crn_store_attributes(capture->store);
    for (uint32_t at = find_attributes(cursor, store, span);
         at < store->attribute_count && store->attributes[at].span == span; at++)
        if (key_of[crn_store_key(store, at)] == key)
            found = at;
    if (found != UINT32_MAX)
        crn_result_attribute(context, crn_store_attribute(store, found, text));
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number)
{
    cursor *cursor = (struct cursor *)base;
    const crn_scan *scan = &cursor->scan;
    int64_t value;
    if (number >= CRN_SPANS_COLUMNS) {
        result_attribute(cursor, (uint32_t)(number - CRN_SPANS_COLUMNS), context);
    } else if (number == CRN_SPANS_NAME) {
        uint32_t block = crn_captures_block(scan->capture, scan->span->block);
        sqlite3_result_text(context, scan->capture->profile->blocks[block].name,
                            scan->capture->name_size[block], SQLITE_STATIC);
    } else if (number == CRN_SPANS_WEIGHT) {
        sqlite3_result_double(
            context, crn_store_weight(scan->capture->store, scan->id - scan->capture->span));
    } else if (crn_scan_value(scan, (crn_spans_column)number, &value)) {
        sqlite3_result_int64(context, value);
    }
    return SQLITE_OK;
}

int crn_table_spans(crn_query *query)
{
    static const sqlite3_module module = {
        .xConnect = connect,
        .xBestIndex = best_index,
        .xDisconnect = disconnect,
        .xDestroy = disconnect,
        .xOpen = open_cursor,
        .xClose = close_cursor,
        .xFilter = filter,
        .xNext = next,
        .xEof = at_end,
        .xColumn = column,
        .xRowid = row_id,
    };
    return sqlite3_create_module(query->database, "spans", &module, query);
}
