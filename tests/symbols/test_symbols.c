/* SPDX-License-Identifier: MIT
 *
 * test_symbols.c - names of functions at addresses of this program: no figure is lost, whatever
 * the files hold. And names and paths, case by case.
 */
#include <dlfcn.h>
#include <elf.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cpp_name.h"
#include "base/memory.h"
#include "profile/profile.h"
#include "support/build_id.h"
#include "support/cases.h"
#include "support/random_profile.h"
#include "support/scratch.h"
#include "symbols/addresses.h"
#include "symbols/demangle.h"
#include "symbols/function_name.h"
#include "symbols/module.h"
#include "symbols/symbols.h"

enum { PROFILES = 20, BLOCKS = 40, EVENTS = 4000, DAMAGED = 60, EXPANSION_MAX = 64 };

/* ---- this program ------------------------------------------------------------------- */

typedef struct own {
    char path[PATH_MAX];
    char build_id[BUILD_ID_SIZE];
    uint64_t base; /* load address, for a library */
    uint64_t text; /* linked address */
    uint32_t text_size;
} own;

static int look_at(struct dl_phdr_info *info, size_t size, void *data)
{
    own *own = data;
    (void)size;
    if (own->base && own->base != info->dlpi_addr)
        return 0;
    build_id_read(info, own->build_id);
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD && (header->p_flags & PF_X)) {
            own->text = header->p_vaddr;
            own->text_size = (uint32_t)header->p_memsz;
        }
    }
    return 1; /* the program comes first */
}

static own own_find(void)
{
    own own = {0};
    assert_non_null(realpath("/proc/self/exe", own.path));
    dl_iterate_phdr(look_at, &own);
    assert_true(own.text_size > 0);
    return own;
}

static void put_module(crn_profile *profile, const own *own)
{
    char key[PATH_MAX + 16];
    snprintf(key, sizeof key, "module %s", own->path);
    crn_profile_put_note(profile, key, own->build_id);
}

/* ---- functions at an address, inlined ones included ---- */

typedef struct expansion {
    char *names[EXPANSION_MAX]; /* outermost first */
    uint32_t count;
} expansion;

static char *name_of(const crn_block_info *block)
{
    size_t size = strlen(block->name) + strlen(block->file) + 32;
    char *name = crn_calloc(size, 1);
    snprintf(name, size, "%s %s:%u:%u", block->name, block->file, block->line, block->column);
    return name;
}

static expansion expand(const own *own, const crn_block_info *block)
{
    expansion expansion = {0};
    crn_profile_builder *builder = crn_profile_builder_new();
    crn_block_info alone = *block;
    alone.parent = 0;
    uint32_t number = crn_profile_builder_block(builder, &alone);
    uint32_t root = crn_profile_builder_root(builder);
    crn_profile_builder_child(builder, root, number, 1);
    crn_profile *profile = crn_profile_builder_end(builder);
    put_module(profile, own);
    crn_profile *resolved = crn_symbols_resolve(profile, NULL, NULL);
    assert_true(resolved->context_count - 1 <= EXPANSION_MAX);
    for (uint32_t c = 1; c < resolved->context_count; c++) {
        assert_int_equal(resolved->parent[c], c - 1);
        expansion.names[expansion.count++] = name_of(&resolved->blocks[resolved->block[c]]);
    }
    crn_profile_free(resolved);
    crn_profile_free(profile);
    return expansion;
}

/* ---- sums by name -------------------------------------------------------------------- */

typedef struct sums {
    crn_interning *names;
    uint64_t *self, *inclusive;
    uint32_t *seen; /* the last context added */
} sums;

static sums sums_new(uint32_t most)
{
    return (sums){crn_interning_new(), crn_calloc(most, 8), crn_calloc(most, 8),
                  crn_calloc(most, 4)};
}

static void sums_free(sums *sums)
{
    crn_interning_free(sums->names);
    crn_free(sums->self);
    crn_free(sums->inclusive);
    crn_free(sums->seen);
}

static void sums_add(sums *sums, const char *name, uint32_t context, uint64_t amount, bool last)
{
    uint32_t number = crn_intern_number(sums->names, name, strlen(name));
    if (sums->seen[number] != context + 1)
        sums->inclusive[number] += amount;
    sums->seen[number] = context + 1;
    sums->self[number] += last ? amount : 0;
}

