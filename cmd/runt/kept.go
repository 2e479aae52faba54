package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"runt/internal/automerge"
	"runt/internal/client"
	"runt/internal/domain"
	"runt/internal/wire"
)

// recoverTimeout bounds the opening and saving of a kept notebook.
const recoverTimeout = time.Minute

func keptCommand(a *app) *cobra.Command {
	var asJSON, force bool
	c := &cobra.Command{Use: "kept", Short: "List the closed notebooks that are kept without a file, or with more than their file has", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return listKept(cmd.Context(), a, cmd.OutOrStdout(), asJSON)
		}}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	save := &cobra.Command{Use: "save NOTEBOOK PATH", Short: "Write a kept notebook, with its outputs, to a file", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return saveKept(cmd.Context(), a, cmd.OutOrStdout(), domain.NotebookID(args[0]), args[1], force)
		}}
	save.Flags().BoolVar(&force, "overwrite", false, "replace the file if there is one")
	c.AddCommand(save,
		&cobra.Command{Use: "delete NOTEBOOK...", Short: "Forget kept notebooks for good", Args: cobra.MinimumNArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				return deleteKept(cmd.Context(), a, cmd.OutOrStdout(), args)
			}})
	return c
}

func listKept(ctx context.Context, a *app, out io.Writer, asJSON bool) error {
	p := a.places()
	if _, err := ask(ctx, p); err != nil {
		return err
	}
	kept, err := client.ListKept(ctx, p.Socket)
	if err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(out).Encode(wire.KeptList{Kept: kept})
	}
	if len(kept) == 0 {
		fmt.Fprintln(out, "nothing is kept besides what is open (runt ps) and in files")
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NOTEBOOK\tCHANGED\tCELLS\tWHAT")
	for _, k := range kept {
		what := k.Title
		switch {
		case k.Issue != "":
			what = "cannot be read: " + k.Issue
		case k.Path != "":
			what = k.Path + " (has changes that the file lacks)"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", k.NotebookID, k.ChangedAt.Local().Format(time.DateTime), k.Cells, dash(what))
	}
	return w.Flush()
}

func saveKept(ctx context.Context, a *app, out io.Writer, id domain.NotebookID, path string, overwrite bool) error {
	p := a.places()
	if _, err := ask(ctx, p); err != nil {
		return err
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return domain.Errorf(domain.CodeInvalidArgument, "The path %q cannot be made absolute: %w", path, err)
	}
	log, err := a.logger()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, recoverTimeout)
	defer cancel()
	engine := automerge.Open(automerge.Options{CacheDir: filepath.Join(p.Cache, "wasm"), Logger: log})
	defer engine.Close() //nolint:errcheck // the program ends
	h, err := client.Join(ctx, client.Options{Socket: p.Socket, Engine: engine, Operator: "cli:runt", Label: "runt kept", Logger: log}, id)
	if err != nil {
		return err
	}
	defer h.Close() //nolint:errcheck // the program ends
	resp, err := h.Request(ctx, wire.Request{Action: wire.ActionSaveNotebook, Path: path, Overwrite: overwrite})
	if err != nil {
		return err
	}
	if resp.Result == wire.ResultSaveBlocked {
		var blocked wire.SaveBlocked
		if err := resp.Decode(&blocked); err != nil {
			return err
		}
		return domain.Errorf(domain.Code(blocked.Code), "%s", blocked.Reason.Message).WithHint("%s", blocked.Hint)
	}
	var saved wire.NotebookSaved
	if err := resp.Decode(&saved); err != nil {
		return err
	}
	fmt.Fprintf(out, "notebook %s is saved as %s\n", id, saved.Path)
	return nil
}

func deleteKept(ctx context.Context, a *app, out io.Writer, ids []string) error {
	p := a.places()
	if _, err := ask(ctx, p); err != nil {
		return err
	}
	for _, id := range ids {
		if err := client.DeleteKept(ctx, p.Socket, domain.NotebookID(id)); err != nil {
			return err
		}
		fmt.Fprintf(out, "notebook %s is forgotten\n", id)
	}
	return nil
}
