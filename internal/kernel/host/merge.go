package host

import (
	"bytes"
	"encoding/json"
	"time"

	"runt/internal/kernel/jmsg"
	"runt/internal/kernel/link"
)

// Stream text waits this long, or until there is this much, for more of the same.
const (
	mergeTime = 5 * time.Millisecond
	mergeSize = 256 << 10
)

// merger holds stream text that is not handed out yet. Text is kept as the
// inside of a JSON string and joined as such, so nothing of it can change.
type merger struct {
	first     *link.Message // nil when nothing is held
	execution string
	name      string
	text      []byte // JSON string without its quotes; nil while there is only the first message
	size      int
	round     int // counts what was begun, so that a late timer finds something else
}

// streamText cuts the name and the inside of the JSON string text out of a stream message.
func streamText(content json.RawMessage) (name string, text []byte, ok bool) {
	var s struct {
		Name *string         `json:"name"`
		Text json.RawMessage `json:"text"`
	}
	if json.Unmarshal(content, &s) != nil || s.Name == nil || len(s.Text) < 2 || s.Text[0] != '"' {
		return "", nil, false
	}
	return *s.Name, s.Text[1 : len(s.Text)-1], true
}

// stream takes a stream message: it is joined to what is held, held, or handed out.
func (c *core) stream(m jmsg.Message, execution string) {
	msg := toLink(m)
	if len(m.Content) > mergeSize || len(m.Buffers) > 0 {
		c.emit(link.Event{Kind: link.EventMessage, ExecutionID: execution, Message: msg})
		return
	}
	name, text, ok := streamText(m.Content)
	if !ok {
		c.emit(link.Event{Kind: link.EventMessage, ExecutionID: execution, Message: msg})
		return
	}
	h := &c.merge
	if h.first != nil && h.execution == execution && h.name == name && h.first.ParentID == msg.ParentID {
		if h.text == nil {
			_, first, _ := streamText(h.first.Content)
			h.text = append(make([]byte, 0, 4*len(first)+len(text)), first...)
		}
		h.text = append(h.text, text...)
		if h.size += len(text); h.size >= mergeSize {
			c.flush()
		}
		return
	}
	c.flush()
	h.first, h.execution, h.name, h.size = msg, execution, name, len(text)
	h.round++
	round := h.round
	c.fx.after(mergeTime, func() {
		if h.round == round {
			c.flush()
		}
	})
}

// flush hands out what is held.
func (c *core) flush() {
	h := &c.merge
	if h.first == nil {
		return
	}
	msg := h.first
	if h.text != nil {
		msg.Content = joinText(h.name, h.text)
	}
	e := link.Event{Kind: link.EventMessage, ExecutionID: h.execution, Message: msg, At: c.fx.now()}
	h.first, h.text, h.size = nil, nil, 0
	c.fx.emit(e)
}

func joinText(name string, text []byte) json.RawMessage {
	n, err := json.Marshal(name)
	if err != nil {
		n = []byte(`"stdout"`)
	}
	return bytes.Join([][]byte{[]byte(`{"name":`), n, []byte(`,"text":"`), text, []byte(`"}`)}, nil)
}
