/* SPDX-License-Identifier: MIT
 *
 * Virtual tables with numbered rows. An equality condition on an integer column uses an index, made
 * on first use; if the rows are sorted by the column, a binary search.
 */
#include "query/simple.h"

#include <string.h>

#include "base/memory.h"

enum { INDEXED_MAX = 8 /* only the first columns can have an index */ };

typedef struct column_index {
    bool made;
    uint64_t *keys;  /* by row; NULL: the rows are sorted */
    uint32_t *order; /* rows sorted by key */
} column_index;

/* The state of a table. It lives as long as the database, longer than SQLite's object for the
 * table. */
typedef struct kept {
    crn_query *query;
    const crn_simple_table *table;
    unsigned integers; /* bitmap of the columns that hold only integers and NULL */
    column_index indexes[INDEXED_MAX];
} kept;

typedef struct table {
    sqlite3_vtab base;
    kept *kept;
} table;

typedef struct cursor {
    sqlite3_vtab_cursor base;
    uint64_t at, end;
    const uint32_t *order; /* NULL: rows in natural order */
} cursor;

static uint64_t rows_of(const kept *kept)
{
    if (kept->table->count)
        return kept->table->count(kept->query);
    return *(const uint32_t *)((const char *)crn_query_end(kept->query) + kept->table->ids);
}

