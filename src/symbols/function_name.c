/* SPDX-License-Identifier: MIT */
#include "symbols/function_name.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpp_name.h"

void crn_path_tidy(char *path)
{
    char *out = path, *floor = path; /* the part before `floor`, leading "..", is kept */
    const char *in = path;
    if (*in == '/')
        floor = ++out, in++;
    while (*in) {
        size_t length = strcspn(in, "/");
        bool up = length == 2 && in[0] == '.' && in[1] == '.';
        bool nothing = length == 0 || (length == 1 && *in == '.');
        if (up && out > floor) {
            out--;
            while (out > floor && out[-1] != '/')
                out--;
        } else if (!nothing && !(up && *path == '/')) {
            memmove(out, in, length);
            out += length;
            if (in[length])
                *out++ = '/';
            if (up)
                floor = out;
        }
        in += length + (in[length] == '/');
    }
    *out = '\0';
}

/* Returns the linkage name; of methods and inlined functions it is found in the declaration. NULL
 * if the function has none. */
static const char *linkage_name(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    if (!dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) &&
        !dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
        return NULL;
    return dwarf_formstring(&attribute);
}

static bool is_cpp(Dwarf_Die *die)
{
    enum { CPP_17 = 0x2b, CPP_20 = 0x2c }; /* codes that dwarf.h may lack */
    Dwarf_Die unit;
    switch (dwarf_diecu(die, &unit, NULL, NULL) ? dwarf_srclang(&unit) : -1) {
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
    case CPP_17:
    case CPP_20:
        return true;
    default:
        return false;
    }
}

/* Returns the declaration of a method, which is within its class, for a definition outside of
 * it. */
static Dwarf_Die declaration_of(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    Dwarf_Die declaration;
    if (dwarf_attr(die, DW_AT_specification, &attribute) &&
        dwarf_formref_die(&attribute, &declaration))
        return declaration;
    return *die;
}

static const char *scope_name(Dwarf_Die *scope)
{
    const char *name = dwarf_diename(scope);
    switch (dwarf_tag(scope)) {
    case DW_TAG_namespace:
        return name ? name : "(anonymous namespace)";
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
        return name ? name : "(anonymous class)";
    case DW_TAG_subprogram:
        return name;
    default:
        return NULL;
    }
}

/* Writes a name with its enclosing scopes. Functions local to a file have no linkage name, and many
 * share their own, such as lambdas with "operator()". */
static void put_scopes(Dwarf_Die *die, const char *name, crn_frame *frame)
{
    Dwarf_Die declaration = declaration_of(die), *scopes = NULL;
    int count = dwarf_getscopes_die(&declaration, &scopes);
    size_t used = 0;
    for (int i = count - 1; i > 0; i--) {
        const char *scope = scope_name(&scopes[i]);
        int length = scope && used < sizeof frame->name
                         ? snprintf(frame->name + used, sizeof frame->name - used, "%s::", scope)
                         : 0;
        used += length > 0 ? (size_t)length : 0;
    }
    free(scopes);
    if (used < sizeof frame->name)
        snprintf(frame->name + used, sizeof frame->name - used, "%s", name);
    crn_cpp_name_shorten(frame->name);
}

/* Writes the file as given to the compiler; after the compiler's directory if it begins with
 * "..". */
static void put_file(Dwarf_Die *die, const char *file, crn_frame *frame)
{
    Dwarf_Die unit;
    Dwarf_Attribute attribute;
    const char *folder = NULL;
    if (strncmp(file, "..", 2) == 0 && dwarf_diecu(die, &unit, NULL, NULL) &&
        dwarf_attr(&unit, DW_AT_comp_dir, &attribute))
        folder = dwarf_formstring(&attribute);
    snprintf(frame->file, sizeof frame->file, "%s%s%s", folder ? folder : "", folder ? "/" : "",
             file);
    crn_path_tidy(frame->file);
}

/* Finds the class of a method that has no source location, such as a lambda's. */
static bool class_of(Dwarf_Die *die, Dwarf_Die *class)
{
    Dwarf_Die declaration = declaration_of(die), *scopes = NULL;
    bool found = dwarf_getscopes_die(&declaration, &scopes) > 1;
    if (found)
        *class = scopes[1];
    free(scopes);
    return found;
}

/* From DWARF 5 on, file 0 is the unit's own file, and clang uses it. elfutils before 0.190 takes 0
 * for no file. */
const char *crn_function_file(Dwarf_Die *die)
{
    const char *file = dwarf_decl_file(die);
    Dwarf_Attribute attribute;
    Dwarf_Word number;
    Dwarf_Half version;
    Dwarf_Die unit;
    if (file || !dwarf_attr_integrate(die, DW_AT_decl_file, &attribute) ||
        dwarf_formudata(&attribute, &number) != 0 || number != 0 ||
        dwarf_cu_info(die->cu, &version, NULL, &unit, NULL, NULL, NULL, NULL) != 0 || version < 5)
        return file;
    return dwarf_diename(&unit);
}

static void put_place(Dwarf_Die *die, crn_frame *frame)
{
    Dwarf_Die class;
    const char *file = crn_function_file(die);
    if (!file && is_cpp(die) && class_of(die, &class)) {
        die = &class;
        file = crn_function_file(die);
    }
    int line = 0, column = 0;
    frame->file[0] = '\0';
    if (file)
        put_file(die, file, frame);
    frame->line = dwarf_decl_line(die, &line) == 0 && line > 0 ? (uint32_t)line : 0;
    frame->column = dwarf_decl_column(die, &column) == 0 && column > 0 ? (uint32_t)column : 0;
}

bool crn_function_name(Dwarf_Die *die, crn_frame *frame)
{
    const char *linkage = linkage_name(die), *name = dwarf_diename(die);
    bool whole = linkage && crn_is_mangled(linkage);
    if (whole)
        crn_demangle(linkage, frame->name);
    else if (name && *name && is_cpp(die))
        put_scopes(die, name, frame);
    else /* a linkage name that is not mangled is C's asm label: the function keeps its own name */
        snprintf(frame->name, sizeof frame->name, "%s", name && *name ? name : "[unnamed]");
    put_place(die, frame);
    return whole;
}
