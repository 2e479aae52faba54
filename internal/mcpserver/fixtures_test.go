//go:build conformance

package mcpserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The fixtures that scenarios of the conformance suite ask for by name, as its
// descriptions of them say. They are registered beside everything that the
// server has anyway.

const (
	fixturePNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	fixtureWAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA=="
)

func fixtureBytes(encoded string) []byte {
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		panic(err)
	}
	return data
}

type fixture func(ctx context.Context, req *mcp.CallToolRequest) ([]mcp.Content, error)

func addFixtures(s *mcp.Server) {
	for name, f := range fixtureTools {
		schema := json.RawMessage(`{"type":"object"}`)
		if name == "json_schema_2020_12_tool" {
			schema = json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",` +
				`"$defs":{"address":{"type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},` +
				`"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"}},"additionalProperties":false}`)
		}
		s.AddTool(&mcp.Tool{Name: name, Description: "A fixture.", InputSchema: schema}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			content, err := f(ctx, req)
			if err != nil {
				return &mcp.CallToolResult{IsError: true, Content: fixtureText(err.Error())}, nil
			}
			return &mcp.CallToolResult{Content: content}, nil
		})
	}
	addFixtureResources(s)
	addFixturePrompts(s)
}

func fixtureText(text string) []mcp.Content { return []mcp.Content{&mcp.TextContent{Text: text}} }

func fixtureImage() mcp.Content {
	return &mcp.ImageContent{Data: fixtureBytes(fixturePNG), MIMEType: "image/png"}
}

func embedded(uri, mime, text string) mcp.Content {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: mime, Text: text}}
}

func fixed(content ...mcp.Content) fixture {
	return func(context.Context, *mcp.CallToolRequest) ([]mcp.Content, error) { return content, nil }
}

var fixtureTools = map[string]fixture{
	"test_simple_text":        fixed(fixtureText("This is a simple text response for testing.")...),
	"test_image_content":      fixed(fixtureImage()),
	"test_audio_content":      fixed(&mcp.AudioContent{Data: fixtureBytes(fixtureWAV), MIMEType: "audio/wav"}),
	"test_embedded_resource":  fixed(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
	"test_tool_with_logging":  fixtureLogging,
	"test_tool_with_progress": fixtureProgress,
	"test_multiple_content_types": fixed(fixtureText("Multiple content types test:")[0], fixtureImage(),
		embedded("test://mixed-content-resource", mimeJSON, `{"test":"data","value":123}`)),
	"test_error_handling": func(context.Context, *mcp.CallToolRequest) ([]mcp.Content, error) {
		return nil, errors.New("This tool intentionally returns an error for testing") //nolint:staticcheck // the suite's own words
	},
	"test_sampling":    fixtureSampling,
	"test_elicitation": fixtureElicitation,
	"test_elicitation_sep1034_defaults": elicit(`{"type":"object","properties":{"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},` +
		`"score":{"type":"number","default":95.5},"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}}`),
	"test_elicitation_sep1330_enums": elicit(`{"type":"object","properties":{"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},` +
		`"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},` +
		`"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},` +
		`"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},` +
		`"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}}`),
	"json_schema_2020_12_tool": fixed(fixtureText("done")...),
	"test_reconnection":        fixtureReconnection,
}

const fixturePause = 50 * time.Millisecond

func fixtureLogging(ctx context.Context, req *mcp.CallToolRequest) ([]mcp.Content, error) {
	for i, text := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		if i > 0 && !pause(ctx, fixturePause) {
			return nil, ctx.Err()
		}
		if err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: text}); err != nil { //nolint:staticcheck // see capabilities
			return nil, err
		}
	}
	return fixtureText("logged"), nil
}

func fixtureProgress(ctx context.Context, req *mcp.CallToolRequest) ([]mcp.Content, error) {
	for i := range 3 {
		if i > 0 && !pause(ctx, fixturePause) {
			return nil, ctx.Err()
		}
		if token := req.Params.GetProgressToken(); token != nil {
			if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(i) * 50, Total: 100}); err != nil {
				return nil, err
			}
		}
	}
	return fixtureText("progressed"), nil
}

// fixtureArg is an argument that is a string.
func fixtureArg(req *mcp.CallToolRequest, name string) string {
	var args map[string]string
	if json.Unmarshal(req.Params.Arguments, &args) != nil {
		return ""
	}
	return args[name]
}

