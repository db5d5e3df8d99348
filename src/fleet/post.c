/* SPDX-License-Identifier: MIT */
#include "fleet/post.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/memory.h"
#include "base/text.h"
#include "fleet/backoff.h"
#include "fleet/http.h"
#include "late/late.h"

enum { ANSWER_SHOWN = 200, GZIP_BITS = 15 + 16 };

struct crn_post {
    CURL *curl;
    char *address, *header;
    unsigned retry_s;
    char answer[ANSWER_SHOWN + 1]; /* the begin of the server's answer */
    size_t answered;
};

crn_post *crn_post_open(const char *address, const char *header, unsigned retry_s)
{
    crn_post *post = crn_calloc(1, sizeof *post);
    CRN_CURL(curl_global_init)(CURL_GLOBAL_DEFAULT);
    post->curl = CRN_CURL(curl_easy_init)();
    post->address = crn_strdup(address);
    post->header = header ? crn_strdup(header) : NULL;
    post->retry_s = retry_s;
    return post;
}

void crn_post_close(crn_post *post)
{
    if (!post)
        return;
    CRN_CURL(curl_easy_cleanup)(post->curl);
    crn_free(post->address);
    crn_free(post->header);
    crn_free(post);
}

char *crn_post_escape(const crn_post *post, const char *text)
{
    char *escaped = CRN_CURL(curl_easy_escape)(post->curl, text, 0);
    char *copy = crn_strdup(escaped ? escaped : "");
    CRN_CURL(curl_free)(escaped);
    return copy;
}

/* Keeps the begin of an answer, and drops the rest. Fails above 1 MiB. */
static size_t receive(char *bytes, size_t size, size_t count, void *data)
{
    crn_post *post = data;
    size_t more = size * count;
    size_t room = post->answered < ANSWER_SHOWN ? ANSWER_SHOWN - post->answered : 0;
    memcpy(post->answer + (post->answered < ANSWER_SHOWN ? post->answered : ANSWER_SHOWN), bytes,
           more < room ? more : room);
    post->answered += more;
    return post->answered > 1 << 20 ? 0 : more;
}

/* Returns the body as gzip; free it with crn_free. */
static uint8_t *pack(const void *body, size_t size, size_t *packed)
{
    z_stream stream = {.zalloc = NULL};
    if (size > UINT32_MAX ||
        deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_BITS, 8, 0) != Z_OK)
        return NULL;
    size_t room = deflateBound(&stream, size) + 64;
    uint8_t *bytes = crn_calloc(room, 1);
    stream.next_in = (uint8_t *)(uintptr_t)body;
    stream.avail_in = (uInt)size;
    stream.next_out = bytes;
    stream.avail_out = (uInt)room;
    int status = deflate(&stream, Z_FINISH);
    *packed = stream.total_out;
    deflateEnd(&stream);
    if (status == Z_STREAM_END)
        return bytes;
    crn_free(bytes);
    return NULL;
}

static bool fail(const crn_post *post, CURLcode code, long status, crn_error *error)
{
    if (code != CURLE_OK)
        return crn_error_set(error, EIO,
                             "%s: %s; is the server running, and is that its HTTP port?",
                             post->address, CRN_CURL(curl_easy_strerror)(code));
    char text[ANSWER_SHOWN + 1];
    snprintf(text, sizeof text, "%s", post->answer);
    text[strcspn(text, "\n")] = '\0';
    crn_text_make_safe(text);
    return crn_error_set(error, EIO, "%s: HTTP status %ld: %s", post->address, status, text);
}

/* Repeats the request until it succeeds, fails for a reason that does not pass, or time is up. */
static bool attempt(crn_post *post, const char *url, struct curl_slist *headers, const void *body,
                    size_t size, crn_error *error)
{
    crn_backoff backoff = crn_backoff_begin(post->retry_s);
    CURLcode code;
    long status;
    bool passes;
    do {
        post->answered = 0;
        memset(post->answer, 0, sizeof post->answer);
        crn_http_post(post->curl, url, body, size, receive, post);
        CRN_CURL(curl_easy_setopt)(post->curl, CURLOPT_HTTPHEADER, headers);
        code = CRN_CURL(curl_easy_perform)(post->curl);
        status = 0;
        CRN_CURL(curl_easy_getinfo)(post->curl, CURLINFO_RESPONSE_CODE, &status);
        if (code == CURLE_OK && status / 100 == 2)
            return true;
        passes = (code != CURLE_OK && code != CURLE_WRITE_ERROR) || status == 429 ||
                 (status >= 502 && status <= 504);
    } while (passes && crn_backoff_pause(&backoff));
    return fail(post, code, status, error);
}

bool crn_post_send(crn_post *post, const char *path, const char *type, const void *body,
                   size_t size, bool packed, crn_error *error)
{
    char line[128];
    size_t length = strlen(post->address) + strlen(path) + 1, packed_size = size;
    uint8_t *gzip = packed ? NULL : pack(body, size, &packed_size);
    if (!post->curl || (!packed && !gzip)) {
        crn_free(gzip);
        return crn_error_set(error, ENOMEM, "a request cannot be packed; is there memory?");
    }
    char *url = crn_calloc(length, 1);
    snprintf(url, length, "%s%s", post->address, path);
    snprintf(line, sizeof line, "Content-Type: %s", type);
    struct curl_slist *headers = CRN_CURL(curl_slist_append)(NULL, "Expect:");
    headers = CRN_CURL(curl_slist_append)(headers, line);
    if (!packed)
        headers = CRN_CURL(curl_slist_append)(headers, "Content-Encoding: gzip");
    if (post->header)
        headers = CRN_CURL(curl_slist_append)(headers, post->header);
    bool good = attempt(post, url, headers, packed ? body : gzip, packed_size, error);
    CRN_CURL(curl_slist_free_all)(headers);
    crn_free(url);
    crn_free(gzip);
    return good;
}
