/* SPDX-License-Identifier: MIT
 *
 * otlp_parts.h - shared by OTLP's traces and profiles: attributes, the resource, packing.
 */
#ifndef CRN_FORMATS_OTLP_PARTS_H
#define CRN_FORMATS_OTLP_PARTS_H

#include "formats/otlp_wire.h"
#include "otlp.pb-c.h"

/* A growing list of attributes, which it owns. */
typedef struct crn_otlp_list {
    Otlp__KeyValue **items;
    size_t count, room;
} crn_otlp_list;

/* Add an attribute; the text is copied as valid UTF-8. */
void crn_otlp_add_text(crn_otlp_list *list, const char *key, const char *text);
void crn_otlp_add_integer(crn_otlp_list *list, const char *key, int64_t value);
void crn_otlp_add_number(crn_otlp_list *list, const char *key, double value);
void crn_otlp_add_true(crn_otlp_list *list, const char *key);
/* Frees the attributes from number `first` on. */
void crn_otlp_list_cut(crn_otlp_list *list, size_t first);
void crn_otlp_list_free(crn_otlp_list *list);

/* Adds the resource's attributes. */
void crn_otlp_add_resource(crn_otlp_list *list, const crn_otlp_options *options);

/* Packs a request, calls options->part with it and returns the result. */
bool crn_otlp_hand_on(const ProtobufCMessage *request, const crn_otlp_options *options);

#endif
