/*
 * The only program of the machines in tests: loads the modules in /modules in the order of their
 * names, then computes, draws randomness, sleeps, sends frames and writes to a disk for ever.
 * Started with "idle" in the kernel's command line it only sleeps, with "busy" it only computes,
 * with "nap" it says after some seconds of sleep that they are over.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BELL 0x5e0
#define RANDOM 0x5e4
#define ETHERTYPE 0x88b5
#define BLOCK 4096
#define NAP_MICROSECONDS 4000000

static unsigned long compute(unsigned long x, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        x = x * 6364136223846793005ul + 1442695040888963407ul;
    }
    return x;
}

static void rest(long microseconds)
{
    struct timespec time = { microseconds / 1000000, microseconds % 1000000 * 1000 };

    nanosleep(&time, NULL);
}

static void load_modules(void)
{
    struct dirent **names;
    int count = scandir("/modules", &names, NULL, alphasort);

    for (int i = 0; i < count; i++) {
        char path[300];
        int fd;

        snprintf(path, sizeof(path), "/modules/%s", names[i]->d_name);
        fd = open(path, O_RDONLY);
        if (fd >= 0 && names[i]->d_name[0] != '.') {
            syscall(SYS_finit_module, fd, "", 0);
        }
        close(fd);
    }
}

static int open_network(void)
{
    struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_protocol = htons(ETHERTYPE) };
    struct ifreq request = { .ifr_name = "eth0" };
    int fd = socket(AF_PACKET, SOCK_RAW, htons(ETHERTYPE));

    if (ioctl(fd, SIOCGIFINDEX, &request) < 0) {
        return -1;
    }
    address.sll_ifindex = request.ifr_ifindex;
    ioctl(fd, SIOCGIFFLAGS, &request);
    request.ifr_flags |= IFF_UP;
    ioctl(fd, SIOCSIFFLAGS, &request);
    bind(fd, (struct sockaddr *)&address, sizeof(address));
    return fd;
}

static void talk(int network, int round)
{
    unsigned char frame[128] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 0x88, 0xb5 };
    struct pollfd readable = { network, POLLIN, 0 };
    ssize_t got = 0;

    memcpy(frame + 14, &round, sizeof(round));
    if (send(network, frame, sizeof(frame), 0) > 0 && poll(&readable, 1, 20) > 0) {
        got = recv(network, frame, sizeof(frame), 0);
    }
    printf("round %d: frame of %zd\n", round, got);
}

static void store(int disk, int round)
{
    static unsigned char block[BLOCK] __attribute__((aligned(BLOCK)));
    int good;

    memset(block, round, BLOCK);
    good = pwrite(disk, block, BLOCK, (round % 64) * BLOCK) == BLOCK && fdatasync(disk) == 0;
    memset(block, 0, BLOCK);
    good = good && pread(disk, block, BLOCK, (round % 64) * BLOCK) == BLOCK;
    printf("round %d: disk %s %d\n", round, good ? "good" : strerror(errno), block[7]);
}

static void work(int network, int disk)
{
    unsigned long x = 1;

    for (int round = 0;; round++) {
        struct timespec now;

        x = compute(x ^ inl(RANDOM), 20000);
        clock_gettime(CLOCK_MONOTONIC, &now);
        printf("round %d: %ld.%09ld %lx\n", round, now.tv_sec, now.tv_nsec, x);
        if (network >= 0) {
            talk(network, round);
        }
        if (disk >= 0) {
            store(disk, round);
        }
        outl(round & 0xffffff, BELL);
        rest(300 + x % 700);
    }
}

int main(void)
{
    char line[512] = { 0 };
    int fd;

    setvbuf(stdout, NULL, _IOLBF, 0);
    mount("proc", "/proc", "proc", 0, NULL);
    mount("dev", "/dev", "devtmpfs", 0, NULL);
    iopl(3);
    load_modules();
    fd = open("/proc/cmdline", O_RDONLY);
    read(fd, line, sizeof(line) - 1);
    printf("init: %s\n", inl(BELL) == 0x41544852 ? "somebody listens" : "nobody listens");
    outl(0x01000000, BELL);
    if (strstr(line, "off")) {
        reboot(RB_POWER_OFF);
    }
    if (strstr(line, "reset")) {
        reboot(RB_AUTOBOOT);
    }
    if (strstr(line, "nap")) {
        rest(NAP_MICROSECONDS);
        printf("nap: over\n");
    }
    while (strstr(line, "idle")) {
        rest(1000000);
    }
    for (int round = 0; strstr(line, "bells"); round++) {
        outl(round & 0xffffff, BELL);
    }
    if (strstr(line, "busy")) {
        for (unsigned long x = 1;; x = compute(x, 1000000)) {
            outl(x & 0xffffff, BELL);
        }
    }
    if (fork() == 0) {
        work(-1, -1);
    }
    work(open_network(), open("/dev/vda", O_RDWR | O_DIRECT));
}
