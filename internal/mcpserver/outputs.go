package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"runt/internal/blob"
	"runt/internal/present"
	"runt/internal/runtimestate"
	"runt/internal/wire"
)

// view is an execution, over or not, as a reply shows it.
type view struct {
	cell, execution string
	status          string
	count           *int64
	seconds         float64
	outputs         []present.Output
	reason, hint    string
	waited          time.Duration // of one that is not over
	ahead           int           // executions before a queued one
}

func viewOfDone(d wire.ExecutionDone) view {
	return view{cell: d.CellID, execution: d.ExecutionID, status: d.Status, count: d.ExecutionCount, seconds: d.Seconds,
		outputs: fromRaw(d.Outputs), reason: d.Reason, hint: d.Hint}
}

func viewOfRecord(r wire.ExecutionRecord) view {
	return view{cell: r.CellID, execution: r.ExecutionID, status: r.Status, count: r.ExecutionCount, seconds: r.Seconds,
		outputs: fromRaw(r.Outputs), reason: r.Reason, hint: r.Hint}
}

func viewOfState(e runtimestate.Execution) view {
	v := view{cell: e.CellID, execution: e.ID, status: e.Status, count: e.Count}
	for _, o := range e.Outputs {
		v.outputs = append(v.outputs, present.FromManifest(o.Manifest))
	}
	return v
}

// fromRaw reads manifests; one that cannot be read is shown as an error output.
func fromRaw(raw []json.RawMessage) []present.Output {
	outputs := make([]present.Output, 0, len(raw))
	for _, r := range raw {
		o, err := present.FromManifestJSON(r)
		if err != nil {
			o = present.Output{Type: present.TypeError, EName: "UnreadableOutput", EValue: err.Error()}
		}
		outputs = append(outputs, o)
	}
	return outputs
}

// replyLimit is how much text of an execution a reply has, unless all was asked
// for: with line ends and quotes escaped for JSON it stays below 8 kB.
const replyLimit = 6600

// show makes the text and the images of a view.
func (c *Client) show(ctx context.Context, v view, o present.Options) *reply {
	c.srv.fill(ctx, v.outputs)
	if o.Limit == 0 && !o.Full {
		o.Limit = replyLimit
	}
	r := present.Execution(present.ExecutionView{
		CellID: v.cell, ExecutionID: v.execution, Status: v.status, Count: v.count, Seconds: v.seconds,
		Outputs: v.outputs, Reason: v.reason, Hint: v.hint, Waited: v.waited, Ahead: v.ahead,
	}, o)
	rep := &reply{text: strings.TrimRight(r.Text, "\n")}
	for _, img := range r.Images {
		rep.images = append(rep.images, Image{MIME: img.MIME, Data: img.Data})
	}
	return rep
}

// fill fetches the blobs that outputs need to be shown. One that is missing is
// named by its size instead, so the failure needs no more than a log line.
func (s *Server) fill(ctx context.Context, outputs []present.Output) {
	for _, hash := range present.Needed(outputs) {
		if ctx.Err() != nil {
			return
		}
		data, err := s.blob(hash)
		if err != nil {
			s.o.Logger.Warn("cannot read blob", "blob", hash, "err", err)
			continue
		}
		present.Fill(outputs, hash, data)
	}
}

// blob reads a blob from the folder that the daemon keeps beside its socket.
func (s *Server) blob(hash string) ([]byte, error) {
	if !blob.ValidHash(hash) {
		return nil, fmt.Errorf("read blob: %q is no hash", hash)
	}
	data, err := os.ReadFile(filepath.Join(filepath.Dir(s.o.Socket), "blobs", hash[:2], hash[2:]))
	if err != nil {
		return nil, fmt.Errorf("read blob: %w", err)
	}
	return data, nil
}

// lastLine returns the last line that an execution has printed so far, for progress.
func (s *Server) lastLine(ctx context.Context, e runtimestate.Execution) string {
	for i := len(e.Outputs) - 1; i >= 0; i-- {
		o := []present.Output{present.FromManifest(e.Outputs[i].Manifest)}
		if o[0].Type != present.TypeStream {
			continue
		}
		s.fill(ctx, o)
		text := strings.TrimRight(present.ApplyTerminal(tail(o[0].Text)), " \n")
		const width = 200
		return present.OneLine(text[strings.LastIndexByte(text, '\n')+1:], width)
	}
	return ""
}

// tail returns the end of a long text; its last line is all that is wanted.
func tail(s string) string {
	const enough = 8 << 10
	if len(s) <= enough {
		return s
	}
	return strings.ToValidUTF8(s[len(s)-enough:], "")
}
