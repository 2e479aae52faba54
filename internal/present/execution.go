package present

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Limits of the text of an execution. Bytes are those of the text in JSON, which
// is how it travels: with what is around it, a usual answer stays below 8,000
// bytes and a full one below 60,000.
const (
	DefaultLimit = 7_850
	FullLimit    = 59_800 // when all was asked for
	maxBlocks    = 24     // outputs shown; of more, the first and the last ones
)

// Statuses of an execution. Any other is shown as it is.
const (
	StatusQueued    = "queued"
	StatusRunning   = "running"
	StatusDone      = "done"
	StatusError     = "error"
	StatusCancelled = "cancelled"
)

// ExecutionView is an execution as it is to be shown.
type ExecutionView struct {
	CellID      string // "" for code that is in no cell
	ExecutionID string
	Status      string
	Count       *int64
	Seconds     float64 // how long it ran, or has been running; 0 when not known
	Outputs     []Output
	Reason      string        // why it ended as it did: "The kernel died (SIGKILL)."
	Hint        string        // what to do next
	Waited      time.Duration // of a run that is not over: how long the caller waited
	Ahead       int           // of a queued one: how many run before it
}

// Options say how much to show. The zero value is the default.
type Options struct {
	Full     bool   // whole tracebacks, and FullLimit
	Limit    int    // bytes of text in JSON; 0: DefaultLimit, or FullLimit with Full
	NoImages bool   // images are only named
	Rest     string // how to get what is left out; "" means the call for ExecutionID
}

// Result is what a reader gets of an execution.
type Result struct {
	Text   string
	Images []Image
	Links  []Link // of outputs that are only named
}

// Execution returns an execution as text and images. The first line is the
// header, see Header.
func Execution(e ExecutionView, o Options) Result {
	if o.Limit == 0 {
		o.Limit = DefaultLimit
		if o.Full {
			o.Limit = FullLimit
		}
	}
	if o.Rest == "" {
		o.Rest = rest(e.ExecutionID, o.Full)
	}
	head := Header(e)
	if s := state(e); s != "" {
		head += "\n" + s
	}
	head = fit(o.Limit/2, func(n int) string { return Cut(head, n) })
	r := renderer{Options: o}
	blocks := r.blocks(withoutEcho(e))
	body := fit(o.Limit-jsonSize(head)-2, func(n int) string { return join(blocks, n, o.Rest) })
	if body == "" && e.Status != StatusQueued && e.Status != StatusCancelled && (e.Reason == "" || e.Status == StatusRunning) {
		body = "(no output)"
		if e.Status == StatusRunning {
			body = "(no output yet)"
		}
	}
	r.result.Text = head
	if body != "" {
		r.result.Text += "\n" + body
	}
	return r.result
}

// Outputs returns outputs without a header, for readers that have one.
func Outputs(outputs []Output, o Options) Result {
	if o.Limit == 0 {
		o.Limit = DefaultLimit
	}
	r := renderer{Options: o}
	blocks := r.blocks(outputs)
	r.result.Text = fit(o.Limit, func(n int) string { return join(blocks, n, o.Rest) })
	return r.result
}

// withoutEcho returns the outputs without the error by which a notebook tells
// why the kernel ended the cell, when the head of the answer tells it already.
func withoutEcho(e ExecutionView) []Output {
	last := len(e.Outputs) - 1
	if last < 0 || e.Reason == "" {
		return e.Outputs
	}
	if o := e.Outputs[last]; o.Type == TypeError && o.EName == kernelError && strings.HasPrefix(o.EValue, e.Reason) {
		return e.Outputs[:last]
	}
	return e.Outputs
}

// kernelError is the name of errors that no code raised: the kernel died, was restarted, or did not start.
const kernelError = "KernelError"

func rest(executionID string, full bool) string {
	switch {
	case executionID == "":
		return ""
	case full:
		return "write it to a file in the kernel to read it in parts"
	}
	return "get_results execution_id=" + executionID + " full_output=true"
}

// Header returns the first line about an execution: cell, status, count,
// execution and seconds.
func Header(e ExecutionView) string {
	parts := []string{e.CellID, e.Status}
	if e.CellID == "" {
		parts[0] = "(no cell)"
	}
	if e.Count != nil {
		parts = append(parts, "["+strconv.FormatInt(*e.Count, 10)+"]")
	}
	if e.ExecutionID != "" {
		parts = append(parts, "execution "+e.ExecutionID)
	}
	if e.Seconds > 0 {
		parts = append(parts, seconds(e.Seconds))
	}
	for i, p := range parts {
		parts[i] = OneLine(p, 200)
	}
	return strings.Join(parts, " · ")
}

func seconds(s float64) string {
	switch {
	case s < 0.1:
		return fmt.Sprintf("%.3f s", s)
	case s < 10:
		return fmt.Sprintf("%.2f s", s)
	case s < 600:
		return fmt.Sprintf("%.1f s", s)
	}
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}

