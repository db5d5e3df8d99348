/* SPDX-License-Identifier: MIT */
#include "symbols/symbol_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"
#include "symbols/demangle.h"

static int compare(const void *left, const void *right)
{
    const crn_symbol *a = left, *b = right;
    return CRN_ORDER(a->low, b->low) ?: CRN_ORDER(a->rank, b->rank) ?: strcmp(a->name, b->name);
}

/* Returns a symbol's rank. Familiar names rank best: "malloc" before "__libc_malloc" and
 * "__malloc". */
static unsigned rank_of(const GElf_Sym *symbol, const char *name)
{
    unsigned binding = GELF_ST_BIND(symbol->st_info);
    size_t underscores = crn_is_mangled(name) ? 0 : strspn(name, "_");
    unsigned rank = underscores > 3 ? 3 : (unsigned)underscores;
    return rank * 4 +
           (binding == STB_GLOBAL ? 0
            : binding == STB_WEAK ? 1
                                  : 2) +
           (symbol->st_size ? 0 : 16);
}

/* Returns the end of the symbol's section, in the address space of `address`. */
static uint64_t section_end(const GElf_Sym *symbol, Elf *elf, GElf_Word section, uint64_t address)
{
    GElf_Shdr header;
    Elf_Scn *found = elf ? elf_getscn(elf, section) : NULL;
    if (!found || !gelf_getshdr(found, &header) || symbol->st_value < header.sh_addr ||
        symbol->st_value - header.sh_addr >= header.sh_size)
        return address + 1;
    return address + header.sh_size - (symbol->st_value - header.sh_addr);
}

crn_symbol_table crn_symbol_table_make(Dwfl_Module *module)
{
    int total = dwfl_module_getsymtab(module);
    crn_symbol_table table = {0};
    if (total <= 0)
        return table;
    table.symbols = crn_calloc((size_t)total, sizeof *table.symbols);
    for (int i = 0; i < total; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        GElf_Word section;
        Elf *elf;
        const char *name =
            dwfl_module_getsym_info(module, i, &symbol, &address, &section, &elf, NULL);
        unsigned type = name ? GELF_ST_TYPE(symbol.st_info) : STT_NOTYPE;
        if (!name || !*name || (type != STT_FUNC && type != STT_GNU_IFUNC) ||
            symbol.st_shndx == SHN_UNDEF)
            continue;
        uint64_t high =
            symbol.st_size ? address + symbol.st_size : section_end(&symbol, elf, section, address);
        table.symbols[table.count++] =
            (crn_symbol){address, high, name, symbol.st_size != 0, rank_of(&symbol, name)};
    }
    qsort(table.symbols, table.count, sizeof *table.symbols, compare);
    size_t kept = 0;
    for (size_t i = 0; i < table.count; i++)
        if (!kept || table.symbols[kept - 1].low != table.symbols[i].low)
            table.symbols[kept++] = table.symbols[i];
    table.count = kept;
    return table;
}

void crn_symbol_table_free(crn_symbol_table *table)
{
    crn_free(table->symbols);
    *table = (crn_symbol_table){0};
}

const crn_symbol *crn_symbol_table_find(const crn_symbol_table *table, uint64_t address)
{
    size_t low = CRN_UP_TO(table->symbols, table->count, low, address);
    /* The last symbol may lie within another one and end before the address, so the search goes
     * further back. */
    for (size_t back = 0; low > 0 && back < 8; back++, low--) {
        const crn_symbol *symbol = &table->symbols[low - 1];
        if (address < symbol->high && (symbol->sized || back == 0))
            return symbol;
    }
    return NULL;
}
