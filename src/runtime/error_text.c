/* SPDX-License-Identifier: MIT */
#include <cairn/cairn.h>

const char *cairn_error_text(cairn_error error)
{
    switch (error) {
    case CAIRN_OK:
        return "no error";
    case CAIRN_E_ARGUMENT:
        return "an argument is NULL or out of range; see the function's comment in cairn.h";
    case CAIRN_E_MEMORY:
        return "the system has no memory left; lower context_budget or close other programs";
    case CAIRN_E_OPEN:
        return "the capture cannot be created; its directory must be writable, and an existing "
               "file must be a capture";
    case CAIRN_E_SPACE:
        return "the disk is full or the file-size limit is reached; free space or raise the limit";
    case CAIRN_E_MAP:
        return "the capture cannot be mapped; choose a path on a local file system";
    case CAIRN_E_FORMAT:
        return "the file is not a capture or is damaged; record it again";
    case CAIRN_E_VERSION:
        return "the capture is in a newer format; use a newer cairn";
    case CAIRN_E_TRUNCATED:
        return "the file is empty or truncated; copy it again";
    case CAIRN_E_THREAD:
        return "a thread or timer of Cairn cannot run; raise the limits on processes and pending "
               "signals, or leave a real-time signal free";
    case CAIRN_E_FORKED:
        return "the capture is the parent's; this process makes its own at its first event";
    case CAIRN_E_READ:
        return "the file cannot be read; check its name and permissions";
    case CAIRN_E_LOST:
        return "the capture's file was truncated, or the system had no space for a page of it; "
               "leave the file alone and keep space free while it is recorded";
    case CAIRN_E_LIMIT:
        return "the format holds no more blocks, texts or counters; define fewer";
    }
    return "an unknown error; the library is older than its caller";
}
