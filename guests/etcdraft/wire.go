package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"athanor/simnet"
)

const (
	port          = 7000
	packetSizeMax = 1400 // What one frame carries.
)

// The first byte of a packet says what it is.
const (
	kindRaft    = 'R'
	kindRequest = 'Q'
	kindAnswer  = 'A'
)

// request is one operation of a client. Its text form is also what the log holds.
type request struct {
	client   string
	sequence uint64
	// operation is "read" or "write".
	operation, key, value string
}

func (r request) encode() []byte {
	return []byte(fmt.Sprintf("%s %d %s %s %s", r.client, r.sequence, r.operation, r.key, r.value))
}

func decodeRequest(bytes []byte) (request, bool) {
	parts := strings.SplitN(string(bytes), " ", 5)
	if len(parts) != 5 {
		return request{}, false
	}
	sequence, err := strconv.ParseUint(parts[1], 10, 64)
	return request{parts[0], sequence, parts[2], parts[3], parts[4]}, err == nil
}

// answer is a server's reply to the request with that sequence number.
type answer struct {
	sequence uint64
	value    string
}

func (a answer) encode() []byte { return []byte(fmt.Sprintf("%d %s", a.sequence, a.value)) }

func decodeAnswer(bytes []byte) (answer, bool) {
	number, value, found := strings.Cut(string(bytes), " ")
	sequence, err := strconv.ParseUint(number, 10, 64)
	return answer{sequence, value}, found && err == nil
}

// wire sends and receives packets; what is lost is lost.
type wire struct {
	socket *socket
	peers  []endpoint
	packet []byte
	start  time.Time
}

func newWire(peers []string) *wire {
	socket, err := openSocket(port)
	must(err, "socket")
	w := &wire{socket: socket, start: time.Now()}
	for _, peer := range peers {
		addresses, err := simnet.LookupHost(context.Background(), peer)
		must(err, "lookup")
		ip := net.ParseIP(addresses[0]).To4()
		w.peers = append(w.peers, endpoint{[4]byte(ip), port})
	}
	return w
}

// now is the time since this process began: one look at the monotonic clock.
func (w *wire) now() time.Duration { return time.Since(w.start) }

func (w *wire) send(kind byte, body []byte, to endpoint) {
	w.packet = append(append(w.packet[:0], kind), body...)
	w.socket.send(w.packet, to)
}

// receive waits for a packet, and at most for the timeout. The body holds until the next call.
func (w *wire) receive(timeout time.Duration) (kind byte, body []byte, from endpoint, ok bool) {
	bytes, from, ok := w.socket.receive(timeout)
	if !ok {
		return 0, nil, from, false
	}
	return bytes[0], bytes[1:], from, true
}
