/* SPDX-License-Identifier: MIT
 *
 * live.c - a program to be watched: a pipeline of threads that work and wait.
 *
 * usage: live OUT.cairn SECONDS THREADS [CONTEXTS [WAIT [spans|calm...]]]
 *
 * Each thread runs stage_N: parse (three quarters of its work), which calls itself, then
 * render; every fourth thread sleeps instead, WAIT seconds at a time (0.002 if it is not given).
 * With "spans" each of the sleeps is a span. Only the first of those that work needs a processor
 * all the time: the others wait for each first token. With "calm" the first one waits, too. With a
 * number of contexts, the threads first make that many. Ends by itself or when it is asked to
 * (SIGTERM), closing its capture, or is killed.
 */
#include <cairn/cairn.h>
#include <cairn/span.h>

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../support/clock.h"

enum { THREADS_MOST = 64, MADE_BLOCKS = 1000 };

static cairn_profile *profile;
static cairn_block stages[THREADS_MOST], parse, render, rest, token, hostile, made[MADE_BLOCKS];
static double end;
static volatile sig_atomic_t asked;
static unsigned long contexts;
static bool calm;
static double wait_seconds = 0.002;

static double now(void)
{
    return (double)now_ns() / 1e9;
}

static cairn_block block(const char *name, const char *file, uint32_t line)
{
    return cairn_block_add(profile, &(cairn_block_info){.name = name, .file = file, .line = line});
}

static void spin(unsigned rounds)
{
    for (volatile unsigned i = 0; i < rounds; i++)
        ;
}

static void parse_deep(cairn_strand *strand, int depth, bool waits)
{
    cairn_enter(strand, parse);
    for (int i = 0; i < 10; i++) {
        cairn_enter(strand, token);
        if (waits && i == 0)
            usleep(1000);
        spin(200);
        cairn_tick(strand, 200);
        cairn_leave(strand);
    }
    if (depth)
        parse_deep(strand, depth - 1, waits);
    cairn_leave(strand);
}

static void work(cairn_strand *strand, bool waits)
{
    parse_deep(strand, 2, waits);
    cairn_enter(strand, render);
    cairn_enter(strand, hostile);
    spin(2000);
    cairn_tick(strand, 2000);
    cairn_leave(strand);
    cairn_leave(strand);
}

static void make_contexts(cairn_strand *strand, unsigned number)
{
    unsigned long long random = number + 1;
    for (unsigned long i = 0; i < contexts; i += 8) {
        for (int depth = 0; depth < 8; depth++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            cairn_enter(strand, made[(random >> 33) % MADE_BLOCKS]);
            cairn_tick(strand, 1);
        }
        cairn_strand_unwind(strand, 0);
    }
}

static void *run(void *data)
{
    unsigned number = (unsigned)(size_t)data;
    char name[32];
    snprintf(name, sizeof name, "worker %u", number);
    cairn_strand *strand = cairn_strand_open(cairn_lane_open(profile, name));
    make_contexts(strand, number);
    cairn_enter(strand, stages[number]);
    while (!asked && now() < end) {
        if (number % 4 == 3) {
            cairn_span_begin(strand, rest, CAIRN_ITERATION_NONE);
            usleep((useconds_t)(wait_seconds * 1e6));
            cairn_span_end(strand);
        } else {
            work(strand, calm || number != 0);
        }
    }
    cairn_leave(strand);
    return NULL;
}

static void ask(int number)
{
    (void)number;
    asked = 1;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path = argv[1];
    options.command = "./live --stages many";
    options.wall = CAIRN_WALL_SAMPLED;
    signal(SIGTERM, ask);
    unsigned threads = (unsigned)atoi(argv[3]) % THREADS_MOST;
    end = now() + atof(argv[2]);
    contexts = argc > 4 ? strtoul(argv[4], NULL, 10) : 0;
    if (argc > 5)
        wait_seconds = atof(argv[5]);
    for (int i = 6; i < argc; i++) {
        options.spans |= strcmp(argv[i], "spans") == 0;
        calm |= strcmp(argv[i], "calm") == 0;
    }
    if (cairn_profile_open(&profile, &options) != CAIRN_OK)
        return 1;
    parse = block("Parser::parse", "src/parser/parse.cpp", 120);
    token = block("Parser::next_token", "src/parser/token.cpp", 44);
    render = block("render", "src/render.cpp", 7);
    rest = block("wait_for_input", "src/queue.cpp", 31);
    hostile =
        block("na\xc3\xafve \xe6\xbc\xa2\xe5\xad\x97 \x1b[2J\x07 name", "src/\x1b]0;x\x07.c", 1);
    for (int i = 0; contexts && i < MADE_BLOCKS; i++) {
        char name[32];
        snprintf(name, sizeof name, "made_%d", i);
        made[i] = block(name, "src/made.c", (uint32_t)i + 1);
    }
    pthread_t all[THREADS_MOST];
    for (unsigned i = 0; i < threads; i++) {
        char name[32];
        snprintf(name, sizeof name, "stage_%u", i);
        stages[i] = block(name, "src/pipeline.cpp", 10 + i);
        pthread_create(&all[i], NULL, run, (void *)(size_t)i);
    }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(all[i], NULL);
    cairn_profile_close(profile);
    return 0;
}
