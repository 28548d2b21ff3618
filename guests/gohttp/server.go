package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"athanor/simnet"
)

// register is one copy of the value. A write with an older version is answered, not applied.
type register struct {
	Version int    `json:"version"`
	Value   string `json:"value"`
}

type server struct {
	name, directory string
	mutex           sync.Mutex
	register        register
}

func (s *server) path() string { return filepath.Join(s.directory, "register.json") }

func (s *server) load() error {
	if s.directory == "" {
		return nil
	}
	if err := os.MkdirAll(s.directory, 0o755); err != nil {
		return err
	}
	bytes, err := os.ReadFile(s.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(bytes, &s.register)
}

// store writes a draft, syncs it, and renames it over the old copy.
func (s *server) store() error {
	if s.directory == "" {
		return nil
	}
	bytes, err := json.Marshal(s.register)
	if err != nil {
		return err
	}
	draft, err := os.Create(s.path() + ".draft")
	if err != nil {
		return err
	}
	defer draft.Close()
	if _, err := draft.Write(bytes); err != nil {
		return err
	}
	if err := draft.Sync(); err != nil {
		return err
	}
	if err := os.Rename(draft.Name(), s.path()); err != nil {
		return err
	}
	directory, err := os.Open(s.directory)
	if err != nil {
		return err
	}
	defer directory.Close()
	return directory.Sync()
}

func (s *server) put(w http.ResponseWriter, r *http.Request) {
	var next register
	if err := json.NewDecoder(r.Body).Decode(&next); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if next.Version > s.register.Version {
		old := s.register
		s.register = next
		if err := s.store(); err != nil {
			s.register = old
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	s.answer(w)
}

func (s *server) get(w http.ResponseWriter, _ *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.answer(w)
}

func (s *server) answer(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Server", s.name)
	json.NewEncoder(w).Encode(s.register)
}

func serve(name, address, directory string) error {
	s := &server{name: name, directory: directory}
	if err := s.load(); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet:
			s.get(w, r)
		case http.MethodPut:
			s.put(w, r)
		default:
			http.Error(w, "GET or PUT", http.StatusMethodNotAllowed)
		}
	})
	listener, err := simnet.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Printf("%s listens on %s with version %d\n", name, listener.Addr(), s.register.Version)
	return (&http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}).Serve(listener)
}
