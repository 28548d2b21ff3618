/*
 * The only program of machines whose memory, processors and interrupts go wrong. What it does stands in
 * the kernel's command line:
 *
 *     DO=memory   keeps a pattern in memory that the kernel leaves alone (mem=80M), tells what flips
 *     DO=busy     computes
 *     DO=check    lets the kernel look for corrected errors each second
 *     DO=storm    counts the interrupts of the serial port while it says nothing
 *
 * After some seconds it switches the machine off.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WATCHED_FROM 0x5000000
#define WATCHED_BYTES 0x100000
#define WORDS (WATCHED_BYTES / 8)

static double uptime(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

static void rest_until(double when)
{
    while (uptime() < when) {
        usleep(20000);
    }
}

static uint64_t pattern(unsigned long word)
{
    return word * 0x9e3779b97f4a7c15u;
}

static void watch_memory(void)
{
    int fd = open("/dev/mem", O_RDWR);
    volatile uint64_t *memory = mmap(NULL, WATCHED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                                     WATCHED_FROM);

    if (memory == MAP_FAILED) {
        perror("memory");
        return;
    }
    for (unsigned long word = 0; word < WORDS; word++) {
        memory[word] = pattern(word);
    }
    printf("watching\n");
    while (uptime() < 1.2) {
        for (unsigned long word = 0; word < WORDS; word++) {
            uint64_t wrong = memory[word] ^ pattern(word);

            if (wrong) {
                printf("0x%lx has 0x%016lx\n", WATCHED_FROM + word * 8, wrong);
                memory[word] = pattern(word);
            }
        }
        usleep(20000);
    }
}

static void compute(void)
{
    unsigned long sum = 1;

    while (uptime() < 1.2) {
        for (int i = 0; i < 1000000; i++) {
            sum = sum * 6364136223846793005ul + 1442695040888963407ul;
        }
    }
    printf("sum %lx\n", sum);
}

static void look_for_errors(void)
{
    int fd = open("/sys/devices/system/machinecheck/machinecheck0/check_interval", O_WRONLY);

    printf("looking: %s\n", write(fd, "1", 1) == 1 ? "each second" : "never");
    rest_until(4.8);
}

/* Of all processors together. */
static long serial_interrupts(void)
{
    FILE *file = fopen("/proc/interrupts", "r");
    char line[512];
    long count = -1;

    while (fgets(line, sizeof(line), file)) {
        char *at = line;
        long own;
        int used;

        if (!strstr(line, "ttyS0")) {
            continue;
        }
        at = strchr(line, ':') + 1;
        count = 0;
        while (sscanf(at, " %ld%n", &own, &used) == 1 && at[used] == ' ') {
            count += own;
            at += used;
        }
    }
    fclose(file);
    return count;
}

static void count_interrupts(void)
{
    long before, after;

    rest_until(1);
    before = serial_interrupts();
    rest_until(1.5);
    after = serial_interrupts();
    printf("of %s: %ld\n", before < 0 ? "nobody" : "the serial port", after - before);
}

int main(void)
{
    char line[1024] = { 0 };
    int fd;

    setvbuf(stdout, NULL, _IOLBF, 0);
    mount("proc", "/proc", "proc", 0, NULL);
    mount("dev", "/dev", "devtmpfs", 0, NULL);
    mkdir("/sys", 0755);
    mount("sys", "/sys", "sysfs", 0, NULL);
    fd = open("/proc/cmdline", O_RDONLY);
    read(fd, line, sizeof(line) - 1);
    if (strstr(line, "DO=memory")) {
        watch_memory();
    } else if (strstr(line, "DO=busy")) {
        compute();
    } else if (strstr(line, "DO=check")) {
        look_for_errors();
    } else {
        count_interrupts();
    }
    printf("done\n");
    usleep(200000);
    reboot(RB_POWER_OFF);
}
