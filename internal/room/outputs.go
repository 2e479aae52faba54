package room

import (
	"fmt"
	"time"

	"runt/internal/domain"
	"runt/internal/runtimestate"
	"runt/internal/termtext"
)

// output is one output of an execution. Streams keep their screen; everything
// else is its manifest from the start.
type output struct {
	id        string
	seq       uint64
	stream    string // stdout or stderr; "" for other kinds
	screen    *termtext.Screen
	over      *overflow // what was printed after the screen was full
	note      bool      // says that there were more outputs
	manifest  map[string]any
	displayID string
	inDoc     bool
	dirty     bool // the document does not have it as it is
	stale     bool // the manifest does not have the screen as it is
}

type outputs struct {
	list       []*output
	next       uint64
	clearNext  bool // clear_output(wait=True) was said
	cleared    bool // the document still has outputs that are gone
	countDirty bool
	dropped    int
}

// displayTarget is an output that update_display_data has to reach.
type displayTarget struct {
	execution domain.ExecutionID
	output    string
}

func (o *outputs) manifests() []runtimestate.Output {
	out := make([]runtimestate.Output, len(o.list))
	for i, x := range o.list {
		out[i] = runtimestate.Output{ID: x.id, Seq: x.seq, Manifest: x.manifest}
	}
	return out
}

// restore takes the outputs of the document. One more than may be is the note
// that there were more.
func (o *outputs) restore(stored []runtimestate.Output, limit int) {
	for _, s := range stored {
		x := &output{id: s.ID, seq: s.Seq, manifest: s.Manifest, inDoc: true, displayID: manifestDisplayID(s.Manifest)}
		if s.Manifest["output_type"] == "stream" {
			x.stream, _ = s.Manifest["name"].(string)
		}
		o.list = append(o.list, x)
		o.next = max(o.next, s.Seq+1)
	}
	if len(o.list) > limit {
		o.last().note = true
		o.dropped = 1
	}
}

// resume makes a stream go on behind text, with the cursor where it was.
func (x *output) resume(text, cursor string, limit int) {
	x.screen = termtext.FromText(text)
	if x.screen.Len() >= limit {
		x.over = newOverflow(limit)
	}
	x.screen.Write(cursor)
}

func (o *outputs) written() {
	for _, x := range o.list {
		x.inDoc, x.dirty = true, false
	}
	o.cleared, o.countDirty = false, false
}

func (o *outputs) last() *output {
	if len(o.list) == 0 {
		return nil
	}
	return o.list[len(o.list)-1]
}

// kernelMessage applies one message of the kernel to the execution it belongs to,
// also when that execution has ended: threads print late.
func (c *Core) kernelMessage(ev KernelMessage) {
	if ev.Generation != c.kernel.generation {
		return
	}
	c.hostSeq = max(c.hostSeq, ev.Seq)
	e := c.execs[ev.Execution]
	if e == nil {
		return
	}
	first := len(e.outputs.list) == 0
	m := ev.Message
	switch m.Type {
	case "execute_input":
		if n, ok := asInt(m.Content["execution_count"]); ok && n != e.count {
			e.count, e.outputs.countDirty = n, true
		}
	case "stream":
		c.stream(e, m)
	case "display_data", "execute_result":
		c.display(e, m)
	case "update_display_data":
		c.updateDisplay(m)
	case "clear_output":
		if wait, _ := m.Content["wait"].(bool); wait {
			e.outputs.clearNext = true
		} else {
			c.clearOutputs(e)
		}
	case "error":
		e.failed = true
		if c.roomForOutput(e) {
			c.addOutput(e, errorManifest(m.Content, c.cfg.InlineText, c.putBlob), "")
		}
	default:
		return
	}
	c.touch(e)
	c.armFlush(first)
}

func (c *Core) stream(e *execution, m Message) {
	name, _ := m.Content["name"].(string)
	text, _ := m.Content["text"].(string)
	if text == "" {
		return
	}
	o := e.outputs.last()
	if o == nil || o.stream != name || o.screen == nil || o.note || e.outputs.clearNext {
		if !c.roomForOutput(e) {
			return
		}
		o = c.addOutput(e, nil, "")
		o.stream, o.screen = name, &termtext.Screen{}
		o.manifest = map[string]any{"output_type": "stream", "output_id": o.id, "name": name}
	}
	o.dirty, o.stale = true, true
	if o.over == nil {
		head := cutText(text, max(0, c.cfg.MaxStreamText-o.screen.Len()))
		o.screen.Write(head)
		if text = text[len(head):]; text == "" {
			return
		}
		o.over = newOverflow(c.cfg.MaxStreamText)
	}
	o.over.write(text)
}

func (c *Core) display(e *execution, m Message) {
	if !c.roomForOutput(e) {
		return
	}
	manifest, displayID := dataManifest(m, c.cfg.InlineText, c.putBlob)
	c.addOutput(e, manifest, displayID)
}

// roomForOutput makes room for one more output, or notes that there is none.
func (c *Core) roomForOutput(e *execution) bool {
	if e.outputs.clearNext {
		c.clearOutputs(e)
	}
	if len(e.outputs.list) < c.cfg.MaxOutputs {
		return true
	}
	c.noteDropped(e)
	return false
}

