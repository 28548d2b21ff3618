// Package call makes calls of record worlds through the simulator.
//
// One call of Attempt is one attempt: retrying, backing off and giving up are the program's own. The
// simulator counts attempts, and a plan may tell each of them to fail, to be late, or to end the
// program. Outside of the simulator there is no service: each attempt fails with ErrConnection.
package call

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// ErrConnection says that there is no connection, or that it broke.
var ErrConnection = errors.New("no connection")

// ErrTimeout says that the caller's time was up; whether the operation ran is not known.
var ErrTimeout = errors.New("no answer in time")

// answerMax is how long an answer may be.
const answerMax = 1 << 20

// Answer is what came back.
type Answer struct {
	// Status is that of HTTP.
	Status int
	Body   []byte
	// RetryAfter is what a retry-after header said, or 0.
	RetryAfter time.Duration
}

// Attempt calls target, "<node>.<operation>", with arguments that encode as a JSON object. A timeout
// of 0 waits for ever. number, from 1, says which call this is an attempt of; with 0 an attempt after
// a failed one on the same target counts as the same call. An answer of any status is no error.
func Attempt(target string, arguments any, timeout time.Duration, number uint32) (Answer, error) {
	text, err := json.Marshal(arguments)
	if err != nil {
		return Answer{}, err
	}
	room := make([]byte, answerMax)
	status, size, retryAfterMs := attempt(target, text, timeout, number, room)
	switch {
	case status == -1:
		return Answer{}, fmt.Errorf("%s: %w", target, ErrConnection)
	case status == -2:
		return Answer{}, fmt.Errorf("%s: %w", target, ErrTimeout)
	case int(size) > len(room):
		return Answer{}, fmt.Errorf("%s: the answer has %d bytes", target, size)
	}
	after := time.Duration(retryAfterMs) * time.Millisecond
	return Answer{Status: int(status), Body: room[:size], RetryAfter: after}, nil
}
