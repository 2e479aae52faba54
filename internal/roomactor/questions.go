package roomactor

import (
	"context"
	"encoding/json"
	"fmt"

	"runt/internal/kernel"
	"runt/internal/wire"
)

// ask sends completion, history, inspection and evaluation to the kernel and makes the
// answer of protocol v4 from its reply.
func ask(ctx context.Context, host *kernel.Host, req wire.Request) (result string, body any, err error) {
	switch req.Action {
	case wire.ActionComplete:
		body, err = complete(ctx, host, req)
		return wire.ResultCompletion, body, err
	case wire.ActionGetHistory:
		body, err = history(ctx, host, req)
		return wire.ResultHistory, body, err
	case wire.ActionEvaluate:
		body, err = evaluate(ctx, host, req)
		return wire.ResultEvaluate, body, err
	default:
		body, err = inspect(ctx, host, req)
		return wire.ResultInspect, body, err
	}
}

func complete(ctx context.Context, host *kernel.Host, req wire.Request) (wire.CompletionResult, error) {
	var reply struct {
		Matches     []string `json:"matches"`
		CursorStart int      `json:"cursor_start"`
		CursorEnd   int      `json:"cursor_end"`
		Metadata    struct {
			Types []struct {
				Text, Type, Signature string
			} `json:"_jupyter_types_experimental"`
		} `json:"metadata"`
	}
	err := request(ctx, host, "complete_request", map[string]any{"code": req.Code, "cursor_pos": req.CursorPos}, &reply)
	out := wire.CompletionResult{CursorStart: reply.CursorStart, CursorEnd: reply.CursorEnd}
	for i, m := range reply.Matches {
		it := wire.CompletionItem{Label: m, Source: "kernel"}
		if i < len(reply.Metadata.Types) {
			it.Kind, it.Detail = reply.Metadata.Types[i].Type, reply.Metadata.Types[i].Signature
		}
		out.Items = append(out.Items, it)
	}
	return out, err
}

func history(ctx context.Context, host *kernel.Host, req wire.Request) (wire.HistoryResult, error) {
	content := map[string]any{"output": false, "raw": true, "hist_access_type": "tail", "n": req.N, "unique": req.Unique}
	if req.Pattern != "" {
		content["hist_access_type"], content["pattern"] = "search", req.Pattern
	}
	var reply struct {
		History [][]any `json:"history"`
	}
	err := request(ctx, host, "history_request", content, &reply)
	out := wire.HistoryResult{}
	for _, h := range reply.History {
		if len(h) != 3 {
			continue
		}
		session, _ := h[0].(float64)
		line, _ := h[1].(float64)
		source, _ := h[2].(string)
		out.Entries = append(out.Entries, wire.HistoryEntry{Session: int(session), Line: int(line), Source: source})
	}
	return out, err
}

func inspect(ctx context.Context, host *kernel.Host, req wire.Request) (wire.InspectResult, error) {
	var reply struct {
		Found bool                       `json:"found"`
		Data  map[string]json.RawMessage `json:"data"`
	}
	err := request(ctx, host, "inspect_request", map[string]any{"code": req.Code, "cursor_pos": req.CursorPos, "detail_level": 0}, &reply)
	return wire.InspectResult{Found: reply.Found, Data: reply.Data}, err
}

// evaluate has the kernel evaluate an expression beside an empty piece of code
// that leaves no trace: nothing is put out, counted, or kept in its history.
func evaluate(ctx context.Context, host *kernel.Host, req wire.Request) (wire.EvaluateResult, error) {
	const name = "value"
	var reply struct {
		Expressions map[string]struct {
			Status string                     `json:"status"`
			Data   map[string]json.RawMessage `json:"data"`
			EName  string                     `json:"ename"`
			EValue string                     `json:"evalue"`
		} `json:"user_expressions"`
	}
	err := request(ctx, host, "execute_request", map[string]any{"code": "", "silent": true, "store_history": false,
		"allow_stdin": false, "stop_on_error": false, "user_expressions": map[string]string{name: req.Code}}, &reply)
	x, ok := reply.Expressions[name]
	switch {
	case err != nil:
		return wire.EvaluateResult{}, err
	case !ok:
		return wire.EvaluateResult{Error: "the kernel does not evaluate expressions"}, nil
	case x.Status != "ok":
		return wire.EvaluateResult{Error: x.EName + ": " + x.EValue}, nil
	}
	return wire.EvaluateResult{Data: x.Data}, nil
}

func request(ctx context.Context, host *kernel.Host, msgType string, content, reply any) error {
	m, err := host.Request(ctx, "shell", msgType, content)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(m.Content, reply); err != nil {
		return fmt.Errorf("decode reply to %s: %w", msgType, err)
	}
	return nil
}

// commMessage is a peer's comm message as the kernel takes it.
func commMessage(m wire.CommMessage) kernel.Message {
	var header struct {
		MsgType string `json:"msg_type"`
	}
	_ = json.Unmarshal(m.Header, &header) // a header without a type is refused by the kernel
	out := kernel.Message{Type: header.MsgType, Content: m.Content, Metadata: m.Metadata}
	for _, b := range m.Buffers {
		out.Buffers = append(out.Buffers, b)
	}
	return out
}
