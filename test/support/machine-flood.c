#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* flood ADDRESS COUNT: as many datagrams as it can, one after another. */
int main(int argc, char **argv)
{
    static char bytes[1400];
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    int sent = 0;

    inet_pton(AF_INET, argv[1], &to.sin_addr);
    for (int i = atoi(argv[2]); i > 0; i--) {
        sent += sendto(fd, bytes, sizeof(bytes), 0, (void *)&to, sizeof(to)) > 0;
    }
    printf("sent %d\n", sent);
    return 0;
}
