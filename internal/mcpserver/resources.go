package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runt/internal/blob"
	"runt/internal/client"
	"runt/internal/domain"
	"runt/internal/notebook"
	"runt/internal/present"
	"runt/internal/wire"
)

// Addresses of resources.
const (
	uriNotebooks = "runt://notebooks"
	uriCells     = uriNotebooks + "/{id}/cells"
	uriCell      = uriCells + "/{cell_id}"
	uriBlob      = "runt://blobs/{sha256}"
)

const mimeJSON = "application/json"

// addResources offers what can be read besides calling tools.
func (c *Client) addResources(s *mcp.Server) {
	s.AddResource(&mcp.Resource{URI: uriNotebooks, Name: "notebooks", Title: "Open notebooks", MIMEType: mimeJSON,
		Description: "The notebooks that are open: id, path, cells, kernel, who is connected, and which ones you hold."}, c.readResource)
	for _, t := range []mcp.ResourceTemplate{
		{URITemplate: uriCells, Name: "cells", Title: "Cells of a notebook", MIMEType: mimeJSON,
			Description: "All cells of a notebook in order: id, type, source, execution count, status, tags."},
		{URITemplate: uriCell, Name: "cell", Title: "One cell", MIMEType: mimeJSON,
			Description: "A cell with its source and its outputs as text; images follow as contents of their own."},
		{URITemplate: uriBlob, Name: "blob", Title: "Large output",
			Description: "The bytes of a large or binary output, as replies of tools name them."},
	} {
		s.AddResourceTemplate(&t, c.readResource)
	}
}

// resource is a parsed address.
type resource struct {
	notebook domain.NotebookID
	cell     domain.CellID
	blob     string // hash
	kind     string // the constant that it is made by; "" for an address that is none of ours
}

func parseURI(uri string) resource {
	if uri == uriNotebooks {
		return resource{kind: uriNotebooks}
	}
	if hash, ok := strings.CutPrefix(uri, "runt://blobs/"); ok && blob.ValidHash(hash) {
		return resource{kind: uriBlob, blob: hash}
	}
	rest, ok := strings.CutPrefix(uri, uriNotebooks+"/")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) < 2 || len(parts) > 3 || parts[1] != "cells" || !domain.IsUUID(parts[0]) {
		return resource{}
	}
	r := resource{kind: uriCells, notebook: domain.NotebookID(strings.ToLower(parts[0]))}
	if len(parts) == 3 {
		cell, err := url.PathUnescape(parts[2])
		if err != nil || cell == "" {
			return resource{}
		}
		r.kind, r.cell = uriCell, domain.CellID(cell)
	}
	return r
}

func (c *Client) readResource(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	ctx, done := c.bounded(ctx)
	defer done()
	contents, err := c.read(ctx, req.Params.URI)
	var e *domain.Error
	switch {
	case err == nil:
		return &mcp.ReadResourceResult{Contents: contents}, nil
	case errors.As(err, &e) && (e.Code == domain.CodeCellNotFound || e.Code == domain.CodeNotebookUnavailable):
		return nil, notThere(req.Params.URI)
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, errors.New(errorText(err))
}

// codeNoResource is the protocol's code for a resource that is not there. The
// library has the one of a later version of the protocol.
const codeNoResource = -32002

func notThere(uri string) error {
	data, err := json.Marshal(map[string]string{"uri": uri})
	if err != nil {
		data = nil
	}
	return &jsonrpc.Error{Code: codeNoResource, Message: "Resource not found", Data: data}
}

// read returns what is at an address.
func (c *Client) read(ctx context.Context, uri string) ([]*mcp.ResourceContents, error) {
	r := parseURI(uri)
	switch r.kind {
	case uriNotebooks:
		return c.readNotebooks(ctx)
	case uriCells:
		var contents []*mcp.ResourceContents
		err := c.withBook(ctx, r.notebook, func(b *book) (err error) {
			contents, err = inJSON(uri, b.allCells())
			return err
		})
		return contents, err
	case uriCell:
		var contents []*mcp.ResourceContents
		err := c.withBook(ctx, r.notebook, func(b *book) (err error) {
			contents, err = b.readCell(ctx, uri, r.cell)
			return err
		})
		return contents, err
	case uriBlob:
		return c.srv.readBlob(ctx, uri, r.blob)
	}
	return nil, domain.Errorf(domain.CodeNotebookUnavailable, "There is no resource %s.", uri)
}

func inJSON(uri string, v any) ([]*mcp.ResourceContents, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode resource: %w", err)
	}
	return []*mcp.ResourceContents{{URI: uri, MIMEType: mimeJSON, Text: string(text)}}, nil
}

// withBook calls fn with a notebook, which is joined if need be.
func (c *Client) withBook(ctx context.Context, id domain.NotebookID, fn func(*book) error) error {
	ref, err := c.sessions.Resolve(string(id))
	if err != nil {
		return err
	}
	defer ref.Release()
	s, err := ref.Await(ctx)
	if err != nil {
		return err
	}
	ref.Yield()
	b := &book{k: &call{c: c, progress: func(context.Context, string) {}}, ref: ref, s: s}
	b.settle(ctx)
	return fn(b)
}

