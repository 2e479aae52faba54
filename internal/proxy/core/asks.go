package core

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"runt/internal/proxy/rpcline"
)

// ask is a request of the child that the client has not answered.
type ask struct {
	gen    int
	id     []byte // as the client sees it
	wireID []byte // as the child wrote it
	dead   bool   // cancelled towards the client; a late answer goes nowhere
}

// asks are the child's requests by the key of the id the client sees.
type asks map[string]*ask

// maxAsks is how many requests of children are remembered before dead ones are
// forgotten: a client need not answer what has been cancelled.
const maxAsks = 1000

// live says whether any of them still wants an answer.
func (a asks) live() bool {
	for _, k := range a {
		if !k.dead {
			return true
		}
	}
	return false
}

// childAsks passes a request of the child on. Its id is kept, unless an earlier
// child used the same and the client may still answer that one.
func (c *Core) childAsks(m rpcline.Message) {
	k := &ask{gen: c.child.gen, id: m.ID, wireID: m.ID}
	line := m.Line
	if old := c.asks[rpcline.IDKey(m.ID)]; old != nil {
		k.id = rpcline.Quote("runt-ask:" + strconv.Itoa(k.gen) + ":" + string(m.ID))
		line = rpcline.Splice(line, m.ID, k.id)
	}
	if len(c.asks) >= maxAsks {
		maps.DeleteFunc(c.asks, func(_ string, k *ask) bool { return k.dead })
	}
	c.asks[rpcline.IDKey(k.id)] = k
	c.toClient(line)
}

// clientAnswer passes the client's answer on to the child that asked, if it is still there.
func (c *Core) clientAnswer(m rpcline.Message) {
	if m.ID == nil {
		return // an error about a line of ours that had no id
	}
	key := rpcline.IDKey(m.ID)
	k := c.asks[key]
	delete(c.asks, key)
	if k == nil || k.dead || k.gen != c.child.gen {
		return
	}
	line := m.Line
	if string(k.wireID) != string(m.ID) {
		line = rpcline.Splice(line, m.ID, k.wireID)
	}
	c.toChild(line)
}

// childCancels passes on that the child no longer wants an answer.
func (c *Core) childCancels(m rpcline.Message) {
	line := m.Line
	if id, ok := rpcline.Get(m.Params, "requestId"); ok {
		for _, k := range c.asks {
			if k.gen == c.child.gen && !k.dead && rpcline.IDKey(k.wireID) == rpcline.IDKey(id) {
				k.dead = true
				if string(k.id) != string(id) {
					line = rpcline.Splice(line, id, k.id)
				}
			}
		}
	}
	c.toClient(line)
}

// dropAsks tells the client that a child which is gone no longer wants its answers.
func (c *Core) dropAsks() {
	for _, key := range slices.Sorted(maps.Keys(c.asks)) {
		k := c.asks[key]
		if k.dead {
			continue
		}
		k.dead = true
		c.toClient(ownRequest(nil, "notifications/cancelled", mustMarshal(map[string]any{
			"requestId": json.RawMessage(k.id), "reason": "the notebook server was restarted"})))
	}
}
