package ipynb

import "encoding/json"

// Versions of the format that Render writes and Parse accepts.
const (
	// Major is the only major version written, and the highest one read.
	Major = 4
	// Minor is the lowest minor version written: the first with cell ids.
	Minor = 5
)

// The cell types of nbformat 4. A file may hold others; they are kept as they are.
const (
	TypeCode     = "code"
	TypeMarkdown = "markdown"
	TypeRaw      = "raw"
)

// File is a notebook as it was read, together with what Render needs to keep
// the bytes of unchanged parts. It is read-only.
type File struct {
	Major, Minor int // as written in the file
	Metadata     map[string]any
	Cells        []Cell
	Extra        map[string]any // top-level keys that nbformat does not know
	Warnings     []Warning

	data     []byte     // strict JSON; nil when the file was upgraded from an older format
	info     []cellInfo // one per cell; nil with data
	style    style
	faithful bool // data is valid as it stands: no id had to be made, or none was there at all
}

// cellInfo is what File knows about the bytes of a cell.
type cellInfo struct {
	span
	crlf bool // every line end of the source is CRLF
}

// Cell is one cell.
type Cell struct {
	ID             string
	Type           string // TypeCode, TypeMarkdown, TypeRaw, or what the file says
	Source         string // line ends are LF
	Metadata       map[string]any
	Attachments    map[string]any // of cells that are not code
	ExecutionCount *int64         // of code cells; nil is null
	Outputs        []Output       // of code cells
	Extra          map[string]any // keys that nbformat does not know; nil for Render: those of the base

	// IDMade says that Parse made the ID because the file had none it could use.
	IDMade bool
}

// Output is one output of a code cell. Parse sets both fields. Render takes
// Value, or Raw when Value is nil.
type Output struct {
	Raw   json.RawMessage // the bytes in the file
	Value map[string]any  // see JoinedOutput
}

// Notebook is what Render writes.
type Notebook struct {
	Metadata map[string]any
	Cells    []Cell
}

// Notebook returns the content of the file, to be changed and rendered. The
// slice of cells is a copy, what the cells point at is not.
func (f *File) Notebook() Notebook {
	return Notebook{Metadata: f.Metadata, Cells: append([]Cell(nil), f.Cells...)}
}

// WarningKind says what Parse had to bend.
type WarningKind string

// The kinds of warnings.
const (
	WarnUpgraded      WarningKind = "upgraded"      // older format, saved as 4.5
	WarnNewerMinor    WarningKind = "newer_minor"   // minor version not known here
	WarnVersion       WarningKind = "version"       // the version is missing or not a number
	WarnIDMissing     WarningKind = "id_missing"    // a cell of a 4.5 file has no id
	WarnIDIllegal     WarningKind = "id_illegal"    // an id was replaced
	WarnIDDuplicate   WarningKind = "id_duplicate"  // a later cell with the same id got another
	WarnNotStrict     WarningKind = "not_strict"    // NaN or Infinity became a string
	WarnByteOrderMark WarningKind = "byte_order"    // a byte order mark was dropped
	WarnSurrogate     WarningKind = "surrogate"     // half of a UTF-16 pair became U+FFFD
	WarnDuplicateKey  WarningKind = "duplicate_key" // the last one counts
	WarnSourceLines   WarningKind = "source_lines"  // parts of a source list without line end: joined into one line
	WarnCellType      WarningKind = "cell_type"     // the type is missing or unknown
	WarnShape         WarningKind = "unusual_shape" // a value of another type than nbformat says
)

// Warning is something Parse accepted although nbformat would not write it.
type Warning struct {
	Kind    WarningKind
	Cell    int    // index of the cell, or -1
	Message string // one sentence
}

// NewNotebook returns an empty notebook for a kernel. Empty arguments are left out.
func NewNotebook(language, kernelName, displayName string) Notebook {
	metadata := map[string]any{}
	if kernelName != "" {
		if displayName == "" {
			displayName = kernelName
		}
		spec := map[string]any{"name": kernelName, "display_name": displayName}
		if language != "" {
			spec["language"] = language
		}
		metadata["kernelspec"] = spec
	}
	if language != "" {
		metadata["language_info"] = map[string]any{"name": language}
	}
	return Notebook{Metadata: metadata}
}
