package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"time"

	"go.etcd.io/etcd/raft"
	"go.etcd.io/etcd/raft/raftpb"
)

const (
	heartbeatTicks = 1
	electionTicks  = 10
	directory      = "/raft"
	// snapshotEvery is small, so that replicas that were away need a snapshot.
	snapshotEvery = 40
	waitingMax    = 1024
)

// waiting is who asked, and for what.
type waiting struct {
	request request
	from    endpoint
}

type server struct {
	name    string
	id      uint64
	wire    *wire
	node    *raft.RawNode
	storage *storage
	machine *machine
	applied uint64
	// snapshotAt is what the last snapshot covers.
	snapshotAt    uint64
	configuration raftpb.ConfState
	// writes wait for their entry, by client and sequence; reads for their index, by context.
	writes map[string]waiting
	reads  map[string]waiting
	// ripe are reads whose index is known but not applied yet, in the order of their answers.
	ripe    []raft.ReadState
	reading uint64
	leading bool
}

func newServer(name string, peers []string) *server {
	s := &server{name: name, wire: newWire(peers)}
	s.writes, s.reads = map[string]waiting{}, map[string]waiting{}
	voters := make([]uint64, len(peers))
	for i, peer := range peers {
		voters[i] = uint64(i + 1)
		if peer == name {
			s.id = voters[i]
		}
	}
	s.storage = openStorage(directory, voters)
	snapshot, err := s.storage.Snapshot()
	must(err, "snapshot")
	s.machine = restoreMachine(snapshot.Data)
	s.applied, s.snapshotAt = snapshot.Metadata.Index, snapshot.Metadata.Index
	s.configuration = snapshot.Metadata.ConfState
	// Contexts of reads must differ over restarts: an old answer must not meet a new question.
	s.reading = uint64(time.Now().UnixNano())
	s.node, err = raft.NewRawNode(&raft.Config{
		ID: s.id, ElectionTick: electionTicks, HeartbeatTick: heartbeatTicks,
		Storage: s.storage, Applied: s.applied, MaxSizePerMsg: 1 << 10, MaxInflightMsgs: 64,
		CheckQuorum: true, PreVote: false, ReadOnlyOption: raft.ReadOnlySafe, Logger: quiet(),
	})
	must(err, "raft")
	fmt.Printf("%s starts at term=%d index=%d\n", name, s.storage.state.Term, s.applied)
	return s
}

func (s *server) run(tick time.Duration) {
	now := s.wire.now()
	next := now + tick
	for {
		kind, body, from, ok := s.wire.receive(next - now)
		if ok {
			s.handle(kind, body, from)
		}
		if now = s.wire.now(); now >= next {
			s.node.Tick()
			next = now + tick
		}
		for s.node.HasReady() {
			s.settle()
		}
	}
}

func (s *server) handle(kind byte, body []byte, from endpoint) {
	switch kind {
	case kindRaft:
		var m raftpb.Message
		if m.Unmarshal(body) == nil {
			s.node.Step(m) // What comes from a strange or old peer is dropped.
		}
	case kindRequest:
		if r, ok := decodeRequest(body); ok {
			s.ask(waiting{r, from})
		}
	}
}

func (s *server) ask(w waiting) {
	if len(s.writes)+len(s.reads) >= waitingMax {
		clear(s.writes)
		clear(s.reads)
	}
	if w.request.operation == "read" {
		s.reading++
		context := binary.BigEndian.AppendUint64([]byte{byte(s.id)}, s.reading)
		s.reads[string(context)] = w
		s.node.ReadIndex(context)
		return
	}
	s.writes[writeKey(w.request)] = w
	// Without a leader the proposal is refused: the client asks again, somewhere else.
	s.node.Propose(w.request.encode())
}

func writeKey(r request) string { return fmt.Sprintf("%s/%d", r.client, r.sequence) }

// settle does what the library asks for, in the order that it asks for.
func (s *server) settle() {
	ready := s.node.Ready()
	s.storage.save(ready)
	if ready.SoftState != nil {
		leads := ready.SoftState.RaftState == raft.StateLeader
		if leads && !s.leading {
			fmt.Printf("leads term=%d\n", s.node.Status().Term)
		}
		s.leading = leads
	}
	for _, m := range ready.Messages {
		s.send(m)
	}
	if !raft.IsEmptySnap(ready.Snapshot) {
		s.machine = restoreMachine(ready.Snapshot.Data)
		s.applied, s.snapshotAt = ready.Snapshot.Metadata.Index, ready.Snapshot.Metadata.Index
		s.configuration = ready.Snapshot.Metadata.ConfState
		fmt.Printf("installs a snapshot up to index=%d\n", s.applied)
	}
	for _, entry := range ready.CommittedEntries {
		s.apply(entry)
	}
	s.ripe = append(s.ripe, ready.ReadStates...)
	s.answerReads()
	s.node.Advance(ready)
	if s.applied-s.snapshotAt >= snapshotEvery {
		s.storage.compact(s.applied, s.configuration, s.machine.snapshot())
		s.snapshotAt = s.applied
	}
}

func (s *server) send(m raftpb.Message) {
	body, err := m.Marshal()
	must(err, "marshal")
	s.wire.send(kindRaft, body, s.wire.peers[m.To-1])
	if m.Type == raftpb.MsgSnap {
		// A packet may be lost, and nobody would tell: let the library probe instead of wait.
		s.node.ReportSnapshot(m.To, raft.SnapshotFinish)
	}
	if m.Type == raftpb.MsgVoteResp && !m.Reject {
		fmt.Printf("votes for=n%d term=%d\n", m.To, m.Term)
	}
}

func (s *server) apply(entry raftpb.Entry) {
	s.applied = entry.Index
	r, ok := decodeRequest(entry.Data)
	if !ok {
		return // An empty entry of a new leader.
	}
	value := s.machine.apply(r)
	fmt.Printf("applies index=%d term=%d %s/%d\n", entry.Index, entry.Term, r.client, r.sequence)
	if w, ok := s.writes[writeKey(r)]; ok {
		delete(s.writes, writeKey(r))
		s.wire.send(kindAnswer, answer{r.sequence, value}.encode(), w.from)
	}
}

func (s *server) answerReads() {
	for len(s.ripe) > 0 && s.ripe[0].Index <= s.applied {
		context := string(s.ripe[0].RequestCtx)
		s.ripe = s.ripe[1:]
		if w, ok := s.reads[context]; ok {
			delete(s.reads, context)
			value, written := s.machine.Values[w.request.key]
			if !written {
				value = "nil"
			}
			s.wire.send(kindAnswer, answer{w.request.sequence, value}.encode(), w.from)
		}
	}
}

// quietLogger leaves out what the library says while all is well. Its panics stay.
type quietLogger struct{ *raft.DefaultLogger }

func (quietLogger) Debug(...interface{})            {}
func (quietLogger) Debugf(string, ...interface{})   {}
func (quietLogger) Info(...interface{})             {}
func (quietLogger) Infof(string, ...interface{})    {}
func (quietLogger) Warning(...interface{})          {}
func (quietLogger) Warningf(string, ...interface{}) {}

func (quietLogger) Panic(values ...interface{}) {
	fmt.Println(append([]interface{}{"raft panics:"}, values...)...)
	os.Exit(1)
}

func (quietLogger) Panicf(format string, values ...interface{}) {
	fmt.Printf("raft panics: "+format+"\n", values...)
	os.Exit(1)
}

func quiet() raft.Logger { return quietLogger{} }
