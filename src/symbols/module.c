/* SPDX-License-Identifier: MIT */
#include "symbols/module.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/interning.h"
#include "base/memory.h"
#include "base/path.h"
#include "symbols/compiled.h"
#include "symbols/debug_info.h"
#include "symbols/function_starts.h"
#include "symbols/linkage.h"
#include "symbols/symbol_table.h"

#define SIZE_MOST ((off_t)1 << 36) /* bytes; larger files are not read */
enum { BUILD_ID_MAX = 64 };        /* bytes */

struct crn_module_file {
    const char *path;       /* owned by the caller */
    crn_compiled *compiled; /* functions of a perf map, jitdump or kallsyms; NULL: an ELF file */
    Dwfl *dwfl;
    Elf *elf;
    Dwfl_Module *module;
    GElf_Addr bias;             /* libdwfl's address - the file's */
    Dwarf_Addr debug_bias;      /* libdwfl's address - the DWARF's */
    crn_debug_info *info;       /* NULL without DWARF */
    crn_symbol_table symbols;   /* read on first use */
    crn_function_starts starts; /* read with the symbols, as linkage */
    crn_linkage linkage;
    bool symbols_read;
    crn_interning *functions; /* interned keys of functions, such as addresses of DWARF entries; the
                                 numbers identify functions */
    uint64_t function_count;
};

/* Opens an ELF file; returns -1, and sets `*state`, if it cannot be read or is none. Checks the
 * file type before opening: opening a pipe blocks, and opening some devices has effects. */
static int open_regular(const char *path, crn_module_state *state)
{
    struct stat info;
    int file = open(path, O_PATH | O_CLOEXEC);
    if (file < 0) {
        *state = errno == EACCES ? CRN_MODULE_UNREADABLE : CRN_MODULE_GONE;
        return -1;
    }
    char name[64], magic[4];
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    int readable = -1;
    *state = CRN_MODULE_NO_PROGRAM;
    if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_size <= SIZE_MOST) {
        readable = open(name, O_RDONLY | O_CLOEXEC);
        if (readable < 0)
            *state = CRN_MODULE_UNREADABLE;
    }
    close(file);
    if (readable >= 0 && (pread(readable, magic, sizeof magic, 0) != (ssize_t)sizeof magic ||
                          memcmp(magic, "\177ELF", sizeof magic) != 0)) {
        close(readable);
        readable = -1;
    }
    return readable;
}

/* Returns CRN_MODULE_READ if the module has the expected build id. If neither side has one, the
 * file is accepted as unproven. */
static crn_module_state compare_build_id(Dwfl_Module *module, const char *expected)
{
    const unsigned char *bytes;
    GElf_Addr place;
    char found[2 * BUILD_ID_MAX + 1] = "";
    int length = dwfl_module_build_id(module, &bytes, &place);
    for (int i = 0; i < length && i < BUILD_ID_MAX; i++)
        snprintf(found + 2 * (size_t)i, 3, "%02x", bytes[i]);
    if (!*expected && !*found)
        return CRN_MODULE_UNPROVEN;
    return strcmp(found, expected) == 0 ? CRN_MODULE_READ : CRN_MODULE_OTHER;
}

static bool open_module(crn_module_file *file, const char *path, int descriptor)
{
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = dwfl_standard_find_debuginfo,
        .section_address = dwfl_offline_section_address,
    };
    file->dwfl = dwfl_begin(&callbacks);
    if (!file->dwfl) {
        close(descriptor);
        return false;
    }
    dwfl_report_begin(file->dwfl);
    file->module = dwfl_report_offline(file->dwfl, path, path, descriptor);
    dwfl_report_end(file->dwfl, NULL, NULL);
    if (!file->module)
        close(descriptor); /* libdwfl owns it once the module is made */
    file->elf = file->module ? dwfl_module_getelf(file->module, &file->bias) : NULL;
    return file->elf != NULL;
}

static crn_module_file *open_compiled(const char *path)
{
    crn_module_file *file = crn_calloc(1, sizeof *file);
    file->path = path;
    file->functions = crn_interning_new();
    file->compiled = crn_compiled_read(path);
    return file;
}

