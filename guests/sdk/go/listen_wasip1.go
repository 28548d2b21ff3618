package simnet

import (
	"net"
	"os"
	"syscall"
)

// Listen announces on "host:port" for "tcp", "tcp4" or "tcp6"; port 0 takes a free one, and the
// listener's Addr tells which.
func Listen(network, address string) (net.Listener, error) {
	listener, err := listen(network, address)
	if err != nil {
		at := textAddress{network, address}
		return nil, &net.OpError{Op: "listen", Net: network, Addr: at, Err: err}
	}
	return listener, nil
}

func listen(network, address string) (net.Listener, error) {
	kind, err := socketType(network)
	if err != nil {
		return nil, err
	}
	if kind != typeStream {
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
	if call, err := prepare(fd, ip, port); err != nil {
		syscall.Close(fd)
		return nil, os.NewSyscallError(call, err)
	}
	file := os.NewFile(uintptr(fd), "")
	defer file.Close() // net.FileListener takes its own reference.
	inner, err := net.FileListener(file)
	if err != nil {
		return nil, err
	}
	if ip, port, err := localAddress(fd); err == nil {
		fill(inner.Addr(), ip, port)
	}
	return &listener{inner}, nil
}

// prepare names the call that failed.
func prepare(fd int, ip net.IP, port int) (string, error) {
	if err := syscall.SetNonblock(fd, true); err != nil {
		return "setnonblock", err
	}
	if err := setReuseAddress(fd); err != nil {
		return "setsockopt", err
	}
	if err := bind(fd, ip, port); err != nil {
		return "bind", err
	}
	return "listen", result(sock_listen(int32(fd), backlog))
}

type listener struct{ net.Listener }

func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return withAddresses(conn), nil
}
