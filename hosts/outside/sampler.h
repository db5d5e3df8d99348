/* SPDX-License-Identifier: MIT
 *
 * sampler.h - declarations that the parts of the sampler from outside share.
 */
#ifndef CRN_OUTSIDE_SAMPLER_H
#define CRN_OUTSIDE_SAMPLER_H

#include <cairn/cairn.h>

#include "outside.h"
#include "unwind/unwind.h"

enum { CRN_FRAMES_MOST = 4096 /* frames of a stack; a longer one is incomplete */ };

uint64_t crn_outside_now(void); /* CLOCK_MONOTONIC, ns */

/* ---- image.c: files of code ---- */

typedef struct crn_image crn_image;

/* Returns the headers and unwinding tables of the file at `open_path`, read at the first call.
 * `name` is the path that blocks of its code get. NULL if it is no ELF file. */
const crn_image *crn_image_of(const char *open_path, const char *name);
/* Returns the same of [vdso], the kernel's code in a process; NULL if it cannot be read. */
const crn_image *crn_image_of_vdso(pid_t process, uintptr_t start, size_t size);
/* Finds the address, in our copy, of what is mapped from this offset of the file. False if the file
 * loads nothing from there. */
bool crn_image_place(const crn_image *image, uint64_t offset, uintptr_t *place);

/* ---- kernel.c ---- */

/* Returns the block of an address in the kernel: a return address, or the interrupted
 * instruction. */
cairn_block crn_kernel_block(cairn_profile *profile, uint64_t address, bool interrupted);

/* ---- space.c: address spaces of processes ---- */

typedef struct crn_mapping {
    uintptr_t start, end;
    uintptr_t shift; /* the address in our copy - the process's; 0 without a copy */
} crn_mapping;

typedef struct crn_space {
    pid_t process;
    pid_t living;          /* a live thread: /proc has no mappings or files of an ended thread */
    bool same_root;        /* it sees the same files as we do */
    crn_mapping *mappings; /* of code; sorted */
    size_t count, capacity;
    uintptr_t entry;     /* stack pointer with which the process began; 0: unknown */
    cairn_block program; /* "[name of the program]", 0: not made */
    char name[16];       /* of the program, with its NUL */
    uint64_t run;        /* processor time at the last look, ns */
    bool ran;            /* it used processor time since the look before */
    bool runs;           /* the last look found that a thread of it had run */
    bool main_ended;     /* its first thread has ended; the others may run on */
    char *dump;      /* jitdump file that names code in no file, as the process sees it; or NULL */
    bool dump_noted; /* a note of the capture names `dump` */
    struct crn_code *codes; /* blocks of code that is in no file */
    size_t code_count, code_slots;
    struct crn_space *next;
} crn_space;

/* Finds the space of a process, making an empty one if need be. */
crn_space *crn_space_of(pid_t process);
crn_space *crn_space_known(pid_t process); /* NULL if it has none */
/* Chooses `living` anew: the first thread, or another one if it has ended. */
void crn_space_renew(crn_space *space);
void crn_spaces_each(void (*each)(crn_space *space, void *data), void *data);
/* Reads from /proc which code is mapped. */
void crn_space_read(crn_space *space);
/* Notes that the file `name`, from `offset` on, is mapped; forgets what was in the range. */
void crn_space_map(crn_space *space, uintptr_t start, uintptr_t end, uint64_t offset,
                   const char *name);
/* After exec: forgets what was mapped. */
void crn_space_clear(crn_space *space);
/* After fork: maps what the parent has mapped. */
void crn_space_copy(crn_space *space, const crn_space *parent);
/* Returns the address in our copy, 0 without one; for crn_unwind_walk. */
uintptr_t crn_space_local(void *space, uintptr_t address);
/* Returns the block of an address of code. */
cairn_block crn_space_block(crn_space *space, cairn_profile *profile, uintptr_t address);
/* Returns true if a process's first thread has ended while /proc still has the process: its other
 * threads run on, or its parent has not waited for it. /proc and clocks still have its times. */
bool crn_process_is_zombie(pid_t process);
/* Returns true if the thread runs, or waits for a core. */
bool crn_thread_runs(pid_t process, pid_t thread);
/* Calls `found` for each thread of the process. */
void crn_threads_find(pid_t process, void (*found)(void *data, pid_t process, pid_t thread),
                      void *data);
void crn_spaces_free(void);

/* ---- events.c: the kernel's events ---- */

typedef struct crn_events crn_events;

