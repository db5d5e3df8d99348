/* SPDX-License-Identifier: MIT
 *
 * The process's command line. The constructor notes where the arguments are, because to open and
 * read a file of /proc costs a short process several microseconds.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "runtime/process.h"

/* The arguments, each with its 0 at the end, one after another; NULL: not known. */
static const char *arguments;
static size_t arguments_size;

/* glibc calls constructors with main's arguments. The kernel puts these one after another. A caller
 * that put them elsewhere, or that passed nothing, is told by their addresses. */
__attribute__((constructor(101))) static void note_arguments(int count, char **each)
{
    if (count <= 0 || !each)
        return;
    const char *end = each[0];
    for (int i = 0; i < count; i++) {
        if (!each[i] || each[i] != end)
            return;
        end += strlen(end) + 1;
    }
    arguments = each[0];
    arguments_size = (size_t)(end - arguments);
}

static size_t read_file(char *text, size_t size)
{
    int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, text, size);
    if (file >= 0)
        close(file);
    return length < 0 ? 0 : (size_t)length;
}

void crn_process_command(char *text, size_t size)
{
    size_t length = arguments_size < size ? arguments_size : size - 1;
    if (arguments)
        memcpy(text, arguments, length);
    else
        length = read_file(text, size - 1);
    while (length && !text[length - 1])
        length--;
    for (size_t i = 0; i < length; i++)
        if (!text[i])
            text[i] = ' ';
    text[length] = 0;
}