// state says what the status means, when the reader should know.
func state(e ExecutionView) string {
	var lines []string
	if e.Status == StatusCancelled {
		lines = append(lines, "Cancelled before it ran.")
	}
	if e.Reason != "" {
		lines = append(lines, strings.TrimSpace(StripANSI(e.Reason)))
	}
	switch e.Status {
	case StatusRunning:
		if e.Hint != "" {
			break // it says what the run waits for
		}
		s := "Still running"
		if e.Waited > 50*time.Millisecond {
			s += " after " + seconds(e.Waited.Seconds())
		}
		lines = append(lines, s+"; this is the output so far. "+waitCall(e)+" waits for the rest, interrupt_kernel stops it.")
	case StatusQueued:
		s := "Queued"
		if e.Ahead > 0 {
			s += " behind " + plural(e.Ahead, "execution")
		}
		lines = append(lines, s+"; it has not begun. "+waitCall(e)+" waits for it.")
	}
	if e.Hint != "" {
		lines = append(lines, StripANSI(e.Hint))
	}
	return strings.Join(lines, "\n")
}

func waitCall(e ExecutionView) string {
	return "get_results execution_id=" + OneLine(e.ExecutionID, 80) + " wait_secs=30"
}

// block is one output as text.
type block struct {
	label string // "stderr", "result" ...; shown when there are several
	text  string
	keep  bool // is not left out when there are too many
}

// renderer makes blocks of outputs and collects images and links.
type renderer struct {
	Options
	result Result
	seen   int // images, whether handed over or not
}

// blocks returns a block for every output that has something to read. Streams
// of one name that follow each other are one text.
func (r *renderer) blocks(outputs []Output) []block {
	var out []block
	for i := 0; i < len(outputs); i++ {
		o := outputs[i]
		switch o.Type {
		case TypeStream:
			texts := []string{streamText(o)}
			for i+1 < len(outputs) && outputs[i+1].Type == TypeStream && outputs[i+1].Name == o.Name {
				i++
				texts = append(texts, streamText(outputs[i]))
			}
			if text := r.stream(strings.Join(texts, "")); text != "" {
				out = append(out, block{label: o.Name, text: text})
			}
		case TypeError:
			out = append(out, block{label: "error", text: Traceback(o.EName, o.EValue, o.Traceback, r.Full), keep: true})
		default:
			if text := r.data(o.Data); text != "" {
				label := "display"
				if o.Type == TypeResult {
					label = "result"
				}
				out = append(out, block{label: label, text: text})
			}
		}
	}
	return out
}

// maxLines is how many lines of a stream that is too long are shown: a model
// learns no more from a thousand short ones.
const maxLines = 200

// blankLine is a line of spaces, such as a bar leaves that was wiped out.
var blankLine = regexp.MustCompile(`(?m)^[ \t]+$`)

// stream returns printed text as it is shown, without blanks that nobody sees.
func (r *renderer) stream(raw string) string {
	text := strings.TrimRight(blankLine.ReplaceAllString(ApplyTerminal(raw), ""), " \t\n")
	if r.Full || r.Limit > DefaultLimit || len(text) <= r.Limit {
		return text
	}
	if short := fewLines(text, maxLines, r.Rest); len(short) <= r.Limit*3/4 {
		return short
	}
	return text
}

// streamText returns the text of a stream, or what is known of it.
func streamText(o Output) string {
	switch {
	case o.Text != "" || o.Blob == "":
		return o.Text
	case o.Preview != "":
		return o.Preview
	}
	s, _ := describe(mimePlain, Content{BlobHash: o.Blob, Size: o.Size})
	return s + "\n"
}

// data returns the text of an output in several formats: the best text, then a
// line for the image, then what is only named.
func (r *renderer) data(data map[string]Content) string {
	var lines []string
	text := dataText(data, r.Full)
	haveText := text != ""
	if bareRepr.MatchString(text) && len(named(data, true)) > 0 {
		text = "" // the name of the format says as much
	}
	if text != "" {
		lines = append(lines, text)
	}
	if mime, ok := rasterOf(data); ok {
		shown := len(r.result.Images)
		line := r.image(mime, data[mime])
		if figureRepr.MatchString(text) && len(r.result.Images) > shown {
			lines = nil // the image says it all
		}
		lines = append(lines, line)
	}
	for _, mime := range named(data, haveText) {
		line, links := describe(mime, data[mime])
		lines = append(lines, line)
		r.result.Links = append(r.result.Links, links...)
	}
	return strings.Join(lines, "\n")
}

// image hands over an image if it may, and returns the line that tells of it.
func (r *renderer) image(mime string, c Content) string {
	r.seen++
	line, links := describe(mime, c)
	switch {
	case c.missing(), r.NoImages:
		r.result.Links = append(r.result.Links, links...)
		return line
	case r.seen > MaxImages:
		r.result.Links = append(r.result.Links, links...)
		return fmt.Sprintf("[image %d, not shown: only %d are]\n%s", r.seen, MaxImages, line)
	}
	img, dims, err := ReadImage(c, mime)
	if errors.Is(err, ErrNotAnImage) {
		r.seen--
		return fmt.Sprintf("[%s of %s, broken: it cannot be decoded]", mime, size(c.size()))
	}
	if err != nil {
		r.result.Links = append(r.result.Links, links...)
		return fmt.Sprintf("[%s, %d × %d, not shown: too large]\n%s", mime, dims.X, dims.Y, line)
	}
	r.result.Images = append(r.result.Images, img)
	return fmt.Sprintf("[image %d: %s, %d × %d, %s]", r.seen, mime, dims.X, dims.Y, size(int64(len(img.Data))))
}
