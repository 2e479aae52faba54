package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// row is one figure of the report.
type row struct {
	Section  string  `json:"section"`
	Name     string  `json:"name"`
	Unit     string  `json:"unit"` // ms, bytes or MB
	N        int     `json:"n"`
	P50      float64 `json:"p50"`
	P95      float64 `json:"p95,omitempty"`
	Min      float64 `json:"min,omitempty"`
	Ratio    float64 `json:"ratio,omitempty"`     // to the subject RatioTo, median of all rounds
	MinRatio float64 `json:"min_ratio,omitempty"` // of the smallest measurements
	RatioTo  string  `json:"ratio_to,omitempty"`
	Target   *target `json:"target,omitempty"`
	Met      *bool   `json:"met,omitempty"`
}

// target is what a figure should not exceed.
type target struct {
	Value   float64 `json:"value"`
	IsRatio bool    `json:"is_ratio"`
}

func atMost(value float64) *target { return &target{Value: value} }

func timesAtMost(ratio float64) *target { return &target{Value: ratio, IsRatio: true} }

// report collects rows and prints them.
type report struct {
	Rows   []row    `json:"rows"`
	Stages []stages `json:"stages,omitempty"`
	Notes  []string `json:"notes,omitempty"`
}

const unitMS, unitBytes, unitMB = "ms", "bytes", "MB"

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// durations adds a row of times; base, when it has a name, is what they are compared with.
func (r *report) durations(section, name string, s, base series, baseName string, t *target) {
	x := row{Section: section, Name: name, Unit: unitMS, N: len(s), P50: millis(s.p50()), P95: millis(s.p95()), Min: millis(s.min()), Target: t}
	if baseName != "" && len(base) > 0 {
		x.Ratio, x.RatioTo = s.over(base), baseName
		if base.min() > 0 {
			x.MinRatio = float64(s.min()) / float64(base.min())
		}
	}
	r.add(x)
}

// amount adds a row of one number.
func (r *report) amount(section, name, unit string, n int, value float64, t *target) {
	r.add(row{Section: section, Name: name, Unit: unit, N: n, P50: value, Target: t})
}

func (r *report) add(x row) {
	if x.Target != nil {
		got := x.P50
		if x.Target.IsRatio {
			got = x.Ratio
		}
		met := got <= x.Target.Value
		x.Met = &met
	}
	r.Rows = append(r.Rows, x)
}

func (r *report) note(format string, a ...any) { r.Notes = append(r.Notes, fmt.Sprintf(format, a...)) }

// printJSON writes the report for programs.
func (r *report) printJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// printTable writes the report for people.
func (r *report) printTable(w io.Writer) error {
	section := ""
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, x := range r.Rows {
		if x.Section != section {
			section = x.Section
			if err := tw.Flush(); err != nil {
				return err
			}
			fmt.Fprintf(w, "\n%s\n", section)
			fmt.Fprintln(tw, "  what\tn\tp50\tp95\tmin\tratio\tof the minima\ttarget\t")
		}
		fmt.Fprintf(tw, "  %s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", x.Name, x.N, quantity(x.P50, x.Unit), orDash(x.P95, x.Unit), orDash(x.Min, x.Unit),
			times(x.Ratio, x.RatioTo), times(x.MinRatio, ""), x.Target.text(x.Unit), verdict(x.Met))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, s := range r.Stages {
		if err := s.print(w); err != nil {
			return err
		}
	}
	for i, n := range r.Notes {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, n)
	}
	return nil
}

func quantity(v float64, unit string) string {
	if unit == unitBytes {
		return fmt.Sprintf("%.0f bytes", v)
	}
	return fmt.Sprintf("%.2f %s", v, unit)
}

func orDash(v float64, unit string) string {
	if v == 0 {
		return "-"
	}
	return quantity(v, unit)
}

func times(ratio float64, to string) string {
	switch {
	case ratio == 0:
		return "-"
	case to == "":
		return fmt.Sprintf("%.2f ×", ratio)
	}
	return fmt.Sprintf("%.2f × %s", ratio, to)
}

// text says the target in words; there may be none.
func (t *target) text(unit string) string {
	switch {
	case t == nil:
		return "-"
	case t.IsRatio:
		return fmt.Sprintf("≤ %.3g ×", t.Value)
	case unit == unitBytes:
		return fmt.Sprintf("≤ %.0f %s", t.Value, unit)
	}
	return fmt.Sprintf("≤ %.3g %s", t.Value, unit)
}

func verdict(met *bool) string {
	switch {
	case met == nil:
		return ""
	case *met:
		return "met"
	}
	return "missed"
}
