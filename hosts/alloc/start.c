/* SPDX-License-Identifier: MIT
 *
 * Finds the functions of libc that are interposed. Opens the profile at the first allocation after
 * libc has set the environment; closes it after the program's destructors.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../native/variables.h"
#include "alloc.h"

static bool glibc = true; /* the interposed malloc is glibc's */

/* ---- libc's functions ---- */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void __libc_free(void *block);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void *__libc_valloc(size_t size);
extern void *__libc_pvalloc(size_t size);

static int align_block(void **block, size_t alignment, size_t size)
{
    *block = __libc_memalign(alignment, size);
    return *block ? 0 : ENOMEM;
}

crn_real crn_real_now = {
    __libc_malloc,   __libc_calloc, __libc_realloc, __libc_free,    __libc_memalign,
    __libc_memalign, align_block,   __libc_valloc,  __libc_pvalloc,
};

/* Finds the interposed functions. Returns false if a library of the program defines another malloc:
 * its allocations are not counted, as the table of live allocations is made for glibc's heap. */
static bool find_real(void)
{
    crn_real next;
    *(void **)&next.malloc = dlsym(RTLD_NEXT, "malloc");
    *(void **)&next.calloc = dlsym(RTLD_NEXT, "calloc");
    *(void **)&next.realloc = dlsym(RTLD_NEXT, "realloc");
    *(void **)&next.free = dlsym(RTLD_NEXT, "free");
    *(void **)&next.aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
    *(void **)&next.memalign = dlsym(RTLD_NEXT, "memalign");
    *(void **)&next.posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
    *(void **)&next.valloc = dlsym(RTLD_NEXT, "valloc");
    *(void **)&next.pvalloc = dlsym(RTLD_NEXT, "pvalloc");
    if (!next.malloc || !next.calloc || !next.realloc || !next.free || !next.aligned_alloc ||
        !next.memalign || !next.posix_memalign || !next.valloc || !next.pvalloc)
        return true;
    crn_real_now = next;
    return next.malloc == __libc_malloc && next.free == __libc_free;
}

/* ---- environment that cairn run has set ---- */

enum { MEAN_USUAL = 512 * 1024 };

/* Parses the mean number of bytes between samples. Returns 0 for "exact", and the default if the
 * text is no number in range. */
static double mean_of(const char *text)
{
    if (strcmp(text, "exact") == 0)
        return 0;
    char *end;
    double mean = strtod(text, &end);
    return end != text && *end == '\0' && mean >= 1 && mean <= 0x1p40 ? mean : MEAN_USUAL;
}

static bool in_environment; /* cairn run's variables are still in the environment */

/* Gives the program the environment that it would have without cairn run, so that the programs that
 * it starts are not profiled into its capture. Not called from malloc, whose caller may be
 * setenv. */
static void leave_environment(void)
{
    if (!in_environment)
        return;
    in_environment = false;
    char *list = secure_getenv("LD_PRELOAD");
    crn_variable_remove("CAIRN_ALLOC");
    crn_variable_remove("CAIRN_ALLOC_SEED");
    crn_variable_remove("CAIRN_OUT");
    crn_variable_remove("CAIRN_SINCE");
    if (list)
        crn_preload_remove(list, "libcairn-alloc.so");
    if (list && !*list)
        crn_variable_remove("LD_PRELOAD");
}

/* ---- opening ---- */

static void add_metrics(void)
{
    for (int i = 0; i < CRN_METRICS; i++)
        crn_metrics_here[i] =
            cairn_metric_add(crn_profile_here, crn_metric_names[i][0], crn_metric_names[i][1]);
}

static void describe(void)
{
    char mode[64] = "exact";
    if (crn_sample_mean)
        snprintf(mode, sizeof mode, "sampled, one in %.0f bytes", crn_sample_mean);
    char mean[32];
    crn_sample_mean_text(mean);
    cairn_profile_note(crn_profile_here, "host", "alloc");
    cairn_profile_note(crn_profile_here, "alloc", mean); /* as the Lua host notes it, too */
    cairn_profile_note(crn_profile_here, "mode", mode);
    cairn_profile_note(crn_profile_here, "default_metric", "alloc bytes");
}

/* Sets up counting. `mean` is CAIRN_ALLOC's value; NULL: exact. Called once in a process. Returns
 * false if that fails. */
