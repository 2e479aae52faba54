package present

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Limits of a shortened traceback.
const (
	framesFirst = 2   // frames of the user's code kept at the top of a chain
	framesLast  = 4   // and at its end
	maxMessage  = 2e3 // bytes of an exception's own message
)

var (
	frameStart = regexp.MustCompile(`^\s*(File |Cell In|Input In|<ipython-input-)`)
	// libraryFile matches frames of code that the user did not write.
	libraryFile = regexp.MustCompile(`(site-packages|dist-packages)[/\\]|[/\\]lib(64)?[/\\]python\d|<frozen |File <__array_function__|\.(pyx|pxi|pxd):\d`)
	sitePackage = regexp.MustCompile(`(?:site-packages|dist-packages)[/\\](\w+)|File (\w+)[/\\]\S+\.p(?:yx|xi|xd):`)
	stdPackage  = regexp.MustCompile(`[/\\]lib(?:64)?[/\\]python[\d.]+[/\\](\w+)`)
	arrow       = regexp.MustCompile(`^\s*-+> *\d`)
	dashes      = regexp.MustCompile(`^-{5,}$`)
	banner      = regexp.MustCompile(`^\S.*\s{2,}Traceback \(most recent call last\):?$`)
)

// noSource is what IPython shows in place of the source of compiled code.
const noSource = "'Could not get source, probably due dynamically evaluated source code.'"

// frame is one frame of a traceback, or text between frames.
type frame struct {
	lines   []string
	isFrame bool
	library bool
}

// Traceback returns an error as text: the frames that help, in order, and the
// exception. With full, nothing is left out.
func Traceback(ename, evalue string, traceback []string, full bool) string {
	message := Bounded(strings.TrimRight(ApplyTerminal(exception(ename, evalue)), "\n "), maxMessage, "")
	raw := strings.TrimRight(ApplyTerminal(strings.Join(traceback, "\n")), "\n ")
	if raw == "" || raw == strings.TrimSpace(ApplyTerminal(evalue)) {
		return message
	}
	frames := splitFrames(raw)
	if !full {
		frames = shorten(frames)
	}
	var b strings.Builder
	for _, f := range frames {
		for _, l := range f.lines {
			b.WriteString(l)
			b.WriteByte('\n')
		}
	}
	text := strings.TrimRight(b.String(), "\n ")
	// The last line of a traceback is the exception, unless a kernel left it out.
	if !strings.Contains(text, ename) {
		text += "\n" + message
	}
	return text
}

func exception(ename, evalue string) string {
	switch {
	case evalue == "":
		return ename
	case ename == "":
		return evalue
	}
	return ename + ": " + evalue
}

// splitFrames cuts a traceback, in the form of IPython or of plain Python, into
// frames and the text between them.
func splitFrames(raw string) []frame {
	var frames []frame
	for _, line := range strings.Split(raw, "\n") {
		line = strings.TrimRight(line, " ")
		if dashes.MatchString(line) {
			continue
		}
		if banner.MatchString(line) {
			line = "Traceback (most recent call last):"
		}
		start := frameStart.MatchString(line)
		switch n := len(frames); {
		case start:
			frames = append(frames, frame{[]string{line}, true, libraryFile.MatchString(line)})
		case n > 0 && (!frames[n-1].isFrame || inFrame(line)):
			frames[n-1].lines = append(frames[n-1].lines, line)
		default:
			frames = append(frames, frame{lines: []string{line}})
		}
	}
	return frames
}

// inFrame says whether a line goes on with the frame before it: source lines
// are indented, numbered or marked by an arrow.
func inFrame(line string) bool {
	return line == "" || line[0] == ' ' || line[0] == '\t' || line[0] == '-' || line[0] >= '0' && line[0] <= '9'
}

// shorten keeps the frames that help: those of cells and the user's files, and
// the last one before each exception.
func shorten(frames []frame) []frame {
	keep := make([]bool, len(frames))
	for start := 0; start < len(frames); {
		end := start // of a run of frames, which ends at an exception
		for end < len(frames) && frames[end].isFrame {
			end++
		}
		if end == start {
			keep[start] = true
			start++
			continue
		}
		markUseful(frames[start:end], keep[start:end])
		start = end
	}
	var out []frame
	for i := 0; i < len(frames); {
		if keep[i] {
			f := frames[i]
			if f.library {
				f.lines = arrowLines(f.lines)
			} else if !f.isFrame {
				f.lines = strings.Split(Bounded(strings.Join(f.lines, "\n"), maxMessage, ""), "\n")
			}
			out = append(out, f)
			i++
			continue
		}
		n := i
		for n < len(frames) && !keep[n] {
			n++
		}
		out = append(out, frame{lines: []string{framesLeftOut(frames[i:n])}})
		i = n
	}
	return out
}

func markUseful(frames []frame, keep []bool) {
	var user []int
	for i, f := range frames {
		if !f.library {
			user = append(user, i)
		}
	}
	for i, at := range user {
		keep[at] = i < framesFirst || i >= len(user)-framesLast
	}
	keep[len(frames)-1] = true
}

// arrowLines returns the first line of a frame and the one that was running.
func arrowLines(lines []string) []string {
	for _, l := range lines[1:] {
		if arrow.MatchString(l) {
			if strings.Contains(l, noSource) {
				return lines[:1]
			}
			return []string{lines[0], l}
		}
	}
	return lines[:min(len(lines), 2)]
}

func framesLeftOut(frames []frame) string {
	var names []string
	for _, f := range frames {
		name := packageOf(f.lines[0])
		if name != "" && len(names) < 3 && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	s := fmt.Sprintf("[… %d frames left out", len(frames))
	if len(frames) == 1 {
		s = "[… 1 frame left out"
	}
	if len(names) > 0 {
		s += " in " + strings.Join(names, ", ")
	}
	return s + "]"
}

// packageOf returns the name of the package that a frame's file belongs to, or "".
func packageOf(line string) string {
	if m := sitePackage.FindStringSubmatch(line); m != nil {
		return m[1] + m[2]
	}
	if m := stdPackage.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	return ""
}
