/* SPDX-License-Identifier: MIT */
#include "fleet/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/interning.h"
#include "base/memory.h"
#include "base/order.h"
#include "explain/explain.h"

/* ---- Welch's test ---- */

typedef struct sample {
    double mean, error; /* error: variance of the mean */
    double freedom;
} sample;

static sample sample_of(const double *values, size_t count, size_t stride)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i * stride];
    double mean = sum / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (values[i * stride] - mean) * (values[i * stride] - mean);
    return (sample){mean, squares / (double)(count - 1) / (double)count, (double)(count - 1)};
}

static crn_fleet_change change_of(const crn_fleet_costs *costs, const double *values, size_t stride,
                                  uint32_t column)
{
    sample before = sample_of(values, costs->runs[0], stride);
    sample after = sample_of(values + costs->runs[0] * stride, costs->runs[1], stride);
    double error = before.error + after.error, difference = after.mean - before.mean;
    crn_fleet_change change = {.column = column, .before = before.mean, .after = after.mean};
    double freedom = error > 0 ? error * error /
                                     (before.error * before.error / before.freedom +
                                      after.error * after.error / after.freedom)
                               : 1;
    if (error > 0)
        change.p = crn_t_test(difference / sqrt(error), freedom);
    else
        change.p = difference == 0 ? 1 : 0; /* without noise every difference is real */
    double half = error > 0 ? crn_t_quantile(freedom, 0.05) * sqrt(error) : 0;
    double base = before.mean > 0 ? before.mean : NAN;
    change.low = (difference - half) / base;
    change.high = (difference + half) / base;
    return change;
}

/* ---- machines' speeds ---- */

typedef struct ratio {
    double ratio, weight;
} ratio;

static int by_ratio(const void *one, const void *other)
{
    const ratio *a = one, *b = other;
    return CRN_ORDER(a->ratio, b->ratio);
}

/* Returns a run's slowness: the median, over unchanged functions and weighted by their means, of
 * cost / mean; 1 if no function has both. */
static double speed_of(const double *row, const double *means, size_t columns, const bool *changed,
                       ratio *ratios)
{
    size_t count = 0;
    double whole = 0, sum = 0;
    for (size_t c = 0; c < columns; c++)
        if (row[c] > 0 && means[c] > 0 && !changed[c]) {
            ratios[count++] = (ratio){row[c] / means[c], means[c]};
            whole += means[c];
        }
    qsort(ratios, count, sizeof *ratios, by_ratio);
    for (size_t i = 0; i < count; i++) {
        sum += ratios[i].weight;
        if (sum >= whole / 2)
            return ratios[i].ratio;
    }
    return 1;
}

static void divide_by_speed(const crn_fleet_costs *costs, double *values, const double *means,
                            const bool *changed)
{
    size_t runs = costs->runs[0] + costs->runs[1], columns = costs->columns;
    ratio *ratios = crn_calloc(columns, sizeof *ratios);
    for (size_t r = 0; r < runs; r++) {
        double speed = speed_of(values + r * columns, means, columns, changed, ratios);
        for (size_t c = 0; c < columns && speed > 0; c++)
            values[r * columns + c] /= speed;
    }
    crn_free(ratios);
}

/* ---- all functions ---- */

static int by_p(const void *one, const void *other)
{
    const crn_fleet_change *a = one, *b = other;
    return CRN_ORDER(a->p, b->p)
               ?: CRN_ORDER(fabs(b->after - b->before), fabs(a->after - a->before));
}

/* p values are multiplied by this where slowness was estimated from the same figures, which makes
 * them approximate: bench-fleet blames a wrong function in 4.2 to 5.2 % of 2,000 fleets without it,
 * and in 3.3 to 4.2 % of 4,000 other fleets with it. */
static const double ESTIMATED_SPEEDS = 1.25;

/* Adjusts the p values for the number n of tests by Holm's method: the smallest is multiplied by n,
 * the next by n - 1, and so on. */
static void adjust(crn_fleet_compare *compare, bool divided)
{
    double least = 0, more = divided ? ESTIMATED_SPEEDS : 1;
    qsort(compare->changes, compare->count, sizeof *compare->changes, by_p);
    for (size_t i = 0; i < compare->count; i++) {
        double p = compare->changes[i].p * (double)(compare->count - i) * more;
        p = p > 1 ? 1 : p;
        least = p > least ? p : least;
        compare->changes[i].p = least;
    }
    qsort(compare->changes, compare->count, sizeof *compare->changes, by_p);
}

