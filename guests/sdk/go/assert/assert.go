// Package assert tells the simulator what must hold in a program, and what clients saw.
//
// Each name is one property over all calls, nodes and runs. Outside of the simulator the calls do
// nothing, so one source serves both.
package assert

import (
	"encoding/json"
	"strings"
)

type marker struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Hit       bool   `json:"hit"`
	Condition bool   `json:"condition"`
	Details   any    `json:"details,omitempty"`
}

// Details is what a failure shows; it must be encodable as JSON.
type Details map[string]any

// Always must hold whenever it is reached.
func Always(condition bool, name string, details Details) {
	say("always", name, true, condition, details)
}

// Sometimes must hold at least once, in some run of a campaign.
func Sometimes(condition bool, name string, details Details) {
	say("sometimes", name, true, condition, details)
}

// Reachable must be reached at least once, in some run of a campaign.
func Reachable(name string, details Details) { say("reachable", name, true, true, details) }

// Unreachable must never be reached.
func Unreachable(name string, details Details) { say("unreachable", name, true, false, details) }

// Declare names an assertion that may never be reached, so that this is noticed. The kind is
// "always", "sometimes" or "reachable".
func Declare(kind, name string) { say(kind, name, false, false, nil) }

// Invoke writes down that a client calls an operation: its function and arguments as words.
func Invoke(client, id string, words ...string) { operation("invoke", client, id, words) }

// Ok writes down that the operation happened, with its result.
func Ok(client, id string, result ...string) { operation("ok", client, id, result) }

// Fail writes down that the operation certainly did not happen and never will.
func Fail(client, id string) { operation("fail", client, id, nil) }

// Info writes down that nobody knows whether the operation happened or will.
func Info(client, id string) { operation("info", client, id, nil) }

func say(kind, name string, hit, condition bool, details Details) {
	line := marker{Kind: kind, Name: name, Hit: hit, Condition: condition}
	if details != nil {
		line.Details = details
	}
	text, err := json.Marshal(line)
	if err != nil {
		line.Details = map[string]any{"unencodable": err.Error()}
		text, _ = json.Marshal(line)
	}
	mark(text)
}

func operation(verb, client, id string, words []string) {
	mark([]byte(strings.Join(append([]string{"op", verb, client, id}, words...), " ")))
}