typedef struct crn_event_sample {
    pid_t process, thread;
    uint64_t time;                             /* CLOCK_MONOTONIC, ns */
    crn_unwind_frame frame;                    /* pc is 0 for threads of the kernel */
    uintptr_t registers[CRN_UNWIND_REGISTERS]; /* 0 on processors other than x86-64 */
    uint64_t stack_size;                       /* bytes */
    const char *stack;                         /* copy of the memory from frame.stack on */
    const uint64_t *kernel; /* addresses of the kernel's functions, the youngest first */
    uint64_t kernel_count;
} crn_event_sample;

/* Callbacks for the records, one for each kind; `data` is their first argument. */
typedef struct crn_event_sink {
    void *data;
    void (*sample)(void *data, const crn_event_sample *sample);
    /* Code of the file `name` was mapped from `offset` on. */
    void (*map)(void *data, pid_t process, uintptr_t start, uintptr_t end, uint64_t offset,
                const char *name);
    /* A thread got a name, by exec if `exec`. */
    void (*named)(void *data, pid_t process, pid_t thread, const char *name, bool exec);
    /* A thread began; it is a new process's if `process` is not `parent`. */
    void (*forked)(void *data, pid_t process, pid_t parent, pid_t thread);
    void (*ended)(void *data, pid_t process, pid_t thread);
    void (*lost)(void *data, uint64_t count); /* the ring had no space for `count` records */
} crn_event_sink;

/* Asks the kernel for samples of all threads of the process and of all threads that they begin; if
 * `begins`, from the process's next exec on. NULL, with errno, if the kernel refuses. */
crn_events *crn_events_open(pid_t process, uint64_t period_ns, bool begins);
/* Waits until a ring is a quarter full, no longer than `ms`. */
void crn_events_wait(crn_events *events, int ms);
/* Passes records to the sink, in the order of time. Keeps the latest, which may be incomplete,
 * unless `all`. */
void crn_events_read(crn_events *events, const crn_event_sink *sink, bool all);
/* Returns true if functions of the kernel are in the samples. */
bool crn_events_have_kernel(const crn_events *events);
void crn_events_close(crn_events *events);

/* ---- threads.c: threads and their times ---- */

/* Blocks, outermost first. */
typedef struct crn_path {
    size_t length, capacity;
    cairn_block *blocks;
    cairn_context context; /* of the path in its thread's lane; 0: not found yet */
} crn_path;

typedef struct crn_target {
    pid_t thread;
    crn_space *space;
    cairn_lane *lane;
    cairn_strand *strand;
    int schedstat;    /* descriptor of /proc/PID/task/TID/schedstat, -1: not open */
    uint64_t looked;  /* CLOCK_MONOTONIC at the last look, ns */
    uint64_t since;   /* when it was first found asleep, ns */
    size_t turn;      /* index into `turns` of threads.c */
    uint64_t owed;    /* wall time up to the last look that is not charged yet, ns */
    uint64_t run;     /* processor time at the last look, ns */
    uint64_t ready;   /* time without a core at the last look, ns */
    uint64_t charged; /* processor time that is charged, ns */
    bool blocked;     /* `path` is where it sleeps */
    crn_path path;    /* its last path */
    struct crn_target *next_of_hash;
} crn_target;

/* Returns the thread's entry. If it has none: makes one if `make`, else returns NULL. */
crn_target *crn_target_of(pid_t thread, pid_t process, bool make);
/* Calls `each` for the threads that were to be looked at up to the moment `due`; UINT64_MAX: for
 * all. */
void crn_targets_each(uint64_t due, void (*each)(crn_target *target, void *data), void *data);
/* Sets when to look at the thread again (CLOCK_MONOTONIC, ns); at first it is due at once. */
void crn_target_look_at(crn_target *target, uint64_t next);
size_t crn_targets_count(void);
void crn_target_forget(crn_target *target); /* frees it */
/* Reads the thread's processor time, and how long it was ready while no core was free, ns. False if
 * it has ended. */
bool crn_target_times(crn_target *target, uint64_t *run, uint64_t *ready);

/* ---- stops.c: samples by stopping threads, where the kernel allows no events ---- */

typedef struct crn_stops crn_stops;

/* Stops the thread once, to find out whether the kernel lets this user trace it. NULL if it does
 * not. */
crn_stops *crn_stops_open(pid_t thread);
void crn_stops_close(crn_stops *stops);
/* Stops a thread for a moment and copies registers and stack. The copy is valid until the next
 * call. False if the thread has ended. */
bool crn_stops_take(crn_stops *stops, crn_target *target, crn_event_sample *sample);
/* Returns the number of stops so far, how long they took in all, and the longest, ns: from the
 * request until the thread may go on, without the time in which it waited for a core. */
void crn_stops_cost(const crn_stops *stops, uint64_t *count, uint64_t *total, uint64_t *longest);

#endif
