package present

import (
	"cmp"
	"slices"
	"strings"
)

// Types of an Output, as in the notebook format.
const (
	TypeStream  = "stream"
	TypeDisplay = "display_data"
	TypeResult  = "execute_result"
	TypeError   = "error"
)

// Output is one output of an execution.
type Output struct {
	Type      string             // one of the Type constants
	Name      string             // of a stream: "stdout", "stderr"
	Text      string             // of a stream
	Data      map[string]Content // of display_data and execute_result, by mime type
	Metadata  map[string]any     // of display_data and execute_result
	EName     string             // of an error
	EValue    string             // of an error
	Traceback []string           // of an error

	Blob    string // hash of the blob that has the text of a stream or the traceback of an error, if it is not here
	Size    int64  // bytes in that blob
	Preview string // head and tail of a stream, in case the blob cannot be had
}

// Content is an output in one format. Which of Text and Bytes is set depends
// on the format; neither is when only the blob has it.
type Content struct {
	Text      string
	Bytes     []byte
	BlobHash  string // "" when there is no blob
	Size      int64  // bytes in the blob
	MediaType string // that of the key in Data, when empty
}

// size returns the number of bytes in the content.
func (c Content) size() int64 { return cmp.Or(c.Size, int64(max(len(c.Bytes), len(c.Text)))) }

// missing says whether the content is only in its blob.
func (c Content) missing() bool { return c.Text == "" && c.Bytes == nil && c.BlobHash != "" }

// text returns the content as text.
func (c Content) text() string {
	if c.Text == "" {
		return string(c.Bytes)
	}
	return c.Text
}

// maxFetch is the size up to which a blob is worth fetching for its text.
const maxFetch = 32 << 20

// Needed returns the hashes of the blobs whose content Execution would use and
// that are not there yet. Whoever calls it sets them with Fill.
func Needed(outputs []Output) []string {
	var hashes []string
	add := func(hash string, size int64) {
		if hash != "" && size <= maxFetch && !slices.Contains(hashes, hash) {
			hashes = append(hashes, hash)
		}
	}
	images := 0
	for _, o := range outputs {
		if o.Text == "" && o.Traceback == nil {
			add(o.Blob, o.Size)
		}
		if len(o.Data) == 0 {
			continue
		}
		for _, mime := range choice(o.Data).read {
			if c := o.Data[mime]; c.missing() {
				add(c.BlobHash, c.Size)
			}
		}
		if mime, ok := rasterOf(o.Data); ok {
			if images++; images <= MaxImages && o.Data[mime].missing() {
				add(o.Data[mime].BlobHash, o.Data[mime].Size)
			}
		}
	}
	return hashes
}

// Fill puts the bytes of a blob wherever outputs refer to it.
func Fill(outputs []Output, hash string, data []byte) {
	for i := range outputs {
		o := &outputs[i]
		if o.Blob == hash && o.Type == TypeError {
			o.Traceback = lines(string(data))
		} else if o.Blob == hash {
			o.Text = string(data)
		}
		for mime, c := range o.Data {
			if c.BlobHash != hash || !c.missing() {
				continue
			}
			if isBinary(mime) {
				c.Bytes = data
			} else {
				c.Text = string(data)
			}
			o.Data[mime] = c
		}
	}
}

// isBinary says whether content of a mime type is bytes rather than text.
func isBinary(mime string) bool {
	main, sub, _ := strings.Cut(mime, "/")
	switch main {
	case "image":
		return sub != "svg+xml"
	case "audio", "video", "font":
		return true
	case "application":
		for _, part := range []string{"json", "xml", "javascript", "ecmascript", "sql", "graphql", "tex", "yaml"} {
			if strings.Contains(sub, part) {
				return false
			}
		}
		return true
	}
	return false
}
