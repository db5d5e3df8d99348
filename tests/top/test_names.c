/* SPDX-License-Identifier: MIT
 *
 * test_names.c - refreshes of `cairn top` for captures of addresses, which are of this program:
 * differences by name equal what was added.
 */
#include <dlfcn.h>
#include <elf.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/top/top.h"
#include "profile/profile.h"
#include "support/build_id.h"
#include "support/cases.h"
#include "support/random_profile.h"
#include "support/scratch.h"

enum { ROUNDS = 20, BLOCKS = 40, EVENTS = 3000 };

/* ---- addresses ---- */

static uint64_t offset_of(const void *place)
{
    Dl_info info;
    struct link_map *map = NULL;
    assert_true(dladdr1(place, &info, (void **)&map, RTLD_DL_LINKMAP));
    return (uint64_t)(uintptr_t)place - map->l_addr;
}

typedef struct build {
    uint64_t base; /* load address of the file */
    char id[BUILD_ID_SIZE];
} build;

static int look_for(struct dl_phdr_info *info, size_t size, void *data)
{
    build *build = data;
    (void)size;
    if (build->base != info->dlpi_addr)
        return 0;
    build_id_read(info, build->id);
    return 1;
}

/* `place` is in a loaded file, of which `path` may be a copy. */
static void put_module(crn_profile *profile, const char *path, const void *place)
{
    char key[PATH_MAX + 16];
    build build = {.base = (uint64_t)(uintptr_t)place - offset_of(place)};
    dl_iterate_phdr(look_for, &build);
    snprintf(key, sizeof key, "module %s", path);
    crn_profile_put_note(profile, key, build.id);
}

static const char *own_path(void)
{
    static char path[PATH_MAX];
    assert_non_null(realpath("/proc/self/exe", path));
    return path;
}

static void put_own_module(crn_profile *profile, const char *path)
{
    put_module(profile, path, (const void *)(uintptr_t)put_own_module);
}

/* Most blocks of a random profile become addresses around this function, the same ones in each
 * profile. */
static void put_addresses(crn_profile *profile)
{
    uint64_t here = offset_of((const void *)(uintptr_t)put_addresses);
    for (uint32_t b = 1; b < profile->block_count; b++) {
        if (b % 8 == 7 || b == profile->folded_block)
            continue;
        char name[32];
        snprintf(name, sizeof name, "0x%" PRIx64, here + (b * (uint64_t)2654435761u) % 6000);
        profile->blocks[b] = (crn_block_info){.name = crn_intern_text(profile->names, name),
                                              .file = crn_intern_text(profile->names, own_path())};
    }
    put_own_module(profile, own_path());
}

/* ---- refreshes ---- */

static crn_top_look look_at(const crn_profile *profile, const crn_top_look *before,
                            crn_symbols_cache *names)
{
    char path[SCRATCH_PATH];
    crn_error error = {0};
    assert_true(crn_profile_save(profile, scratch_path(path, "look.cairn"), &error));
    crn_top_look look = crn_top_look_take(path, before, (crn_top_needs){0}, names);
    assert_non_null(look.profile);
    return look;
}

static uint32_t find_block(const crn_profile *profile, const char *name)
{
    for (uint32_t b = 1; b < profile->block_count; b++)
        if (strcmp(profile->blocks[b].name, name) == 0)
            return b;
    return 0;
}

/* The compiler decides which functions lie around an address. */
static bool has_own_function(const crn_profile *profile)
{
    for (uint32_t b = 1; b < profile->block_count; b++)
        if (strstr(profile->blocks[b].file, "test_names.c"))
            return true;
    return false;
}

/* Self cost of the block. */
static uint64_t self_of(const crn_profile *profile, const char *metric, const char *block)
{
    uint32_t number = find_block(profile, block);
    int found = crn_profile_metric(profile, metric);
    assert_true(number && found >= 0);
    crn_block_cost cost = crn_block_cost_make(profile, (uint32_t)found, NULL);
    uint64_t self = cost.self[number];
    crn_block_cost_free(&cost);
    return self;
}

static uint64_t total_of(const crn_profile *profile, const char *metric)
{
    int found = crn_profile_metric(profile, metric);
    assert_true(found >= 0);
    return crn_metric_total(profile, (uint32_t)found);
}

/* ---- differences ---- */

static bool same_block(const crn_block_info *a, const crn_block_info *b)
{
    return a->line == b->line && a->column == b->column && strcmp(a->name, b->name) == 0 &&
           strcmp(a->file, b->file) == 0;
}

