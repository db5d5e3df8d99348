/* SPDX-License-Identifier: MIT */
#include "symbols/jitdump.h"

#include <string.h>

#include "base/memory.h"

enum { NAME_MOST = 1024 };

typedef struct header {
    uint32_t magic, version, size, machine, padding, process;
    uint64_t time, flags;
} header;

enum { CODE_LOAD, CODE_MOVE };

typedef struct record {
    uint32_t kind, size;
    uint64_t time;
} record;

/* Members that both kinds of records begin with. */
typedef struct code {
    uint32_t process, thread;
    uint64_t memory;  /* virtual address at run time */
    uint64_t address; /* CODE_LOAD: of the code; CODE_MOVE: its old address */
    uint64_t number;  /* CODE_LOAD: size of the code; CODE_MOVE: the new address */
    uint64_t more;    /* CODE_LOAD: index of the code; CODE_MOVE: size of the code */
} code;

/* A function that may be moved. */
typedef struct loaded {
    uint64_t address;
    char *name;
} loaded;

typedef struct reader {
    FILE *file;
    crn_jitdump_put *put;
    void *data;
    loaded *all; /* not sorted, as moves are rare */
    size_t count, capacity;
} reader;

bool crn_jitdump_is(const char *path)
{
    const char *slash = strrchr(path, '/');
    unsigned long number;
    int end = 0;
    return slash && sscanf(slash, "/jit-%lu.dump%n", &number, &end) == 1 && end && !slash[end];
}

/* Reads the name, which ends with a NUL, within `left` bytes. */
static bool read_name(FILE *file, uint64_t left, char name[NAME_MOST])
{
    for (size_t i = 0; i < left; i++) {
        int c = getc(file);
        if (c == EOF)
            return false;
        if (i < NAME_MOST)
            name[i] = (char)c;
        if (c == 0)
            break;
    }
    name[NAME_MOST - 1] = '\0';
    return left > 0 && *name;
}

static void load(reader *reader, const code *code, uint64_t left)
{
    char name[NAME_MOST] = "";
    if (!read_name(reader->file, left, name) || code->address + code->number <= code->address)
        return;
    reader->put(reader->data, code->address, code->number, name);
    CRN_GROW(reader->all, reader->count, reader->capacity);
    reader->all[reader->count++] = (loaded){code->address, crn_strdup(name)};
}

static void move(reader *reader, const code *code)
{
    enum { SEARCHED = 1 << 16 }; /* a hostile file could have many functions and moves */
    uint64_t to = code->number, size = code->more;
    size_t from = reader->count;
    for (size_t n = 0; from && n < SEARCHED; from--, n++)
        if (reader->all[from - 1].address == code->address)
            break;
    if (!from || reader->all[from - 1].address != code->address || to + size <= to)
        return;
    reader->all[from - 1].address = to;
    reader->put(reader->data, to, size, reader->all[from - 1].name);
}

void crn_jitdump_read(FILE *file, uint64_t most, crn_jitdump_put *put, void *data)
{
    static const uint32_t magic = 0x4a695444;
    reader reader = {.file = file, .put = put, .data = data};
    header header;
    record record;
    code code;
    if (fread(&header, sizeof header, 1, file) != 1 || header.magic != magic ||
        header.size < sizeof header)
        return;
    uint64_t at = header.size;
    while (at < most && fseek(file, (long)at, SEEK_SET) == 0 &&
           fread(&record, sizeof record, 1, file) == 1 && record.size >= sizeof record) {
        bool is_code = (record.kind == CODE_LOAD || record.kind == CODE_MOVE) &&
                       record.size >= sizeof record + sizeof code &&
                       fread(&code, sizeof code, 1, file) == 1;
        if (is_code && record.kind == CODE_LOAD)
            load(&reader, &code, record.size - sizeof record - sizeof code);
        else if (is_code)
            move(&reader, &code);
        at += record.size;
    }
    for (size_t i = 0; i < reader.count; i++)
        crn_free(reader.all[i].name);
    crn_free(reader.all);
}
