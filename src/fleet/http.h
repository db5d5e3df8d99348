/* SPDX-License-Identifier: MIT
 *
 * http.h - options that all HTTP requests of src/fleet share.
 */
#ifndef CRN_FLEET_HTTP_H
#define CRN_FLEET_HTTP_H

#include <curl/curl.h>
#include <stddef.h>

/* Resets `curl` and sets a POST of `body` to `url`: HTTP only, no redirects, with time limits.
 * `receive` gets the answer and `data`. */
void crn_http_post(CURL *curl, const char *url, const void *body, size_t size,
                   curl_write_callback receive, void *data);

#endif
