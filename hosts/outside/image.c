/* SPDX-License-Identifier: MIT
 *
 * Copies of the parts of program files that unwinding needs: headers, notes and .eh_frame. They are
 * read into memory, not mapped, as the file may be truncated meanwhile.
 */
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/memory.h"
#include "sampler.h"

enum { HEADERS_MOST = 64, PAGE = CRN_UNWIND_PAGE };
#define SPAN_MOST ((uint64_t)4 << 30)   /* bytes of addresses that a file is loaded at */
#define INDEX_MOST ((uint64_t)64 << 20) /* bytes of an index that make_index makes */

struct crn_image {
    char *name;
    struct stat file; /* device, inode and time identify it */
    bool is_code;     /* it is an ELF file, and the unwinder has its copy */
    uintptr_t bias;   /* address of the copy - address in the file */
    Elf64_Phdr loads[HEADERS_MOST];
    size_t load_count;
    crn_image *next;
};

static crn_image *images;

/* The source of an ELF file's bytes: a file, or memory of a process. */
typedef struct source {
    int file;
    pid_t process;
    uintptr_t start;
} source;

static bool read_at(const source *source, void *to, size_t size, uint64_t offset)
{
    if (source->file >= 0)
        return pread(source->file, to, size, (off_t)offset) == (ssize_t)size;
    struct iovec here = {to, size}, there = {(void *)(source->start + offset), size};
    return process_vm_readv(source->process, &here, 1, &there, 1, 0) == (ssize_t)size;
}

/* Returns false if the source is no 64-bit ELF file. */
static bool read_headers(const source *source, Elf64_Ehdr *header, Elf64_Phdr *all, size_t *count)
{
    if (!read_at(source, header, sizeof *header, 0) ||
        memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_phentsize != sizeof *all)
        return false;
    *count = header->e_phnum < HEADERS_MOST ? header->e_phnum : HEADERS_MOST;
    return read_at(source, all, *count * sizeof *all, header->e_phoff);
}

/* Copies `size` bytes of the file that are loaded at an address, but nothing beyond their
 * segment. */
static void copy(const source *source, const crn_image *image, uintptr_t address, uint64_t size)
{
    for (size_t i = 0; i < image->load_count; i++) {
        const Elf64_Phdr *load = &image->loads[i];
        if (address < load->p_vaddr || address - load->p_vaddr >= load->p_filesz)
            continue;
        uint64_t skip = address - load->p_vaddr, most = load->p_filesz - skip;
        if (size > most)
            size = most;
        read_at(source, (void *)(image->bias + address), size, load->p_offset + skip);
        return;
    }
}

/* Returns true if one segment of the file holds all the bytes. */
static bool is_loaded(const crn_image *image, uintptr_t address, uint64_t size)
{
    for (size_t i = 0; i < image->load_count; i++) {
        const Elf64_Phdr *load = &image->loads[i];
        if (address >= load->p_vaddr && load->p_filesz >= size &&
            address - load->p_vaddr <= load->p_filesz - size)
            return true;
    }
    return false;
}

/* Returns the address of .eh_frame, which the index begins with; 0 if its encoding is unusual. */
static uintptr_t frames_of(const crn_image *image, const Elf64_Phdr *index)
{
    const uint8_t *bytes = (const uint8_t *)(image->bias + index->p_vaddr);
    int32_t distance;
    const uint8_t relative_to_here = 0x1b; /* DW_EH_PE_pcrel | DW_EH_PE_sdata4 */
    if (!is_loaded(image, index->p_vaddr, 4 + sizeof distance) || bytes[1] != relative_to_here)
        return 0;
    memcpy(&distance, bytes + 4, sizeof distance);
    return index->p_vaddr + 4 + (uintptr_t)(intptr_t)distance;
}

/* Finds the section .eh_frame. False if there is none. */
static bool find_frames(const source *source, const Elf64_Ehdr *header, Elf64_Shdr *found)
{
    static const char name[] = ".eh_frame";
    Elf64_Shdr names;
    char text[sizeof name];
    if (header->e_shentsize != sizeof *found ||
        !read_at(source, &names, sizeof names,
                 header->e_shoff + (uint64_t)header->e_shstrndx * sizeof names))
        return false;
    for (unsigned i = 0; i < header->e_shnum; i++)
        if (read_at(source, found, sizeof *found, header->e_shoff + i * sizeof *found) &&
            read_at(source, text, sizeof text, names.sh_offset + found->sh_name) &&
            memcmp(text, name, sizeof name) == 0)
            return true;
    return false;
}

