package room

import (
	"runt/internal/domain"
	"runt/internal/wire"
)

// saveState serialises the saves of a room: one at a time, later ones wait.
type saveState struct {
	dirty    bool // the document has changes that the file lacks
	number   uint64
	current  *saveRequest
	waiting  []saveRequest
	maxSet   bool
	bound    bool // the room has a file
	starting bool // the event being handled starts a save, which has all that is written with it
}

type saveRequest struct {
	from      *Caller // nil when nobody asked
	path      string
	overwrite bool
	final     bool
	number    uint64
}

// BindFile tells the core that the room has a file, so that it saves by itself.
func (c *Core) BindFile() { c.saves.bound = true }

func (c *Core) handleSave(ev Event) {
	switch ev := ev.(type) {
	case DocumentChanged:
		c.documentChanged()
	case SaveRequested:
		from := ev.From
		c.startSave(saveRequest{from: &from, path: ev.Path, overwrite: ev.Overwrite})
	case SaveFinished:
		c.saveFinished(ev)
	}
}

func (c *Core) documentChanged() {
	c.saves.dirty = true
	if !c.saves.bound || c.phase == Closing || c.phase == Removed {
		return
	}
	c.emit(SetTimer{TimerAutosave, c.cfg.AutosaveQuiet})
	if !c.saves.maxSet {
		c.saves.maxSet = true
		c.emit(SetTimer{TimerAutosaveMax, c.cfg.AutosaveMax})
	}
}

func (c *Core) autosave() {
	c.emit(StopTimer{TimerAutosave}, StopTimer{TimerAutosaveMax})
	c.saves.maxSet = false
	if c.saves.dirty && c.saves.bound && c.saves.current == nil && (c.phase == Active || c.phase == Idle) {
		c.startSave(saveRequest{})
	}
}

func (c *Core) startSave(r saveRequest) {
	if c.saves.current != nil {
		c.saves.waiting = append(c.saves.waiting, r)
		return
	}
	c.pending.due = true // the file gets what the document does not have yet
	c.saves.number++
	r.number = c.saves.number
	c.saves.current = &r
	c.saves.dirty, c.saves.starting = false, true
	c.after(SaveFile{Number: r.number, Path: r.path, Overwrite: r.overwrite, Final: r.final, Automatic: r.from == nil})
}

func (c *Core) saveFinished(ev SaveFinished) {
	cur := c.saves.current
	if cur == nil || cur.number != ev.Number {
		return
	}
	c.saves.current = nil
	c.saves.bound = ev.Bound
	if ev.Err != nil {
		c.saves.dirty = true
	}
	if cur.from != nil {
		c.after(Respond{To: *cur.from, Result: saveResult(ev), Body: saveBody(ev)})
	}
	if c.RefusedClosing() {
		for _, r := range c.saves.waiting {
			if r.from != nil {
				c.refuse(SaveRequested{From: *r.from})
			}
		}
		c.saves.waiting = nil
		return
	}
	if len(c.saves.waiting) > 0 {
		next := c.saves.waiting[0]
		c.saves.waiting = c.saves.waiting[1:]
		c.startSave(next)
		return
	}
	c.advanceClosing(ev)
}

func saveResult(ev SaveFinished) string {
	if ev.Err != nil {
		return wire.ResultSaveBlocked
	}
	return wire.ResultNotebookSaved
}

func saveBody(ev SaveFinished) any {
	if ev.Err == nil {
		return ev.Saved
	}
	number := ev.Number
	return wire.SaveBlocked{Path: ev.Saved.Path, SaveSequence: &number, Code: string(ev.Err.Code), Hint: ev.Err.Hint,
		Reason: wire.SaveBlockedReason{Type: blockedReason(ev), UUID: ev.TakenBy, Path: takenPath(ev), Message: ev.Err.Message}}
}

func blockedReason(ev SaveFinished) string {
	switch {
	case ev.TakenBy != "":
		return wire.BlockedPathOpen
	case ev.Err.Code == domain.CodeSaveConflict:
		return wire.BlockedSourceConflict
	}
	return wire.BlockedIO
}

func takenPath(ev SaveFinished) string {
	if ev.TakenBy == "" {
		return ""
	}
	return ev.Saved.Path
}
