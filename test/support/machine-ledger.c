/*
 * The only program of a machine that keeps a ledger on its disk and has a defect: it does not look
 * whether a line was written. It reads each line back, and says so where another one stands there.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BELL 0x5e0
#define READY 0x01000000
#define LINE 512

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

int main(void)
{
    static char line[LINE] __attribute__((aligned(LINE))), found[LINE] __attribute__((aligned(LINE)));
    struct timespec rest = { 0, 5000000 };
    int disk;

    setvbuf(stdout, NULL, _IOLBF, 0);
    mount("dev", "/dev", "devtmpfs", 0, NULL);
    iopl(3);
    load_modules();
    disk = open("/dev/vda", O_RDWR | O_DIRECT);
    outl(READY, BELL);
    for (int count = 1; count <= 40; count++) {
        snprintf(line, sizeof(line), "entry %d", count);
        pwrite(disk, line, LINE, 0);
        pread(disk, found, LINE, 0);
        if (strcmp(line, found) != 0) {
            printf("ledger: entry is lost, %s\n", found);
        }
        nanosleep(&rest, NULL);
    }
    printf("ledger: done\n");
    for (;;) {
        pause();
    }
}