// addOutput appends an output, whatever their number.
func (c *Core) addOutput(e *execution, manifest map[string]any, displayID string) *output {
	o := &output{id: c.ids.UUID(), seq: e.outputs.next, manifest: manifest, displayID: displayID, dirty: true}
	e.outputs.next++
	if manifest != nil {
		manifest["output_id"] = o.id
	}
	e.outputs.list = append(e.outputs.list, o)
	c.indexDisplay(e, o)
	return o
}

// noteDropped says in the last output that there were more.
func (c *Core) noteDropped(e *execution) {
	e.outputs.dropped++
	last := e.outputs.last()
	if !last.note {
		last = c.addOutput(e, nil, "")
		last.stream, last.note = "stderr", true
		last.manifest = map[string]any{"output_type": "stream", "output_id": last.id, "name": "stderr"}
	}
	last.screen = termtext.FromText(fmt.Sprintf("[limit of %d outputs reached; %d more are not kept]\n", c.cfg.MaxOutputs, e.outputs.dropped))
	last.dirty, last.stale = true, true
}

func (c *Core) clearOutputs(e *execution) {
	for _, o := range e.outputs.list {
		e.outputs.cleared = e.outputs.cleared || o.inDoc
		c.unindexDisplay(e, o)
	}
	e.outputs.list, e.outputs.clearNext, e.outputs.dropped = nil, false, 0
}

func (c *Core) updateDisplay(m Message) {
	_, displayID := dataManifest(m, 0, nil)
	for t := range c.shown[displayID] {
		e := c.execs[t.execution]
		if e == nil {
			continue
		}
		for _, o := range e.outputs.list {
			if o.id == t.output {
				c.replaceDisplay(o, m)
				c.touch(e)
			}
		}
	}
}

func (c *Core) replaceDisplay(o *output, m Message) {
	kind, _ := o.manifest["output_type"].(string)
	count, hasCount := o.manifest["execution_count"]
	manifest, _ := dataManifest(Message{Type: kind, Content: m.Content, Metadata: m.Metadata}, c.cfg.InlineText, c.putBlob)
	manifest["output_id"] = o.id
	if hasCount {
		manifest["execution_count"] = count
	}
	o.manifest, o.dirty = manifest, true
}

func (c *Core) indexDisplay(e *execution, o *output) {
	if o.displayID == "" {
		return
	}
	if c.shown[o.displayID] == nil {
		c.shown[o.displayID] = map[displayTarget]bool{}
	}
	c.shown[o.displayID][displayTarget{e.id, o.id}] = true
}

func (c *Core) unindexDisplay(e *execution, o *output) {
	if targets := c.shown[o.displayID]; targets != nil {
		delete(targets, displayTarget{e.id, o.id})
		if len(targets) == 0 {
			delete(c.shown, o.displayID)
		}
	}
}

func (c *Core) unindexDisplays(e *execution) {
	for _, o := range e.outputs.list {
		c.unindexDisplay(e, o)
	}
}

// addKernelError adds the reason for which a cell was ended to its outputs.
func (c *Core) addKernelError(e *execution) {
	text := e.reason
	if e.hint != "" {
		text += " " + e.hint
	}
	c.addOutput(e, errorManifest(map[string]any{"ename": "KernelError", "evalue": text, "traceback": []any{text}},
		c.cfg.InlineText, c.putBlob), "")
	c.touch(e)
}

func (c *Core) putBlob(data []byte, mediaType string) {
	c.emit(PutBlob{Data: data, MediaType: mediaType})
}

// materialise brings the manifests of streams up to what their screens show.
func (c *Core) materialise(e *execution) {
	for _, o := range e.outputs.list {
		if o.stale {
			o.manifest["text"] = textRef(o.screen.String()+o.over.String(), "text/plain", c.cfg.InlineText, c.putBlob)
			o.stale = false
		}
	}
}

// outputOps returns the steps that bring the document's outputs of an execution
// up to date.
func (c *Core) outputOps(e *execution) []RuntimeOp {
	var ops []RuntimeOp
	if e.outputs.cleared {
		ops = append(ops, OpClearOutputs{string(e.id)})
	}
	if e.outputs.countDirty && e.count > 0 {
		ops = append(ops, OpCount{string(e.id), e.count})
	}
	c.materialise(e)
	for _, o := range e.outputs.list {
		switch {
		case !o.dirty:
		case o.inDoc && o.screen != nil:
			ops = append(ops, OpStreamText{string(e.id), o.id, o.manifest["text"].(map[string]any)})
		default:
			ops = append(ops, OpOutput{string(e.id), runtimestate.Output{ID: o.id, Seq: o.seq, Manifest: o.manifest}, o.displayID})
		}
	}
	e.outputs.written()
	return ops
}

func (c *Core) armFlush(first bool) {
	if c.flushArmed {
		return
	}
	c.flushArmed = true
	c.emit(SetTimer{TimerFlush, c.flushDelay(first)})
}

func (c *Core) flushDelay(first bool) time.Duration {
	if first {
		return c.cfg.FirstFlush
	}
	for _, e := range c.pending.touched {
		if o := e.outputs.last(); o != nil && o.dirty && o.screen != nil && o.screen.Len() > c.cfg.BigText {
			return c.cfg.BigFlush
		}
	}
	return c.cfg.Flush
}
