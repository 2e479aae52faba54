package mcpserver

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"runt/internal/domain"
	"runt/internal/present"
	"runt/internal/runtimestate"
)

// inspectLimit is how long inspect_variables waits for the kernel.
const inspectLimit = 10 * time.Second

// variablesPython prints a JSON list about the kernel's variables. It leaves no name behind.
//
//go:embed variables.py
var variablesPython string

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
	again := b.codeAsker(strings.Replace(variablesPython, "NAMES", names, 1), domain.DerivedExecutionID(k.id, ""))
	e, err := b.queue(ctx, again)
	if err != nil {
		return nil, err
	}
	v, err := b.await(ctx, e, again, waitFor{timeout: inspectLimit})
	if err != nil {
		return nil, err
	}
	if v.status != runtimestate.Done {
		return k.c.show(ctx, v, present.Options{}), nil
	}
	k.c.srv.fill(ctx, v.outputs)
	return variablesReply(v.outputs, k.args.list("names"))
}

func variablesReply(outputs []present.Output, asked []string) (*reply, error) {
	var text strings.Builder
	for _, o := range outputs {
		if o.Type == present.TypeStream && o.Name == "stdout" {
			text.WriteString(o.Text)
		}
	}
	var list []variable
	if err := json.Unmarshal([]byte(text.String()), &list); err != nil {
		return nil, fmt.Errorf("read list of variables: %w", err)
	}
	if len(list) == 0 {
		return textf("There are no variables of the notebook's own."), nil
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
	return &reply{text: present.Bounded(strings.Join(lines, "\n"), limit, "give names")}, nil
}