crn_module_file *crn_module_open(const char *path, const char *build_id, crn_module_state *state)
{
    *state = CRN_MODULE_READ;
    if (crn_compiled_is_map(path))
        return open_compiled(path);
    if (crn_compiled_is_kernel(path)) {
        *state = crn_compiled_is_same_start(build_id) ? CRN_MODULE_READ : CRN_MODULE_OTHER;
        return *state == CRN_MODULE_READ ? open_compiled(path) : NULL;
    }
    int descriptor = open_regular(path, state);
    if (descriptor < 0)
        return NULL;
    crn_module_file *file = crn_calloc(1, sizeof *file);
    file->path = path;
    file->functions = crn_interning_new();
    *state = CRN_MODULE_NO_PROGRAM;
    if (open_module(file, path, descriptor))
        *state = compare_build_id(file->module, build_id);
    if (*state != CRN_MODULE_READ && *state != CRN_MODULE_UNPROVEN) {
        crn_module_close(file);
        return NULL;
    }
    Dwarf *dwarf = dwfl_module_getdwarf(file->module, &file->debug_bias);
    file->info = dwarf ? crn_debug_info_open(dwarf) : NULL;
    return file;
}

void crn_module_close(crn_module_file *file)
{
    if (file->info)
        crn_debug_info_close(file->info);
    crn_compiled_free(file->compiled);
    crn_symbol_table_free(&file->symbols);
    crn_function_starts_free(&file->starts);
    crn_linkage_free(&file->linkage);
    if (file->dwfl)
        dwfl_end(file->dwfl);
    crn_interning_free(file->functions);
    crn_free(file);
}

/* Returns true for a function that was not reported before; `*number` identifies it. */
static bool is_new(crn_module_file *file, uint64_t key, uint64_t *number)
{
    *number = crn_intern_number(file->functions, (const char *)&key, sizeof key);
    if (*number != file->function_count)
        return false;
    file->function_count++;
    return true;
}

static const crn_symbol *find_symbol(crn_module_file *file, uint64_t address)
{
    if (!file->symbols_read) {
        file->symbols = crn_symbol_table_make(file->module);
        file->starts = crn_function_starts_make(file->elf);
        file->linkage = crn_linkage_make(file->elf);
    }
    file->symbols_read = true;
    return crn_symbol_table_find(&file->symbols, address);
}

/* Prefers the symbol's name in two cases: libc's exported functions have underscores in DWARF
 * ("__strdup"); C++ functions local to a file have their full name only in the symbol. */
static void prefer_symbol(crn_module_file *file, uint64_t address, crn_frame *frame)
{
    const crn_symbol *symbol = find_symbol(file, address);
    if (symbol &&
        (crn_is_mangled(symbol->name) || (frame->name[0] == '_' && symbol->name[0] != '_')))
        crn_demangle(symbol->name, frame->name);
}

/* Reports a function by its begin alone: "[program]+0x1234". */
static void put_start(crn_module_file *file, uint64_t address, crn_frame *frame,
                      crn_module_put *put, void *data)
{
    uint64_t number;
    const uint64_t *start = crn_function_starts_find(&file->starts, address);
    if (!start)
        return;
    bool first = is_new(file, (uint64_t)(uintptr_t)start, &number);
    snprintf(frame->name, sizeof frame->name, "[%.255s]+0x%" PRIx64, crn_path_name(file->path),
             *start);
    snprintf(frame->file, sizeof frame->file, "%s", file->path);
    frame->line = frame->column = 0;
    put(data, number, first ? frame : NULL);
}

