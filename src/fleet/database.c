/* SPDX-License-Identifier: MIT */
#include "fleet/database.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "fleet/backoff.h"
#include "fleet/http.h"
#include "fleet/url.h"
#include "late/late.h"

enum { ANSWER_MAX = 1 << 30, PASSWORD_MAX = 1024, OK = 200 };

struct crn_database {
    CURL *curl;
    crn_fleet_url url;
    char password[PASSWORD_MAX];
    unsigned retry_s;
};

/* ---- options ---- */

static bool password_read(crn_database *database, const char *path, crn_error *error)
{
    if (!path) {
        const char *given = getenv("CAIRN_FLEET_PASSWORD");
        snprintf(database->password, sizeof database->password, "%s", given ? given : "");
        return true;
    }
    FILE *file = fopen(path, "re");
    if (!file)
        return crn_error_set(error, errno, "%s: %s; it should contain the password", path,
                             strerror(errno));
    if (!fgets(database->password, sizeof database->password, file))
        database->password[0] = '\0';
    fclose(file);
    database->password[strcspn(database->password, "\r\n")] = '\0';
    return true;
}

crn_database *crn_database_open(const crn_database_options *options, crn_error *error)
{
    crn_database *database = crn_calloc(1, sizeof *database);
    database->retry_s = options->retry_s;
    if (crn_fleet_url_parse(&database->url, options->url, error) &&
        password_read(database, options->password_file, error)) {
        CRN_CURL(curl_global_init)(CURL_GLOBAL_DEFAULT);
        database->curl = CRN_CURL(curl_easy_init)();
        if (database->curl)
            return database;
        crn_error_set(error, ENOMEM, "libcurl cannot start; is there memory?");
    }
    crn_database_close(database);
    return NULL;
}

void crn_database_close(crn_database *database)
{
    if (!database)
        return;
    CRN_CURL(curl_easy_cleanup)(database->curl);
    explicit_bzero(database->password, sizeof database->password);
    crn_free(database);
}

const char *crn_database_name(const crn_database *database)
{
    return database->url.database;
}

/* ---- one request ---- */

typedef struct exchange {
    const crn_rows *rows;
    crn_answer answer;
    size_t room;
    bool too_long;
    long status;
    CURLcode code;
} exchange;

static size_t receive(char *bytes, size_t size, size_t count, void *data)
{
    exchange *exchange = data;
    size_t more = size * count;
    crn_answer *answer = &exchange->answer;
    if (more > ANSWER_MAX - answer->size) {
        exchange->too_long = true;
        return 0;
    }
    if (exchange->room - answer->size < more) {
        size_t twice = (answer->size + more) * 2;
        exchange->room = twice < ANSWER_MAX ? twice : ANSWER_MAX;
        answer->bytes = crn_realloc(answer->bytes, exchange->room, 1);
    }
    memcpy(answer->bytes + answer->size, bytes, more);
    answer->size += more;
    return more;
}

static void perform(crn_database *database, exchange *exchange, const char *url)
{
    char user[CRN_FLEET_URL_PART + 32], password[PASSWORD_MAX + 32];
    crn_answer_free(&exchange->answer);
    exchange->room = 0;
    const crn_rows *rows = exchange->rows;
    crn_http_post(database->curl, url, rows ? (const void *)rows->bytes : "", rows ? rows->size : 0,
                  receive, exchange);
    snprintf(user, sizeof user, "X-ClickHouse-User: %s", database->url.user);
    snprintf(password, sizeof password, "X-ClickHouse-Key: %s", database->password);
    struct curl_slist *headers = CRN_CURL(curl_slist_append)(NULL, "Expect:");
    headers = CRN_CURL(curl_slist_append)(headers, user);
    if (database->password[0])
        headers = CRN_CURL(curl_slist_append)(headers, password);
    CRN_CURL(curl_easy_setopt)(database->curl, CURLOPT_HTTPHEADER, headers);
    exchange->code = CRN_CURL(curl_easy_perform)(database->curl);
    exchange->status = 0;
    CRN_CURL(curl_easy_getinfo)(database->curl, CURLINFO_RESPONSE_CODE, &exchange->status);
    CRN_CURL(curl_slist_free_all)(headers);
    explicit_bzero(password, sizeof password);
}

/* Returns the number of ClickHouse's error from an answer that begins with "Code: 60, ..."; 0 for
 * other answers. */
static long server_code(const exchange *exchange)
{
    char text[32] = "";
    size_t size = exchange->answer.size < sizeof text - 1 ? exchange->answer.size : sizeof text - 1;
    if (size)
        memcpy(text, exchange->answer.bytes, size);
    return strncmp(text, "Code: ", 6) == 0 ? strtol(text + 6, NULL, 10) : 0;
}

