/*
 * Replaces a function of the C library for QEMU's own code, by its entry in the global offset table
 * of the program. Only the plugin needs it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include "got.h"

#define PAGE_BYTES 4096ul

typedef struct Search {
    const char *name;
    void *target;
    unsigned replaced;
} Search;

/* glibc has made the addresses in the dynamic section absolute. */
static uintptr_t dynamic_value(const ElfW(Dyn) *dynamic, ElfW(Sxword) tag)
{
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        if (dynamic->d_tag == tag) {
            return dynamic->d_un.d_ptr;
        }
    }
    return 0;
}

static bool write_entry(void **entry, void *value)
{
    void *page = (void *)((uintptr_t)entry & ~(PAGE_BYTES - 1));

    /* The table is read-only once the program is linked; it stays so afterwards. */
    if (mprotect(page, PAGE_BYTES, PROT_READ | PROT_WRITE) < 0) {
        return false;
    }
    *entry = value;
    mprotect(page, PAGE_BYTES, PROT_READ);
    return true;
}

static void search_table(uintptr_t base, const ElfW(Dyn) *dynamic, uintptr_t table, size_t bytes,
                         Search *search)
{
    const ElfW(Sym) *symbols = (void *)dynamic_value(dynamic, DT_SYMTAB);
    const char *strings = (void *)dynamic_value(dynamic, DT_STRTAB);
    const ElfW(Rela) *relocation = (void *)table;

    for (size_t i = 0; i < bytes / sizeof(*relocation); i++) {
        unsigned type = ELF64_R_TYPE(relocation[i].r_info);
        const ElfW(Sym) *symbol = &symbols[ELF64_R_SYM(relocation[i].r_info)];

        if ((type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT) &&
            !strcmp(strings + symbol->st_name, search->name) &&
            write_entry((void **)(base + relocation[i].r_offset), search->target)) {
            search->replaced++;
        }
    }
}

/* The first object is the program itself. */
static int search_program(struct dl_phdr_info *info, size_t size, void *opaque)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];

        if (header->p_type == PT_DYNAMIC) {
            const ElfW(Dyn) *dynamic = (void *)(info->dlpi_addr + header->p_vaddr);

            search_table(info->dlpi_addr, dynamic, dynamic_value(dynamic, DT_JMPREL),
                         dynamic_value(dynamic, DT_PLTRELSZ), opaque);
            search_table(info->dlpi_addr, dynamic, dynamic_value(dynamic, DT_RELA),
                         dynamic_value(dynamic, DT_RELASZ), opaque);
        }
    }
    return 1;
}

bool sim_replace_import(const char *name, void *target)
{
    Search search = { .name = name, .target = target };

    dl_iterate_phdr(search_program, &search);
    return search.replaced > 0;
}