/* Reports an entry of the procedure linkage table: "malloc@plt", or "[plt of program]". */
static void put_linkage(crn_module_file *file, const crn_linkage_entry *entry, crn_frame *frame,
                        crn_module_put *put, void *data)
{
    static const char suffix[] = "@plt";
    const crn_symbol *own =
        entry->resolver ? find_symbol(file, entry->resolver + file->bias) : NULL;
    const char *name = own ? own->name : entry->name;
    uint64_t number, key = (uint64_t)(uintptr_t)(name ? (const void *)entry : suffix);
    bool first = is_new(file, key, &number);
    if (first && name) {
        crn_demangle(name, frame->name);
        size_t length = strnlen(frame->name, sizeof frame->name - sizeof suffix);
        memcpy(frame->name + length, suffix, sizeof suffix);
    } else if (first) {
        snprintf(frame->name, sizeof frame->name, "[plt of %.255s]", crn_path_name(file->path));
    }
    snprintf(frame->file, sizeof frame->file, "%s", file->path);
    frame->line = frame->column = 0;
    put(data, number, first ? frame : NULL);
}

static void put_symbol(crn_module_file *file, uint64_t address, crn_frame *frame,
                       crn_module_put *put, void *data)
{
    uint64_t number;
    const crn_symbol *symbol = find_symbol(file, address + file->bias);
    const crn_linkage_entry *linkage = symbol ? NULL : crn_linkage_find(&file->linkage, address);
    if (linkage) {
        put_linkage(file, linkage, frame, put, data);
        return;
    }
    if (!symbol) {
        put_start(file, address, frame, put, data);
        return;
    }
    bool first = is_new(file, (uint64_t)(uintptr_t)symbol->name, &number);
    if (first)
        crn_demangle(symbol->name, frame->name);
    frame->file[0] = '\0';
    frame->line = frame->column = 0;
    put(data, number, first ? frame : NULL);
}

/* Reports a compiled function. All code that the file does not cover is one function: one for each
 * address would be too many. */
static void put_compiled(crn_module_file *file, uint64_t address, crn_frame *frame,
                         crn_module_put *put, void *data)
{
    uint64_t key = 0, number;
    const char *name = crn_compiled_find(file->compiled, address, &key);
    bool first = is_new(file, key, &number);
    bool kernel = crn_compiled_is_kernel(file->path);
    const char *unknown = kernel ? "[kernel]" : "[code without a name]";
    snprintf(frame->name, sizeof frame->name, "%s", name ? name : unknown);
    snprintf(frame->file, sizeof frame->file, "%s", kernel && name ? "[kernel]" : "");
    frame->line = frame->column = 0;
    put(data, number, first ? frame : NULL);
}

static const char *last_name(const char *path)
{
    return path ? crn_path_name(path) : NULL;
}

/* Returns the line of the address; 0 if it is in another file than the innermost function, as code
 * of an included file is. libdw reads the unit's line table once. */
static uint32_t line_of(Dwarf_Die *outermost, Dwarf_Die *innermost, uint64_t address)
{
    Dwarf_Die unit;
    int number;
    Dwarf_Line *line =
        dwarf_diecu(outermost, &unit, NULL, NULL) ? dwarf_getsrc_die(&unit, address) : NULL;
    const char *file = line ? last_name(dwarf_linesrc(line, NULL, NULL)) : NULL;
    const char *declared = last_name(crn_function_file(innermost));
    if (!file || !declared || strcmp(file, declared) != 0 || dwarf_lineno(line, &number) != 0)
        return 0;
    return number > 0 ? (uint32_t)number : 0;
}

uint32_t crn_module_find(crn_module_file *file, uint64_t address, crn_module_put *put, void *data)
{
    static crn_frame frame; /* too large for the stack */
    Dwarf_Die dies[CRN_INLINES_MAX];
    uint64_t place = address + file->bias, number;
    if (file->compiled) {
        put_compiled(file, address, &frame, put, data);
        return 0;
    }
    uint32_t count =
        file->info ? crn_debug_info_find(file->info, place - file->debug_bias, dies) : 0;
    for (uint32_t i = 0; i < count; i++) {
        bool first = is_new(file, (uint64_t)(uintptr_t)dies[i].addr, &number);
        if (first && !crn_function_name(&dies[i], &frame) && i == 0)
            prefer_symbol(file, place, &frame);
        put(data, number, first ? &frame : NULL);
    }
    if (count)
        return line_of(&dies[0], &dies[count - 1], place - file->debug_bias);
    put_symbol(file, address, &frame, put, data);
    return 0;
}
