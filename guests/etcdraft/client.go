package main

import (
	"crypto/rand"
	"fmt"
	"math/big"
	"time"
)

const (
	keyCount       = 4
	answerTimeout  = 400 * time.Millisecond
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
	for try := 0; try < triesMax; try++ {
		c.wire.send(kindRequest, r.encode(), c.wire.peers[c.server])
		deadline := c.wire.now() + answerTimeout
		for now := c.wire.now(); now < deadline; now = c.wire.now() {
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

func (c *client) run(count int, pause time.Duration) int {
	for i := 0; i < count; i++ {
		c.sequence++
		r := request{client: c.name, sequence: c.sequence, operation: "get"}
		r.key = fmt.Sprintf("k%d", draw(keyCount))
		if draw(operationKinds) == 0 {
			r.operation, r.value = "put", fmt.Sprintf("%s.%d", c.name, c.sequence)
		}
		fmt.Printf("call %d %s %s %s\n", r.sequence, r.operation, r.key, r.value)
		value, ok := c.ask(r)
		if !ok {
			fmt.Println("gave up at", r.sequence)
			return 1
		}
		fmt.Printf("return %d %s\n", r.sequence, value)
		time.Sleep(pause)
	}
	fmt.Printf("ok: %d operations\n", count)
	return 0
}
