package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"runt/internal/client"
	"runt/internal/domain"
	"runt/internal/wire"
)

func psCommand(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "ps", Short: "List the open notebooks", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return ps(cmd.Context(), a, cmd.OutOrStdout(), asJSON) }}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func ps(ctx context.Context, a *app, out io.Writer, asJSON bool) error {
	p := a.places()
	if _, err := ask(ctx, p); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	rooms, err := client.ListRooms(ctx, p.Socket)
	if err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(out).Encode(wire.RoomsList{Rooms: rooms})
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NOTEBOOK\tSTATE\tPEERS\tKERNEL\tSTATUS\tCELLS\tPATH")
	for _, r := range rooms {
		peers := fmt.Sprint(r.ActivePeers)
		if len(r.Peers) > 0 {
			peers += " (" + strings.Join(r.Peers, ", ") + ")"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", r.NotebookID, r.State, peers, dash(r.KernelType), dash(r.KernelStatus), r.Cells, dash(where(r)))
	}
	return w.Flush()
}

func where(r wire.RoomInfo) string {
	switch {
	case r.NotebookPath != "":
		return r.NotebookPath
	case r.Ephemeral:
		return "(in memory)"
	}
	return "(untitled)"
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func stopCommand(a *app) *cobra.Command {
	return &cobra.Command{Use: "stop NOTEBOOK...", Short: "Save notebooks, end their kernels and close them", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, id := range args {
				if err := stopNotebook(cmd.Context(), a, cmd.OutOrStdout(), id); err != nil {
					return err
				}
			}
			return nil
		}}
}

// stopNotebook takes an id, the beginning of one, or a path.
func stopNotebook(ctx context.Context, a *app, out io.Writer, name string) error {
	p := a.places()
	if _, err := ask(ctx, p); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	rooms, err := client.ListRooms(ctx, p.Socket)
	if err != nil {
		return err
	}
	var found []wire.RoomInfo
	for _, r := range rooms {
		if strings.HasPrefix(r.NotebookID, name) || r.NotebookPath == name {
			found = append(found, r)
		}
	}
	if len(found) != 1 {
		return domain.Errorf(domain.CodeNotebookUnavailable, "%d open notebooks are called %q.", len(found), name).WithHint("Take an id or a path from runt ps.")
	}
	if _, err := client.ShutdownNotebook(ctx, p.Socket, domain.NotebookID(found[0].NotebookID)); err != nil {
		return err
	}
	fmt.Fprintln(out, "stopped", found[0].NotebookID)
	return nil
}
