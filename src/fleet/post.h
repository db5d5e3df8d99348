/* SPDX-License-Identifier: MIT
 *
 * post.h - sends requests to HTTP servers other than ClickHouse: OpenTelemetry collector,
 * Pyroscope.
 */
#ifndef CRN_FLEET_POST_H
#define CRN_FLEET_POST_H

#include <stddef.h>

#include "base/error.h"

typedef struct crn_post crn_post;

/* Prepares requests to "http[s]://HOST:PORT"; does not connect yet. Sends the header, unless NULL,
 * with each request. Never returns NULL. */
crn_post *crn_post_open(const char *address, const char *header, unsigned retry_s);
void crn_post_close(crn_post *post);

/* Posts a body to address + path, gzipped unless it is `packed`: then its format, such as pprof, is
 * gzipped itself. Retries with growing pauses while the server is away or overloaded (429, 502,
 * 503, 504). */
bool crn_post_send(crn_post *post, const char *path, const char *type, const void *body,
                   size_t size, bool packed, crn_error *error);

/* Returns the text, escaped for a URL's query; free it with crn_free. */
char *crn_post_escape(const crn_post *post, const char *text);

#endif
