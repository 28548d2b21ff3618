package main

import (
	"encoding/binary"
	"syscall"
	"time"
	"unsafe"
)

// A program of one goroutine has no use for Go's poller: a socket that blocks, with a timeout,
// takes a third of the calls. Numbers are those of the WasmEdge socket extension.
const (
	familyInet4          = 1
	typeDatagram         = 1
	levelSocket          = 0
	optionReceiveTimeout = 11
)

//go:wasmimport wasi_snapshot_preview1 sock_open
//go:noescape
func sock_open(family, socketType int32, fd unsafe.Pointer) syscall.Errno

//go:wasmimport wasi_snapshot_preview1 sock_bind
//go:noescape
func sock_bind(fd int32, address unsafe.Pointer, port uint32) syscall.Errno

//go:wasmimport wasi_snapshot_preview1 sock_setsockopt
//go:noescape
func sock_setsockopt(fd, level, name int32, value unsafe.Pointer, size uint32) syscall.Errno

//go:wasmimport wasi_snapshot_preview1 sock_recv_from
//go:noescape
func sock_recv_from(
	fd int32, vectors unsafe.Pointer, vectorCount uint32, address unsafe.Pointer, flags uint32,
	port, size, resultFlags unsafe.Pointer,
) syscall.Errno

//go:wasmimport wasi_snapshot_preview1 sock_send_to
//go:noescape
func sock_send_to(
	fd int32, vectors unsafe.Pointer, vectorCount uint32, address unsafe.Pointer, port, flags uint32,
	size unsafe.Pointer,
) syscall.Errno

// endpoint is an IPv4 address and a port.
type endpoint struct {
	ip   [4]byte
	port uint32
}

type slice struct{ start, size uint32 }

// socket is a UDP socket. It lives on the heap, which does not move: the host writes into it.
type socket struct {
	fd           int32
	vector       slice
	address      slice
	addressBytes [128]byte
	timeout      [16]byte
	packet       [packetSizeMax]byte
	port, size   uint32
	flags        uint16
}

func offset(p unsafe.Pointer) uint32 { return uint32(uintptr(p)) }

// openSocket binds to a port of all addresses of this node.
func openSocket(port uint32) (*socket, error) {
	s := new(socket)
	if errno := sock_open(familyInet4, typeDatagram, unsafe.Pointer(&s.fd)); errno != 0 {
		return nil, errno
	}
	s.address = slice{offset(unsafe.Pointer(&s.addressBytes)), 4}
	if errno := sock_bind(s.fd, unsafe.Pointer(&s.address), port); errno != 0 {
		return nil, errno
	}
	return s, nil
}

// send hands over one datagram; what cannot go now is lost, as on a network.
func (s *socket) send(bytes []byte, to endpoint) {
	size := copy(s.packet[:], bytes)
	s.vector = slice{offset(unsafe.Pointer(&s.packet)), uint32(size)}
	copy(s.addressBytes[:], to.ip[:])
	s.address.size = 4
	sock_send_to(s.fd, unsafe.Pointer(&s.vector), 1, unsafe.Pointer(&s.address), to.port, 0,
		unsafe.Pointer(&s.size))
}

// receive waits for a datagram, and at most for the timeout. The bytes hold until the next call.
func (s *socket) receive(timeout time.Duration) (bytes []byte, from endpoint, ok bool) {
	if timeout < time.Microsecond {
		timeout = time.Microsecond // Zero would mean for ever.
	}
	binary.LittleEndian.PutUint64(s.timeout[:], uint64(timeout/time.Second))
	binary.LittleEndian.PutUint64(s.timeout[8:], uint64(timeout%time.Second/time.Microsecond))
	sock_setsockopt(s.fd, levelSocket, optionReceiveTimeout, unsafe.Pointer(&s.timeout), 16)
	s.vector = slice{offset(unsafe.Pointer(&s.packet)), packetSizeMax}
	s.address.size = uint32(len(s.addressBytes))
	errno := sock_recv_from(s.fd, unsafe.Pointer(&s.vector), 1, unsafe.Pointer(&s.address), 0,
		unsafe.Pointer(&s.port), unsafe.Pointer(&s.size), unsafe.Pointer(&s.flags))
	if errno != 0 || s.size == 0 {
		return nil, endpoint{}, false
	}
	from.port = s.port
	copy(from.ip[:], s.addressBytes[2:6]) // A family of two bytes stands before it.
	return s.packet[:s.size], from, true
}
