//go:build !wasip1

package simnet

import (
	"context"
	"net"
)

// Dial is net.Dial.
func Dial(network, address string) (net.Conn, error) { return net.Dial(network, address) }

// DialContext is the DialContext of a zero net.Dialer.
func DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, address)
}

// Listen is net.Listen.
func Listen(network, address string) (net.Listener, error) { return net.Listen(network, address) }

// ListenPacket is net.ListenPacket.
func ListenPacket(network, address string) (net.PacketConn, error) {
	return net.ListenPacket(network, address)
}

// LookupHost is net.DefaultResolver.LookupHost.
func LookupHost(ctx context.Context, host string) ([]string, error) {
	return net.DefaultResolver.LookupHost(ctx, host)
}
