package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"runt/internal/session"
)

// keptRecords is how long a record of a session outlives its last change.
const keptRecords = 7 * 24 * time.Hour

// record is what a session needs to go on in another process: who the client is
// and what it holds.
type record struct {
	ID         string            `json:"id"`
	Suffix     string            `json:"suffix"`
	Initialize json.RawMessage   `json:"initialize"` // the parameters of that request
	Notebooks  []session.Initial `json:"notebooks,omitempty"`
	Resources  []string          `json:"resources,omitempty"` // that it subscribed to
}

// records are files in a folder, one for each session that has not been ended by
// its client. The zero value keeps none.
type records struct{ dir string }

// file is named after a digest: ids come from outside, and are as good as keys.
func (r records) file(id string) string {
	sum := sha256.Sum256([]byte(id))
	return filepath.Join(r.dir, hex.EncodeToString(sum[:16])+".json")
}

// prune makes the folder, and removes what nobody will come back for.
func (r records) prune(now time.Time) error {
	if r.dir == "" {
		return nil
	}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return fmt.Errorf("make folder for sessions: %w", err)
	}
	files, err := filepath.Glob(filepath.Join(r.dir, "*"))
	if err != nil {
		return fmt.Errorf("list sessions: %w", err)
	}
	var errs []error
	for _, f := range files {
		if info, err := os.Stat(f); err == nil && now.Sub(info.ModTime()) > keptRecords {
			errs = append(errs, os.Remove(f))
		}
	}
	return errors.Join(errs...)
}

func (r records) write(rec record) error {
	if r.dir == "" {
		return nil
	}
	text, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("encode session: %w", err)
	}
	if err := replaceFile(r.file(rec.ID), text); err != nil {
		return fmt.Errorf("write session: %w", err)
	}
	return nil
}

// read returns the record of a session; not ok when there is none that is good.
func (r records) read(id string) (rec record, ok bool) {
	if r.dir == "" {
		return rec, false
	}
	text, err := os.ReadFile(r.file(id))
	return rec, err == nil && json.Unmarshal(text, &rec) == nil && rec.ID == id && len(rec.Initialize) > 0
}

func (r records) remove(id string) error {
	if r.dir == "" {
		return nil
	}
	if err := os.Remove(r.file(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove session: %w", err)
	}
	return nil
}

// replaceFile writes a file in one step. Only the user may read it.
func replaceFile(file string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".new-*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// note writes the session's record if it has changed.
func (w *web) note(hs *httpSession) {
	if w.records.dir == "" {
		return
	}
	hs.noting.Lock()
	defer hs.noting.Unlock()
	rec := hs.record()
	text, err := json.Marshal(rec)
	if err != nil || bytes.Equal(text, hs.noted) || len(rec.Initialize) == 0 || hs.ended.Load() {
		return
	}
	if err := w.records.write(rec); err != nil {
		w.s.o.Logger.Warn("session would not outlive this process", "session", hs.name(), "err", err)
		return
	}
	hs.noted = text
}

// forget removes the session's record for good.
func (w *web) forget(hs *httpSession) {
	hs.noting.Lock()
	defer hs.noting.Unlock()
	hs.ended.Store(true)
	if err := w.records.remove(hs.id); err != nil {
		w.s.o.Logger.Warn("record of a session left behind", "session", hs.name(), "err", err)
	}
}

func (hs *httpSession) record() record {
	c := hs.client
	rec := record{ID: hs.id, Suffix: c.suffix, Resources: c.watches.list()}
	if params := c.introduced.Load(); params != nil {
		rec.Initialize = *params
	}
	for _, h := range c.sessions.Held() {
		rec.Notebooks = append(rec.Notebooks, session.Initial{Target: h.Target, Default: h.Default})
	}
	slices.SortFunc(rec.Notebooks, func(a, b session.Initial) int { return cmp.Compare(a.String(), b.String()) })
	return rec
}

// revive makes a session of an earlier process go on here, or returns nil.
func (w *web) revive(id string) *httpSession {
	w.reviving.Lock()
	defer w.reviving.Unlock()
	if hs := w.find(id); hs != nil { // another request has
		return hs
	}
	rec, ok := w.records.read(id)
	if !ok {
		return nil
	}
	hs := w.s.newHTTPSession(rec)
	hs.introduce(rec)
	if !hs.initialized() || w.list(hs) != nil {
		hs.end(0)
		return nil
	}
	w.wg.Go(func() { hs.subscribeAgain(rec.Resources) })
	w.s.o.Logger.Info("session goes on", "session", hs.name(), "label", hs.client.dialer.Label(), "notebooks", len(rec.Notebooks))
	return hs
}

// introduce tells the library what the client told the earlier process.
func (hs *httpSession) introduce(rec record) {
	hs.say("", map[string]any{"id": "runt-1", "method": "initialize", "params": rec.Initialize})
	hs.say(hs.id, map[string]any{"method": "notifications/initialized"})
}

func (hs *httpSession) subscribeAgain(uris []string) {
	for _, uri := range uris {
		hs.say(hs.id, map[string]any{"id": "runt-" + uri, "method": "resources/subscribe", "params": map[string]string{"uri": uri}})
	}
}

// say lets the library have a message as if it came from the client. Nobody hears the answer.
func (hs *httpSession) say(id string, message map[string]any) {
	message["jsonrpc"] = "2.0"
	ctx, cancel := context.WithTimeout(context.Background(), handshakeLimit)
	defer cancel()
	body, err := json.Marshal(message)
	if err != nil {
		return
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, HTTPPath, bytes.NewReader(body))
	if err != nil {
		return
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if id != "" {
		r.Header.Set(headerSession, id)
	}
	hs.serve(unheard{http.Header{}}, r)
}

// unheard is where answers to say go.
type unheard struct{ header http.Header }

func (u unheard) Header() http.Header         { return u.header }
func (u unheard) Write(p []byte) (int, error) { return len(p), nil }
func (u unheard) WriteHeader(int)             {}

// list returns the addresses that are watched, in order.
func (w *watches) list() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var uris []string
	for uri := range w.all {
		uris = append(uris, uri)
	}
	slices.Sort(uris)
	return uris
}
