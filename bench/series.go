package main

import (
	"slices"
	"time"
)

// series are the measurements of one subject, in order of the rounds.
type series []time.Duration

// quantile returns the measurement below which the part q of all lies.
func (s series) quantile(q float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}

func (s series) p50() time.Duration { return s.quantile(0.5) }

func (s series) p95() time.Duration { return s.quantile(0.95) }

func (s series) min() time.Duration { return s.quantile(0) }

// over returns the median of the ratios to another series, round by round, so
// that what slows down both does not count.
func (s series) over(other series) float64 {
	n := min(len(s), len(other))
	ratios := make([]float64, 0, n)
	for i := range n {
		if other[i] > 0 {
			ratios = append(ratios, float64(s[i])/float64(other[i]))
		}
	}
	if len(ratios) == 0 {
		return 0
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}

// subject is something that is measured. run does the work once and says how
// long it took; round tells the rounds apart.
type subject struct {
	name string
	run  func(round int) (time.Duration, error)
}

// timed makes a run of work that is timed from the outside.
func timed(work func(round int) error) func(int) (time.Duration, error) {
	return func(round int) (time.Duration, error) {
		began := time.Now()
		err := work(round)
		return time.Since(began), err
	}
}

// inTurns measures the subjects in turns, each first as often as the others,
// with the same gap before every run. The first rounds are not counted.
func inTurns(subjects []subject, rounds, warmup int, gap time.Duration) ([]series, error) {
	all := make([]series, len(subjects))
	for round := range warmup + rounds {
		for k := range subjects {
			k = (k + round) % len(subjects)
			time.Sleep(gap)
			took, err := subjects[k].run(round)
			if err != nil {
				return nil, failed(subjects[k].name, err)
			}
			if round >= warmup {
				all[k] = append(all[k], took)
			}
		}
	}
	return all, nil
}