/* Returns true for errors that may pass by themselves. */
static bool may_pass(const exchange *exchange)
{
    /* TOO_MANY_SIMULTANEOUS_QUERIES, TIMEOUT_EXCEEDED, SOCKET_TIMEOUT, NETWORK_ERROR,
     * MEMORY_LIMIT_EXCEEDED, TABLE_IS_READ_ONLY, NOT_ENOUGH_SPACE, TOO_MANY_PARTS; if another shard
     * is away, ATTEMPT_TO_READ_AFTER_EOF and ALL_CONNECTION_TRIES_FAILED; if a disk is full, 75
     * (CANNOT_WRITE) */
    static const long codes[] = {202, 159, 209, 210, 241, 242, 243, 252, 32, 279, 75};
    if (exchange->too_long)
        return false;
    if (exchange->code != CURLE_OK)
        return true;
    long code = server_code(exchange);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (code == codes[i])
            return true;
    return !code && (exchange->status == 429 || exchange->status >= 500);
}

/* Returns true if the server refused the rows or the query themselves, not for a reason of its
 * set-up, such as a password or a missing table. */
static bool is_refusal(const exchange *exchange)
{
    /* UNKNOWN_TABLE, UNKNOWN_DATABASE, READONLY, UNKNOWN_USER, WRONG_PASSWORD,
     * REQUIRED_PASSWORD, ACCESS_DENIED (before version 20: DATABASE_ACCESS_DENIED),
     * AUTHENTICATION_FAILED */
    static const long set_up[] = {60, 81, 164, 192, 193, 194, 291, 497, 516};
    long code = server_code(exchange), status = exchange->status;
    for (size_t i = 0; i < sizeof set_up / sizeof *set_up; i++)
        if (code == set_up[i])
            return false;
    return code ||
           (status >= 400 && status < 500 && status != 401 && status != 403 && status != 404);
}

static bool fail(const crn_database *database, const exchange *exchange, crn_error *error)
{
    const crn_fleet_url *url = &database->url;
    if (exchange->too_long)
        return crn_error_set(error, E2BIG, "%s: the answer is longer than 1 GiB; ask for less",
                             url->host);
    if (exchange->code != CURLE_OK)
        return crn_error_set(error, EIO,
                             "%s:%s: %s; is the server running, and is that its HTTP port?",
                             url->host, url->port, CRN_CURL(curl_easy_strerror)(exchange->code));
    char text[256];
    size_t size = exchange->answer.size < sizeof text - 1 ? exchange->answer.size : sizeof text - 1;
    if (size)
        memcpy(text, exchange->answer.bytes, size);
    text[size] = '\0';
    text[strcspn(text, "\n")] = '\0';
    crn_text_make_safe(text);
    long code = server_code(exchange);
    bool missing = code == 60 || code == 81; /* UNKNOWN_TABLE, UNKNOWN_DATABASE */
    return crn_error_set(error, is_refusal(exchange) ? CRN_DATABASE_REFUSED : EIO,
                         "%s: HTTP status %ld: %s%s", url->host, exchange->status, text,
                         missing ? "; create the tables with: cairn fleet init" : "");
}

/* Returns the URL of a request, with the statement `insert` unless NULL. Free it with crn_free. */
static char *url_make(const crn_database *database, const char *insert, bool use_database)
{
    const crn_fleet_url *to = &database->url;
    char *escaped = insert ? CRN_CURL(curl_easy_escape)(database->curl, insert, 0) : NULL;
    size_t size = sizeof *to + (escaped ? strlen(escaped) : 0) + 64;
    char *url = crn_calloc(size, 1);
    /* The server answers once other shards have stored their rows. */
    snprintf(url, size, "%s://%s:%s/?%s%s%s%s%s", to->scheme, to->host, to->port,
             use_database ? "database=" : "", use_database ? to->database : "",
             escaped ? "&insert_distributed_sync=1" : "", escaped ? "&query=" : "",
             escaped ? escaped : "");
    CRN_CURL(curl_free)(escaped);
    return url;
}

static bool request(crn_database *database, exchange *exchange, const char *insert,
                    bool use_database, crn_error *error)
{
    char *url = url_make(database, insert, use_database);
    crn_backoff backoff = crn_backoff_begin(database->retry_s);
    do
        perform(database, exchange, url);
    while ((exchange->code != CURLE_OK || exchange->status != OK) && may_pass(exchange) &&
           crn_backoff_pause(&backoff));
    crn_free(url);
    return (exchange->code == CURLE_OK && exchange->status == OK) ||
           fail(database, exchange, error);
}

bool crn_database_insert(crn_database *database, const char *into, const crn_rows *rows,
                         crn_error *error)
{
    if (!rows->count)
        return true;
    char sql[1024];
    snprintf(sql, sizeof sql, "INSERT INTO %s FORMAT RowBinary", into);
    exchange exchange = {.rows = rows};
    bool good = request(database, &exchange, sql, true, error);
    crn_answer_free(&exchange.answer);
    return good;
}

bool crn_database_query(crn_database *database, const char *sql, crn_answer *answer,
                        crn_error *error)
{
    crn_rows text = {0};
    crn_rows_put(&text, sql, strlen(sql));
    if (answer)
        crn_rows_put(&text, " FORMAT RowBinary", strlen(" FORMAT RowBinary"));
    exchange exchange = {.rows = &text};
    /* A statement without an answer may create the database, so its URL does not name the
     * database. */
    bool good = request(database, &exchange, NULL, answer != NULL, error);
    crn_rows_free(&text);
    if (answer)
        *answer = exchange.answer;
    else
        crn_answer_free(&exchange.answer);
    return good;
}