static sums sums_of_raw(const crn_profile *profile, uint32_t metric, const expansion *expansions,
                        uint32_t most)
{
    sums sums = sums_new(most);
    uint32_t *path = crn_calloc(profile->context_count, sizeof *path);
    for (uint32_t c = 0; c < profile->context_count; c++) {
        uint32_t length = profile_path(profile, c, path);
        for (uint32_t i = 1; i < length; i++) {
            const expansion *expansion = &expansions[path[i]];
            for (uint32_t n = 0; n < expansion->count; n++)
                sums_add(&sums, expansion->names[n], c, crn_self(profile, metric, c),
                         i + 1 == length && n + 1 == expansion->count);
        }
    }
    crn_free(path);
    return sums;
}

static sums sums_of_resolved(const crn_profile *profile, uint32_t metric, uint32_t most)
{
    sums sums = sums_new(most);
    uint32_t *path = crn_calloc(profile->context_count, sizeof *path);
    for (uint32_t c = 0; c < profile->context_count; c++) {
        uint32_t length = profile_path(profile, c, path);
        for (uint32_t i = 1; i < length; i++) {
            char *name = name_of(&profile->blocks[path[i]]);
            sums_add(&sums, name, c, crn_self(profile, metric, c), i + 1 == length);
            crn_free(name);
        }
    }
    crn_free(path);
    return sums;
}

/* ---- cases ---------------------------------------------------------------------------- */

/* Most blocks become addresses close to each other, so that many belong to one function. */
static void put_addresses(crn_profile *profile, const own *own, random_source *random,
                          uint32_t window)
{
    uint64_t from = own->text + random_below(random, own->text_size - window);
    for (uint32_t b = 1; b < profile->block_count; b++) {
        char name[32];
        if (random_chance(random, 1, 6))
            continue;
        snprintf(name, sizeof name, "0x%" PRIx64, from + random_below(random, window) + 1);
        profile->blocks[b] = (crn_block_info){.name = crn_intern_text(profile->names, name),
                                              .file = crn_intern_text(profile->names, own->path)};
    }
    put_module(profile, own);
}

static void check_sums(const crn_profile *raw, const crn_profile *resolved,
                       const expansion *expansions)
{
    uint32_t most = raw->block_count * EXPANSION_MAX + resolved->block_count + 1;
    for (uint32_t m = 0; m < raw->metric_count; m++) {
        assert_int_equal(crn_metric_total(raw, m), crn_metric_total(resolved, m));
        sums expected = sums_of_raw(raw, m, expansions, most);
        sums found = sums_of_resolved(resolved, m, most);
        for (uint32_t b = 1; b < resolved->block_count; b++) {
            char *name = name_of(&resolved->blocks[b]);
            uint32_t e = crn_intern_number(expected.names, name, strlen(name));
            uint32_t f = crn_intern_number(found.names, name, strlen(name));
            assert_int_equal(expected.self[e], found.self[f]);
            assert_int_equal(expected.inclusive[e], found.inclusive[f]);
            crn_free(name);
        }
        sums_free(&expected);
        sums_free(&found);
    }
}

static void figures_stay_with_their_functions(void **state)
{
    (void)state;
    own own = own_find();
    random_source random = {7};
    uint64_t profiles = scale(PROFILES);
    for (uint64_t i = 0; i < profiles; i++) {
        crn_profile *raw = random_profile(&random, BLOCKS, EVENTS, NULL);
        put_addresses(raw, &own, &random, (uint32_t)(2000 + 3000 * (i % 3)));
        uint64_t named;
        crn_profile *resolved = crn_symbols_resolve(raw, NULL, &named);
        assert_true(named > BLOCKS / 2);
        expansion *expansions = crn_calloc(raw->block_count, sizeof *expansions);
        for (uint32_t b = 1; b < raw->block_count; b++)
            expansions[b] = expand(&own, &raw->blocks[b]);
        check_sums(raw, resolved, expansions);
        for (uint32_t b = 1; b < raw->block_count; b++)
            for (uint32_t n = 0; n < expansions[b].count; n++)
                crn_free(expansions[b].names[n]);
        crn_free(expansions);
        crn_profile_free(resolved);
        crn_profile_free(raw);
    }
}

/* Returns a profile, resolved, in which two paths end with malloc: one consists of it alone, the
 * other has a function before it. */
