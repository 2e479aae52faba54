package mcpserver

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runt/internal/toolspec"
)

// capabilities are what the server offers, logging among them: it is on its way out
// of the protocol, and clients of today use it.
func capabilities() *mcp.ServerCapabilities {
	c := &mcp.ServerCapabilities{
		Completions: &mcp.CompletionCapabilities{}, Prompts: &mcp.PromptCapabilities{},
		Resources: &mcp.ResourceCapabilities{Subscribe: true}, Tools: &mcp.ToolCapabilities{},
	}
	//lint:ignore SA1019 deprecated by a version of the protocol that stateful servers do not speak
	c.Logging = &mcp.LoggingCapabilities{}
	return c
}

// mcpServer makes the MCP library's server for one client.
func (c *Client) mcpServer() *mcp.Server {
	s := mcp.NewServer(
		&mcp.Implementation{Name: toolspec.ServerName, Version: c.srv.o.Version},
		&mcp.ServerOptions{
			Instructions: toolspec.Instructions(),
			Logger:       c.srv.o.Logger,
			PageSize:     len(toolspec.Tools()) + 1,
			GetSessionID: func() string { return c.httpID },
			Capabilities: capabilities(),

			CompletionHandler: c.complete, SubscribeHandler: c.subscribe, UnsubscribeHandler: c.unsubscribe,
		})
	c.updated = func(ctx context.Context, uri string) error {
		return s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri})
	}
	c.addResources(s)
	c.addPrompts(s)
	for _, t := range toolspec.Tools() {
		s.AddTool(&mcp.Tool{
			Name: t.Name, Description: t.Desc, InputSchema: t.InputSchema(),
			Annotations: &mcp.ToolAnnotations{
				DestructiveHint: &t.Destructive, IdempotentHint: t.Idempotent, OpenWorldHint: &t.OpenWorld, ReadOnlyHint: t.ReadOnly,
			},
		}, c.toolHandler(t.Name))
	}
	if c.srv.o.extend != nil {
		c.srv.o.extend(s)
	}
	return s
}

// toolHandler performs the calls of one tool. Errors are results, so that the model reads them.
func (c *Client) toolHandler(name string) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx, done := c.bounded(ctx)
		defer done()
		r := callRequest{raw: req.Params.Arguments}
		r.id, _ = req.Params.Meta[metaCallID].(string)
		r.again, _ = req.Params.Meta[metaAgain].(bool)
		if n, ok := req.Params.Meta[metaTurn].(float64); ok && n > 0 && c.order != nil {
			r.turn = uint64(n)
		}
		if token := req.Params.GetProgressToken(); token != nil {
			r.progress = progressTo(c, req.Session, token)
		}
		rep, err := c.run(ctx, name, r)
		if err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return errorResult(err), nil
		}
		return rep.result(), nil
	}
}

// progressTo returns a function that sends progress of one call. It is called by one goroutine.
func progressTo(c *Client, s *mcp.ServerSession, token any) func(context.Context, string) {
	n := 0.0
	return func(ctx context.Context, text string) {
		n++
		err := s.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: n, Message: text})
		if err != nil {
			c.srv.o.Logger.Debug("progress not sent", "err", err)
		}
	}
}

// Call runs one tool for somebody who is not an MCP client, such as the shell,
// and returns its text and images. label is what other peers see meanwhile. The
// notebooks that the call joins are left again.
func Call(ctx context.Context, s *Server, label, name string, arguments json.RawMessage) (text string, images []Image, err error) {
	c := s.NewClient(nil)
	defer c.Close()
	c.SetName(label, label)
	rep, err := c.run(ctx, name, callRequest{raw: arguments})
	if err != nil {
		return "", nil, err
	}
	return rep.text, rep.images, nil
}
