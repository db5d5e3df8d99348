/* SPDX-License-Identifier: MIT
 *
 * post.h - sends bodies to an HTTP server that is no ClickHouse: an OTLP collector, Pyroscope.
 */
#ifndef CRN_FLEET_POST_H
#define CRN_FLEET_POST_H

#include <stddef.h>

#include "base/error.h"

typedef struct crn_post crn_post;

/* Opens a connection to "http[s]://HOST:PORT"; does not connect yet. The header, if not NULL, is
 * sent with each request. Never NULL. */
crn_post *crn_post_open(const char *address, const char *header, unsigned retry_s);
void crn_post_close(crn_post *post);

/* Sends a body, gzipped unless it is already (`packed`), to address + path. Retries while the
 * server is away or overloaded (429, 502, 503, 504) with growing pauses. */
bool crn_post_send(crn_post *post, const char *path, const char *type, const void *body,
                   size_t size, bool packed, crn_error *error);

/* Returns the text in a form for a URL's query; free it with crn_free. */
char *crn_post_escape(const crn_post *post, const char *text);

#endif
