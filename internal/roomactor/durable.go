package roomactor

import (
	"runt/internal/domain"
	"runt/internal/room"
	"runt/internal/wire"
)

// durableWait is something to do once the journal is on disk up to a position,
// and what to do instead, if anything, when the disk refuses.
type durableWait struct {
	pos  uint64
	do   func()
	fail func(error) // nil: wait on
}

// afterDurable calls do, in the actor, once the journal is on disk up to pos.
func (r *Room) afterDurable(pos uint64, do func()) { r.durableOr(pos, do, nil) }

// durableOr is afterDurable for those who have to know when the disk refuses.
func (r *Room) durableOr(pos uint64, do func(), fail func(error)) {
	if r.journal == nil || r.journal.Durable() >= pos {
		do()
		return
	}
	r.waits = append(r.waits, durableWait{pos, do, fail})
}

// releaseDurable does what waited for the journal.
func (r *Room) releaseDurable() {
	durable := r.journal.Durable()
	n := 0
	for n < len(r.waits) && r.waits[n].pos <= durable {
		n++
	}
	ready := r.waits[:n]
	r.waits = append([]durableWait(nil), r.waits[n:]...)
	for _, w := range ready {
		w.do()
	}
}

// failDurable tells those who wait for the journal that the disk refused it. It
// is kept in memory and written with the next change that the disk takes.
func (r *Room) failDurable() {
	err := r.journal.Err()
	if err == nil {
		return
	}
	var kept, failed []durableWait
	for _, w := range r.waits {
		if w.fail == nil {
			kept = append(kept, w)
		} else {
			failed = append(failed, w)
		}
	}
	r.waits = kept
	for _, w := range failed {
		w.fail(err)
	}
}

// performRespond answers a request of the core, when it has to be at once or
// when what it tells of is on disk.
func (r *Room) performRespond(e room.Respond) {
	if !e.Durable {
		r.respond(e.To.Peer, e.To.RequestID, e.Result, e.Body)
		return
	}
	r.respondDurably(e.To.Peer, e.To.RequestID, func() (string, any) { return e.Result, e.Body })
}

func (r *Room) respondDurably(to room.PeerID, requestID string, answer func() (string, any)) {
	r.durableOr(r.journalEnd(), func() {
		result, body := answer()
		r.respond(to, requestID, result, body)
	}, func(err error) {
		de := notKept(err)
		r.respond(to, requestID, wire.ResultError, wire.ErrorBody{Error: de.Message, Code: string(de.Code), Hint: de.Hint})
	})
}

func notKept(err error) *domain.Error {
	return domain.Errorf(domain.CodeSaveFailed, "The state folder cannot be written: %w", err).
		WithHint("Make room on the disk that holds it (runt daemon status shows the folder), then try again.")
}
