/* SPDX-License-Identifier: MIT
 *
 * A program that lives in malloc, in C: terms are read from text into trees with names on the heap,
 * simplified into new trees, printed into growing buffers, looked up in a hash table, and freed.
 * Recursion goes 10 to 30 deep. Arguments: rounds, threads.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline))

typedef struct term {
    char *name;
    struct term *left, *right;
} term;

typedef struct buffer {
    char *text;
    size_t length, room;
} buffer;

typedef struct entry {
    struct entry *next;
    char *key;
    unsigned count;
} entry;

enum { BUCKETS = 4096, DEPTH = 9 };

typedef struct table {
    entry *buckets[BUCKETS];
} table;

typedef struct work {
    long rounds;
    uint64_t random, result;
} work;

static uint32_t draw(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*random >> 33);
}

/* ---- text ---- */

APART static void put(buffer *buffer, const char *text)
{
    size_t length = strlen(text);
    if (buffer->length + length + 1 > buffer->room) {
        buffer->room = (buffer->length + length + 1) * 3 / 2 + 16;
        buffer->text = realloc(buffer->text, buffer->room);
        if (!buffer->text)
            abort();
    }
    memcpy(buffer->text + buffer->length, text, length + 1);
    buffer->length += length;
}

APART static void write_random(buffer *buffer, int depth, uint64_t *random)
{
    static const char *const names[] = {"sum", "product", "difference", "quotient"};
    char leaf[24];
    if (depth == 0 || draw(random) % 8 == 0) {
        snprintf(leaf, sizeof leaf, "variable%u", draw(random) % 512);
        put(buffer, leaf);
        return;
    }
    put(buffer, names[draw(random) % 4]);
    put(buffer, "(");
    write_random(buffer, depth - 1, random);
    put(buffer, ",");
    write_random(buffer, depth - 1, random);
    put(buffer, ")");
}

APART static void print(buffer *buffer, const term *term)
{
    put(buffer, term->name);
    if (!term->left)
        return;
    put(buffer, "(");
    print(buffer, term->left);
    put(buffer, ",");
    print(buffer, term->right);
    put(buffer, ")");
}

/* ---- terms ---- */

APART static term *new_term(const char *name, size_t length, term *left, term *right)
{
    term *made = malloc(sizeof *made);
    if (!made)
        abort();
    made->name = strndup(name, length);
    made->left = left;
    made->right = right;
    return made;
}

APART static term *parse_term(const char **text);

APART static term *parse_arguments(const char *name, size_t length, const char **text)
{
    ++*text;
    term *left = parse_term(text);
    ++*text;
    term *right = parse_term(text);
    ++*text;
    return new_term(name, length, left, right);
}

APART static term *parse_term(const char **text)
{
    const char *name = *text;
    size_t length = strcspn(name, "(,)");
    *text += length;
    if (**text == '(')
        return parse_arguments(name, length, text);
    return new_term(name, length, NULL, NULL);
}

APART static term *simplify(const term *of)
{
    if (!of->left)
        return new_term(of->name, strlen(of->name), NULL, NULL);
    term *left = simplify(of->left), *right = simplify(of->right);
    return new_term(of->name, strlen(of->name), left, right);
}

APART static void free_term(term *term)
{
    if (term->left) {
        free_term(term->left);
        free_term(term->right);
    }
    free(term->name);
    free(term);
}

/* ---- the table ---- */

static unsigned hash_of(const char *key)
{
    unsigned hash = 5381;
    for (; *key; key++)
        hash = hash * 33 + (unsigned char)*key;
    return hash % BUCKETS;
}

APART static void count(table *table, const char *key)
{
    entry **bucket = &table->buckets[hash_of(key)];
    for (entry *at = *bucket; at; at = at->next)
        if (strcmp(at->key, key) == 0) {
            at->count++;
            return;
        }
    entry *made = malloc(sizeof *made);
    if (!made)
        abort();
    *made = (entry){*bucket, strdup(key), 1};
    *bucket = made;
}

APART static void count_all(table *table, const term *term)
{
    count(table, term->name);
    if (!term->left)
        return;
    count_all(table, term->left);
    count_all(table, term->right);
}

APART static uint64_t clear(table *table)
{
    uint64_t sum = 0;
    for (int i = 0; i < BUCKETS; i++)
        for (entry *next, *at = table->buckets[i]; at; at = next) {
            next = at->next;
            sum += at->count * (uint64_t)(i + 1);
            free(at->key);
            free(at);
        }
    return sum;
}

/* ---- the program ---- */

APART static uint64_t round_of(uint64_t *random)
{
    buffer text = {0}, printed = {0};
    write_random(&text, DEPTH, random);
    const char *at = text.text;
    term *read = parse_term(&at), *simple = simplify(read);
    print(&printed, simple);
    uint64_t result = printed.length;
    table *table = calloc(1, sizeof *table);
    if (!table)
        abort();
    count_all(table, read);
    result += clear(table);
    free(table);
    free_term(read);
    free_term(simple);
    free(text.text);
    free(printed.text);
    return result;
}

static void *run(void *data)
{
    work *work = data;
    for (long i = 0; i < work->rounds; i++)
        work->result += round_of(&work->random);
    return NULL;
}

int main(int argc, char **argv)
{
    enum { MOST = 16 };
    long rounds = argc > 1 ? atol(argv[1]) : 1000;
    int threads = argc > 2 ? atoi(argv[2]) : 1;
    threads = threads < 1 ? 1 : threads > MOST ? MOST : threads;
    pthread_t ids[MOST];
    work works[MOST];
    uint64_t result = 0;
    for (int i = 0; i < threads; i++) {
        works[i] = (work){rounds, (uint64_t)i + 1, 0};
        if (pthread_create(&ids[i], NULL, run, &works[i]))
            return 1;
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        result += works[i].result;
    }
    printf("%llu\n", (unsigned long long)result);
    return 0;
}
