/* SPDX-License-Identifier: MIT
 *
 * Converts a profile of addresses into one of functions.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "symbols/addresses.h"
#include "symbols/cache.h"
#include "symbols/symbols.h"
#include "symbols/worker.h"

enum { WARNINGS_MAX = 8 };

/* The replacement of a block: blocks of the new profile, outermost first. */
typedef struct stand_in {
    uint32_t first, count; /* in `frames` */
    uint32_t line;         /* of the address in the innermost block's file; 0 if not known */
} stand_in;

typedef struct resolving {
    const crn_profile *profile;
    crn_profile_builder *builder;
    stand_in *stand_ins; /* by block of the old profile; count 0 until it is set */
    uint32_t *frames;
    uint32_t frame_count, frame_capacity;
    uint32_t *functions; /* of the current module: blocks of the new profile */
    uint32_t function_count, function_capacity;
    uint8_t *allocates; /* by block of the new profile: 1 for an allocation function, removed from
                           the ends of paths */
    uint32_t allocates_capacity;
    bool allocator;           /* the current module is libcairn-alloc, removed as a whole */
    uint32_t failures;        /* number of modules with warnings */
    const crn_module *failed; /* the last module with warnings */
    uint64_t done, total, named;
    crn_symbols_progress *progress;
} resolving;

bool crn_symbols_wanted(const crn_profile *profile)
{
    crn_addresses addresses = crn_addresses_find(profile);
    bool wanted = addresses.count > 0;
    crn_addresses_free(&addresses);
    return wanted;
}

/* ---- results of lookups --------------------------------------------------------------- */

static const char *failure_text(crn_module_state state)
{
    switch (state) {
    case CRN_MODULE_GONE:
        return "does not exist any more, so its functions are shown as addresses";
    case CRN_MODULE_UNREADABLE:
        return "cannot be read, so its functions are shown as addresses";
    case CRN_MODULE_NO_PROGRAM:
        return "is not an ELF file, so its functions are shown as addresses";
    case CRN_MODULE_OTHER:
        return "is not the file that ran (its build ID differs), so its functions are shown as "
               "addresses";
    case CRN_MODULE_DAMAGED:
        return "could not be read completely, so some of its functions are shown as addresses";
    case CRN_MODULE_UNPROVEN:
        return "has no build ID: names are right only if it has not been rebuilt since";
    case CRN_MODULE_READ:
        break;
    }
    return NULL;
}

static void put_module(void *data, const crn_module *module, crn_module_state state)
{
    resolving *resolving = data;
    resolving->function_count = 0;
    resolving->allocator = strncmp(crn_path_name(module->path), "libcairn-alloc.so", 17) == 0;
    const char *text = failure_text(state);
    if (!text)
        return;
    resolving->failures += module != resolving->failed; /* may have two: unproven, then damaged */
    resolving->failed = module;
    if (resolving->failures <= WARNINGS_MAX)
        crn_profile_builder_warn(resolving->builder, "%.300s %s", module->path, text);
}

/* Returns true for std::allocator<int>::allocate and its helpers, which are inlined into every
 * container. */
static bool is_allocator_of_cpp(const char *name)
{
    return (strncmp(name, "std::", 5) == 0 || strncmp(name, "__gnu_cxx::", 11) == 0) &&
           crn_path_ends(name, ">::allocate");
}

