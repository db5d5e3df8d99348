/* SPDX-License-Identifier: MIT
 *
 * spans.c - each macro and function of spans, as a program outside of this tree uses them.
 */
#include <cairn/mutex.h>
#include <cairn/scope.h>
#include <cairn/traceparent.h>
#include <cairn/wrap.h>

#include <stdio.h>

static int done;
static cairn_mutex update = CAIRN_MUTEX("update");

static void job(void *argument)
{
    CAIRN_FUNCTION();
    CAIRN_LOCK(&update);
    done += *(int *)argument;
}

static void *thread_main(void *argument)
{
    CAIRN_SCOPE("in a thread");
    job(argument);
    return NULL;
}

static void render(int64_t i)
{
    CAIRN_SCOPE("render", .iteration = i);
    CAIRN_SCOPE_INTEGER("width", i * 2);
    CAIRN_SCOPE_NUMBER("scale", 0.5);
    CAIRN_SCOPE_TEXT("image", "image.png");
    CAIRN_SCOPE_NAME("phase", "rendering");
    CAIRN_FUNCTION(.iteration = i);
    CAIRN_SCOPE("both", .iteration = i, .strand = cairn_thread_strand());
    CAIRN_SCOPE("on a strand", .strand = cairn_thread_strand());
    CAIRN_SCOPE("nowhere", .strand = NULL);
    cairn_scope inner = CAIRN_SCOPE_BEGIN("inner", .iteration = i);
    CAIRN_SCOPE_INTEGER("other", 1, cairn_thread_strand());
    cairn_scope_end(&inner);
}

int main(void)
{
    int one = 1;
    pthread_t thread;
    CAIRN_SCOPE("main");
    for (int64_t i = 0; i < 10; i++)
        render(i);
    cairn_work works[2] = {cairn_wrap(job, &one), cairn_wrap_shared(job, &one)};
    works[0].run(works[0].argument);
    works[1].run(works[1].argument);
    cairn_wrap_drop(works[1]);
    if (cairn_pthread_create(&thread, NULL, thread_main, &one, "thread") != 0 ||
        cairn_pthread_join(thread, NULL) != 0)
        return 1;
    char text[CAIRN_TRACEPARENT_SIZE];
    cairn_handoff handoff;
    bool asked = cairn_traceparent_write(cairn_thread_strand(), text) &&
                 cairn_traceparent_read(text, &handoff);
    if (asked) {
        CAIRN_ADOPT(handoff);
        CAIRN_SCOPE("served", .iteration = 1);
    }
    printf("%d %d %d\n", done, asked, cairn_process_profile() != NULL);
    return 0;
}
