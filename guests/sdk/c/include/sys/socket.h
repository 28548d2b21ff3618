// <sys/socket.h>, completed: what the sysroot declares, and what it leaves out for preview 1.
#ifndef ATHANOR_SYS_SOCKET_H
#define ATHANOR_SYS_SOCKET_H

#include <athanor/socket.h>
#include_next <sys/socket.h>

#endif