static crn_profile *resolve_malloc(uint64_t calls_alone, uint64_t calls_below)
{
    Dl_info info;
    struct link_map *map = NULL;
    void *place = dlsym(RTLD_NEXT, "malloc");
    assert_true(place && dladdr1(place, &info, (void **)&map, RTLD_DL_LINKMAP));
    own library = {.base = map->l_addr};
    assert_non_null(realpath(map->l_name, library.path));
    dl_iterate_phdr(look_at, &library);
    char name[32];
    snprintf(name, sizeof name, "0x%" PRIx64, (uint64_t)(uintptr_t)place + 4 - map->l_addr);
    crn_profile_builder *builder = crn_profile_builder_new();
    crn_block_info block = {.name = name, .file = library.path};
    crn_block_info caller = {.name = "caller"};
    uint32_t root = crn_profile_builder_root(builder);
    uint32_t number = crn_profile_builder_block(builder, &block);
    uint32_t metric = crn_profile_builder_metric(builder, "alloc bytes", "bytes");
    uint32_t alone = crn_profile_builder_child(builder, root, number, calls_alone);
    uint32_t called =
        crn_profile_builder_child(builder, root, crn_profile_builder_block(builder, &caller), 1);
    uint32_t below = crn_profile_builder_child(builder, called, number, calls_below);
    crn_profile_builder_charge(builder, alone, metric, 10);
    crn_profile_builder_charge(builder, below, metric, 100);
    crn_profile *raw = crn_profile_builder_end(builder);
    put_module(raw, &library);
    crn_profile *resolved = crn_symbols_resolve(raw, NULL, NULL);
    crn_profile_free(raw);
    return resolved;
}

/* The allocator's own frames are removed from paths. A path of nothing but malloc leaves its
 * figures to the root; one that counts calls stays. */
static void what_allocates_is_taken_off(void **state)
{
    (void)state;
    crn_profile *resolved = resolve_malloc(0, 0);
    uint32_t metric = CRN_METRIC_CALLS;
    while (strcmp(resolved->metrics[metric].name, "alloc bytes") != 0)
        metric++;
    assert_int_equal(resolved->context_count, 2);
    assert_string_equal(resolved->blocks[resolved->block[1]].name, "caller");
    assert_int_equal(crn_self(resolved, metric, 0), 10);
    assert_int_equal(crn_self(resolved, metric, 1), 100);
    assert_int_equal(crn_self(resolved, CRN_METRIC_CALLS, 1), 1);
    crn_profile_free(resolved);
    resolved = resolve_malloc(2, 4);
    assert_int_equal(resolved->context_count, 4);
    assert_int_equal(crn_self(resolved, CRN_METRIC_CALLS, 1) +
                         crn_self(resolved, CRN_METRIC_CALLS, 2) +
                         crn_self(resolved, CRN_METRIC_CALLS, 3),
                     2 + 4 + 1);
    crn_profile_free(resolved);
}

/* Whatever bytes of a file change, the tool goes on and no figure is lost. */
static void damaged_files_end_nothing(void **state)
{
    (void)state;
    own own = own_find();
    random_source random = {11};
    size_t size;
    unsigned char *bytes = scratch_read(own.path, &size);
    assert_non_null(bytes);
    uint64_t files = scale(DAMAGED);
    for (uint64_t i = 0; i < files; i++) {
        struct own damaged = own;
        char path[SCRATCH_PATH];
        snprintf(damaged.path, sizeof damaged.path, "%s", scratch_path(path, "damaged"));
        unsigned char *copy = crn_calloc(size, 1);
        memcpy(copy, bytes, size);
        for (uint64_t n = random_below(&random, 400) + 1; n > 0; n--)
            copy[random_below(&random, size - 64) + 64] = (unsigned char)random_below(&random, 256);
        size_t length = random_chance(&random, 1, 3) ? random_below(&random, size) : size;
        assert_true(scratch_write(damaged.path, copy, length));
        crn_free(copy);
        crn_profile *raw = random_profile(&random, BLOCKS, 500, NULL);
        put_addresses(raw, &damaged, &random, damaged.text_size / 2);
        crn_profile *resolved = crn_symbols_resolve(raw, NULL, NULL);
        for (uint32_t m = 0; m < raw->metric_count; m++)
            assert_int_equal(crn_metric_total(raw, m), crn_metric_total(resolved, m));
        crn_profile_free(resolved);
        crn_profile_free(raw);
    }
    free(bytes);
}

