package present

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Limits of a table as text.
const (
	tableRows    = 10 // rows shown
	tableColumns = 14 // columns shown
	tableCell    = 40 // characters of a cell
	maxSpan      = 500
	maxTableRows = 5000 // rows read at all
)

// table is the first table of an HTML text.
type table struct {
	header [][]string
	rows   [][]string
	frame  bool   // of class "dataframe"
	index  int    // columns at the left that name the rows
	note   string // text around the table that tells its shape
}

var (
	shapeNote  = regexp.MustCompile(`([\d,]+)\s*rows?\s*[×x]\s*([\d,]+)\s*columns?`)
	polarsNote = regexp.MustCompile(`shape:\s*\(([\d_,]+?),\s*([\d_]+)\)`)
)

// parseTable reads the first table of s. ok is false when there is none.
func parseTable(s string) (t table, ok bool) {
	p := tableParser{}
	htmlTokens(s, p.token)
	p.endRow()
	p.out.note = strings.Join(strings.Fields(p.note.String()), " ")
	return p.out, p.seen && len(p.out.rows)+len(p.out.header) > 0
}

// tableParser collects rows. Only the outermost table counts; one inside a
// cell is text.
type tableParser struct {
	out    table
	seen   bool
	depth  int
	inHead bool
	row    []string
	inRow  bool
	heads  int  // header cells at the left of the open row
	isHead bool // the open cell is a header cell
	cell   *strings.Builder
	span   int         // columns of the open cell
	down   int         // rows of the open cell below this one
	carry  map[int]int // column → rows for which a cell above still reaches down
	note   strings.Builder
}

func (p *tableParser) token(t htmlToken) bool {
	if t.tag == "table" {
		p.table(t)
		return true
	}
	if p.depth != 1 {
		p.text(t)
		return true
	}
	switch t.tag {
	case "thead", "tbody":
		p.endRow()
		p.inHead = t.tag == "thead" && !t.end
	case "tr":
		p.endRow()
		p.inRow = !t.end
	case "td", "th":
		p.endCell()
		if !t.end {
			p.inRow = true
			p.cell = &strings.Builder{}
			p.isHead = t.tag == "th"
			p.span, p.down = spanOf(t.attr("colspan")), spanOf(t.attr("rowspan"))-1
		}
	default:
		p.text(t)
	}
	return len(p.out.rows) < maxTableRows
}

func (p *tableParser) table(t htmlToken) {
	switch {
	case t.end:
		if p.depth == 1 {
			p.endRow()
		}
		p.depth = max(p.depth-1, 0)
	case p.depth > 0 || !p.seen:
		if p.depth == 0 {
			p.seen = true
			p.out.frame = strings.Contains(" "+t.attr("class")+" ", " dataframe ")
		}
		p.depth++
	}
}

func (p *tableParser) text(t htmlToken) {
	text := t.text
	if t.tag != "" {
		text = " "
		if !blockTags[t.tag] && t.tag != "td" && t.tag != "th" {
			return
		}
	}
	switch {
	case p.cell != nil:
		if p.cell.Len() < 16*tableCell {
			p.cell.WriteString(text)
		}
	case p.depth == 0 && p.note.Len() < 4096:
		p.note.WriteString(text)
	}
}

func spanOf(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		return 1
	}
	return min(max(n, 1), maxSpan)
}

func (p *tableParser) endCell() {
	if p.cell == nil {
		return
	}
	p.fill()
	text := strings.Join(strings.Fields(ApplyTerminal(p.cell.String())), " ")
	p.cell = nil
	if p.isHead && p.heads == len(p.row) {
		p.heads += p.span
	}
	for i := range p.span {
		if len(p.row) >= maxSpan {
			return
		}
		if p.down > 0 {
			if p.carry == nil {
				p.carry = map[int]int{}
			}
			p.carry[len(p.row)] = p.down + 1 // this row takes one away at its end
		}
		if i > 0 {
			text = ""
		}
		p.row = append(p.row, text)
	}
}

// fill adds empty cells where cells of rows above reach down.
func (p *tableParser) fill() {
	for p.carry[len(p.row)] > 0 && len(p.row) < maxSpan {
		if p.heads == len(p.row) {
			p.heads++
		}
		p.row = append(p.row, "")
	}
}

func (p *tableParser) endRow() {
	p.endCell()
	if !p.inRow {
		return
	}
	p.fill()
	for c := range p.carry {
		if p.carry[c]--; p.carry[c] <= 0 {
			delete(p.carry, c)
		}
	}
	switch n := len(p.row); {
	case n == 0:
	case p.inHead, p.heads == n && len(p.out.rows) == 0:
		p.out.header = append(p.out.header, p.row)
	default:
		if len(p.out.rows) == 0 {
			p.out.index = p.heads
		}
		p.out.rows = append(p.out.rows, p.row)
	}
	p.row, p.inRow, p.heads = nil, false, 0
}

// shape returns the rows and columns of the data, which may be more than the
// table shows.
func (t table) shape() (rows, columns int64, ok bool) {
	for _, re := range []*regexp.Regexp{shapeNote, polarsNote} {
		if m := re.FindStringSubmatch(t.note); m != nil {
			clean := strings.NewReplacer(",", "", "_", "")
			rows, err1 := strconv.ParseInt(clean.Replace(m[1]), 10, 64)
			columns, err2 := strconv.ParseInt(clean.Replace(m[2]), 10, 64)
			if err1 == nil && err2 == nil {
				return rows, columns, true
			}
		}
	}
	return 0, 0, false
}

// width returns the number of columns of the widest row.
func (t table) width() int {
	n := 0
	for _, r := range append(t.header[:len(t.header):len(t.header)], t.rows...) {
		n = max(n, len(r))
	}
	return n
}

// title returns the line that tells what the table is and how large.
func (t table) title() string {
	kind := "Table"
	if t.frame {
		kind = "DataFrame"
	}
	rows, columns, ok := t.shape()
	if !ok {
		rows, columns = int64(len(t.rows)), int64(t.width()-t.index)
	}
	return fmt.Sprintf("%s, %s rows × %s columns", kind, thousands(rows), thousands(columns))
}

// String returns the title and the first rows.
func (t table) String() string {
	var b strings.Builder
	b.WriteString(t.title())
	for _, r := range t.header {
		b.WriteString("\n" + t.line(r, fmt.Sprintf("[%d more]", len(r)-tableColumns)))
	}
	for i, r := range t.rows {
		if i == tableRows && len(t.rows) > tableRows+1 {
			fmt.Fprintf(&b, "\n[… %s more rows shown to people]", thousands(int64(len(t.rows)-tableRows)))
			break
		}
		b.WriteString("\n" + t.line(r, "…"))
	}
	if w := t.width(); w > tableColumns && len(t.header) > 0 {
		b.WriteString("\nAll columns: " + Cut(strings.Join(t.header[0][min(t.index, len(t.header[0])):], ", "), 1500))
	}
	return b.String()
}

// line returns a row, with more in place of the columns that are too many.
func (t table) line(row []string, more string) string {
	cells := make([]string, 0, tableColumns+1)
	for i, c := range row {
		if i == tableColumns && len(row) > tableColumns+1 {
			cells = append(cells, more)
			break
		}
		cells = append(cells, CutRunes(c, tableCell))
	}
	return strings.TrimRight(strings.Join(cells, " | "), " ")
}
