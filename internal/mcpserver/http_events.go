package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
)

// What a session keeps for a client that comes back for what it has missed.
const (
	maxEventBytes   = 8 << 20
	maxEventStreams = 256
)

// errEventsGone is the answer for events that were kept and are not any more.
var errEventsGone = errors.New("these events are no longer kept")

// eventStore keeps the latest events of one session, so that a stream that broke
// can be resumed. Streams that have ended go first when there are too many
// streams or too many bytes, the oldest of them first.
type eventStore struct {
	maxBytes, maxStreams int

	mu      sync.Mutex // guards the fields that follow
	streams map[string]*eventLog
	age     []*eventLog // oldest first
	bytes   int
}

// eventLog holds the events of one stream, from number first on.
type eventLog struct {
	id    string
	first int
	data  [][]byte
	bytes int
	ended bool // the last event was the answer to the request that began the stream
}

func newEventStore(maxBytes, maxStreams int) *eventStore {
	return &eventStore{maxBytes: maxBytes, maxStreams: maxStreams, streams: map[string]*eventLog{}}
}

// Open implements mcp.EventStore.
func (s *eventStore) Open(_ context.Context, _, stream string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams[stream] == nil {
		l := &eventLog{id: stream}
		s.streams[stream] = l
		s.age = append(s.age, l)
	}
	s.trimLocked()
	return nil
}

// Append implements mcp.EventStore.
func (s *eventStore) Append(_ context.Context, _, stream string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.streams[stream]
	if l == nil {
		return fmt.Errorf("keep event of stream %q: %w", stream, errEventsGone)
	}
	l.data = append(l.data, data)
	l.bytes += len(data)
	s.bytes += len(data)
	l.ended = stream != "" && isResponse(data)
	s.trimLocked()
	return nil
}

// After implements mcp.EventStore.
func (s *eventStore) After(_ context.Context, _, stream string, index int) iter.Seq2[[]byte, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.streams[stream]
	if l == nil || index+1 < l.first {
		return func(yield func([]byte, error) bool) {
			yield(nil, fmt.Errorf("events of stream %q after %d: %w", stream, index, errEventsGone))
		}
	}
	kept := slices.Clone(l.data[min(index+1-l.first, len(l.data)):])
	return func(yield func([]byte, error) bool) {
		for _, data := range kept {
			if !yield(data, nil) {
				return
			}
		}
	}
}

// SessionClosed implements mcp.EventStore.
func (s *eventStore) SessionClosed(context.Context, string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams, s.age, s.bytes = map[string]*eventLog{}, nil, 0
	return nil
}

// trimLocked lets go of what is too much.
func (s *eventStore) trimLocked() {
	for len(s.streams) > s.maxStreams || s.bytes > s.maxBytes {
		if i := slices.IndexFunc(s.age, func(l *eventLog) bool { return l.ended }); i >= 0 {
			s.dropLocked(i)
			continue
		}
		if s.bytes <= s.maxBytes {
			return // streams that go on are as many as the client has requests
		}
		i := slices.IndexFunc(s.age, func(l *eventLog) bool { return l.bytes > 0 })
		s.emptyLocked(s.age[i])
	}
}

func (s *eventStore) dropLocked(i int) {
	l := s.age[i]
	s.bytes -= l.bytes
	delete(s.streams, l.id)
	s.age = slices.Delete(s.age, i, i+1)
}

// emptyLocked forgets the events of a stream that goes on; those to come are kept again.
func (s *eventStore) emptyLocked(l *eventLog) {
	s.bytes -= l.bytes
	l.first += len(l.data)
	l.data, l.bytes = nil, 0
}

// isResponse says whether a message answers a request. It reads no more of it than it must.
func isResponse(data []byte) bool {
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	for d.More() {
		key, err := d.Token()
		switch {
		case err != nil || key == "method":
			return false
		case key == "result" || key == "error":
			return true
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return false
		}
	}
	return false
}
