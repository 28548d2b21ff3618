/*
 * The only program of the machines in tests of clocks: tells after each 250 ms of sleep what the
 * kernel's clocks show and what the calendar chip does.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/io.h>
#include <time.h>
#include <unistd.h>

#define CHIP_INDEX 0x70
#define CHIP_DATA 0x71

static long long milliseconds(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return time.tv_sec * 1000ll + time.tv_nsec / 1000000;
}

/* The chip counts in decimal digits. */
static int chip(int place)
{
    int value;

    outb(place, CHIP_INDEX);
    value = inb(CHIP_DATA);
    return (value >> 4) * 10 + (value & 15);
}

int main(void)
{
    iopl(3);
    for (;;) {
        struct timespec time = { 0, 250000000 };

        printf("passed %lld wall %lld chip 20%02d-%02d-%02dT%02d:%02d:%02dZ\n",
               milliseconds(CLOCK_MONOTONIC), milliseconds(CLOCK_REALTIME), chip(9), chip(8),
               chip(7), chip(4), chip(2), chip(0));
        fflush(stdout);
        nanosleep(&time, NULL);
    }
}
