package mcpserver

import (
	"context"
	"os"

	"runt/internal/domain"
	"runt/internal/session"
	"runt/internal/session/peer"
)

// saveNotebook writes the notebook to its file, or to a new one.
func saveNotebook(ctx context.Context, k *call, b *book) (*reply, error) {
	path := ""
	if given := k.args.text("path"); given != "" {
		if dir := k.c.srv.absolute(given); isDir(dir) {
			return nil, invalidf("%s is a folder.", dir).WithHint("Name a file in it.")
		}
		path = k.c.srv.notebookPath(given)
	} else if b.h().Path() == "" {
		return nil, invalidf("The notebook is untitled, so there is no path to save it to.").WithHint("Call save_notebook with path=\"name.ipynb\".")
	}
	var saved peer.Saved
	for try := 0; ; try++ {
		var err error
		saved, err = peer.Save(ctx, b.h(), path, k.args.flag("overwrite"))
		if err == nil {
			break
		}
		if !isLost(err) || try == maxRejoins {
			return nil, err
		}
		if err := b.s.Again(ctx); err != nil {
			return nil, err
		}
	}
	k.c.sessions.SavedAs(b.s, saved.Path)
	text := "Saved to " + saved.Path + "."
	if saved.Current {
		text = saved.Path + " is already current."
	}
	if len(saved.Heads) > 0 {
		text += "\nheads: " + shortHeads(saved.Heads)
	}
	t := session.Target{ID: b.h().ID(), Path: saved.Path}
	return (&reply{text: text}).about(eventSaved, t, k.c.isDefault(t.ID)), nil
}

func shortHeads(heads []string) string {
	s := ""
	for i, h := range heads {
		if i > 0 {
			s += " "
		}
		s += h[:min(len(h), hashLength)]
	}
	return s
}

func (c *Client) isDefault(id domain.NotebookID) bool {
	for _, h := range c.sessions.Held() {
		if h.ID == id {
			return h.Default
		}
	}
	return false
}

// mayCreate refuses to make a notebook where a file is, unless this very call has made it before.
func (c *Client) mayCreate(ctx context.Context, spec session.CreateSpec) error {
	if _, err := os.Lstat(spec.Path); err != nil {
		return nil // the daemon finds out what is wrong with the path
	}
	if c.dialer.Locate(ctx, session.Target{ID: spec.ID}).Path == spec.Path {
		return nil
	}
	return domain.Errorf(domain.CodeSaveConflict, "There is a file %s already.", spec.Path).
		WithHint("Call connect_notebook with path=%q to open it, or choose another path.", spec.Path)
}
