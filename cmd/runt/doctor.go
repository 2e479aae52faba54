package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"runt/internal/daemon"
	"runt/internal/doctor"
	"runt/internal/env"
)

func doctorCommand(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "doctor", Short: "Look for what keeps runt from working", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return examine(cmd.Context(), a, cmd.OutOrStdout(), asJSON)
		}}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func examine(ctx context.Context, a *app, out io.Writer, asJSON bool) error {
	log, err := a.logger()
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the current folder: %w", err)
	}
	p := a.places()
	findings := doctor.Examine(ctx, doctor.Options{Places: p, Hosts: daemon.HostsDir(p.State), Dir: dir,
		Env: env.New(env.Options{StateDir: p.Shared, Logger: log})})
	if asJSON {
		if err := json.NewEncoder(out).Encode(findings); err != nil {
			return err
		}
	} else {
		for _, f := range findings {
			fmt.Fprintf(out, "%-8s %-13s %s\n", f.Status, f.Check, f.Text)
			if f.Hint != "" {
				fmt.Fprintf(out, "%-22s %s\n", "", f.Hint)
			}
		}
	}
	if doctor.Worst(findings) == doctor.Failure {
		return exitError{1}
	}
	return nil
}
