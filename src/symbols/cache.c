/* SPDX-License-Identifier: MIT */
#include "symbols/cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/interning.h"
#include "base/memory.h"
#include "base/order.h"
#include "symbols/debug_info.h"

typedef struct known_address {
    uint64_t offset;
    uint32_t first, count; /* in the module's `frames` */
    uint32_t line;         /* line of the address; 0 if not known */
} known_address;

typedef struct known_module {
    bool asked;
    crn_module_state state;
    known_address *addresses; /* sorted by offset between lookups */
    uint32_t address_count, address_capacity;
    uint32_t *frames; /* functions, outermost first */
    uint32_t frame_count, frame_capacity;
    crn_block_info *functions;
    uint32_t function_count, function_capacity;
    uint32_t function_first; /* number of functions before the current lookup */
} known_module;

struct crn_symbols_cache {
    crn_interning *names;
    crn_interning *keys; /* path and build id; an interned number is an index of `modules` */
    known_module *modules;
    uint32_t module_count, module_capacity;
    known_module *current; /* the module of the current lookup */
};

crn_symbols_cache *crn_symbols_cache_new(void)
{
    crn_symbols_cache *cache = crn_calloc(1, sizeof *cache);
    cache->names = crn_interning_new();
    cache->keys = crn_interning_new();
    return cache;
}

static void free_contents(crn_symbols_cache *cache)
{
    for (uint32_t m = 0; m < cache->module_count; m++) {
        crn_free(cache->modules[m].addresses);
        crn_free(cache->modules[m].frames);
        crn_free(cache->modules[m].functions);
    }
    crn_free(cache->modules);
    crn_interning_free(cache->names);
    crn_interning_free(cache->keys);
}

void crn_symbols_cache_forget(crn_symbols_cache *cache)
{
    free_contents(cache);
    *cache = (crn_symbols_cache){.names = crn_interning_new(), .keys = crn_interning_new()};
}

void crn_symbols_cache_free(crn_symbols_cache *cache)
{
    if (!cache)
        return;
    free_contents(cache);
    crn_free(cache);
}

/* Returns a module of the cache, added if it is new. Another build of a file is another module. */
static known_module *find_module(crn_symbols_cache *cache, const crn_module *module)
{
    size_t path = strlen(module->path) + 1, id = strlen(module->build_id) + 1;
    char *key = crn_calloc(path + id, 1);
    memcpy(key, module->path, path);
    memcpy(key + path, module->build_id, id);
    uint32_t number = crn_intern_number(cache->keys, key, path + id);
    crn_free(key);
    if (number == cache->module_count) {
        CRN_GROW(cache->modules, cache->module_count, cache->module_capacity);
        cache->modules[cache->module_count++] = (known_module){0};
    }
    return &cache->modules[number];
}

static int compare_addresses(const void *left, const void *right)
{
    const known_address *a = left, *b = right;
    return CRN_ORDER(a->offset, b->offset);
}

static const known_address *find_address(const known_module *known, uint64_t offset)
{
    known_address key = {.offset = offset};
    return known->address_count ? bsearch(&key, known->addresses, known->address_count,
                                          sizeof *known->addresses, compare_addresses)
                                : NULL;
}

/* ---- cache misses -------------------------------------------------------------------- */

static void keep_module(void *data, const crn_module *module, crn_module_state state)
{
    crn_symbols_cache *cache = data;
    cache->current = find_module(cache, module);
    cache->current->asked = true;
    cache->current->state = state;
    cache->current->function_first = cache->current->function_count;
}

static void keep_function(void *data, const char *name, const char *file, uint32_t line,
                          uint32_t column)
{
    crn_symbols_cache *cache = data;
    known_module *known = cache->current;
    CRN_GROW(known->functions, known->function_count, known->function_capacity);
    known->functions[known->function_count++] =
        (crn_block_info){.name = crn_intern_text(cache->names, name),
                         .file = crn_intern_text(cache->names, file),
                         .line = line,
                         .column = column};
}

