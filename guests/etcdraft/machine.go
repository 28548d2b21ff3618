package main

import "encoding/json"

// session is the last request of a client that was applied, and what it was answered.
type session struct {
	Sequence uint64 `json:"sequence"`
	Answer   string `json:"answer"`
}

// machine is the replicated state. Its fields are what a snapshot holds.
type machine struct {
	Values   map[string]string  `json:"values"`
	Sessions map[string]session `json:"sessions"`
}

func newMachine() *machine {
	return &machine{Values: map[string]string{}, Sessions: map[string]session{}}
}

// apply does a request once, however often it stands in the log. Clients wait for one answer
// before the next request, so one remembered answer is enough.
func (m *machine) apply(r request) string {
	last := m.Sessions[r.client]
	if r.sequence <= last.Sequence {
		return last.Answer
	}
	m.Values[r.key] = r.value
	m.Sessions[r.client] = session{r.sequence, r.value}
	return r.value
}

func (m *machine) snapshot() []byte {
	bytes, err := json.Marshal(m)
	must(err, "snapshot")
	return bytes
}

func restoreMachine(bytes []byte) *machine {
	m := newMachine()
	if len(bytes) > 0 {
		must(json.Unmarshal(bytes, m), "restore")
	}
	return m
}
