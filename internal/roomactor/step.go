package roomactor

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"runt/internal/domain"
	"runt/internal/journal"
	"runt/internal/room"
	"runt/internal/wire"
)

// runtimeStep is what must be on disk together with a change of the runtime
// state document, or not at all: up to which event of which host the documents
// are complete after it, and what the core wants to have back.
type runtimeStep struct {
	Host     string                 `json:"host,omitempty"` // folder; with Seq
	Seq      uint64                 `json:"seq,omitempty"`
	Left     string                 `json:"left,omitempty"` // folder of a host that is given up
	State    json.RawMessage        `json:"state,omitempty"`
	Notes    []room.Note            `json:"notes,omitempty"`
	Archived []wire.ExecutionRecord `json:"archived,omitempty"` // not in the document any more
	Gone     []domain.ExecutionID   `json:"gone,omitempty"`     // the same, kept elsewhere
}

// plain says whether the step has nothing that the change alone does not say.
func (s runtimeStep) plain() bool {
	return s.Host == "" && s.Left == "" && len(s.Notes) == 0 && len(s.Archived) == 0 && len(s.Gone) == 0
}

// record returns the journal record of the step: length of its JSON (four
// bytes, big-endian), the JSON, the changes.
func (s runtimeStep) record(changes []byte) journal.Record {
	b, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("roomactor: runtime step: %v", err)) // plain fields and JSON of our own always encode
	}
	data := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(b)+len(changes)), uint32(len(b)))
	return journal.Record{Type: recStep, Data: append(append(data, b...), changes...)}
}

var errStep = errors.New("malformed runtime step")

func readStep(data []byte) (s runtimeStep, changes []byte, err error) {
	if len(data) < 4 {
		return s, nil, errStep
	}
	n := binary.BigEndian.Uint32(data)
	if uint64(n) > uint64(len(data)-4) {
		return s, nil, errStep
	}
	if err := json.Unmarshal(data[4:4+n], &s); err != nil {
		return s, nil, fmt.Errorf("decode runtime step: %w", err)
	}
	return s, data[4+n:], nil
}