/* A function that changed would shift the slowness of its runs, and with it the times of all
 * others. So slowness is that of unchanged functions: the function with the least p is left out and
 * the test repeated, until the rest is within noise or half of the cost is left out. */
enum { ROUNDS_MAX = 16 };
static const double SURE = 0.05;

/* Tests all functions. If `divide`, divides costs by the slowness of the unchanged ones first. */
static void test_functions(crn_fleet_compare *compare, const crn_fleet_costs *costs,
                           const double *means, double least, bool divide, const bool *changed)
{
    size_t runs = costs->runs[0] + costs->runs[1], columns = costs->columns;
    double *values = crn_calloc(runs * columns + 1, sizeof *values);
    memcpy(values, costs->values, runs * columns * sizeof *values);
    if (divide)
        divide_by_speed(costs, values, means, changed);
    compare->count = 0;
    for (size_t c = 0; c < columns; c++)
        if (means[c] > 0 && means[c] >= least)
            compare->changes[compare->count++] = change_of(costs, values + c, columns, (uint32_t)c);
    adjust(compare, divide);
    crn_free(values);
}

crn_fleet_compare crn_fleet_compare_make(const crn_fleet_costs *costs, bool divide, double least)
{
    size_t runs = costs->runs[0] + costs->runs[1], columns = costs->columns;
    double *totals = crn_calloc(runs, sizeof *totals), whole = 0, left_out = 0;
    double *means = crn_calloc(columns + 1, sizeof *means);
    bool *changed = crn_calloc(columns + 1, sizeof *changed);
    for (size_t r = 0; r < runs; r++)
        for (size_t c = 0; c < columns; c++) {
            totals[r] += costs->values[r * columns + c];
            means[c] += costs->values[r * columns + c] / (double)runs;
        }
    for (size_t c = 0; c < columns; c++)
        whole += means[c];
    crn_fleet_compare compare = {.whole = change_of(costs, totals, 1, UINT32_MAX),
                                 .changes = crn_calloc(columns + 1, sizeof *compare.changes)};
    for (int round = 0; round < ROUNDS_MAX; round++) {
        test_functions(&compare, costs, means, whole * least, divide, changed);
        size_t next = 0;
        while (next < compare.count && changed[compare.changes[next].column])
            next++;
        if (!divide || next == compare.count || compare.changes[next].p >= SURE ||
            left_out + means[compare.changes[next].column] > whole / 2)
            break;
        changed[compare.changes[next].column] = true;
        left_out += means[compare.changes[next].column];
    }
    crn_free(changed);
    crn_free(totals);
    crn_free(means);
    return compare;
}

void crn_fleet_compare_free(crn_fleet_compare *compare)
{
    crn_free(compare->changes);
    *compare = (crn_fleet_compare){0};
}

/* ---- from a database ---- */

/* The runs read so far. A row ends at its run's last column; `widths` are the rows' lengths. */
typedef struct gathering {
    crn_fleet_groups *groups;
    crn_interning *columns;
    double **rows;
    size_t *widths, row_count, room;
} gathering;

static void take_run(gathering *gathering, crn_answer *answer)
{
    uint64_t count = crn_answer_length(answer, sizeof(crn_fleet_id));
    uint32_t *columns = crn_calloc(count + 1, sizeof *columns), width = 0;
    for (uint64_t i = 0; i < count; i++) {
        crn_fleet_id id = crn_answer_id(answer);
        columns[i] = crn_intern_number(gathering->columns, (const char *)id.bytes, sizeof id.bytes);
        width = columns[i] + 1 > width ? columns[i] + 1 : width;
    }
    if (crn_answer_length(answer, 8) != count)
        answer->bad = true;
    double *row = crn_calloc(width + (size_t)1, sizeof *row);
    for (uint64_t i = 0; i < count && !answer->bad; i++)
        row[columns[i]] = (double)crn_answer_number(answer, 8);
    crn_free(columns);
    if (gathering->row_count == gathering->room) {
        gathering->room = gathering->room ? gathering->room * 2 : 64;
        gathering->rows =
            crn_realloc((void *)gathering->rows, gathering->room, sizeof *gathering->rows);
        gathering->widths =
            crn_realloc(gathering->widths, gathering->room, sizeof *gathering->widths);
    }
    gathering->widths[gathering->row_count] = width;
    gathering->rows[gathering->row_count++] = row;
    if (width > gathering->groups->costs.columns)
        gathering->groups->costs.columns = width;
}