// notebookEntry is a notebook in the resource of all notebooks.
type notebookEntry struct {
	URI     string   `json:"cells_uri"`
	ID      string   `json:"id"`
	Path    string   `json:"path,omitempty"`
	Cells   int      `json:"cells"`
	Kernel  string   `json:"kernel,omitempty"`
	Status  string   `json:"kernel_status,omitempty"`
	Peers   []string `json:"connected"`
	Held    bool     `json:"held_by_you"`
	Default bool     `json:"your_default"`
}

func (c *Client) readNotebooks(ctx context.Context) ([]*mcp.ResourceContents, error) {
	rooms, err := c.rooms(ctx)
	if err != nil {
		return nil, err
	}
	return inJSON(uriNotebooks, c.notebookEntries(rooms))
}

func (c *Client) notebookEntries(rooms []wire.RoomInfo) []notebookEntry {
	held := c.sessions.Held()
	entries := make([]notebookEntry, 0, len(rooms))
	for _, r := range rooms {
		e := notebookEntry{ID: r.NotebookID, Path: r.NotebookPath, Cells: r.Cells, Kernel: r.KernelType, Status: r.KernelStatus, Peers: r.Peers}
		e.URI = strings.ReplaceAll(uriCells, "{id}", e.ID)
		if e.Peers == nil {
			e.Peers = []string{}
		}
		for _, h := range held {
			if string(h.ID) == r.NotebookID {
				e.Held, e.Default = true, h.Default
			}
		}
		entries = append(entries, e)
	}
	return entries
}

// cellEntry is a cell in a resource.
type cellEntry struct {
	ID      string   `json:"id"`
	Type    string   `json:"type"`
	Source  string   `json:"source"`
	Count   *int64   `json:"execution_count,omitempty"`
	Status  string   `json:"status,omitempty"`
	Tags    []string `json:"tags,omitempty"`
	Outputs string   `json:"outputs,omitempty"`
}

// entry is a cell without its outputs. full fetches what of it is only known with them.
func (b *book) entry(c notebook.Cell, full bool) cellEntry {
	v := b.cellView(0, c, full)
	return cellEntry{ID: v.ID, Type: v.Type, Source: v.Source, Count: v.Count, Status: v.Status, Tags: v.Tags}
}

func (b *book) allCells() []cellEntry {
	entries := []cellEntry{}
	for _, c := range b.doc().Cells() {
		entries = append(entries, b.entry(c, false))
	}
	return entries
}

// readCell returns a cell, and its images after it.
func (b *book) readCell(ctx context.Context, uri string, id domain.CellID) ([]*mcp.ResourceContents, error) {
	c, err := b.cellByID(ctx, string(id))
	if err != nil {
		return nil, err
	}
	e := b.entry(c, true)
	var images []Image
	if c.Type == "code" && c.ExecutionID != "" {
		rep := b.lastRun(ctx, c, present.Options{Full: true})
		e.Outputs, images = rep.text, rep.images
	}
	contents, err := inJSON(uri, e)
	for _, img := range images {
		contents = append(contents, &mcp.ResourceContents{URI: uri, MIMEType: img.MIME, Blob: img.Data})
	}
	return contents, err
}

// metaURL is where the contents of a resource can also be fetched, until the daemon is started anew.
const metaURL = "runt/url"

// readBlob returns the bytes of a blob, as text if it is some.
func (s *Server) readBlob(ctx context.Context, uri, hash string) ([]*mcp.ResourceContents, error) {
	data, err := s.blob(hash)
	if errors.Is(err, os.ErrNotExist) {
		return nil, domain.Errorf(domain.CodeNotebookUnavailable, "There is no blob %s.", hash)
	}
	if err != nil {
		return nil, err
	}
	contents := &mcp.ResourceContents{URI: uri, MIMEType: s.blobType(hash)}
	if strings.HasPrefix(contents.MIMEType, "text/") || contents.MIMEType == "image/svg+xml" || strings.HasSuffix(contents.MIMEType, "json") {
		contents.Text = strings.ToValidUTF8(string(data), "\uFFFD")
	} else {
		contents.Blob = data
	}
	if at := s.blobURL(ctx, hash); at != "" {
		contents.Meta = mcp.Meta{metaURL: at}
	}
	return []*mcp.ResourceContents{contents}, nil
}

// blobType is the media type of a blob.
func (s *Server) blobType(hash string) string {
	var meta struct {
		MediaType string `json:"media_type"`
	}
	data, err := os.ReadFile(filepath.Join(filepath.Dir(s.o.Socket), "blobs", hash[:2], hash[2:]+".meta"))
	if err != nil || json.Unmarshal(data, &meta) != nil || meta.MediaType == "" {
		return "application/octet-stream"
	}
	return meta.MediaType
}

// blobURL is where the daemon of now serves a blob, "" when it serves none. It is
// asked anew each time, because port and token change with every start.
func (s *Server) blobURL(ctx context.Context, hash string) string {
	info, err := client.DaemonInfo(ctx, s.o.Socket)
	if err != nil || info.HTTPPort == 0 {
		return ""
	}
	return fmt.Sprintf("http://127.0.0.1:%d/blob/%s?token=%s", info.HTTPPort, hash, url.QueryEscape(info.HTTPToken))
}
