package mcpserver

import (
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"runt/internal/domain"
	"runt/internal/present"
	"runt/internal/runtimestate"
	"runt/internal/wire"
)

// variablesPython makes a JSON list about the kernel's variables, in base64, from
// shell and names. Its own names are in a space of their own.
//
//go:embed variables.py
var variablesPython string

// variablesExpression evaluates the program, whatever names the user has taken.
const variablesExpression = `(lambda d: (__import__("builtins").exec(%s, d), d["result"])[1])({"shell": __import__("IPython").get_ipython(), "names": %s})`

// variable is what the program prints of one.
type variable struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Shape string `json:"shape"`
	Value string `json:"value"`
}

// inspectVariables lists variables of a Python kernel.
func inspectVariables(ctx context.Context, k *call, b *book) (*reply, error) {
	if kernel := b.runtime().Kernel(); kernel.Lifecycle != runtimestate.Running {
		return nil, domain.Errorf(domain.CodeKernelUnavailable, "There are no variables: %s.", b.kernelText()).WithHint("Run a cell first; that starts the kernel.")
	} else if kernel.Language != "" && !strings.EqualFold(kernel.Language, "python") {
		return nil, invalidf("inspect_variables knows Python only, and the kernel's language is %s.", kernel.Language).WithHint("Call execute_code with code that prints what you want to see.")
	}
	names := "None"
	if k.args.has("names") {
		raw, err := json.Marshal(k.args.list("names"))
		if err != nil {
			return nil, err
		}
		names = string(raw)
	}
	program, err := json.Marshal(variablesPython) // a JSON string is a Python string
	if err != nil {
		return nil, err
	}
	b.ref.Yield()
	list, err := b.variables(ctx, fmt.Sprintf(variablesExpression, program, names))
	if err != nil {
		return nil, err
	}
	return variablesReply(list, k.args.list("names")), nil
}

// variables asks the kernel for the list. It leaves no trace there or in the notebook.
func (b *book) variables(ctx context.Context, expression string) ([]variable, error) {
	if !b.h().Extended() {
		return nil, invalidf("This daemon cannot look into the kernel.").WithHint("Call create_cell with and_run=true and code that prints what you want to see.")
	}
	resp, err := b.request(ctx, wire.Request{Action: wire.ActionEvaluate, Code: expression})
	if errors.Is(err, &domain.Error{Code: domain.CodeTimeout}) {
		if executing, _ := b.runtime().Queue(); executing != "" {
			return nil, domain.Errorf(domain.CodeTimeout, "The kernel is busy with execution %s and cannot be asked.", executing).
				WithHint("Call get_results with execution_id=%q and wait_secs, then ask again.", executing)
		}
	}
	if err != nil {
		return nil, err
	}
	var body wire.EvaluateResult
	if err := resp.Decode(&body); err != nil {
		return nil, err
	}
	var quoted string
	if body.Error != "" || json.Unmarshal(body.Data["text/plain"], &quoted) != nil {
		return nil, domain.Errorf(domain.CodeKernelUnavailable, "The kernel does not tell its variables: %s.", orElse(body.Error, resp.Result)).
			WithHint("Call execute_code with code that prints what you want to see.")
	}
	raw, err := base64.StdEncoding.DecodeString(strings.Trim(quoted, "'"))
	if err != nil {
		return nil, fmt.Errorf("read list of variables: %w", err)
	}
	var list []variable
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("read list of variables: %w", err)
	}
	return list, nil
}

func variablesReply(list []variable, asked []string) *reply {
	if len(list) == 0 && len(asked) == 0 {
		return textf("There are no variables of the notebook's own.")
	}
	var lines []string
	known := map[string]bool{}
	for _, x := range list {
		known[x.Name] = true
		lines = append(lines, strings.Join([]string{x.Name, strings.TrimSpace(x.Type + " " + x.Shape), x.Value}, " · "))
	}
	for _, name := range asked {
		if !known[name] {
			lines = append(lines, name+" · not defined")
		}
	}
	const limit = 8 << 10
	return &reply{text: present.Bounded(strings.Join(lines, "\n"), limit, "give names")}
}