static bool damaged(crn_error *error)
{
    return crn_error_set(error, EIO, "the server's answer is cut short or damaged");
}

static bool gather(gathering *gathering, crn_database *database, const crn_fleet_filter *filter,
                   const char *metric, crn_error *error)
{
    crn_answer answer = {0};
    crn_sql sql = {0};
    crn_sql_add(&sql, "SELECT blocks, self FROM block_figures FINAL WHERE metric = ");
    crn_sql_literal(&sql, metric);
    crn_sql_add(&sql, " AND ");
    crn_fleet_filter_runs(filter, &sql);
    bool good = crn_database_query(database, sql.text, &answer, error);
    while (good && crn_answer_more(&answer))
        take_run(gathering, &answer);
    good = good && (!answer.bad || damaged(error));
    crn_answer_free(&answer);
    crn_sql_free(&sql);
    return good;
}

static void take_values(const gathering *gathering)
{
    crn_fleet_costs *costs = &gathering->groups->costs;
    costs->values = crn_calloc(gathering->row_count * costs->columns + 1, sizeof *costs->values);
    for (size_t r = 0; r < gathering->row_count; r++)
        memcpy(costs->values + r * costs->columns, gathering->rows[r],
               gathering->widths[r] * sizeof *costs->values);
}

static bool take_names(const gathering *gathering, crn_database *database, const char *service,
                       crn_error *error)
{
    crn_fleet_groups *groups = gathering->groups;
    size_t columns = groups->costs.columns;
    crn_answer answer = {0};
    crn_sql sql = {0};
    groups->names = crn_calloc(columns + 1, sizeof *groups->names);
    groups->files = crn_calloc(columns + 1, sizeof *groups->files);
    groups->lines = crn_calloc(columns + 1, sizeof *groups->lines);
    crn_sql_add(&sql, "SELECT block, any(name), any(file), any(line) FROM blocks");
    if (service) {
        crn_sql_add(&sql, " WHERE service = ");
        crn_sql_literal(&sql, service);
    }
    crn_sql_add(&sql, " GROUP BY block");
    bool good = crn_database_query(database, sql.text, &answer, error);
    while (good && crn_answer_more(&answer)) {
        crn_fleet_id id = crn_answer_id(&answer);
        char *name = crn_answer_copy(&answer), *file = crn_answer_copy(&answer);
        uint32_t line = (uint32_t)crn_answer_number(&answer, 4);
        uint32_t column =
            crn_intern_number(gathering->columns, (const char *)id.bytes, sizeof id.bytes);
        bool wanted = column < columns && !groups->names[column];
        if (wanted) {
            groups->names[column] = name;
            groups->files[column] = file;
            groups->lines[column] = line;
        } else {
            crn_free(name);
            crn_free(file);
        }
    }
    good = good && (!answer.bad || damaged(error));
    crn_answer_free(&answer);
    crn_sql_free(&sql);
    for (size_t c = 0; c < columns; c++)
        if (!groups->names[c]) {
            groups->names[c] = crn_strdup("?");
            groups->files[c] = crn_strdup("");
        }
    return good;
}

bool crn_fleet_groups_fetch(crn_fleet_groups *groups, crn_database *database,
                            const crn_fleet_filter filters[2], const char *metric, crn_error *error)
{
    *groups = (crn_fleet_groups){0};
    gathering gathering = {.groups = groups, .columns = crn_interning_new()};
    bool good = gather(&gathering, database, &filters[0], metric, error);
    groups->costs.runs[0] = gathering.row_count;
    good = good && gather(&gathering, database, &filters[1], metric, error);
    groups->costs.runs[1] = gathering.row_count - groups->costs.runs[0];
    if (good) {
        take_values(&gathering);
        good = take_names(&gathering, database, filters[0].service, error);
    }
    for (size_t r = 0; r < gathering.row_count; r++)
        crn_free(gathering.rows[r]);
    crn_free((void *)gathering.rows);
    crn_free(gathering.widths);
    crn_interning_free(gathering.columns);
    return good;
}

void crn_fleet_groups_free(crn_fleet_groups *groups)
{
    for (size_t c = 0; groups->names && c < groups->costs.columns; c++) {
        crn_free(groups->names[c]);
        crn_free(groups->files[c]);
    }
    crn_free((void *)groups->names);
    crn_free((void *)groups->files);
    crn_free(groups->lines);
    crn_free(groups->costs.values);
    *groups = (crn_fleet_groups){0};
}
