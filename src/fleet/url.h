/* SPDX-License-Identifier: MIT
 *
 * url.h - the address of a database: clickhouse://[USER@]HOST[:PORT]/DATABASE
 */
#ifndef CRN_FLEET_URL_H
#define CRN_FLEET_URL_H

#include "base/error.h"

enum { CRN_FLEET_URL_PART = 256 };

typedef struct crn_fleet_url {
    char scheme[8]; /* "http" or "https" */
    char host[CRN_FLEET_URL_PART], port[16], user[CRN_FLEET_URL_PART], database[CRN_FLEET_URL_PART];
} crn_fleet_url;

/* Parses an address. The port defaults to 8123, with TLS to 8443, the user to "default". Refuses a
 * password, because every user of the machine can see command lines. */
bool crn_fleet_url_parse(crn_fleet_url *url, const char *text, crn_error *error);

#endif
