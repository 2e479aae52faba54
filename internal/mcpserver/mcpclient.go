package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"unicode"

	"runt/internal/session"
	"runt/internal/session/peer"
)

// Client is one MCP client: its notebooks and its name.
type Client struct {
	srv      *Server
	dialer   *peer.Dialer
	sessions *session.Client
	suffix   string          // tells apart clients of the same name
	session  string          // first part of the ids of calls that bring none
	order    *order          // of its calls; nil when they need none
	draining <-chan struct{} // closed when running calls should answer with what they have; nil for never
	ending   context.Context // of an HTTP session: calls are cancelled with it; nil for none
	httpID   string          // the HTTP session's id; "" over stdio

	introduced atomic.Pointer[json.RawMessage] // over HTTP, the parameters of initialize; nil before it

	recent  recent // calls over HTTP
	told    told
	watches watches                                     // of resources
	updated func(ctx context.Context, uri string) error // tells those who subscribed to a resource; set before it is used
}

// Close lets go of all notebooks of the client.
func (c *Client) Close() {
	c.watches.end()
	if err := c.sessions.Close(); err != nil {
		c.srv.o.Logger.Debug("close client", "err", err)
	}
	c.srv.mu.Lock()
	defer c.srv.mu.Unlock()
	delete(c.srv.clients, c)
}

// SetName says what the client calls itself. Authorship and presence show it,
// with a suffix that tells it from other clients of the same name.
func (c *Client) SetName(name, title string) {
	name = orElse(slug(name), "agent")
	label := orElse(strings.TrimSpace(title), name)
	c.dialer.SetIdentity("agent:"+name, fmt.Sprintf("%s (%s)", label, c.suffix))
}

// maxName bounds the part of a client's name that goes into actor labels.
const maxName = 40

// slug returns name with only the characters that are harmless in actor labels.
func slug(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(name)) {
		switch {
		case r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)), r == '-', r == '_', r == '.':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
		if b.Len() >= maxName {
			break
		}
	}
	return strings.Trim(b.String(), "-.")
}
