// CRC-32 (IEEE 802.3, reflected), the one of zip and Ethernet.
#ifndef RAFT_CHECKSUM_H
#define RAFT_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

// Goes on from the checksum of what came before; 0 to begin.
uint32_t checksum(uint32_t before, const void *data, size_t size);

#endif