static void names_are_those_of_the_source(void **state)
{
    (void)state;
    static const struct {
        const char *symbol, *name;
    } cases[] = {
        {"main", "main"},
        {"_ZN4TreeIiE6insertEi", "Tree<int>::insert"},
        {"_ZN4TreeIiEC2Ev", "Tree<int>::Tree"},
        {"_Znwm", "operator new"},
        {"_Znam", "operator new[]"},
        {"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int>::push_back"},
        {"_ZN1a1bEv.cold", "a::b"},
        {"parse.part.0", "parse"},
        {"parse.constprop.0.isra.0", "parse"},
        {".part.0", ".part.0"},
        {"_ZGVbN4v_limited", "limited"},
        {"_ZGVdM8vl4__Z4halfi", "half"},
        {"_ZGVZ4halfvE4seen", "guard variable for half()::seen"},
        {"_ZNothing", "_ZNothing"},
        {"_Z", "_Z"},
        {"", ""},
        {"_RNvC6_123foo3bar", "123foo::bar"},
    };
    static char name[CRN_SYMBOL_NAME_MAX];
    for (size_t i = 0; i < COUNT(cases); i++) {
        crn_demangle(cases[i].symbol, name);
        assert_string_equal(name, cases[i].name);
    }
}

/* Appends a back reference to the n-th name of the mangled name. */
static void put_back_reference(char *symbol, int n)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char *end = symbol + strlen(symbol);
    *end++ = 'S';
    if (n > 36)
        *end++ = digits[(n - 1) / 36];
    if (n > 0)
        *end++ = digits[(n - 1) % 36];
    *end++ = '_';
    *end = '\0';
}

/* Each argument is two of the one before it: some hundred bytes would demangle to more text than
 * there is memory. */
static void short_symbols_make_no_endless_names(void **state)
{
    (void)state;
    static char name[CRN_SYMBOL_NAME_MAX], symbol[CRN_SYMBOL_NAME_MAX * 2];
    for (int length = 2; length <= 60; length += 58) {
        strcpy(symbol, "_Z1fI1a");
        for (int i = 0, before = 1; i < length; i++, before = 1 + 2 * i) {
            strcat(symbol, "1pI");
            put_back_reference(symbol, before);
            put_back_reference(symbol, before);
            strcat(symbol, "E");
        }
        strcat(symbol, "Evv");
        crn_demangle(symbol, name);
        assert_string_equal(name, length == 2 ? "f<a, p<a, a>, p<p<a, a>, p<a, a>>>" : symbol);
    }
    memset(symbol, 'x', sizeof symbol - 1);
    crn_demangle(symbol, name);
    assert_int_equal(strlen(name), CRN_SYMBOL_NAME_MAX - 1);
}