func fixtureSampling(ctx context.Context, req *mcp.CallToolRequest) ([]mcp.Content, error) {
	res, err := req.Session.CreateMessage(ctx, &mcp.CreateMessageParams{ //nolint:staticcheck // see capabilities
		MaxTokens: 100, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: fixtureArg(req, "prompt")}}}, //nolint:staticcheck // likewise
	})
	if err != nil {
		return nil, err
	}
	text, ok := res.Content.(*mcp.TextContent)
	if !ok {
		return nil, errors.New("the client's answer is no text")
	}
	return fixtureText("LLM response: " + text.Text), nil
}

func fixtureElicitation(ctx context.Context, req *mcp.CallToolRequest) ([]mcp.Content, error) {
	return ask1(ctx, req, fixtureArg(req, "message"), `{"type":"object","properties":{"username":{"type":"string","description":"User's response"},`+
		`"email":{"type":"string","description":"User's email address"}},"required":["username","email"]}`)
}

func elicit(schema string) fixture {
	return func(ctx context.Context, req *mcp.CallToolRequest) ([]mcp.Content, error) {
		return ask1(ctx, req, "Please fill this in.", schema)
	}
}

func ask1(ctx context.Context, req *mcp.CallToolRequest, message, schema string) ([]mcp.Content, error) {
	res, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: message, RequestedSchema: json.RawMessage(schema)})
	if err != nil {
		return nil, err
	}
	content, err := json.Marshal(res.Content)
	return fixtureText(fmt.Sprintf("Elicitation completed: action=%s, content=%s", res.Action, content)), err
}

// fixtureReconnection closes its stream, and answers when the client had time to come back.
func fixtureReconnection(ctx context.Context, req *mcp.CallToolRequest) ([]mcp.Content, error) {
	req.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: fixturePause})
	if !pause(ctx, 4*fixturePause) {
		return nil, ctx.Err()
	}
	return fixtureText("Reconnection test completed successfully"), nil
}

func addFixtureResources(s *mcp.Server) {
	add := func(uri, mime string, contents *mcp.ResourceContents) {
		contents.URI, contents.MIMEType = uri, mime
		s.AddResource(&mcp.Resource{URI: uri, Name: uri, Description: "A fixture.", MIMEType: mime}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{contents}}, nil
		})
	}
	add("test://static-text", "text/plain", &mcp.ResourceContents{Text: "This is the content of the static text resource."})
	add("test://static-binary", "image/png", &mcp.ResourceContents{Blob: fixtureBytes(fixturePNG)})
	add("test://watched-resource", "text/plain", &mcp.ResourceContents{Text: "watched"})
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "template", Description: "A fixture.", MIMEType: mimeJSON},
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(req.Params.URI, "test://template/"), "/data")
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
				URI: req.Params.URI, MIMEType: mimeJSON, Text: fmt.Sprintf(`{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`, id, id),
			}}}, nil
		})
}

func addFixturePrompts(s *mcp.Server) {
	add := func(name string, args []string, contents func(arg map[string]string) []mcp.Content) {
		p := &mcp.Prompt{Name: name, Description: "A fixture."}
		for _, a := range args {
			p.Arguments = append(p.Arguments, &mcp.PromptArgument{Name: a, Description: "A fixture.", Required: true})
		}
		s.AddPrompt(p, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			res := &mcp.GetPromptResult{}
			for _, c := range contents(req.Params.Arguments) {
				res.Messages = append(res.Messages, &mcp.PromptMessage{Role: "user", Content: c})
			}
			return res, nil
		})
	}
	add("test_simple_prompt", nil, func(map[string]string) []mcp.Content { return fixtureText("This is a simple prompt for testing.") })
	add("test_prompt_with_arguments", []string{"arg1", "arg2"}, func(arg map[string]string) []mcp.Content {
		return fixtureText(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", arg["arg1"], arg["arg2"]))
	})
	add("test_prompt_with_embedded_resource", []string{"resourceUri"}, func(arg map[string]string) []mcp.Content {
		return []mcp.Content{embedded(arg["resourceUri"], "text/plain", "Embedded resource content for testing."), fixtureText("Please process the embedded resource above.")[0]}
	})
	add("test_prompt_with_image", nil, func(map[string]string) []mcp.Content {
		return []mcp.Content{fixtureImage(), fixtureText("Please analyze the image above.")[0]}
	})
}
