package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"athanor/simnet"
)

const (
	requestTimeout = 500 * time.Millisecond
	triesMax       = 200
)

type client struct {
	hosts     []string
	http      *http.Client
	lastAcked int
	failures  int
}

func newClient(hosts []string) *client {
	transport := &http.Transport{DialContext: simnet.DialContext, MaxIdleConnsPerHost: 1}
	return &client{hosts: hosts, http: &http.Client{Transport: transport}}
}

// ask sends one request to one server and reads its copy of the register.
func (c *client) ask(ctx context.Context, method, host string, body []byte) (register, error) {
	var answer register
	url := "http://" + host + "/register"
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return answer, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return answer, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 200))
		return answer, fmt.Errorf("%s: %s", response.Status, bytes.TrimSpace(text))
	}
	return answer, json.NewDecoder(response.Body).Decode(&answer)
}

// askMajority asks all servers at once and answers the newest register among a majority.
func (c *client) askMajority(method string, body []byte) (register, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	type reply struct {
		register register
		err      error
	}
	replies := make(chan reply, len(c.hosts))
	for _, host := range c.hosts {
		go func(host string) {
			answer, err := c.ask(ctx, method, host, body)
			replies <- reply{answer, err}
		}(host)
	}
	var newest register
	answered := 0
	for range c.hosts {
		r := <-replies
		if r.err != nil {
			c.failures++
			continue
		}
		answered++
		if r.register.Version > newest.Version {
			newest = r.register
		}
		if answered > len(c.hosts)/2 {
			return newest, true
		}
	}
	return newest, false
}

func (c *client) write(version int) bool {
	body, err := json.Marshal(register{Version: version, Value: fmt.Sprintf("value %d", version)})
	if err != nil {
		return false
	}
	for try := 1; try <= triesMax; try++ {
		if answer, ok := c.askMajority(http.MethodPut, body); ok && answer.Version == version {
			c.lastAcked = version
			fmt.Printf("acknowledged %d after %d tries\n", version, try)
			return true
		}
		time.Sleep(100 * time.Millisecond)
	}
	return false
}

// read answers false only when a majority answered and none of it knew the last acknowledged write.
func (c *client) read() bool {
	for try := 1; try <= triesMax; try++ {
		if answer, ok := c.askMajority(http.MethodGet, nil); ok {
			if answer.Version >= c.lastAcked {
				return true
			}
			fmt.Printf("LOST: acknowledged %d, read %d\n", c.lastAcked, answer.Version)
			return false
		}
		time.Sleep(100 * time.Millisecond)
	}
	fmt.Println("no majority for a read")
	return true
}

func (c *client) run(writes int, pause time.Duration) int {
	for version := 1; version <= writes; version++ {
		if !c.write(version) {
			fmt.Println("gave up at", version)
			return 1
		}
		if !c.read() {
			return 2
		}
		time.Sleep(pause)
	}
	fmt.Printf("ok: %d writes, %d failed requests\n", writes, c.failures)
	return 0
}
