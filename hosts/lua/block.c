/* SPDX-License-Identifier: MIT
 *
 * block.c - maps code to blocks. A block is a function in the source: file and line. The collector
 * reuses addresses of closures and prototypes; code compiled again from the same place is the same
 * block.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../native/lua_source.h"
#include "host.h"

typedef struct extent {
    int first, last; /* line numbers */
    cairn_block block;
} extent;

/* The source of a chunk: a file, or loaded text. */
typedef struct source {
    char *name; /* as Lua names it: "@file", "=name" or the text itself */
    size_t name_length;
    char *text; /* NULL if there is none */
    size_t text_length;
    extent *extents; /* of the functions seen so far: outer ones first */
    size_t extent_count, extent_room;
    struct source *next;
} source;

enum {
    SOURCE_LISTS = CRN_FIRST_SIZE(1024, 2),
    CODES_START = CRN_FIRST_SIZE(256, 2),
    TEXTS_MOST = 10000 /* a program may load any number of texts: further ones share one source */
};
static const char more_texts[] = "=[string]";
/* Files of this size (bytes) or more are not read for names. */
static const off_t SOURCE_LARGEST = 64 << 20;

typedef struct crn_namer {
    crn_library *library;
    source *sources[SOURCE_LISTS];
    size_t text_count;
    crn_code_table known; /* keyed by a hash of source, line and shape */
    cairn_block collector;
} crn_namer;

/* ---- hash tables ---------------------------------------------------------------- */

static bool table_open(crn_code_table *table)
{
    table->slots = calloc(CODES_START, sizeof *table->slots);
    table->mask = CODES_START - 1;
    table->count = 0;
    return table->slots != NULL;
}

static crn_code_slot *table_slot(const crn_code_table *table, const void *code)
{
    size_t i = crn_code_hash(code) & table->mask;
    while (table->slots[i].code && table->slots[i].code != code)
        i = (i + 1) & table->mask;
    return &table->slots[i];
}

static void table_add(crn_code_table *table, const void *code, cairn_block block)
{
    if (table->count * 2 > table->mask) {
        crn_code_table grown = {NULL, table->mask * 2 + 1, table->count};
        grown.slots = calloc(grown.mask + 1, sizeof *grown.slots);
        if (!grown.slots)
            return; /* it will be looked up by name again */
        for (size_t i = 0; i <= table->mask; i++)
            if (table->slots[i].code)
                *table_slot(&grown, table->slots[i].code) = table->slots[i];
        free(table->slots);
        *table = grown;
    }
    crn_code_slot *slot = table_slot(table, code);
    table->count += !slot->code;
    slot->code = code;
    slot->block = block;
}

void crn_block_forget(crn_host *host, const void *code)
{
    crn_code_table *table = &host->codes;
    size_t hole = (size_t)(table_slot(table, code) - table->slots);
    if (!table->slots[hole].code)
        return;
    for (size_t i = (hole + 1) & table->mask; table->slots[i].code; i = (i + 1) & table->mask) {
        size_t home = crn_code_hash(table->slots[i].code) & table->mask;
        if (((i - home) & table->mask) >= ((i - hole) & table->mask)) {
            table->slots[hole] = table->slots[i];
            hole = i;
        }
    }
    table->slots[hole].code = NULL;
    table->count--;
}

/* ---- sources ------------------------------------------------------------------- */

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 29;
}

