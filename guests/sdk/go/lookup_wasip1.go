package simnet

import (
	"context"
	"net"
	"strconv"
	"syscall"
	"unsafe"
)

// addressRecord is __wasi_addrinfo_t: 28 bytes.
type addressRecord struct {
	flags                         uint16
	family, socketType            uint8
	protocol                      uint32
	addressSize                   uint32
	address, name, nameSize, next uint32
}

// socketAddress is __wasi_sockaddr_t: 12 bytes; data is a native socket address without its family.
type socketAddress struct {
	family         uint8
	_              [3]uint8
	dataSize, data uint32
}

const lookupResultsMax = 8

// lookup holds everything sock_getaddrinfo points to, on the heap (see frame).
type lookup struct {
	node, service [256]byte
	hints         addressRecord
	records       [lookupResultsMax]addressRecord
	addresses     [lookupResultsMax]socketAddress
	data          [lookupResultsMax][26]byte
	names         [lookupResultsMax][32]byte
	first, count  uint32
}

//go:noinline
func newLookup() *lookup {
	l := new(lookup)
	for i := range l.records {
		l.addresses[i] = socketAddress{dataSize: 26, data: pointer(unsafe.Pointer(&l.data[i]))}
		l.records[i] = addressRecord{
			addressSize: uint32(unsafe.Sizeof(socketAddress{})),
			address:     pointer(unsafe.Pointer(&l.addresses[i])),
			name:        pointer(unsafe.Pointer(&l.names[i])),
			nameSize:    32,
		}
		if i > 0 {
			l.records[i-1].next = pointer(unsafe.Pointer(&l.records[i]))
		}
	}
	l.first = pointer(unsafe.Pointer(&l.records[0]))
	return l
}

// resolve answers the addresses of a node name or a numeric address, in the host's order.
func resolve(host string) ([]net.IP, error) {
	if ip := net.ParseIP(host); ip != nil {
		return []net.IP{ip}, nil
	}
	notFound := &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	l := newLookup()
	if len(host) == 0 || len(host) >= len(l.node) {
		return nil, notFound
	}
	copy(l.node[:], host) // Both strings end in a zero byte, and it counts.
	copy(l.service[:], "0")
	l.hints.socketType = typeStream
	errno := sock_getaddrinfo(
		unsafe.Pointer(&l.node), uint32(len(host)+1), unsafe.Pointer(&l.service), 2,
		unsafe.Pointer(&l.hints), unsafe.Pointer(&l.first), lookupResultsMax, unsafe.Pointer(&l.count))
	if errno != 0 || l.count == 0 || l.count > lookupResultsMax {
		return nil, notFound
	}
	ips := make([]net.IP, 0, l.count)
	for i := range l.records[:l.count] {
		switch l.addresses[i].family {
		case familyInet4:
			ips = append(ips, net.IP(l.data[i][2:6]))
		case familyInet6:
			ips = append(ips, net.IP(l.data[i][6:22]))
		}
	}
	if len(ips) == 0 {
		return nil, notFound
	}
	return ips, nil
}

// LookupHost answers the addresses of a host as text, as net.LookupHost does.
func LookupHost(_ context.Context, host string) ([]string, error) {
	ips, err := resolve(host)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(ips))
	for i, ip := range ips {
		texts[i] = ip.String()
	}
	return texts, nil
}

// parse splits "host:port" and resolves the host; an empty host means every address of this node.
func parse(network, address string) (net.IP, int, error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return nil, 0, err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return nil, 0, &net.AddrError{Err: "the port must be a number", Addr: address}
	}
	if host == "" {
		return net.IPv4zero, int(port), nil
	}
	ips, err := resolve(host)
	if err != nil {
		return nil, 0, err
	}
	for _, ip := range ips {
		is4 := ip.To4() != nil
		if network[len(network)-1] == '4' && !is4 || network[len(network)-1] == '6' && is4 {
			continue
		}
		return ip, int(port), nil
	}
	return nil, 0, syscall.EADDRNOTAVAIL
}

func family(ip net.IP) int32 {
	if ip.To4() != nil {
		return familyInet4
	}
	return familyInet6
}
