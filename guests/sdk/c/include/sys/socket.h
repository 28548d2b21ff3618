// <sys/socket.h>, completed: what the sysroot declares, and what it leaves out for preview 1.
#ifndef ATHANOR_SYS_SOCKET_H
#define ATHANOR_SYS_SOCKET_H

#include_next <sys/socket.h>
// After it: the declarations there use its types.
#include <athanor/socket.h>

#endif
