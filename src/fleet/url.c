/* SPDX-License-Identifier: MIT */
#include "fleet/url.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "late/late.h"

static bool refuse(crn_error *error, const char *why)
{
    return crn_error_set(error, EINVAL, "%s; write clickhouse://[USER@]HOST[:PORT]/DATABASE", why);
}

static bool scheme_of(crn_fleet_url *url, const char *text, crn_error *error)
{
    static const struct {
        const char *text, *scheme;
    } schemes[] = {{"clickhouse://", "http"},
                   {"http://", "http"},
                   {"clickhouses://", "https"},
                   {"https://", "https"}};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (strncmp(text, schemes[i].text, strlen(schemes[i].text)) == 0) {
            snprintf(url->scheme, sizeof url->scheme, "%s", schemes[i].scheme);
            return true;
        }
    return refuse(error, "the database's address has no scheme");
}

/* Copies a part of the URL; keeps the contents of `to` if the URL lacks the part. Returns false if
 * it does not fit. */
static bool part(CURLU *from, CURLUPart which, char *to, size_t size)
{
    char *text = NULL;
    if (CRN_CURL(curl_url_get)(from, which, &text, which == CURLUPART_HOST ? 0 : CURLU_URLDECODE) !=
        CURLUE_OK)
        return true;
    size_t length = strlen(text);
    bool fits = length < size;
    if (fits)
        memcpy(to, text, length + 1);
    CRN_CURL(curl_free)(text);
    return fits;
}

static bool is_line(const char *text)
{
    return strpbrk(text, "\r\n") == NULL;
}

static bool is_word(const char *text)
{
    return *text && text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789_")] == '\0';
}

bool crn_fleet_url_parse(crn_fleet_url *url, const char *text, crn_error *error)
{
    *url = (crn_fleet_url){.user = "default"};
    if (!scheme_of(url, text, error))
        return false;
    snprintf(url->port, sizeof url->port, "%s", url->scheme[4] ? "8443" : "8123");
    char whole[4 * CRN_FLEET_URL_PART], path[CRN_FLEET_URL_PART] = "", password[8] = "";
    if ((size_t)snprintf(whole, sizeof whole, "%s%s", url->scheme, strstr(text, "://")) >=
        sizeof whole)
        return refuse(error, "the database's address is too long");
    CURLU *parsed = CRN_CURL(curl_url)();
    bool good = parsed && CRN_CURL(curl_url_set)(parsed, CURLUPART_URL, whole, 0) == CURLUE_OK;
    bool open = good && part(parsed, CURLUPART_PASSWORD, password, sizeof password) && !*password;
    good = good && part(parsed, CURLUPART_HOST, url->host, sizeof url->host) &&
           part(parsed, CURLUPART_PORT, url->port, sizeof url->port) &&
           part(parsed, CURLUPART_USER, url->user, sizeof url->user) &&
           part(parsed, CURLUPART_PATH, path, sizeof path);
    CRN_CURL(curl_url_cleanup)(parsed);
    if (good && !open)
        return refuse(error, "a password does not belong in an address, which other users see: "
                             "set CAIRN_FLEET_PASSWORD, or use --password-file");
    size_t length = strlen(path);
    if (length > 1 && path[length - 1] == '/')
        path[length - 1] = '\0';
    snprintf(url->database, sizeof url->database, "%s", path + (path[0] == '/'));
    if (!good || !is_line(url->user) || !*url->host)
        return refuse(error, "the database's address cannot be understood");
    if (!is_word(url->database))
        return refuse(error, "the address needs the name of a database: letters, digits and _");
    return true;
}
