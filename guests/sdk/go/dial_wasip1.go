package simnet

import (
	"context"
	"net"
	"os"
	"syscall"
	"time"
)

// Dial connects to "host:port" on "tcp", "tcp4", "tcp6", "udp", "udp4" or "udp6". The host may be a
// node name of the simulated network.
func Dial(network, address string) (net.Conn, error) {
	return DialContext(context.Background(), network, address)
}

// DialContext is Dial with a context: when it ends before the connection stands, the socket is
// closed and the context's error is the cause. A TCP connection is a *net.TCPConn.
func DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := dial(ctx, network, address)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: textAddress{network, address}, Err: err}
	}
	return conn, nil
}

// textAddress is an address that could not be resolved, or not yet.
type textAddress struct{ network, address string }

func (a textAddress) Network() string { return a.network }
func (a textAddress) String() string  { return a.address }

func socketType(network string) (int32, error) {
	switch network {
	case "tcp", "tcp4", "tcp6":
		return typeStream, nil
	case "udp", "udp4", "udp6":
		return typeDatagram, nil
	}
	return 0, net.UnknownNetworkError(network)
}

func dial(ctx context.Context, network, address string) (net.Conn, error) {
	kind, err := socketType(network)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
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
	connecting := connect(fd, ip, port)
	file := os.NewFile(uintptr(fd), "")
	defer file.Close() // net.FileConn takes its own reference.
	if connecting == syscall.EINPROGRESS {
		connecting = waitConnected(ctx, file)
	}
	if connecting != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, os.NewSyscallError("connect", connecting)
	}
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, err
	}
	return withAddresses(conn), nil
}

// waitConnected returns when the connection stands, has failed, or the context ends.
func waitConnected(ctx context.Context, file *os.File) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { file.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	var failure error
	err = raw.Write(func(fd uintptr) bool {
		pending, err := pendingError(int(fd))
		switch {
		case err != nil:
			failure = err
		case pending == syscall.EINPROGRESS || pending == syscall.EALREADY:
			return false
		case pending != 0 && pending != syscall.EISCONN:
			failure = pending
		default:
			// The poller may wake without cause: only a peer proves a connection.
			_, _, err := peerAddress(int(fd))
			return err == nil
		}
		return true
	})
	if failure != nil {
		return failure
	}
	if err == nil && !stop() {
		return ctx.Err()
	}
	return err
}

// withAddresses fills in what the standard library cannot know on wasip1. It hands out pointers to
// the addresses that it keeps, which is what makes this possible.
func withAddresses(conn net.Conn) net.Conn {
	holder, ok := conn.(syscall.Conn)
	if !ok {
		return conn
	}
	raw, err := holder.SyscallConn()
	if err != nil {
		return conn
	}
	raw.Control(func(fd uintptr) {
		if ip, port, err := localAddress(int(fd)); err == nil {
			fill(conn.LocalAddr(), ip, port)
		}
		if ip, port, err := peerAddress(int(fd)); err == nil {
			fill(conn.RemoteAddr(), ip, port)
		}
	})
	return conn
}

func fill(address net.Addr, ip net.IP, port int) {
	switch a := address.(type) {
	case *net.TCPAddr:
		a.IP, a.Port = ip, port
	case *net.UDPAddr:
		a.IP, a.Port = ip, port
	}
}
