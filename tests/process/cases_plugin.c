/* SPDX-License-Identifier: MIT
 *
 * cases_plugin.c - plugins that profile themselves and are closed, with their profile open or not.
 * Cairn's threads, fork handlers and key destructors must not call unloaded code.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin.h"
#include "program.h"

enum { ROUNDS = 20000 };

typedef struct plugin {
    void *object;
    __typeof__(plugin_begin) *begin;
    __typeof__(plugin_begin_thread) *begin_thread;
    __typeof__(plugin_work) *work;
    __typeof__(plugin_end) *end;
} plugin;

static plugin load(const char *path)
{
    plugin loaded = {.object = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
    if (!loaded.object)
        fprintf(stderr, "%s\n", dlerror());
    must(loaded.object != NULL, "dlopen");
    loaded.begin = (__typeof__(loaded.begin))dlsym(loaded.object, "plugin_begin");
    loaded.begin_thread =
        (__typeof__(loaded.begin_thread))dlsym(loaded.object, "plugin_begin_thread");
    loaded.work = (__typeof__(loaded.work))dlsym(loaded.object, "plugin_work");
    loaded.end = (__typeof__(loaded.end))dlsym(loaded.object, "plugin_end");
    return loaded;
}

static void run_plugin(const plugin *p)
{
    p->begin_thread();
    p->work(ROUNDS);
    own->calls[ROOT]++;
    own->calls[WORK] += ROUNDS;
}

static plugin start(const char *path)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path = capture_path;
    bool profiled = mode_options(&options);
    plugin p = load(path);
    own->opened = p.begin(profiled ? &options : NULL, mode_keeps_stacks_only()) && profiled;
    must(own->opened == profiled, "the plugin's profile");
    if (profiled)
        report_without(capture_path);
    run_plugin(&p);
    return p;
}

static void *short_life(void *data)
{
    return data;
}

/* Does what would call unloaded code, if Cairn left a pointer to it. */
static void go_on(void)
{
    pthread_t thread;
    usleep(20000);
    pthread_create(&thread, NULL, short_life, NULL);
    pthread_join(thread, NULL);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(24);
    await(child, "child");
    usleep(5000);
    checked();
}

static void close_with_profile_open(const char *path)
{
    plugin p = start(path);
    printf("dlclose %d\n", dlclose(p.object));
    go_on();
}

static void close_after_profile(const char *path)
{
    plugin p = start(path);
    p.end();
    printf("dlclose %d\n", dlclose(p.object));
    go_on();
}

static sem_t at_work, closed;
static plugin of_thread;

static void *outlive_plugin(void *data)
{
    run_plugin(&of_thread);
    sem_post(&at_work);
    sem_wait(&closed);
    return data;
}

static void close_before_thread_ends(const char *path)
{
    pthread_t thread;
    of_thread = start(path);
    pthread_create(&thread, NULL, outlive_plugin, NULL);
    sem_wait(&at_work);
    printf("dlclose %d\n", dlclose(of_thread.object));
    usleep(5000);
    sem_post(&closed);
    pthread_join(thread, NULL);
    go_on();
}

static void come_and_go(const char *path)
{
    for (int i = 0; i < 10; i++) {
        own->calls[ROOT] = own->calls[WORK] = 0;
        plugin p = start(path);
        if (i % 2)
            p.end();
        printf("dlclose %d\n", dlclose(p.object));
        usleep(2000);
    }
    go_on();
}

#define PLUGIN_CASES(kind, path)                                                                   \
    CASE(plugin_##kind##_is_closed_with_its_profile_open, LATE)                                    \
    {                                                                                              \
        close_with_profile_open(path);                                                             \
    }                                                                                              \
    CASE(plugin_##kind##_is_closed_after_its_profile, LATE)                                        \
    {                                                                                              \
        close_after_profile(path);                                                                 \
    }                                                                                              \
    CASE(plugin_##kind##_is_closed_before_its_thread_ends, LATE)                                   \
    {                                                                                              \
        close_before_thread_ends(path);                                                            \
    }                                                                                              \
    CASE(plugin_##kind##_comes_and_goes, LATE)                                                     \
    {                                                                                              \
        come_and_go(path);                                                                         \
    }

PLUGIN_CASES(with_cairn_inside, PLUGIN_STATIC)
PLUGIN_CASES(that_links_libcairn, PLUGIN_SHARED)
