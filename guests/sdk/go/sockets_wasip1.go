package simnet

import (
	"encoding/binary"
	"net"
	"runtime"
	"syscall"
	"unsafe"
)

// Numbers of the WasmEdge socket extension (WasmEdge, thirdparty/wasi/api.hpp).
const (
	familyInet4 = 1
	familyInet6 = 2

	typeDatagram = 1
	typeStream   = 2

	levelSocket        = 0
	optionReuseAddress = 0
	optionError        = 2
	backlog            = 128
)

//go:wasmimport wasi_snapshot_preview1 sock_open
//go:noescape
func sock_open(family, socketType int32, fd unsafe.Pointer) syscall.Errno

//go:wasmimport wasi_snapshot_preview1 sock_bind
//go:noescape
func sock_bind(fd int32, address unsafe.Pointer, port uint32) syscall.Errno

//go:wasmimport wasi_snapshot_preview1 sock_listen
//go:noescape
func sock_listen(fd, backlog int32) syscall.Errno

//go:wasmimport wasi_snapshot_preview1 sock_connect
//go:noescape
func sock_connect(fd int32, address unsafe.Pointer, port uint32) syscall.Errno

//go:wasmimport wasi_snapshot_preview1 sock_getsockopt
//go:noescape
func sock_getsockopt(fd, level, name int32, value, size unsafe.Pointer) syscall.Errno

//go:wasmimport wasi_snapshot_preview1 sock_setsockopt
//go:noescape
func sock_setsockopt(fd, level, name int32, value unsafe.Pointer, size uint32) syscall.Errno

//go:wasmimport wasi_snapshot_preview1 sock_getlocaladdr
//go:noescape
func sock_getlocaladdr(fd int32, address, port unsafe.Pointer) syscall.Errno

//go:wasmimport wasi_snapshot_preview1 sock_getpeeraddr
//go:noescape
func sock_getpeeraddr(fd int32, address, port unsafe.Pointer) syscall.Errno

//go:wasmimport wasi_snapshot_preview1 sock_getaddrinfo
//go:noescape
func sock_getaddrinfo(
	node unsafe.Pointer, nodeSize uint32,
	service unsafe.Pointer, serviceSize uint32,
	hints, results unsafe.Pointer, resultCountMax uint32, resultCount unsafe.Pointer,
) syscall.Errno

// frame holds everything a call points to. It lives on the heap: a goroutine's stack moves when
// it grows, and an address kept as a number would not follow.
type frame struct {
	address struct{ buffer, size uint32 }
	bytes   [128]byte // u16 family, then the address (version 2 of the extension)
	port    uint32
	value   int32
	size    uint32
}

//go:noinline
func newFrame() *frame { return new(frame) }

func pointer(p unsafe.Pointer) uint32 { return uint32(uintptr(p)) }

func (f *frame) set(ip net.IP) {
	if ip4 := ip.To4(); ip4 != nil {
		f.address.size = uint32(copy(f.bytes[:], ip4))
	} else {
		f.address.size = uint32(copy(f.bytes[:], ip.To16()))
	}
	f.address.buffer = pointer(unsafe.Pointer(&f.bytes))
}

func result(errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

func open(family, socketType int32) (int, error) {
	f := newFrame()
	err := result(sock_open(family, socketType, unsafe.Pointer(&f.value)))
	return int(f.value), err
}

func bind(fd int, ip net.IP, port int) error {
	f := newFrame()
	f.set(ip)
	defer runtime.KeepAlive(f)
	return result(sock_bind(int32(fd), unsafe.Pointer(&f.address), uint32(port)))
}

func connect(fd int, ip net.IP, port int) error {
	f := newFrame()
	f.set(ip)
	defer runtime.KeepAlive(f)
	return result(sock_connect(int32(fd), unsafe.Pointer(&f.address), uint32(port)))
}

func setReuseAddress(fd int) error {
	f := newFrame()
	f.value = 1
	value := unsafe.Pointer(&f.value)
	return result(sock_setsockopt(int32(fd), levelSocket, optionReuseAddress, value, 4))
}

// pendingError is SO_ERROR: 0 when there is none.
func pendingError(fd int) (syscall.Errno, error) {
	f := newFrame()
	f.size = 4
	value, size := unsafe.Pointer(&f.value), unsafe.Pointer(&f.size)
	err := result(sock_getsockopt(int32(fd), levelSocket, optionError, value, size))
	return syscall.Errno(f.value), err
}

func (f *frame) endpoint() (net.IP, int, error) {
	switch binary.LittleEndian.Uint16(f.bytes[:]) {
	case familyInet4:
		return net.IP(append([]byte(nil), f.bytes[2:6]...)), int(f.port), nil
	case familyInet6:
		return net.IP(append([]byte(nil), f.bytes[2:18]...)), int(f.port), nil
	}
	return nil, 0, syscall.EAFNOSUPPORT
}

// expectEndpoint answers where the host shall put an address and a port.
func (f *frame) expectEndpoint() (address, port unsafe.Pointer) {
	f.address.buffer = pointer(unsafe.Pointer(&f.bytes))
	f.address.size = uint32(len(f.bytes))
	return unsafe.Pointer(&f.address), unsafe.Pointer(&f.port)
}

func localAddress(fd int) (net.IP, int, error) {
	f := newFrame()
	address, port := f.expectEndpoint()
	if errno := sock_getlocaladdr(int32(fd), address, port); errno != 0 {
		return nil, 0, errno
	}
	return f.endpoint()
}

func peerAddress(fd int) (net.IP, int, error) {
	f := newFrame()
	address, port := f.expectEndpoint()
	if errno := sock_getpeeraddr(int32(fd), address, port); errno != 0 {
		return nil, 0, errno
	}
	return f.endpoint()
}