static bool begin_recording(const char *mean)
{
    crn_sample_mean = mean ? mean_of(mean) : 0;
    crn_sampled = crn_sample_mean != 0;
    const char *seed = secure_getenv("CAIRN_ALLOC_SEED");
    crn_sample_seed = seed ? strtoull(seed, NULL, 10) : 1;
    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    if (!crn_record_open() || !crn_alloc_lanes_open())
        return false;
    if (!crn_sampled)
        crn_filter_all();
    return true;
}

static void open_profile(const char *path, const char *mean)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path = path;
    options.command = program_invocation_name;
    /* Opening the profile registers libcairn's fork handlers. The last registered run first, so the
     * locks of this library are taken before the profile's, as everywhere else. */
    if (cairn_profile_open(&crn_profile_here, &options) != CAIRN_OK || !begin_recording(mean)) {
        __atomic_store_n(&crn_alloc_state_now, CRN_ALLOC_OVER, __ATOMIC_RELEASE);
        return;
    }
    crn_code_begin(crn_profile_here);
    add_metrics();
    describe();
    __atomic_store_n(&crn_alloc_state_now, CRN_ALLOC_ON, __ATOMIC_RELEASE);
}

/* Returns true if libcairn-gcc is in the program. The allocations then go to its profile, even if
 * the first of them comes before libcairn-gcc has begun. */
static bool has_compiled_host(void)
{
    return dlsym(RTLD_DEFAULT, "cairn_priv_site_enter") != NULL;
}

void crn_start(void)
{
    static bool looked, here;
    if (here || __atomic_load_n(&crn_alloc_state_now, __ATOMIC_ACQUIRE) != CRN_ALLOC_EARLY)
        return;
    here = true;
    uintptr_t busy = crn_here.busy;
    crn_here.busy = (uintptr_t)__builtin_frame_address(0);
    if (!looked)
        glibc = find_real();
    looked = true;
    if (environ) {
        const char *path = secure_getenv("CAIRN_OUT"), *mean = secure_getenv("CAIRN_ALLOC");
        if (mean && path && glibc && !has_compiled_host())
            open_profile(path, mean);
        else
            __atomic_store_n(&crn_alloc_state_now, CRN_ALLOC_IDLE, __ATOMIC_RELEASE);
        in_environment = mean && path;
    }
    crn_here.busy = busy;
    here = false;
}

bool crn_start_following(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool begun, can;
    if (__atomic_load_n(&crn_alloc_state_now, __ATOMIC_ACQUIRE) == CRN_ALLOC_ON)
        return true;
    pthread_mutex_lock(&lock);
    if (!begun && glibc &&
        __atomic_load_n(&crn_alloc_state_now, __ATOMIC_ACQUIRE) == CRN_ALLOC_IDLE) {
        can = begin_recording(secure_getenv("CAIRN_ALLOC"));
        if (can)
            __atomic_store_n(&crn_alloc_state_now, CRN_ALLOC_ON, __ATOMIC_RELEASE);
    }
    begun = true;
    pthread_mutex_unlock(&lock);
    return can;
}

__attribute__((constructor)) static void start_with_program(void)
{
    int saved = errno;
    crn_start();
    leave_environment();
    errno = saved;
}

/* ---- closing ---- */

static void flush_lane(crn_lane *lane)
{
    if (crn_alloc_lane_up_to_date(lane))
        crn_peak_flush(lane);
}

static void settle_lane(crn_lane *lane)
{
    if (crn_alloc_lane_up_to_date(lane))
        crn_peak_settle(lane);
}

/* Waits, 200 ms at most, for threads that are recording; false if one still is. No thread begins to
 * record after the state has changed. */
static bool wait_for_threads(void)
{
    enum { TURNS = 200, TURN_NS = 1000000 };
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    for (int i = 0; i < TURNS; i++) {
        if (crn_alloc_lanes_rest())
            return true;
        nanosleep(&(struct timespec){.tv_nsec = TURN_NS}, NULL);
    }
    return false;
}

__attribute__((destructor)) static void end_with_program(void)
{
    crn_alloc_notice_child();
    int state = __atomic_load_n(&crn_alloc_state_now, __ATOMIC_ACQUIRE);
    if (state != CRN_ALLOC_ON && state != CRN_ALLOC_FULL)
        return;
    int saved = errno;
    crn_here.busy = (uintptr_t)__builtin_frame_address(0);
    __atomic_store_n(&crn_alloc_state_now, CRN_ALLOC_OVER, __ATOMIC_SEQ_CST);
    if (crn_profile_here && wait_for_threads()) {
        crn_alloc_lanes_each(flush_lane);
        crn_alloc_lanes_each(settle_lane);
        cairn_profile_close(crn_profile_here);
    }
    crn_here.busy = 0;
    errno = saved;
}
