/* SPDX-License-Identifier: MIT */
#include "fleet/filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool crn_fleet_id_parse(crn_fleet_id *id, const char *text)
{
    if (strlen(text) != 32 || text[strspn(text, "0123456789abcdefABCDEF")])
        return false;
    for (size_t i = 0; i < sizeof id->bytes; i++) {
        const char digits[3] = {text[2 * i], text[2 * i + 1], '\0'};
        id->bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return true;
}

char *crn_fleet_id_text(char text[33], const crn_fleet_id *id)
{
    for (size_t i = 0; i < sizeof id->bytes; i++)
        snprintf(text + 2 * i, 3, "%02x", id->bytes[i]);
    return text;
}

static bool age_parse(const char *text, time_t *seconds)
{
    static const struct {
        char letter;
        time_t seconds;
    } units[] = {{'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 7 * 86400}};
    char *end;
    unsigned long count = strtoul(text, &end, 10);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (isdigit((unsigned char)*text) && count < 100000 && *end == units[i].letter && !end[1]) {
            *seconds = (time_t)count * units[i].seconds;
            return true;
        }
    return false;
}

static bool time_parse(const char *text, time_t *moment)
{
    static const char *const forms[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"};
    time_t age;
    if (age_parse(text, &age)) {
        *moment = time(NULL) - age;
        return true;
    }
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct tm parts = {0};
        const char *end = strptime(text, forms[i], &parts);
        if (end && (!*end || strcmp(end, "Z") == 0)) {
            *moment = timegm(&parts);
            return *moment >= 0;
        }
    }
    return false;
}

static bool is_key(const char *term, const char *key)
{
    size_t length = strlen(key);
    return strncmp(term, key, length) == 0 && term[length] == '=';
}

bool crn_fleet_filter_add(crn_fleet_filter *filter, const char *text, crn_error *error)
{
    const char *equals = strchr(text, '=');
    time_t moment;
    crn_fleet_id id;
    if (!equals || equals == text)
        return crn_error_set(error, EINVAL,
                             "\"%s\" selects no runs; write KEY=VALUE, such as "
                             "version=1.2, host=a or since=7d",
                             text);
    if ((is_key(text, "since") || is_key(text, "until")) && !time_parse(equals + 1, &moment))
        return crn_error_set(error, EINVAL,
                             "\"%s\" is no time; write an age (30m, 12h, 7d) or "
                             "2026-11-23 or 2026-11-23T10:00:00, in UTC",
                             equals + 1);
    if (is_key(text, "run") && !crn_fleet_id_parse(&id, equals + 1))
        return crn_error_set(error, EINVAL,
                             "\"%s\" is no run; it has 32 hexadecimal digits, as "
                             "cairn fleet runs prints them",
                             equals + 1);
    if (filter->count == CRN_FILTER_TERMS)
        return crn_error_set(error, E2BIG, "more than %d conditions", CRN_FILTER_TERMS);
    filter->terms[filter->count++] = text;
    return true;
}

static void add_term(crn_sql *sql, const char *term)
{
    static const char *const columns[] = {"service", "version", "host"};
    const char *value = strchr(term, '=') + 1;
    time_t moment = 0;
    crn_fleet_id id;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (is_key(term, columns[i])) {
            crn_sql_add(sql, " AND %s = ", columns[i]);
            crn_sql_literal(sql, value);
            return;
        }
    if (is_key(term, "since") || is_key(term, "until")) {
        time_parse(value, &moment);
        crn_sql_add(sql, " AND started %s toDateTime(%lld)", is_key(term, "since") ? ">=" : "<",
                    (long long)moment);
    } else if (is_key(term, "run")) {
        crn_fleet_id_parse(&id, value);
        crn_sql_add(sql, " AND run = ");
        crn_sql_id(sql, &id);
    } else {
        char key[256];
        snprintf(key, sizeof key, "%.*s", (int)(value - 1 - term), term);
        crn_sql_add(sql, " AND labels.value[indexOf(labels.key, ");
        crn_sql_literal(sql, key);
        crn_sql_add(sql, ")] = ");
        crn_sql_literal(sql, value);
    }
}

void crn_fleet_filter_sql(const crn_fleet_filter *filter, crn_sql *sql)
{
    crn_sql_add(sql, "1");
    if (filter->service) {
        crn_sql_add(sql, " AND service = ");
        crn_sql_literal(sql, filter->service);
    }
    for (size_t i = 0; i < filter->count; i++)
        add_term(sql, filter->terms[i]);
}

void crn_fleet_filter_runs(const crn_fleet_filter *filter, crn_sql *sql)
{
    if (filter->service) {
        crn_sql_add(sql, "service = ");
        crn_sql_literal(sql, filter->service);
        crn_sql_add(sql, " AND ");
    }
    crn_sql_add(sql, "run GLOBAL IN (SELECT run FROM runs FINAL WHERE ");
    crn_fleet_filter_sql(filter, sql);
    crn_sql_add(sql, ")");
}
