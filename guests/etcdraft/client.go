package main

import (
	"crypto/rand"
	"fmt"
	"math/big"
	"os"
	"time"
)

const (
	keyCount       = 4
	answerTimeout  = time.Second
	triesMax       = 400
	operationKinds = 2
)

type client struct {
	name     string
	wire     *wire
	server   int
	sequence uint64
}

func newClient(name string, peers []string) *client {
	return &client{name: name, wire: newWire(peers)}
}

// draw asks for entropy at the moment of use, so that two futures can differ.
func draw(below int) int {
	n, err := rand.Int(rand.Reader, big.NewInt(int64(below)))
	must(err, "entropy")
	return int(n.Int64())
}

// ask repeats one request until it is answered; the sequence number makes repetition harmless.
func (c *client) ask(r request) (string, bool) {
	bytes := r.encode()
	for try := 0; try < triesMax; try++ {
		c.wire.send(kindRequest, bytes, c.wire.peers[c.server])
		now := c.wire.now()
		for deadline := now + answerTimeout; now < deadline; now = c.wire.now() {
			kind, body, _, ok := c.wire.receive(deadline - now)
			if !ok {
				break
			}
			if a, ok := decodeAnswer(body); ok && kind == kindAnswer && a.sequence == r.sequence {
				return a.value, true
			}
		}
		c.server = (c.server + 1) % len(c.wire.peers)
	}
	return "", false
}

// run prints what it asks and learns in the form that a checker of histories reads. What a client
// that gives up leaves open may happen later, or never.
func (c *client) run(count int, pause time.Duration) {
	for i := 0; i < count; i++ {
		c.sequence++
		r := request{client: c.name, sequence: c.sequence, operation: "read"}
		r.key = fmt.Sprintf("k%d", draw(keyCount))
		if draw(operationKinds) == 0 {
			r.operation, r.value = "write", fmt.Sprintf("%s.%d", c.name, c.sequence)
			fmt.Printf("op invoke %s %d write %s %s\n", c.name, r.sequence, r.key, r.value)
		} else {
			fmt.Printf("op invoke %s %d read %s\n", c.name, r.sequence, r.key)
		}
		value, ok := c.ask(r)
		switch {
		case !ok:
			fmt.Printf("op info %s %d\n", c.name, r.sequence)
			os.Exit(1)
		case r.operation == "write":
			fmt.Printf("op ok %s %d\n", c.name, r.sequence)
		default:
			fmt.Printf("op ok %s %d %s\n", c.name, r.sequence, value)
		}
		time.Sleep(pause)
	}
	fmt.Printf("ok: %d operations\n", count)
}