/* Makes an index of .eh_frame, behind the copy, for a static program, which has no index. */
static void make_index(const source *source, const Elf64_Ehdr *header, const crn_image *image,
                       crn_unwind_module *module)
{
    Elf64_Shdr frames;
    if (!find_frames(source, header, &frames) || frames.sh_type == SHT_NOBITS)
        return;
    copy(source, image, frames.sh_addr, frames.sh_size);
    uintptr_t start = image->bias + frames.sh_addr, end = start + frames.sh_size;
    if (start < module->start || end < start || end > module->end)
        return;
    size_t size = crn_unwind_index_size(module, start, end);
    if (!size || size > INDEX_MOST)
        return;
    crn_unwind_index_make(module, start, end, (void *)module->end);
    module->index = module->end;
    module->index_end = module->end + size;
}

/* Makes the copy: a span of addresses as large as the file's, with what unwinding needs. The rest
 * of the span stays zero, and takes no memory. Returns false if the source is no ELF file. */
static bool load(const source *source, crn_image *image, crn_unwind_module *module)
{
    Elf64_Ehdr header;
    Elf64_Phdr all[HEADERS_MOST];
    size_t count;
    uintptr_t low = UINTPTR_MAX, high = 0;
    if (!read_headers(source, &header, all, &count))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (all[i].p_type != PT_LOAD || all[i].p_memsz == 0 ||
            all[i].p_vaddr + all[i].p_memsz < all[i].p_vaddr)
            continue;
        if (all[i].p_filesz > all[i].p_memsz) /* no loader takes such a file */
            return false;
        image->loads[image->load_count++] = all[i];
        if (all[i].p_vaddr < low)
            low = all[i].p_vaddr & -(uintptr_t)PAGE;
        if (all[i].p_vaddr + all[i].p_memsz > high)
            high = all[i].p_vaddr + all[i].p_memsz;
    }
    if (high <= low || high - low > SPAN_MOST)
        return false;
    high = (high + PAGE - 1) & -(uintptr_t)PAGE;
    void *span = mmap(NULL, high - low + INDEX_MOST, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (span == MAP_FAILED)
        return false;
    image->bias = (uintptr_t)span - low;
    *module = (crn_unwind_module){.start = (uintptr_t)span,
                                  .end = (uintptr_t)span + (high - low),
                                  .bias = image->bias,
                                  .name = image->name};
    copy(source, image, low, PAGE);
    for (size_t i = 0; i < count; i++) {
        if (all[i].p_type == PT_NOTE)
            copy(source, image, all[i].p_vaddr, all[i].p_memsz);
        if (all[i].p_type != PT_GNU_EH_FRAME)
            continue;
        copy(source, image, all[i].p_vaddr, all[i].p_filesz);
        uintptr_t frames = frames_of(image, &all[i]);
        copy(source, image, frames, SPAN_MOST);
        module->index = frames ? image->bias + all[i].p_vaddr : 0;
    }
    if (!module->index)
        make_index(source, &header, image, module);
    return true;
}

static crn_image *image_new(const char *name, const struct stat *file, const source *source)
{
    crn_image *image = crn_calloc(1, sizeof *image);
    crn_unwind_module module;
    image->name = crn_strdup(name);
    image->file = *file;
    image->is_code = load(source, image, &module) && crn_unwind_module_add(&module);
    image->next = images;
    return images = image;
}

static bool is_same(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino &&
           one->st_mtim.tv_sec == other->st_mtim.tv_sec &&
           one->st_mtim.tv_nsec == other->st_mtim.tv_nsec;
}

const crn_image *crn_image_of(const char *open_path, const char *name)
{
    struct stat file;
    if (stat(open_path, &file) != 0 || !S_ISREG(file.st_mode)) /* opening a pipe would block */
        return NULL;
    crn_image *image = images;
    while (image && !(is_same(&image->file, &file) && strcmp(image->name, name) == 0))
        image = image->next;
    if (!image) {
        source source = {.file = open(open_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
        if (source.file < 0)
            return NULL;
        image = image_new(name, &file, &source);
        close(source.file);
    }
    return image->is_code ? image : NULL;
}

const crn_image *crn_image_of_vdso(pid_t process, uintptr_t start, size_t size)
{
    static const char name[] = "[vdso]";
    (void)size;
    crn_image *image = images;
    while (image && strcmp(image->name, name) != 0)
        image = image->next;
    if (!image)
        image = image_new(name, &(struct stat){0},
                          &(source){.file = -1, .process = process, .start = start});
    return image->is_code ? image : NULL;
}

bool crn_image_place(const crn_image *image, uint64_t offset, uintptr_t *place)
{
    for (size_t i = 0; i < image->load_count; i++) {
        const Elf64_Phdr *load = &image->loads[i];
        uint64_t begin = load->p_offset & -(uint64_t)PAGE;
        if (offset < begin || offset >= load->p_offset + load->p_filesz)
            continue;
        *place = image->bias + (load->p_vaddr & -(uintptr_t)PAGE) + (offset - begin);
        return true;
    }
    return false;
}
