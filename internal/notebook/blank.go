package notebook

import (
	"fmt"

	"runt/internal/automerge"
)

// Blank makes a replica without even the first change, for a client that gets
// everything from a peer: the engine takes over a whole document much faster
// when it has nothing of it. Nothing may be edited before that has come.
func Blank(s *automerge.Shard, actor string) (*Doc, error) {
	am, err := s.New(actor)
	if err != nil {
		return nil, fmt.Errorf("make notebook document: %w", err)
	}
	return &Doc{am: am}, nil
}
