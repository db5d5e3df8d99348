/* SPDX-License-Identifier: MIT
 *
 * cases_waiting.c - system calls that any signal handler would interrupt: none is. The program
 * computes before each call, so that timers on processor time expire about when it starts to wait.
 */
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "../support/clock.h"
#include "program.h"

enum { ROUNDS = 15, WAIT_NS = 700000 };

static const struct timespec wait_time = {0, WAIT_NS};

static struct timespec soon(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_nsec += WAIT_NS;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

/* `wait` returns 0, or the error, which may also be in errno. */
static void repeat(int (*wait)(void))
{
    int ends[4] = {0}, interrupted = 0;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t until = own_cpu() + 300000 + (uint64_t)i * 60000;
        while (own_cpu() < until)
            work(1);
        enter(OTHER);
        errno = 0;
        int result = wait();
        int error = result > 0 ? result : errno;
        interrupted += error == EINTR;
        ends[result == 0 ? 0 : error == ETIMEDOUT ? 1 : error == EAGAIN ? 2 : 3]++;
        leave();
    }
    printf("%d fine, %d timed out, %d nothing there, %d otherwise, %d interrupted\n", ends[0],
           ends[1], ends[2], ends[3], interrupted);
    checked();
}

#define WAITING(name)                                                                              \
    static int wait_##name(void);                                                                  \
    CASE(waits_in_##name, 0)                                                                       \
    {                                                                                              \
        repeat(wait_##name);                                                                       \
    }                                                                                              \
    static int wait_##name(void)

WAITING(nanosleep)
{
    return nanosleep(&wait_time, NULL);
}

WAITING(clock_nanosleep)
{
    struct timespec until = soon(CLOCK_MONOTONIC);
    return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

WAITING(usleep)
{
    return usleep(WAIT_NS / 1000);
}

WAITING(poll)
{
    return poll(NULL, 0, 1);
}

WAITING(ppoll)
{
    return ppoll(NULL, 0, &wait_time, NULL);
}

WAITING(select)
{
    return select(0, NULL, NULL, NULL, &(struct timeval){0, WAIT_NS / 1000});
}

WAITING(pselect)
{
    return pselect(0, NULL, NULL, NULL, &wait_time, NULL);
}

WAITING(epoll_wait)
{
    struct epoll_event event;
    int queue = epoll_create1(EPOLL_CLOEXEC);
    int result = epoll_wait(queue, &event, 1, 1);
    int error = errno;
    close(queue);
    errno = error;
    return result;
}

WAITING(futex)
{
    static int word;
    return (int)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &wait_time, NULL, 0);
}

WAITING(sem_timedwait)
{
    static sem_t semaphore;
    struct timespec until = soon(CLOCK_REALTIME);
    return sem_timedwait(&semaphore, &until);
}

WAITING(pthread_cond_timedwait)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    struct timespec until = soon(CLOCK_REALTIME);
    pthread_mutex_lock(&lock);
    int result = pthread_cond_timedwait(&condition, &lock, &until);
    pthread_mutex_unlock(&lock);
    return result;
}

WAITING(sigtimedwait)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    return sigtimedwait(&one, NULL, &wait_time);
}

WAITING(recv)
{
    static int ends[2];
    if (!ends[1]) {
        must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
        setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){0, WAIT_NS / 1000},
                   sizeof(struct timeval));
    }
    char byte;
    return (int)recv(ends[0], &byte, 1, 0);
}

WAITING(accept)
{
    static int listening;
    if (!listening) {
        listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const struct sockaddr address = {.sa_family = AF_UNIX};
        must(bind(listening, &address, sizeof(sa_family_t)) == 0 && listen(listening, 1) == 0,
             "listen");
        setsockopt(listening, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){0, WAIT_NS / 1000},
                   sizeof(struct timeval));
    }
    return accept(listening, NULL, NULL);
}

WAITING(timerfd_read)
{
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    timerfd_settime(timer, 0, &(const struct itimerspec){{0, 0}, wait_time}, NULL);
    uint64_t times = 0;
    ssize_t got = read(timer, &times, sizeof times);
    int error = errno;
    close(timer);
    errno = error;
    return got == sizeof times && times == 1 ? 0 : -1;
}

WAITING(semtimedop)
{
    static int semaphores = -1;
    if (semaphores < 0 && (semaphores = semget(IPC_PRIVATE, 1, 0600)) < 0)
        skip("no semaphores to be had");
    struct sembuf down = {0, -1, 0};
    int result = semtimedop(semaphores, &down, 1, &wait_time);
    int error = errno;
    semctl(semaphores, 0, IPC_RMID);
    semaphores = -1;
    errno = error;
    return result;
}

WAITING(mq_timedreceive)
{
    char name[32], message[16];
    snprintf(name, sizeof name, "/cairn-test-%d", (int)getpid());
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = sizeof message};
    mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600, &attributes);
    if (queue == (mqd_t)-1)
        skip("no message queues to be had");
    mq_unlink(name);
    struct timespec until = soon(CLOCK_REALTIME);
    int result = (int)mq_timedreceive(queue, message, sizeof message, NULL, &until);
    int error = errno;
    mq_close(queue);
    errno = error;
    return result;
}

/* ---- waits that another thread ends ---- */

static int ends_of_pipe[2], queue = -1;

static void *write_soon(void *data)
{
    nanosleep(&wait_time, NULL);
    return write(ends_of_pipe[1], "x", 1) == 1 ? NULL : data;
}

WAITING(read)
{
    char byte = 0;
    pthread_t thread;
    must(pipe2(ends_of_pipe, O_CLOEXEC) == 0, "pipe");
    pthread_create(&thread, NULL, write_soon, NULL);
    ssize_t got = read(ends_of_pipe[0], &byte, 1);
    int error = errno;
    pthread_join(thread, NULL);
    close(ends_of_pipe[0]);
    close(ends_of_pipe[1]);
    errno = error;
    return got == 1 && byte == 'x' ? 0 : -1;
}

typedef struct letter {
    long kind;
    char text[8];
} letter;

static void *send_soon(void *data)
{
    const letter sent = {1, "hello"};
    nanosleep(&wait_time, NULL);
    return msgsnd(queue, &sent, sizeof sent.text, 0) == 0 ? NULL : data;
}

WAITING(msgrcv)
{
    letter got = {0};
    pthread_t thread;
    if ((queue = msgget(IPC_PRIVATE, 0600)) < 0)
        skip("no message queues to be had");
    pthread_create(&thread, NULL, send_soon, NULL);
    ssize_t size = msgrcv(queue, &got, sizeof got.text, 0, 0);
    int error = errno;
    pthread_join(thread, NULL);
    msgctl(queue, IPC_RMID, NULL);
    errno = error;
    return size == sizeof got.text ? 0 : -1;
}