static int connect(sqlite3 *database, void *data, int count, const char *const *arguments,
                   sqlite3_vtab **made, char **error)
{
    (void)count, (void)arguments, (void)error;
    kept *kept = data;
    char *declaration = sqlite3_mprintf("CREATE TABLE x(%s)", kept->table->columns);
    int status = declaration ? sqlite3_declare_vtab(database, declaration) : SQLITE_NOMEM;
    sqlite3_free(declaration);
    if (status != SQLITE_OK)
        return status;
    table *table = crn_calloc(1, sizeof *table);
    table->kept = kept;
    *made = &table->base;
    return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *base)
{
    crn_free(base);
    return SQLITE_OK;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    kept *kept = ((table *)base)->kept;
    double rows = (double)rows_of(kept) + 1;
    info->estimatedCost = rows;
    info->estimatedRows = (sqlite3_int64)rows;
    for (int i = 0; i < info->nConstraint; i++) {
        int column = info->aConstraint[i].iColumn;
        if (!info->aConstraint[i].usable || column < 0 || column >= INDEXED_MAX ||
            !(kept->integers & 1U << column) ||
            info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
            continue;
        info->aConstraintUsage[i].argvIndex = 1;
        info->idxNum = 1 + column;
        info->estimatedCost = column ? 20 : 5;
        info->estimatedRows = column ? 10 : 1;
        break;
    }
    return SQLITE_OK;
}

/* ---- indexes ---- */

/* Maps a cell to an unsigned number with the same order, NULL first. */
static uint64_t key_of(const kept *kept, uint64_t row, int column)
{
    char text[CAIRN_TEXT_MAX + 1];
    crn_value value = kept->table->value(kept->query, row, column, text);
    return value.kind == CRN_VALUE_INTEGER ? (uint64_t)value.integer ^ UINT64_C(1) << 63 : 0;
}

static void make_index(kept *kept, int column)
{
    column_index *index = &kept->indexes[column];
    uint64_t count = rows_of(kept), before = 0;
    bool sorted = true;
    index->made = true;
    for (uint64_t row = 0; row < count && sorted; row++) {
        uint64_t key = key_of(kept, row, column);
        sorted = before <= key;
        before = key;
    }
    if (sorted || count > UINT32_MAX)
        return;
    index->keys = crn_calloc(count, sizeof *index->keys);
    index->order = crn_calloc(count, sizeof *index->order);
    for (uint32_t row = 0; row < count; row++) {
        index->keys[row] = key_of(kept, row, column);
        index->order[row] = row;
    }
    crn_store_sort(index->order, (uint32_t)count, index->keys);
}

/* Returns the first position in the order of the index whose key is at least `key`. */
static uint64_t find(const kept *kept, int column, uint64_t key)
{
    const column_index *index = &kept->indexes[column];
    uint64_t low = 0, high = rows_of(kept);
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        uint64_t its =
            index->order ? index->keys[index->order[middle]] : key_of(kept, middle, column);
        if (its < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Uses the index for integers only. SQLite compares other values, with its own conversions. */
static int filter(sqlite3_vtab_cursor *base, int number, const char *plan, int count,
                  sqlite3_value **values)
{
    cursor *cursor = (struct cursor *)base;
    kept *kept = ((table *)base->pVtab)->kept;
    (void)plan;
    *cursor = (struct cursor){.base = *base, .end = rows_of(kept)};
    if (!number || !count || cursor->end > UINT32_MAX ||
        sqlite3_value_type(values[0]) != SQLITE_INTEGER)
        return SQLITE_OK;
    int column = number - 1;
    if (!kept->indexes[column].made)
        make_index(kept, column);
    uint64_t key = (uint64_t)sqlite3_value_int64(values[0]) ^ UINT64_C(1) << 63;
    cursor->at = find(kept, column, key);
    cursor->end = key == UINT64_MAX ? cursor->end : find(kept, column, key + 1);
    cursor->order = kept->indexes[column].order;
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
    crn_free(base);
    return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
    ((cursor *)base)->at++;
    return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base)
{
    return ((cursor *)base)->at >= ((cursor *)base)->end;
}

static uint64_t row_of(const cursor *cursor)
{
    return cursor->order ? cursor->order[cursor->at] : cursor->at;
}

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
    *id = (sqlite3_int64)row_of((cursor *)base);
    return SQLITE_OK;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number)
{
    const kept *kept = ((table *)base->pVtab)->kept;
    char text[CAIRN_TEXT_MAX + 1];
    crn_value value = kept->table->value(kept->query, row_of((cursor *)base), number, text);
    switch (value.kind) {
    case CRN_VALUE_INTEGER:
        sqlite3_result_int64(context, value.integer);
        break;
    case CRN_VALUE_NUMBER:
        sqlite3_result_double(context, value.number);
        break;
    case CRN_VALUE_TEXT:
        sqlite3_result_text64(context, value.text, value.size,
                              value.text == text ? SQLITE_TRANSIENT : SQLITE_STATIC, SQLITE_UTF8);
        break;
    default:
        break;
    }
    return SQLITE_OK;
}

static void forget(void *data)
{
    kept *kept = data;
    for (int i = 0; i < INDEXED_MAX; i++) {
        crn_free(kept->indexes[i].keys);
        crn_free(kept->indexes[i].order);
    }
    crn_free(kept);
}

/* Returns a bitmap of the columns declared INTEGER: untyped columns can hold anything. */
static unsigned integers_of(const char *columns)
{
    static const char type[] = " INTEGER";
    unsigned found = 0;
    for (int i = 0; i < INDEXED_MAX && *columns; i++) {
        size_t size = strcspn(columns, ","), of_type = sizeof type - 1;
        if (size > of_type && strncmp(columns + size - of_type, type, of_type) == 0)
            found |= 1U << i;
        columns += size + (columns[size] == ',');
    }
    return found;
}

int crn_tables_simple(crn_query *query)
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
    int status = SQLITE_OK;
    const crn_simple_table *const lists[] = {crn_profile_tables, crn_trace_tables};
    for (int i = 0; i < 2; i++)
        for (const crn_simple_table *table = lists[i]; table->name && status == SQLITE_OK;
             table++) {
            kept *kept = crn_calloc(1, sizeof *kept);
            kept->query = query;
            kept->table = table;
            kept->integers = integers_of(table->columns);
            status = sqlite3_create_module_v2(query->database, table->name, &module, kept, forget);
        }
    return status;
}