/* Returns true for the allocation functions of C and C++ that programs call. */
static bool is_allocator(const char *name)
{
    static const char *const names[] = {
        "malloc",         "calloc",        "realloc",       "reallocarray",   "memalign",
        "valloc",         "pvalloc",       "aligned_alloc", "posix_memalign", "operator new",
        "operator new[]", "__libc_malloc", "__libc_calloc", "__libc_realloc", "__libc_memalign"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return is_allocator_of_cpp(name);
}

static uint32_t put_block(resolving *resolving, const crn_block_info *info, bool allocates)
{
    uint32_t block = crn_profile_builder_block(resolving->builder, info);
    if (block >= resolving->allocates_capacity) {
        uint32_t capacity = block * 2 + 256;
        resolving->allocates = crn_realloc(resolving->allocates, capacity, 1);
        memset(resolving->allocates + resolving->allocates_capacity, 0,
               capacity - resolving->allocates_capacity);
        resolving->allocates_capacity = capacity;
    }
    resolving->allocates[block] |= allocates;
    return block;
}

static void put_function(void *data, const char *name, const char *file, uint32_t line,
                         uint32_t column)
{
    resolving *resolving = data;
    crn_block_info info = {.name = name, .file = file, .line = line, .column = column};
    uint32_t block = put_block(resolving, &info, resolving->allocator || is_allocator(name));
    CRN_GROW(resolving->functions, resolving->function_count, resolving->function_capacity);
    resolving->functions[resolving->function_count++] = block;
}

static void put_frame(resolving *resolving, uint32_t block)
{
    CRN_GROW(resolving->frames, resolving->frame_count, resolving->frame_capacity);
    resolving->frames[resolving->frame_count++] = block;
}

static void put_address(void *data, const crn_module *module, const crn_address *address,
                        const uint32_t *functions, uint32_t count, uint32_t line)
{
    resolving *resolving = data;
    uint32_t first = resolving->frame_count;
    for (uint32_t i = 0; i < count; i++)
        put_frame(resolving, resolving->functions[functions[i]]);
    if (!count) {
        char name[320];
        snprintf(name, sizeof name, "[%.255s]+0x%" PRIx64, crn_path_name(module->path),
                 address->offset);
        put_frame(resolving,
                  put_block(resolving, &(crn_block_info){.name = name, .file = module->path},
                            resolving->allocator));
    }
    resolving->stand_ins[address->block] = (stand_in){first, resolving->frame_count - first, line};
    resolving->named++;
    if (resolving->progress)
        resolving->progress(++resolving->done, resolving->total);
}

/* Makes blocks that are no addresses, or whose file cannot be read, stand for themselves. */
static void keep_unresolved(resolving *resolving)
{
    const crn_profile *profile = resolving->profile;
    for (uint32_t b = 1; b < profile->block_count; b++) {
        if (resolving->stand_ins[b].count || b == profile->folded_block)
            continue;
        crn_block_info info = profile->blocks[b];
        const stand_in *parent = &resolving->stand_ins[info.parent < b ? info.parent : 0];
        info.parent = parent->count ? resolving->frames[parent->first] : 0;
        uint64_t unused;
        bool allocator = strncmp(crn_path_name(info.file), "libcairn-alloc.so", 17) == 0 &&
                         crn_address_parse(&info, &unused);
        resolving->stand_ins[b] = (stand_in){resolving->frame_count, 1, 0};
        put_frame(resolving, put_block(resolving, &info, allocator));
    }
}

/* ---- contexts -------------------------------------------------------------------------- */

static bool is_at_end(const resolving *resolving, uint32_t frame)
{
    return resolving->allocates[resolving->frames[frame]];
}

/* Returns, by context, how many blocks of its block's replacement remain after allocation functions
 * are removed from the ends of paths. */
static uint32_t *lengths(const resolving *resolving)
{
    const crn_profile *profile = resolving->profile;
    uint32_t *left = crn_calloc(profile->context_count, sizeof *left);
    uint8_t *goes_on = crn_calloc(profile->context_count, 1);
    for (uint32_t e = 0; e < profile->edge_count; e++)
        goes_on[profile->edges[e].from] = 1;
    for (uint32_t c = profile->context_count - 1; c > 0; c--) {
        const stand_in *stand_in = &resolving->stand_ins[profile->block[c]];
        left[c] = stand_in->count;
        bool sampled = profile->calls_tree[c] == 0; /* contexts with counted calls are kept */
        while (sampled && !goes_on[c] && left[c] &&
               is_at_end(resolving, stand_in->first + left[c] - 1))
            left[c]--;
        if (left[c] || profile->block[c] == profile->folded_block)
            goes_on[profile->parent[c]] = 1;
    }
    crn_free(goes_on);
    return left;
}

static uint32_t put_context(resolving *resolving, uint32_t parent, uint32_t block, uint32_t length,
                            uint64_t calls)
{
    crn_profile_builder *builder = resolving->builder;
    const stand_in *stand_in = &resolving->stand_ins[block];
    if (block == resolving->profile->folded_block)
        return crn_profile_builder_child(builder, parent, crn_profile_builder_folded(builder),
                                         calls);
    if (!length)
        crn_profile_builder_charge(builder, parent, CRN_METRIC_CALLS, calls);
    uint32_t context = parent;
    for (uint32_t i = 0; i < length; i++) /* only the innermost frame has the block's calls */
        context = crn_profile_builder_child(
            builder, context, resolving->frames[stand_in->first + i], i + 1 == length ? calls : 0);
    return context;
}

static void put_metrics(resolving *resolving, const uint32_t *contexts)
{
    const crn_profile *profile = resolving->profile;
    for (uint32_t m = CRN_METRIC_TICKS; m < profile->metric_count; m++) {
        uint32_t metric = crn_profile_builder_metric(resolving->builder, profile->metrics[m].name,
                                                     profile->metrics[m].unit);
        for (uint32_t c = 0; profile->values[m] && c < profile->context_count; c++)
            crn_profile_builder_charge(resolving->builder, contexts[c], metric,
                                       profile->values[m][c]);
    }
}

/* Adds an alias. A folded one stays folded; another one becomes a cycle again if its target is
 * still on the path. */
static void put_edge(resolving *resolving, const crn_profile_edge *edge, const uint32_t *contexts,
                     const uint32_t *left)
{
    uint32_t from = contexts[edge->from];
    if (edge->folded && left[edge->target])
        crn_profile_builder_edge(resolving->builder, from, contexts[edge->target], edge->calls,
                                 true);
    else
        put_context(resolving, from, resolving->profile->block[edge->target], left[edge->target],
                    edge->calls);
}

static void put_contexts(resolving *resolving)
{
    const crn_profile *profile = resolving->profile;
    uint32_t *contexts = crn_calloc(profile->context_count, sizeof *contexts);
    uint32_t *left = lengths(resolving);
    contexts[0] = crn_profile_builder_root(resolving->builder);
    crn_profile_builder_charge(resolving->builder, contexts[0], CRN_METRIC_CALLS,
                               profile->calls_tree[0]);
    for (uint32_t c = 1; c < profile->context_count; c++)
        contexts[c] = put_context(resolving, contexts[profile->parent[c]], profile->block[c],
                                  left[c], profile->calls_tree[c]);
    for (uint32_t e = 0; e < profile->edge_count; e++)
        put_edge(resolving, &profile->edges[e], contexts, left);
    put_metrics(resolving, contexts);
    crn_free(left);
    crn_free(contexts);
}

static void put_words(resolving *resolving)
{
    const crn_profile *profile = resolving->profile;
    for (size_t i = 0; i < profile->note_count; i++)
        crn_profile_builder_note(resolving->builder, profile->notes[i].key,
                                 profile->notes[i].value);
    for (size_t i = 0; i < profile->warning_count; i++)
        crn_profile_builder_warn(resolving->builder, "%s", profile->warnings[i]);
}

/* ---- entry ---------------------------------------------------------------------------- */

static crn_symbols_place *innermost(const resolving *resolving)
{
    const crn_profile *profile = resolving->profile;
    crn_symbols_place *places = crn_calloc(profile->block_count, sizeof *places);
    for (uint32_t b = 1; b < profile->block_count; b++) {
        const stand_in *stand_in = &resolving->stand_ins[b];
        uint32_t left = stand_in->count;
        while (left > 1 && is_at_end(resolving, stand_in->first + left - 1))
            left--;
        if (left)
            places[b] = (crn_symbols_place){
                .block = resolving->frames[stand_in->first + left - 1],
                .line = left == stand_in->count ? stand_in->line : 0,
                .allocates = is_at_end(resolving, stand_in->first + left - 1),
            };
    }
    return places;
}

static crn_symbols_stand_ins all_stand_ins(const resolving *resolving)
{
    uint32_t count = resolving->profile->block_count, used = 0;
    crn_symbols_stand_ins all = {
        crn_calloc(count + (size_t)1, sizeof *all.first),
        crn_calloc(resolving->frame_count + (size_t)1, sizeof *all.blocks)};
    for (uint32_t b = 0; b < count; b++) {
        const stand_in *stand_in = &resolving->stand_ins[b];
        all.first[b] = used;
        for (uint32_t i = 0; i < stand_in->count; i++)
            all.blocks[used++] = resolving->frames[stand_in->first + i];
    }
    all.first[count] = used;
    return all;
}

/* Results of resolve besides the profile; each may be NULL. */
typedef struct told {
    uint64_t *named;
    crn_symbols_place **places;
    crn_symbols_stand_ins *stand_ins;
} told;

static crn_profile *resolve(const crn_profile *profile, crn_symbols_cache *cache,
                            crn_symbols_progress *progress, told told)
{
    crn_addresses addresses = crn_addresses_find(profile);
    resolving resolving = {
        .profile = profile,
        .builder = crn_profile_builder_new(),
        .stand_ins = crn_calloc(profile->block_count, sizeof *resolving.stand_ins),
        .total = addresses.count,
        .progress = progress,
    };
    put_words(&resolving);
    crn_symbols_sink sink = {&resolving, put_module, put_function, put_address};
    if (cache)
        crn_symbols_cache_ask(cache, &addresses, &sink);
    else
        crn_symbols_ask(&addresses, &sink);
    if (resolving.failures > WARNINGS_MAX)
        crn_profile_builder_warn(resolving.builder,
                                 "warnings about %" PRIu32 " more files are left out",
                                 resolving.failures - WARNINGS_MAX);
    keep_unresolved(&resolving);
    put_contexts(&resolving);
    if (told.named)
        *told.named = resolving.named;
    if (told.places)
        *told.places = innermost(&resolving);
    if (told.stand_ins)
        *told.stand_ins = all_stand_ins(&resolving);
    crn_addresses_free(&addresses);
    crn_free(resolving.stand_ins);
    crn_free(resolving.frames);
    crn_free(resolving.functions);
    crn_free(resolving.allocates);
    return crn_profile_builder_end(resolving.builder);
}

crn_profile *crn_symbols_resolve(const crn_profile *profile, crn_symbols_progress *progress,
                                 uint64_t *named)
{
    return resolve(profile, NULL, progress, (told){.named = named});
}

crn_profile *crn_symbols_resolve_blocks(const crn_profile *profile, crn_symbols_progress *progress,
                                        crn_symbols_stand_ins *stand_ins)
{
    return resolve(profile, NULL, progress, (told){.stand_ins = stand_ins});
}

crn_profile *crn_symbols_resolve_cached(const crn_profile *profile, crn_symbols_cache *cache,
                                        crn_symbols_place **places)
{
    return resolve(profile, cache, NULL, (told){.places = places});
}
