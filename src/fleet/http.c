/* SPDX-License-Identifier: MIT */
#include "fleet/http.h"

#include "late/late.h"

enum {
    CONNECT_S = 10,
    STALLED_S = 60 /* give up after this time with less than a byte a second */
};

void crn_http_post(CURL *curl, const char *url, const void *body, size_t size,
                   curl_write_callback receive, void *data)
{
    CRN_CURL(curl_easy_reset)(curl);
    CRN_CURL(curl_easy_setopt)(curl, CURLOPT_URL, url);
    CRN_CURL(curl_easy_setopt)(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    CRN_CURL(curl_easy_setopt)(curl, CURLOPT_FOLLOWLOCATION, 0L);
    CRN_CURL(curl_easy_setopt)(curl, CURLOPT_NOSIGNAL, 1L);
    CRN_CURL(curl_easy_setopt)(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
    CRN_CURL(curl_easy_setopt)(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    CRN_CURL(curl_easy_setopt)(curl, CURLOPT_LOW_SPEED_TIME, (long)STALLED_S);
    CRN_CURL(curl_easy_setopt)(curl, CURLOPT_WRITEFUNCTION, receive);
    CRN_CURL(curl_easy_setopt)(curl, CURLOPT_WRITEDATA, data);
    CRN_CURL(curl_easy_setopt)(curl, CURLOPT_POST, 1L);
    CRN_CURL(curl_easy_setopt)(curl, CURLOPT_POSTFIELDS, (const char *)body);
    CRN_CURL(curl_easy_setopt)(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
}
