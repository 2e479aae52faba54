package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runt/internal/client"
	"runt/internal/notebook"
)

// prompt is a text that a person lets the client send to the model.
type prompt struct {
	name, title, description string
	args                     []*mcp.PromptArgument
	text                     func(arg map[string]string) string
}

var notebookArg = &mcp.PromptArgument{Name: "notebook", Title: "Notebook", Description: "Id or path of the notebook; without it, the one you work in."}

var prompts = []prompt{
	{
		name: "analyse-data", title: "Analyse a data file", description: "Load a data file in a notebook, look at it, and answer a question about it.",
		args: []*mcp.PromptArgument{
			{Name: "data", Title: "Data", Description: "Path or address of the data.", Required: true},
			{Name: "question", Title: "Question", Description: "What you want to know; without it, what is remarkable."},
			notebookArg,
		},
		text: analyseText,
	},
	{
		name: "fix-error", title: "Fix an error", description: "Find out why a cell fails, change what is wrong, and run it again.",
		args: []*mcp.PromptArgument{
			{Name: "cell_id", Title: "Cell", Description: "The cell that fails; without it, the first that ended with an error."},
			notebookArg,
		},
		text: fixText,
	},
}

// addPrompts offers the prompts.
func (c *Client) addPrompts(s *mcp.Server) {
	for _, p := range prompts {
		s.AddPrompt(&mcp.Prompt{Name: p.name, Title: p.title, Description: p.description, Arguments: p.args},
			func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				for _, a := range p.args {
					if a.Required && strings.TrimSpace(req.Params.Arguments[a.Name]) == "" {
						return nil, fmt.Errorf("the prompt %s needs the argument %q: %s", p.name, a.Name, a.Description)
					}
				}
				return &mcp.GetPromptResult{Description: p.description, Messages: []*mcp.PromptMessage{
					{Role: "user", Content: &mcp.TextContent{Text: p.text(req.Params.Arguments)}},
				}}, nil
			})
	}
}

// inNotebook says where to work, and with what argument.
func inNotebook(arg map[string]string, otherwise string) string {
	if n := strings.TrimSpace(arg["notebook"]); n != "" {
		return fmt.Sprintf("Work in the notebook %s: call connect_notebook with notebook=%q.", n, n)
	}
	return otherwise
}

func analyseText(arg map[string]string) string {
	question := orElse(strings.TrimSpace(arg["question"]), "What is remarkable in this data?")
	return fmt.Sprintf(`Analyse the data in %s and answer: %s

%s
1. Load the data in a cell of its own and show its shape, its columns with their types, and the first rows.
2. Look for missing values, duplicates, outliers and columns of a wrong type. Say what you find before you change anything.
3. Answer with small cells, one step each, run with and_run=true; look at every output before the next step. Plot where a picture says more.
4. Write a short text above each step (cell_type="markdown"), and at the end the answer, with its numbers and what speaks against it.
5. Call save_notebook.`, arg["data"], question,
		inNotebook(arg, "Work in the notebook that is connected, or call create_notebook."))
}

func fixText(arg map[string]string) string {
	which := "Call get_all_cells with errors_only=true and take the first cell; later errors often follow from it."
	if id := strings.TrimSpace(arg["cell_id"]); id != "" {
		which = fmt.Sprintf("Call get_cell with cell_id=%q.", id)
	}
	return fmt.Sprintf(`A cell of the notebook fails. Find out why, and repair it.

%s
1. %s
2. Read the traceback from its end. If it has been cut, call get_cell with full_output=true.
3. Look at what the cell works on: inspect_variables, and the cells before it.
4. Say in one sentence what is wrong. If the cause lies in an earlier cell, repair that one.
5. Change no more than needed, with replace_match or set_cell and and_run=true. A cell that changes what it reads may need restart_kernel with run_all=true.
6. Run what depends on it, and show that the error is gone.`, inNotebook(arg, "Work in the notebook that is connected."), which)
}

// maxCompletions is what the protocol allows in one answer.
const maxCompletions = 100

// complete suggests values for arguments of prompts and of addresses of resources.
func (c *Client) complete(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	var known map[string]string
	if req.Params.Context != nil {
		known = req.Params.Context.Arguments
	}
	begun := req.Params.Argument.Value
	var values []string
	switch req.Params.Argument.Name {
	case "notebook":
		values = c.openNotebooks(ctx, true)
	case "id":
		values = c.openNotebooks(ctx, false)
	case "cell_id":
		values = c.cellIDs(ctx, orElse(known["id"], known["notebook"]))
	}
	values = slices.DeleteFunc(values, func(v string) bool { return !strings.HasPrefix(v, begun) })
	res := &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values[:min(len(values), maxCompletions)], Total: len(values), HasMore: len(values) > maxCompletions}}
	if values == nil {
		res.Completion.Values = []string{}
	}
	return res, nil
}

// openNotebooks lists the open notebooks, by path where that is wanted and there is one.
func (c *Client) openNotebooks(ctx context.Context, paths bool) []string {
	rooms, err := client.ListRooms(ctx, c.srv.o.Socket)
	if err != nil {
		c.srv.o.Logger.Debug("cannot list notebooks to complete an argument", "err", err)
	}
	var values []string
	for _, r := range rooms {
		if paths && r.NotebookPath != "" {
			values = append(values, r.NotebookPath)
			continue
		}
		values = append(values, r.NotebookID)
	}
	return values
}

// cellIDs lists the cells of a notebook that the client holds; "" means its default.
func (c *Client) cellIDs(ctx context.Context, name string) []string {
	var values []string
	for _, h := range c.sessions.Held() {
		if !h.Live || name == "" && !h.Default || name != "" && string(h.ID) != name && h.Path != c.srv.canonical(name) {
			continue
		}
		err := c.withBook(ctx, h.ID, func(b *book) error {
			values = cellNames(b.doc().Cells())
			return nil
		})
		if err != nil {
			c.srv.o.Logger.Debug("cannot list cells to complete an argument", "err", err)
		}
	}
	return values
}

func cellNames(cells []notebook.Cell) []string {
	ids := make([]string, len(cells))
	for i, c := range cells {
		ids[i] = string(c.ID)
	}
	return ids
}