static void keep_address(void *data, const crn_module *module, const crn_address *address,
                         const uint32_t *functions, uint32_t count, uint32_t line)
{
    (void)module;
    known_module *known = ((crn_symbols_cache *)data)->current;
    CRN_GROW(known->addresses, known->address_count, known->address_capacity);
    known->addresses[known->address_count++] =
        (known_address){address->offset, known->frame_count, count, line};
    for (uint32_t i = 0; i < count; i++) {
        CRN_GROW(known->frames, known->frame_count, known->frame_capacity);
        known->frames[known->frame_count++] = known->function_first + functions[i];
    }
}

static bool may_be_asked(const known_module *known)
{
    return !known->asked || known->state == CRN_MODULE_READ || known->state == CRN_MODULE_UNPROVEN;
}

/* Returns the addresses that are not in the cache. */
static crn_addresses find_missing(crn_symbols_cache *cache, const crn_addresses *addresses)
{
    crn_addresses missing = {
        .all = crn_calloc(addresses->count + (size_t)1, sizeof *missing.all),
        .modules = crn_calloc(addresses->module_count + (size_t)1, sizeof *missing.modules),
    };
    for (uint32_t m = 0; m < addresses->module_count; m++) {
        crn_module module = addresses->modules[m];
        const known_module *known = find_module(cache, &module);
        crn_address *first = missing.all + missing.count;
        for (uint32_t i = 0; may_be_asked(known) && i < module.count; i++)
            if (!find_address(known, module.addresses[i].offset))
                missing.all[missing.count++] = module.addresses[i];
        module.addresses = first;
        module.count = (uint32_t)(missing.all + missing.count - first);
        if (module.count)
            missing.modules[missing.module_count++] = module;
    }
    return missing;
}

static void look_up(crn_symbols_cache *cache, const crn_addresses *addresses)
{
    crn_addresses missing = find_missing(cache, addresses);
    crn_symbols_sink sink = {cache, keep_module, keep_function, keep_address};
    if (missing.count)
        crn_symbols_ask(&missing, &sink);
    for (uint32_t m = 0; m < missing.module_count; m++) {
        known_module *known = find_module(cache, &missing.modules[m]);
        if (known->address_count)
            qsort(known->addresses, known->address_count, sizeof *known->addresses,
                  compare_addresses);
    }
    crn_addresses_free(&missing);
}

/* ---- cache hits ---------------------------------------------------------------------- */

/* Reports a module to the sink. Each function is reported when it first occurs, as the sink numbers
 * functions in this order. */
static void report_module(const known_module *known, const crn_module *module,
                          const crn_symbols_sink *sink)
{
    sink->module(sink->data, module, known->state);
    uint32_t *numbers = crn_calloc(known->function_count + (size_t)1, sizeof *numbers), told = 0;
    for (uint32_t i = 0; i < module->count; i++) {
        const known_address *address = find_address(known, module->addresses[i].offset);
        uint32_t functions[CRN_INLINES_MAX];
        for (uint32_t f = 0; address && f < address->count; f++) {
            uint32_t number = known->frames[address->first + f];
            const crn_block_info *info = &known->functions[number];
            if (!numbers[number]) {
                sink->function(sink->data, info->name, info->file, info->line, info->column);
                numbers[number] = ++told;
            }
            functions[f] = numbers[number] - 1;
        }
        if (address)
            sink->address(sink->data, module, &module->addresses[i], functions, address->count,
                          address->line);
    }
    crn_free(numbers);
}

void crn_symbols_cache_ask(crn_symbols_cache *cache, const crn_addresses *addresses,
                           const crn_symbols_sink *sink)
{
    look_up(cache, addresses);
    for (uint32_t m = 0; m < addresses->module_count; m++) {
        const known_module *known = find_module(cache, &addresses->modules[m]);
        if (known->asked)
            report_module(known, &addresses->modules[m], sink);
    }
}
