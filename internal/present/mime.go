package present

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Formats with a meaning for the choice of text.
const (
	mimeAuthor   = "text/llm+plain"
	mimeLatex    = "text/latex"
	mimeMarkdown = "text/markdown"
	mimePlain    = "text/plain"
	mimeHTML     = "text/html"
	mimeJSON     = "application/json"
	mimeWidget   = "application/vnd.jupyter.widget-view+json"
	mimeGeo      = "application/geo+json"
)

// maxHTML is the size up to which HTML is read.
const maxHTML = 2 << 20

// plots are formats that are summarised, by the beginning of their mime type.
var plots = []struct {
	prefix   string
	describe func(string) (string, bool)
}{
	{"application/vnd.plotly.v", plotly},
	{"application/vnd.vegalite.v", vegaLite},
	{"application/vnd.vega.v", vega},
	{mimeGeo, geoJSON},
}

// picked is how the text of an output is made.
type picked struct {
	read     []string // mime types whose content is wanted
	describe func(string) (string, bool)
}

// choice says from which formats the text of an output is made, best first.
func choice(data map[string]Content) picked {
	if _, ok := data[mimeAuthor]; ok {
		return picked{read: []string{mimeAuthor}}
	}
	for _, p := range plots {
		for _, mime := range slices.Sorted(maps.Keys(data)) {
			if strings.HasPrefix(mime, p.prefix) {
				return picked{read: []string{mime}, describe: p.describe}
			}
		}
	}
	var read []string
	if c, ok := data[mimeHTML]; ok && c.size() <= maxHTML {
		read = append(read, mimeHTML)
	}
	for _, mime := range []string{mimeLatex, mimeMarkdown, mimePlain} {
		if _, ok := data[mime]; ok {
			read = append(read, mime)
			break
		}
	}
	if _, ok := data[mimeJSON]; ok {
		read = append(read, mimeJSON)
	}
	return picked{read: read}
}

// figureRepr matches the text that matplotlib puts beside an image.
var figureRepr = regexp.MustCompile(`^<Figure size [\dx.]+ with \d+ Axes>$`)

// bareRepr matches text of an object that tells nothing but its type.
var bareRepr = regexp.MustCompile(`^<[\w.]+(\.[\w<>]+)*( object| at 0x[0-9a-fA-F]+| object at 0x[0-9a-fA-F]+)?>$`)

// dataText returns the text of an output, or "" when no format of it has any.
func dataText(data map[string]Content, full bool) string {
	p := choice(data)
	if p.describe != nil {
		if s, ok := p.describe(data[p.read[0]].text()); ok {
			return StripANSI(s)
		}
		return clean(data[mimePlain])
	}
	plain := ""
	for _, mime := range p.read {
		if mime != mimeHTML && mime != mimeJSON {
			plain = clean(data[mime])
		}
	}
	if html := data[mimeHTML].text(); html != "" {
		plain = StripANSI(htmlOrPlain(html, plain, full))
	}
	if j := data[mimeJSON].text(); j != "" && (plain == "" || bareRepr.MatchString(plain)) {
		if full {
			return clean(data[mimeJSON])
		}
		return clean(Content{Text: jsonText(j)})
	}
	return plain
}

func clean(c Content) string { return strings.Trim(ApplyTerminal(c.text()), "\n") }

// smallTable is the size up to which the plain text of a table is better than
// one made from its HTML.
const smallTable = 1500

func htmlOrPlain(html, plain string, full bool) string {
	if s, ok := embeddedVegaLite(html); ok {
		return s
	}
	if t, ok := parseTable(html); ok && (t.frame || plain == "" || bareRepr.MatchString(plain)) {
		_, _, hasShape := t.shape()
		switch {
		case full && plain != "" && !bareRepr.MatchString(plain):
			return t.title() + "\n" + plain
		case !t.frame && len(t.rows) <= 1:
			return HTMLText(html)
		case plain == "" || bareRepr.MatchString(plain) || len(plain) > smallTable || hasShape || strings.ContainsAny(plain, "\\…│┆"):
			return t.String()
		}
		return t.title() + "\n" + plain
	}
	if plain == "" || bareRepr.MatchString(plain) {
		if text := HTMLText(html); text != "" {
			return text
		}
	}
	return plain
}

// textMIMEs are formats that need not be named when there is other text.
var textMIMEs = map[string]bool{
	mimeAuthor: true, mimeLatex: true, mimeMarkdown: true, mimePlain: true, mimeHTML: true, mimeJSON: true, mimeWidget: true,
	"application/javascript": true, "application/vnd.jupyter.es6-rich-output": true,
}

// named returns the formats of an output that are told by name and size:
// whatever is neither text nor handed over as an image.
func named(data map[string]Content, haveText bool) []string {
	raster, _ := rasterOf(data)
	p := choice(data)
	var out []string
	for _, mime := range slices.Sorted(maps.Keys(data)) {
		if mime == raster || haveText && (textMIMEs[mime] || isPlot(mime) || slices.Contains(p.read, mime)) {
			continue
		}
		out = append(out, mime)
	}
	return out
}

func isPlot(mime string) bool {
	for _, p := range plots {
		if strings.HasPrefix(mime, p.prefix) {
			return true
		}
	}
	return strings.HasPrefix(mime, "application/vnd.bokehjs") || strings.HasPrefix(mime, "application/vnd.holoviews")
}

// Link points to an output that is not in the text.
type Link struct {
	URI  string // runt://blobs/<hash>
	MIME string
	Size int64
}

// BlobURI returns the address of a blob as a resource.
func BlobURI(hash string) string { return "runt://blobs/" + hash }

// describe returns a line that names an output in some format, and a link to it
// when there is a blob.
func describe(mime string, c Content) (string, []Link) {
	s := fmt.Sprintf("[%s, %s", OneLine(mime, 80), size(c.size()))
	if c.BlobHash == "" {
		return s + "]", nil
	}
	link := Link{URI: BlobURI(c.BlobHash), MIME: mime, Size: c.size()}
	return s + ": " + link.URI + "]", []Link{link}
}
