package mcpserver

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runt/internal/domain"
	"runt/internal/session"
)

// Image is an image of a reply.
type Image struct {
	MIME string
	Data []byte
}

// reply is what a tool answers.
type reply struct {
	text   string
	images []Image
	meta   map[string]any
}

func textf(format string, a ...any) *reply { return &reply{text: fmt.Sprintf(format, a...)} }

// metaNotebook tells the proxy what has become of a notebook that the client holds.
const metaNotebook = "runt/notebook"

// Events in the metaNotebook of a reply.
const (
	eventConnected    = "connected"
	eventSaved        = "saved"
	eventDisconnected = "disconnected"
)

// about adds the event to the reply. It must be there for every reply after
// which the client holds other notebooks than before, or by other paths.
func (r *reply) about(event string, t session.Target, isDefault bool) *reply {
	r.meta = map[string]any{metaNotebook: map[string]any{
		"event": event, "id": string(t.ID), "path": t.Path, "default": isDefault,
	}}
	return r
}

// result turns a reply into what the MCP library sends.
func (r *reply) result() *mcp.CallToolResult {
	res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.ToValidUTF8(r.text, "\uFFFD")}}}
	for _, img := range r.images {
		res.Content = append(res.Content, &mcp.ImageContent{Data: img.Data, MIMEType: img.MIME})
	}
	if r.meta != nil {
		res.Meta = r.meta
	}
	return res
}

// errorResult turns an error into what the MCP library sends.
func errorResult(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: errorText(err)}}}
}

// errorText says in the first line what went wrong, in the second what to call
// next, and ends with the code. The text of an error that is not made for users is not shown.
func errorText(err error) string {
	var e *domain.Error
	if !errors.As(err, &e) {
		e = domain.Errorf(domain.CodeInternal, "Something went wrong inside runt.").
			WithHint("Try once more; `runt daemon logs` and the log of runt mcp say more.")
	}
	return sentence(oneLine(e.Message)) + "\n" + sentence(oneLine(orElse(e.Hint, "Call the tool again."))) + " [" + string(e.Code) + "]"
}

func oneLine(s string) string {
	return strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "\uFFFD")
}

// errorHead and errorHint are the two sentences of an error as a user sees them.
func errorHead(err error) string {
	head, _, _ := strings.Cut(errorText(err), "\n")
	return head
}

func errorHint(err error) string {
	var e *domain.Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}

// sentence makes the first letter of s a capital and lets it end with a stop.
func sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if word, _, _ := strings.Cut(s, " "); unicode.IsLower(r) && !strings.ContainsAny(word, "_./[(=") {
		s = string(unicode.ToUpper(r)) + s[n:]
	}
	if s != "" && !strings.ContainsAny(s[len(s)-1:], ".!?:") {
		s += "."
	}
	return s
}
