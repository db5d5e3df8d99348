/* SPDX-License-Identifier: MIT
 *
 * toy.c - a toy bytecode machine that is profiled. What the maker of a language adds to
 * a machine of their own are the lines with `cairn` in them. It runs
 *
 *     count(n) = if n = 0 then 0 else even(n), then on with n - 1
 *     even(n)  = if n = 0 then 1 else odd(n - 1)
 *     odd(n)   = if n = 0 then 0 else even(n - 1)
 */
#include <cairn/cairn.h>
#include <stdio.h>

enum operation { PUSH, ADD, COPY, DROP, JUMP, JUMP_IF_ZERO, CALL, TAIL_CALL, RETURN };

struct instruction {
    enum operation operation;
    int operand; /* what to push, where to jump, which function to call */
};

struct function {
    const char *name;
    struct instruction code[9];
    cairn_block block;
};

enum { COUNT, EVEN, ODD, FUNCTIONS };

static struct function functions[FUNCTIONS] = {
    [COUNT] = {"count",
               {{COPY, 0},
                {JUMP_IF_ZERO, 8},
                {COPY, 0},
                {CALL, EVEN},
                {DROP, 0},
                {PUSH, -1},
                {ADD, 0},
                {JUMP, 0},
                {RETURN, 0}},
               0},
    [EVEN] = {"even",
              {{COPY, 0},
               {JUMP_IF_ZERO, 5},
               {PUSH, -1},
               {ADD, 0},
               {TAIL_CALL, ODD},
               {DROP, 0},
               {PUSH, 1},
               {RETURN, 0}},
              0},
    [ODD] = {"odd",
             {{COPY, 0}, {JUMP_IF_ZERO, 5}, {PUSH, -1}, {ADD, 0}, {TAIL_CALL, EVEN}, {RETURN, 0}},
             0},
};

struct frame {
    const struct function *function;
    int next;
};

static void run(cairn_strand *strand, int argument)
{
    int values[16] = {argument};
    int *top = values;
    struct frame frames[16] = {{&functions[COUNT], 0}};
    struct frame *frame = frames;

    cairn_enter(strand, functions[COUNT].block);
    for (;;) {
        struct instruction now = frame->function->code[frame->next++];
        cairn_tick(strand, 1);
        switch (now.operation) {
        case PUSH:
            *++top = now.operand;
            break;
        case ADD:
            top--;
            top[0] += top[1];
            break;
        case COPY:
            top++;
            top[0] = top[-1];
            break;
        case DROP:
            top--;
            break;
        case JUMP:
            frame->next = now.operand;
            break;
        case JUMP_IF_ZERO:
            if (*top-- == 0)
                frame->next = now.operand;
            break;
        case CALL:
            cairn_enter(strand, functions[now.operand].block);
            *++frame = (struct frame){&functions[now.operand], 0};
            break;
        case TAIL_CALL:
            cairn_replace(strand, functions[now.operand].block);
            *frame = (struct frame){&functions[now.operand], 0};
            break;
        case RETURN:
            cairn_leave(strand);
            if (frame == frames)
                return;
            frame--;
            break;
        }
    }
}

int main(int argc, char **argv)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path = argc > 1 ? argv[1] : "toy.cairn";
    options.command = "toy";

    cairn_profile *profile;
    cairn_error error = cairn_profile_open(&profile, &options);
    if (error != CAIRN_OK)
        fprintf(stderr, "toy: not profiled: %s\n", cairn_error_text(error));
    for (int i = 0; i < FUNCTIONS; i++)
        functions[i].block =
            cairn_block_add(profile, &(cairn_block_info){.name = functions[i].name});

    run(cairn_strand_open(cairn_lane_open(profile, "main")), 1000);
    cairn_profile_close(profile);
    return 0;
}