static void source_read(source *source)
{
    if (*source->name == '=')
        return;
    if (*source->name != '@') {
        source->text = source->name;
        source->text_length = source->name_length;
        return;
    }
    FILE *file = fopen(source->name + 1, "rbe");
    struct stat stat;
    if (!file)
        return;
    /* Only regular files: reading a pipe would take data from the program. */
    if (fstat(fileno(file), &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_size < SOURCE_LARGEST) {
        source->text = malloc((size_t)stat.st_size + 1);
        if (source->text)
            source->text_length = fread(source->text, 1, (size_t)stat.st_size, file);
    }
    fclose(file);
}

static source *source_find(crn_namer *namer, const char *name, size_t length)
{
    source **list = &namer->sources[hash_bytes(0, name, length) % SOURCE_LISTS];
    for (source *source = *list; source; source = source->next)
        if (source->name_length == length && memcmp(source->name, name, length) == 0)
            return source;
    if (*name != '@' && *name != '=' && namer->text_count++ >= TEXTS_MOST)
        return source_find(namer, more_texts, sizeof more_texts - 1);
    source *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->name = malloc(length + 1);
    if (!made->name) {
        free(made);
        return NULL;
    }
    memcpy(made->name, name, length);
    made->name[length] = '\0';
    made->name_length = length;
    source_read(made);
    made->next = *list;
    *list = made;
    return made;
}

static void source_free(source *source)
{
    if (source->text != source->name)
        free(source->text);
    free(source->name);
    free(source->extents);
    free(source);
}

static bool source_line(const source *source, int line, const char **start, size_t *length)
{
    if (!source->text)
        return false;
    const char *at = source->text;
    const char *end = at + source->text_length;
    while (--line > 0) {
        at = memchr(at, '\n', (size_t)(end - at));
        if (!at)
            return false;
        at++;
    }
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    *start = at;
    *length = (size_t)((stop ? stop : end) - at);
    return true;
}

/* Returns the innermost known function that contains these lines. */
static cairn_block source_parent(const source *source, int first, int last)
{
    for (size_t i = source->extent_count; i-- > 0;)
        if (source->extents[i].first <= first && last <= source->extents[i].last)
            return source->extents[i].block;
    return CAIRN_BLOCK_ROOT;
}

static void source_extend(source *source, int first, int last, cairn_block block)
{
    if (source->extent_count == source->extent_room) {
        size_t room = source->extent_room ? source->extent_room * 2 : 8;
        extent *extents = realloc(source->extents, room * sizeof *extents);
        if (!extents)
            return;
        source->extents = extents;
        source->extent_room = room;
    }
    source->extents[source->extent_count++] = (extent){first, last, block};
}

/* ---- functions ------------------------------------------------------------------ */

static int hash_code(lua_State *L, const void *bytes, size_t size, void *hash)
{
    (void)L;
    *(uint64_t *)hash = hash_bytes(*(uint64_t *)hash, bytes, size);
    return 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* Returns the base name of the file, or what Lua shows for a text. */
static const char *source_label(const source *source, const lua_Debug *ar)
{
    return *source->name == '@'   ? base_name(source->name + 1)
           : *source->name == '=' ? source->name + 1
                                  : ar->short_src;
}

static void lua_name(const source *source, const lua_Debug *ar, const crn_source_name *written,
                     char *name, size_t size)
{
    if (*ar->what == 'm')
        snprintf(name, size, "main chunk of %s", source_label(source, ar));
    else if (*written->name)
        snprintf(name, size, "%s", written->name);
    else if (written->on_line == 0 && ar->name)
        snprintf(name, size, "%s", ar->name);
    else
        snprintf(name, size, "function <%s:%d>", source_label(source, ar), ar->linedefined);
}

/* Finds or makes the block of the Lua function on top of L's stack, described by `ar`. */
static cairn_block lua_block(crn_host *host, lua_State *L, lua_Debug *ar)
{
    crn_namer *namer = host->namer;
    source *source = source_find(namer, ar->source, ar->srclen);
    if (!source)
        return CAIRN_BLOCK_ROOT;
    crn_source_name written = {{0}, 0, 0};
    const char *line;
    size_t length;
    bool main = *ar->what == 'm';
    if (!main && source_line(source, ar->linedefined, &line, &length))
        crn_source_scan(line, length, ar->name, &written);

    const int shape[] = {ar->linedefined, ar->lastlinedefined, ar->nups,
                         ar->nparams,     ar->isvararg,        main};
    uint64_t key = hash_bytes((uintptr_t)source, shape, sizeof shape);
    /* If a line defines several functions, or there is no source, only their code distinguishes
     * them. */
    if (written.on_line > 1 || strcmp(source->name, "=?") == 0)
        lua_dump(L, hash_code, &key, 1);
    const void *known = (const void *)(uintptr_t)(key | 1); /* never NULL */
    const crn_code_slot *slot = table_slot(&namer->known, known);
    if (slot->code)
        return slot->block;

    char name[256];
    lua_name(source, ar, &written, name, sizeof name);
    int first = main ? 0 : ar->linedefined;
    int last = main ? INT_MAX : ar->lastlinedefined;
    cairn_block_info info = {
        .name = name,
        .file = *source->name == '@' || *source->name == '=' ? source->name + 1 : ar->short_src,
        .line = main ? 1 : (uint32_t)ar->linedefined,
        .column = written.column,
        .parent = main ? CAIRN_BLOCK_ROOT : source_parent(source, first, last),
    };
    cairn_block block = cairn_block_add(host->profile, &info);
    source_extend(source, first, last, block);
    table_add(&namer->known, known, block);
    return block;
}

static cairn_block c_block(crn_host *host, lua_State *L, const lua_Debug *ar)
{
    char buffer[256];
    const char *name = crn_library_name(host->namer->library, L, buffer, sizeof buffer);
    if (!name && ar->name)
        name = ar->name;
    if (!name) {
        lua_CFunction function = lua_tocfunction(L, -1);
        void *address;
        Dl_info where;
        memcpy(&address, &function, sizeof address);
        if (!dladdr(address, &where) || !where.dli_fname)
            snprintf(buffer, sizeof buffer, "C function");
        else if (where.dli_sname && where.dli_saddr == address) /* luaopen_... */
            snprintf(buffer, sizeof buffer, "%s", where.dli_sname);
        else
            snprintf(buffer, sizeof buffer, "C function in %s", base_name(where.dli_fname));
        name = buffer;
    }
    return cairn_block_add(host->profile, &(cairn_block_info){.name = name, .file = "[C]"});
}

static cairn_block block_make(crn_host *host, lua_State *L, lua_Debug *ar)
{
    cairn_block block = CAIRN_BLOCK_ROOT;
    host->naming++;
    if (lua_checkstack(L, 1) && lua_getinfo(L, "Snuf", ar)) {
        block = *ar->what == 'C' ? c_block(host, L, ar) : lua_block(host, L, ar);
        lua_pop(L, 1);
    }
    host->naming--;
    return block;
}

/* Finds or makes a block if prototypes cannot be read: C functions are looked up by address, Lua
 * functions by source each time. */
static cairn_block block_by_api(crn_host *host, lua_State *L, lua_Debug *ar)
{
    if (!lua_checkstack(L, 1) || !lua_getinfo(L, "Snuf", ar))
        return CAIRN_BLOCK_ROOT;
    cairn_block block;
    lua_CFunction function = lua_tocfunction(L, -1);
    if (function) {
        const void *code;
        memcpy(&code, &function, sizeof code);
        const crn_code_slot *slot = table_slot(&host->codes, code);
        block = slot->code ? slot->block : c_block(host, L, ar);
        if (!slot->code)
            table_add(&host->codes, code, block);
    } else {
        block = lua_block(host, L, ar);
    }
    lua_pop(L, 1);
    return block;
}

cairn_block crn_block_find(crn_host *host, lua_State *L, const void *code, lua_Debug *ar)
{
    if (!host->layout.frames)
        return block_by_api(host, L, ar);
    if (!code)
        return CAIRN_BLOCK_ROOT;
    const crn_code_slot *slot = table_slot(&host->codes, code);
    if (slot->code)
        return slot->block;
    cairn_block block = block_make(host, L, ar);
    table_add(&host->codes, code, block);
    return block;
}

void crn_block_hide(crn_host *host, lua_CFunction function)
{
    const void *code;
    memcpy(&code, &function, sizeof code);
    table_add(&host->codes, code, CAIRN_BLOCK_ROOT);
}

cairn_block crn_block_scope(crn_host *host, const char *name, const char *file, uint32_t line)
{
    uint64_t key = hash_bytes(hash_bytes(1, name, strlen(name)), &line, sizeof line);
    key = hash_bytes(key, file, strlen(file));
    const void *known = (const void *)(uintptr_t)(key | 1);
    const crn_code_slot *slot = table_slot(&host->namer->known, known);
    if (slot->code)
        return slot->block;
    cairn_block block = cairn_block_add(
        host->profile, &(cairn_block_info){.name = name, .file = file, .line = line});
    table_add(&host->namer->known, known, block);
    return block;
}

cairn_block crn_block_collector(crn_host *host)
{
    if (!host->namer->collector)
        host->namer->collector =
            cairn_block_add(host->profile, &(cairn_block_info){.name = "<gc>"});
    return host->namer->collector;
}

bool crn_blocks_open(crn_host *host)
{
    crn_namer *namer = calloc(1, sizeof *namer);
    if (!namer)
        return false;
    host->namer = namer;
    namer->library = crn_library_open();
    return table_open(&host->codes) && table_open(&namer->known);
}

void crn_blocks_close(crn_host *host)
{
    crn_namer *namer = host->namer;
    free(host->codes.slots);
    host->codes.slots = NULL;
    if (!namer)
        return;
    for (size_t i = 0; i < SOURCE_LISTS; i++)
        while (namer->sources[i]) {
            source *source = namer->sources[i];
            namer->sources[i] = source->next;
            source_free(source);
        }
    crn_library_close(namer->library);
    free(namer->known.slots);
    free(namer);
    host->namer = NULL;
}