static uint32_t block_like(const crn_profile *profile, const crn_block_info *info)
{
    uint32_t b = 0;
    while (b < profile->block_count && !same_block(&profile->blocks[b], info))
        b++;
    return b;
}

static void check_same_figures(const crn_profile *found, const crn_profile *expected)
{
    for (uint32_t m = CRN_METRIC_CALLS; m <= CRN_METRIC_TICKS; m++) {
        assert_int_equal(crn_metric_total(found, m), crn_metric_total(expected, m));
        crn_block_cost is = crn_block_cost_make(found, m, NULL);
        crn_block_cost should_be = crn_block_cost_make(expected, m, NULL);
        for (uint32_t b = 0; b < expected->block_count; b++) {
            uint32_t same = block_like(found, &expected->blocks[b]);
            assert_true(same < found->block_count);
            assert_int_equal(is.self[same], should_be.self[b]);
            assert_int_equal(is.inclusive[same], should_be.inclusive[b]);
        }
        crn_block_cost_free(&is);
        crn_block_cost_free(&should_be);
    }
}

static void what_came_is_what_was_added(void **state)
{
    (void)state;
    random_source random = {3};
    crn_symbols_cache *names = crn_symbols_cache_new();
    for (uint64_t i = 0; i < scale(ROUNDS); i++) {
        crn_profile *before = random_profile(&random, BLOCKS, EVENTS, NULL);
        crn_profile *added = random_profile(&random, BLOCKS, EVENTS, NULL);
        put_addresses(before);
        put_addresses(added);
        crn_profile_builder *builder = crn_profile_builder_new();
        crn_profile_builder_add(builder, i % 2 ? added : before);
        crn_profile_builder_add(builder, i % 2 ? before : added);
        crn_profile *now = crn_profile_builder_end(builder);
        put_own_module(now, own_path());
        crn_top_look first = look_at(before, NULL, names);
        crn_top_look second = look_at(now, &first, names);
        crn_top_look_free(&first);
        assert_false(second.since.began_anew);
        crn_profile *named_now = crn_symbols_resolve(now, NULL, NULL);
        crn_profile *named_added = crn_symbols_resolve(added, NULL, NULL);
        assert_true(has_own_function(named_now));
        check_same_figures(second.profile, named_now);
        check_same_figures(&second.since.profile, named_added);
        crn_top_look_free(&second);
        crn_profile_free(named_now);
        crn_profile_free(named_added);
        crn_profile_free(now);
        crn_profile_free(before);
        crn_profile_free(added);
    }
    crn_symbols_cache_free(names);
}

/* ---- the allocator's frames ---- */

static uint32_t put_address(crn_profile_builder *builder, uint32_t context, const char *file,
                            uint64_t offset, uint64_t calls)
{
    char name[32];
    snprintf(name, sizeof name, "0x%" PRIx64, offset);
    crn_block_info info = {.name = name, .file = file};
    return crn_profile_builder_child(builder, context, crn_profile_builder_block(builder, &info),
                                     calls);
}

/* This function has called malloc, which has called it back if `back`. Samples of stacks count no
 * calls. */
static crn_profile *make_allocation(uint64_t back)
{
    Dl_info info;
    void *place = dlsym(RTLD_NEXT, "malloc");
    assert_true(place && dladdr(place, &info));
    char *library = realpath(info.dli_fname, NULL);
    assert_non_null(library);
    crn_profile_builder *builder = crn_profile_builder_new();
    uint32_t metric = crn_profile_builder_metric(builder, "alloc bytes", "bytes");
    uint32_t caller = put_address(builder, crn_profile_builder_root(builder), own_path(),
                                  offset_of((const void *)(uintptr_t)make_allocation) + 4, 0);
    uint32_t called = put_address(builder, caller, library, offset_of(place) + 4, 0);
    crn_profile_builder_charge(builder, called, metric, 10);
    if (back) {
        uint32_t inner = put_address(builder, called, own_path(),
                                     offset_of((const void *)(uintptr_t)put_address) + 4, 0);
        crn_profile_builder_charge(builder, inner, metric, back);
    }
    crn_profile *profile = crn_profile_builder_end(builder);
    put_own_module(profile, own_path());
    put_module(profile, library, place);
    free(library);
    return profile;
}

/* malloc is removed from the end of a path until it turns out to be in the middle of one. Its cost
 * before that must not appear as an increase then. */