static void names_lose_what_nobody_has_written(void **state)
{
    (void)state;
    static const struct {
        const char *name, *shorter;
    } cases[] = {
        {"f", "f"},
        {"std::vector<int, std::allocator<int> >::push_back", "std::vector<int>::push_back"},
        {"std::map<int, std::__cxx11::basic_string<char, std::char_traits<char>, "
         "std::allocator<char> >, std::less<int>, std::allocator<std::pair<int const, "
         "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > > > "
         ">::operator[]",
         "std::map<int, std::string>::operator[]"},
        {"std::vector<int, Arena<int> >::at", "std::vector<int, Arena<int>>::at"},
        {"std::allocator<int>::allocate", "std::allocator<int>::allocate"},
        {"f<std::allocator<int> >", "f<std::allocator<int>>"},
        {"f<(a > b)>", "f<(a > b)>"},
        {"a<b<std::set<int, std::less<int>, std::allocator<int> > > const&>",
         "a<b<std::set<int>> const&>"},
        {"std::vector<decltype (a->b), std::allocator<decltype (a->b)> >",
         "std::vector<decltype (a->b)>"},
        /* arguments that are no defaults */
        {"f<int, std::hash<int> >", "f<int, std::hash<int>>"},
        {"std::tuple<int, std::hash<int> >", "std::tuple<int, std::hash<int>>"},
        {"std::map<int, char, std::less<void>, std::allocator<std::pair<int const, char> > >",
         "std::map<int, char, std::less<void>>"},
        {"std::map<int, char, std::less<int>, std::allocator<std::pair<int const, long> > >",
         "std::map<int, char, std::less<int>, std::allocator<std::pair<int const, long>>>"},
        {"std::set<int, std::less<long>, Arena<int> >",
         "std::set<int, std::less<long>, Arena<int>>"},
        {"nstd::basic_string<char>::f", "nstd::basic_string<char>::f"},
        {"nstd::vector<int, std::allocator<int> >", "nstd::vector<int, std::allocator<int>>"},
        /* symbols of operators are no brackets */
        {"f<std::vector<X<&B::operator< >, std::allocator<X<&B::operator< > > >, long>",
         "f<std::vector<X<&B::operator< >>, long>"},
        {"f<&B::operator> >", "f<&B::operator> >"},
        {"std::vector<X<&(B::operator>(B const&) const)>, "
         "std::allocator<X<&(B::operator>(B const&) const)> > >::at",
         "std::vector<X<&(B::operator>(B const&) const)>>::at"},
        {"S::operator-> <std::set<int, std::less<int>, std::allocator<int> > >",
         "S::operator-> <std::set<int>>"},
        {"f(std::set<int, std::less<int>, std::allocator<int> >)::{lambda(int)#1}",
         "f(std::set<int>)::{lambda(int)#1}"},
        {"f<(a>b), c<", "f<(a>b), c<"},
        {"a>b<", "a>b<"},
        {"operator<< <char>", "operator<< <char>"},
        {"a<b, std::allocator<", "a<b, std::allocator<"},
        {"a<b, std::less<c> const>", "a<b, std::less<c> const>"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char name[512];
        snprintf(name, sizeof name, "%s", cases[i].name);
        crn_cpp_name_shorten(name);
        assert_string_equal(name, cases[i].shorter);
    }
}

static void paths_are_tidy(void **state)
{
    (void)state;
    static const struct {
        const char *path, *tidy;
    } cases[] = {
        {"/a/b/../c.c", "/a/c.c"},
        {"/a/./b.c", "/a/b.c"},
        {"../a.c", "../a.c"},
        {"../../a.c", "../../a.c"},
        {"a/../b.c", "b.c"},
        {"a/../../b.c", "../b.c"},
        {"/../a.c", "/a.c"},
        {"/", "/"},
        {"", ""},
        {"./a.c", "a.c"},
        {"/a//b.c", "/a/b.c"},
        {"a", "a"},
        {"/a/b/../../../c", "/c"},
        {"..", ".."},
        {"/a/..", "/"},
        {"../a/../../b", "../../b"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char path[64];
        snprintf(path, sizeof path, "%s", cases[i].path);
        crn_path_tidy(path);
        assert_string_equal(path, cases[i].tidy);
    }
}

static void only_addresses_in_files_are_looked_up(void **state)
{
    (void)state;
    static const struct {
        crn_block_info block;
        uint64_t offset; /* 0: none */
    } cases[] = {
        {{.name = "0x10", .file = "/bin/a"}, 16},
        {{.name = "0xffffffffffffffff", .file = "/a"}, UINT64_MAX},
        {{.name = "0x10", .file = "./a.so"}, 16},
        {{.name = "0x10000000000000000", .file = "/a"}, 0},
        {{.name = "0x", .file = "/a"}, 0},
        {{.name = "0x0", .file = "/a"}, 0},
        {{.name = "0x10 ", .file = "/a"}, 0},
        {{.name = "0xFF", .file = "/a"}, 0},
        {{.name = "0x10", .file = ""}, 0},
        {{.name = "0x10", .file = "a"}, 0},
        {{.name = "0x10", .file = "[vdso]"}, 0},
        {{.name = "0x10", .file = "/a", .line = 1}, 0},
        {{.name = "", .file = "/a"}, 0},
        {{.name = "x10", .file = "/a"}, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t offset = 0;
        assert_int_equal(crn_address_parse(&cases[i].block, &offset), cases[i].offset != 0);
        assert_true(!cases[i].offset || offset == cases[i].offset);
    }
}

/* A missing file that no note names is no reason for a warning; of many that are missing a few are
 * named. */
static void many_files_that_are_gone_are_a_few_warnings(void **state)
{
    (void)state;
    crn_profile_builder *builder = crn_profile_builder_new();
    uint32_t root = crn_profile_builder_root(builder);
    for (int i = 0; i < 1000; i++) {
        char path[64], key[80];
        snprintf(path, sizeof path, "/nowhere/%d", i);
        snprintf(key, sizeof key, "module %s", path);
        crn_block_info block = {.name = "0x10", .file = path};
        uint32_t number = crn_profile_builder_block(builder, &block);
        crn_profile_builder_child(builder, root, number, 1);
        if (i % 2)
            crn_profile_builder_note(builder, key, "00");
    }
    crn_profile *raw = crn_profile_builder_end(builder);
    uint64_t named = 1;
    assert_true(crn_symbols_wanted(raw));
    crn_profile *resolved = crn_symbols_resolve(raw, NULL, &named);
    assert_int_equal(named, 0);
    assert_int_equal(resolved->warning_count, 9);
    assert_int_equal(resolved->context_count, raw->context_count);
    assert_int_equal(crn_metric_total(resolved, CRN_METRIC_CALLS), 1000);
    crn_profile_free(resolved);
    crn_profile_free(raw);
}

/* ---- files at which the child ends after it has opened them ---- */

static bool files_end_the_child;

/* The linker calls __wrap_crn_module_find in place of crn_module_find. */
uint32_t __real_crn_module_find(crn_module_file *file, uint64_t address, crn_module_put *put,
                                void *data);
uint32_t __wrap_crn_module_find(crn_module_file *file, uint64_t address, crn_module_put *put,
                                void *data);

uint32_t __wrap_crn_module_find(crn_module_file *file, uint64_t address, crn_module_put *put,
                                void *data)
{
    if (files_end_the_child) {
        fflush(data); /* the parent gets the answers so far, as from a large file */
        _exit(1);
    }
    return __real_crn_module_find(file, address, put, data);
}

/* Two warnings about each of the first eight files: no build ID, and damaged. */
static void files_with_two_warnings_count_once(void **state)
{
    (void)state;
    static const unsigned char code[] = {0xc3};
    static struct {
        ElfW(Ehdr) header;
        ElfW(Phdr) segment;
        unsigned char code[sizeof code];
    } file;
    file.header = (ElfW(Ehdr)){
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_DYN,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_phoff = sizeof file.header,
        .e_ehsize = sizeof file.header,
        .e_phentsize = sizeof file.segment,
        .e_phnum = 1};
    file.segment = (ElfW(Phdr)){.p_type = PT_LOAD,
                                .p_flags = PF_R | PF_X,
                                .p_filesz = sizeof file,
                                .p_memsz = sizeof file,
                                .p_align = 4096};
    memcpy(file.code, code, sizeof code);
    crn_profile_builder *builder = crn_profile_builder_new();
    uint32_t root = crn_profile_builder_root(builder);
    for (int i = 0; i < 10; i++) {
        char path[SCRATCH_PATH], name[32], key[SCRATCH_PATH + 16];
        snprintf(name, sizeof name, "unproven-%d", i);
        assert_true(scratch_write(scratch_path(path, name), &file, sizeof file));
        snprintf(key, sizeof key, "module %s", path);
        crn_profile_builder_note(builder, key, "");
        crn_block_info block = {.name = "0x10", .file = path};
        crn_profile_builder_child(builder, root, crn_profile_builder_block(builder, &block), 1);
    }
    crn_profile *raw = crn_profile_builder_end(builder);
    files_end_the_child = true;
    crn_profile *resolved = crn_symbols_resolve(raw, NULL, NULL);
    files_end_the_child = false;
    assert_int_equal(resolved->warning_count, 2 * 8 + 1);
    assert_string_equal(resolved->warnings[2 * 8], "warnings about 2 more files are left out");
    crn_profile_free(resolved);
    crn_profile_free(raw);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_stay_with_their_functions),
        cmocka_unit_test(what_allocates_is_taken_off),
        cmocka_unit_test(damaged_files_end_nothing),
        cmocka_unit_test(names_are_those_of_the_source),
        cmocka_unit_test(short_symbols_make_no_endless_names),
        cmocka_unit_test(names_lose_what_nobody_has_written),
        cmocka_unit_test(paths_are_tidy),
        cmocka_unit_test(only_addresses_in_files_are_looked_up),
        cmocka_unit_test(many_files_that_are_gone_are_a_few_warnings),
        cmocka_unit_test(files_with_two_warnings_count_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
