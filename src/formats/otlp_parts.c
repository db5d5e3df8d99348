/* SPDX-License-Identifier: MIT */
#include "formats/otlp_parts.h"

#include "base/memory.h"
#include "base/text.h"

static Otlp__KeyValue *add(crn_otlp_list *list, const char *key)
{
    CRN_GROW(list->items, list->count, list->room);
    Otlp__KeyValue *item = crn_calloc(1, sizeof *item);
    otlp__key_value__init(item);
    item->key = crn_text_copy(key, false);
    item->value = crn_calloc(1, sizeof *item->value);
    otlp__any_value__init(item->value);
    list->items[list->count++] = item;
    return item;
}

void crn_otlp_add_text(crn_otlp_list *list, const char *key, const char *text)
{
    Otlp__AnyValue *value = add(list, key)->value;
    value->value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
    value->string_value = crn_text_copy(text, false);
}

void crn_otlp_add_integer(crn_otlp_list *list, const char *key, int64_t integer)
{
    Otlp__AnyValue *value = add(list, key)->value;
    value->value_case = OTLP__ANY_VALUE__VALUE_INT_VALUE;
    value->int_value = integer;
}

void crn_otlp_add_number(crn_otlp_list *list, const char *key, double number)
{
    Otlp__AnyValue *value = add(list, key)->value;
    value->value_case = OTLP__ANY_VALUE__VALUE_DOUBLE_VALUE;
    value->double_value = number;
}

void crn_otlp_add_true(crn_otlp_list *list, const char *key)
{
    Otlp__AnyValue *value = add(list, key)->value;
    value->value_case = OTLP__ANY_VALUE__VALUE_BOOL_VALUE;
    value->bool_value = true;
}

void crn_otlp_list_cut(crn_otlp_list *list, size_t first)
{
    while (list->count > first) {
        Otlp__KeyValue *item = list->items[--list->count];
        if (item->value->value_case == OTLP__ANY_VALUE__VALUE_STRING_VALUE)
            crn_free(item->value->string_value);
        crn_free(item->value);
        crn_free(item->key);
        crn_free(item);
    }
}

void crn_otlp_list_free(crn_otlp_list *list)
{
    crn_otlp_list_cut(list, 0);
    crn_free((void *)list->items);
}

void crn_otlp_add_resource(crn_otlp_list *list, const crn_otlp_options *options)
{
    for (size_t i = 0; i < options->attribute_count; i++)
        crn_otlp_add_text(list, options->attributes[i].key, options->attributes[i].value);
}

bool crn_otlp_hand_on(const ProtobufCMessage *request, const crn_otlp_options *options)
{
    size_t size = protobuf_c_message_get_packed_size(request);
    uint8_t *bytes = crn_calloc(size + 1, 1);
    protobuf_c_message_pack(request, bytes);
    bool good = options->part(options->data, bytes, size);
    crn_free(bytes);
    return good;
}