static void what_leads_on_later_is_not_counted_again(void **state)
{
    (void)state;
    crn_symbols_cache *names = crn_symbols_cache_new();
    crn_profile *before = make_allocation(0), *now = make_allocation(5);
    crn_top_look first = look_at(before, NULL, names);
    assert_int_equal(self_of(first.profile, "alloc bytes", "make_allocation"), 10);
    crn_top_look second = look_at(now, &first, names);
    assert_int_equal(total_of(second.profile, "alloc bytes"), 15);
    assert_int_equal(self_of(second.profile, "alloc bytes", "make_allocation"), 0);
    assert_int_equal(total_of(&second.since.profile, "alloc bytes"), 5);
    assert_int_equal(self_of(&second.since.profile, "alloc bytes", "put_address"), 5);
    crn_top_look_free(&first);
    crn_top_look_free(&second);
    crn_profile_free(before);
    crn_profile_free(now);
    crn_symbols_cache_free(names);
}

/* ---- cached names ---- */

static crn_profile *make_path(const char *file, bool another)
{
    crn_profile_builder *builder = crn_profile_builder_new();
    uint32_t context = put_address(builder, crn_profile_builder_root(builder), file,
                                   offset_of((const void *)(uintptr_t)make_path) + 4, 1);
    if (another)
        put_address(builder, context, file, offset_of((const void *)(uintptr_t)put_address) + 4, 1);
    crn_profile *profile = crn_profile_builder_end(builder);
    put_own_module(profile, file);
    return profile;
}

enum { THIS_LINE = __LINE__ + 1 };
static void addresses_have_lines(void **state)
{
    (void)state;
    crn_symbols_cache *names = crn_symbols_cache_new();
    crn_profile_builder *builder = crn_profile_builder_new();
    put_address(builder, crn_profile_builder_root(builder), own_path(),
                offset_of((const void *)(uintptr_t)addresses_have_lines) + 1, 1);
    crn_profile *profile = crn_profile_builder_end(builder);
    put_own_module(profile, own_path());
    for (int i = 0; i < 2; i++) { /* looked up, then from the cache */
        crn_symbols_place *places;
        crn_profile *named = crn_symbols_resolve_cached(profile, names, &places);
        const crn_symbols_place *place = &places[profile->block[1]];
        assert_string_equal(named->blocks[place->block].name, "addresses_have_lines");
        assert_in_range(place->line, THIS_LINE, THIS_LINE + 2);
        assert_false(place->allocates);
        crn_free(places);
        crn_profile_free(named);
    }
    crn_profile_free(profile);
    crn_symbols_cache_free(names);
}

static void files_are_read_once(void **state)
{
    (void)state;
    char file[SCRATCH_PATH];
    size_t size;
    unsigned char *bytes = scratch_read(own_path(), &size);
    assert_non_null(bytes);
    assert_true(scratch_write(scratch_path(file, "program"), bytes, size));
    crn_symbols_cache *names = crn_symbols_cache_new();
    crn_profile *one = make_path(file, false), *two = make_path(file, true);
    crn_top_look first = look_at(one, NULL, names);
    assert_true(find_block(first.profile, "make_path"));
    assert_true(scratch_write(file, "gone", 4));
    crn_top_look second = look_at(one, &first, names);
    assert_true(find_block(second.profile, "make_path"));
    crn_top_look third = look_at(two, &second, names); /* the new address is looked up in vain */
    assert_true(find_block(third.profile, "make_path") &&
                !find_block(third.profile, "put_address"));
    assert_true(third.profile->warning_count > 0);
    assert_int_equal(crn_metric_total(third.profile, CRN_METRIC_CALLS), 2);
    assert_true(scratch_write(file, bytes, size));
    crn_top_look fourth = look_at(two, &third, names); /* and not again */
    assert_false(find_block(fourth.profile, "put_address"));
    crn_symbols_cache_forget(names);
    crn_top_look fifth = look_at(two, &fourth, names);
    assert_true(find_block(fifth.profile, "put_address"));
    crn_top_look *looks[] = {&first, &second, &third, &fourth, &fifth};
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
        crn_top_look_free(looks[i]);
    crn_profile_free(one);
    crn_profile_free(two);
    crn_symbols_cache_free(names);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_came_is_what_was_added),
        cmocka_unit_test(what_leads_on_later_is_not_counted_again),
        cmocka_unit_test(addresses_have_lines),
        cmocka_unit_test(files_are_read_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
