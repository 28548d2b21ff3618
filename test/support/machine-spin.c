/*
 * spin PROCESSORS MILLISECONDS: a process on each processor computes, and says after every 20 ms of
 * the monotonic clock, and at the end, how many rounds it has made in them.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WINDOW_MS 20

static long now_us(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

static void spin(int processor, long until_us)
{
    volatile unsigned long x = 1;
    long window = now_us() / 1000 / WINDOW_MS;
    unsigned long rounds = 0;
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    sched_setaffinity(0, sizeof(set), &set);
    for (long now = now_us(); now < until_us; now = now_us()) {
        long present = now / 1000 / WINDOW_MS;

        if (present != window) {
            printf("processor %d at %ld ms: %lu rounds\n", processor, window * WINDOW_MS, rounds);
            fflush(stdout);
            window = present;
            rounds = 0;
        }
        for (int i = 0; i < 300; i++) {
            x = x * 6364136223846793005ul + 1442695040888963407ul;
        }
        rounds++;
    }
}

int main(int argc, char **argv)
{
    int processors = atoi(argv[1]);
    long until_us = now_us() + atol(argv[2]) * 1000;

    for (int processor = 0; processor < processors; processor++) {
        if (fork() == 0) {
            spin(processor, until_us);
            return 0;
        }
    }
    while (wait(NULL) > 0) {
    }
    printf("spun\n");
    return 0;
}
