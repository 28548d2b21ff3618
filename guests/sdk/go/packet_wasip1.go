package simnet

import (
	"net"
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

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

// ListenPacket opens a UDP socket bound to "host:port" for "udp", "udp4" or "udp6". What it answers
// is not a *net.UDPConn, which the standard library does not make on wasip1.
func ListenPacket(network, address string) (net.PacketConn, error) {
	conn, err := listenPacket(network, address)
	if err != nil {
		at := textAddress{network, address}
		return nil, &net.OpError{Op: "listen", Net: network, Addr: at, Err: err}
	}
	return conn, nil
}

func listenPacket(network, address string) (*packetConn, error) {
	kind, err := socketType(network)
	if err != nil {
		return nil, err
	}
	if kind != typeDatagram {
		return nil, net.UnknownNetworkError(network)
	}
	ip, port, err := parse(network, address)
	if err != nil {
		return nil, err
	}
	fd, err := open(family(ip), kind)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		syscall.Close(fd)
		return nil, os.NewSyscallError("setnonblock", err)
	}
	if err := bind(fd, ip, port); err != nil {
		syscall.Close(fd)
		return nil, os.NewSyscallError("bind", err)
	}
	local := &net.UDPAddr{IP: ip, Port: port}
	if ip, port, err := localAddress(fd); err == nil {
		local.IP, local.Port = ip, port
	}
	file := os.NewFile(uintptr(fd), "")
	raw, err := file.SyscallConn()
	if err != nil {
		file.Close()
		return nil, err
	}
	return &packetConn{file: file, raw: raw, local: local}, nil
}

type packetConn struct {
	file  *os.File
	raw   syscall.RawConn
	local *net.UDPAddr
}

// packet holds everything a call points to, on the heap (see frame).
type packet struct {
	frame
	vector  struct{ buffer, size uint32 }
	payload []byte
	count   uint32
	flags   uint16
}

//go:noinline
func newPacket(bytes []byte) *packet {
	p := &packet{payload: bytes}
	p.vector.buffer = pointer(unsafe.Pointer(unsafe.SliceData(bytes)))
	p.vector.size = uint32(len(bytes))
	return p
}

// ReadFrom waits for a datagram; what does not fit into bytes is lost, as UDP has it.
func (c *packetConn) ReadFrom(bytes []byte) (int, net.Addr, error) {
	// The caller's bytes may lie on its stack, which moves: the host writes to the heap.
	p := newPacket(make([]byte, len(bytes)))
	var errno syscall.Errno
	err := c.raw.Read(func(fd uintptr) bool {
		address, port := p.expectEndpoint()
		errno = sock_recv_from(int32(fd), unsafe.Pointer(&p.vector), 1, address, 0,
			port, unsafe.Pointer(&p.count), unsafe.Pointer(&p.flags))
		return errno != syscall.EAGAIN
	})
	runtime.KeepAlive(p)
	if err == nil {
		err = result(errno)
	}
	if err != nil {
		return 0, nil, &net.OpError{Op: "read", Net: "udp", Source: c.local, Err: err}
	}
	ip, port, err := p.endpoint()
	return copy(bytes, p.payload[:p.count]), &net.UDPAddr{IP: ip, Port: port}, err
}

// WriteTo sends one datagram to a *net.UDPAddr.
func (c *packetConn) WriteTo(bytes []byte, to net.Addr) (int, error) {
	target, ok := to.(*net.UDPAddr)
	if !ok {
		return 0, &net.OpError{Op: "write", Net: "udp", Source: c.local, Addr: to, Err: syscall.EAFNOSUPPORT}
	}
	p := newPacket(append([]byte(nil), bytes...))
	p.set(target.IP)
	var errno syscall.Errno
	err := c.raw.Write(func(fd uintptr) bool {
		errno = sock_send_to(int32(fd), unsafe.Pointer(&p.vector), 1, unsafe.Pointer(&p.address),
			uint32(target.Port), 0, unsafe.Pointer(&p.count))
		return errno != syscall.EAGAIN
	})
	runtime.KeepAlive(p)
	if err == nil {
		err = result(errno)
	}
	if err != nil {
		return 0, &net.OpError{Op: "write", Net: "udp", Source: c.local, Addr: to, Err: err}
	}
	return int(p.count), nil
}

func (c *packetConn) Close() error                       { return c.file.Close() }
func (c *packetConn) LocalAddr() net.Addr                { return c.local }
func (c *packetConn) SetDeadline(t time.Time) error      { return c.file.SetDeadline(t) }
func (c *packetConn) SetReadDeadline(t time.Time) error  { return c.file.SetReadDeadline(t) }
func (c *packetConn) SetWriteDeadline(t time.Time) error { return c.file.SetWriteDeadline(t) }
