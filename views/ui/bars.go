package ui

import (
	"strconv"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler/runstate"
	"github.com/punctual-job/punctual/views/format"
)

// RunBars are the newest runs of a job as bars, oldest first: as high as they took, in the colour of their end.
type RunBars struct {
	Bars  []RunBar
	Label string  // what they come to, in words
	Top   string  // how long a bar of the full height took
	Usual float64 // how high the usual duration stands, of 100; 0: unknown
	Marks []BarMark
}

// BarMark is a note between runs.
type BarMark struct {
	Before int // the bar that it stands before; len(Bars): behind the newest
	Text   string
}

// RunBar is one run among others of its job.
type RunBar struct {
	LogID    int64
	State    runstate.State
	At       format.Time
	Duration string  // empty while not sent
	Height   float64 // of 100
	Cut      bool    // it took longer than the picture is high
	Retried  bool    // it failed and was tried again
	Unlike   string  // "×6.3" of a run that is unlike the job's past; may be empty
	This     bool    // the one that the page is about
}

// MaxBars is how many runs the bars have room for. Fewer end at the right, where the newest stands.
const MaxBars = 50

// barStep is the width of a bar with its gap, in the units of the picture.
const barStep = 10

func (b RunBars) x(i, inset int) string { return strconv.Itoa((MaxBars-len(b.Bars)+i)*barStep + inset) }

// ends is what stands under the bars, to the left and to the right: since when they are, and until when. Fewer bars than there is room for
// begin somewhere in the middle, so both stand at their end.
func (b RunBars) ends() [2]string {
	first, last := b.Bars[0].At.Relative, b.Bars[len(b.Bars)-1].At.Relative
	switch {
	case len(b.Bars) >= MaxBars*9/10:
		return [2]string{first, last}
	case first == last:
		return [2]string{"", last}
	}
	return [2]string{"", first + " – " + last}
}

func barHeight(of float64) string { return strconv.FormatFloat(of, 'f', 1, 64) }

func barTop(of float64) string { return strconv.FormatFloat(100-of, 'f', 1, 64) }

// Tone is the class that colours a bar.
func (b RunBar) Tone() string {
	if b.Retried {
		return "retried"
	}
	switch b.State {
	case runstate.Success:
		return "ok"
	case runstate.Waiting, runstate.Sent:
		return "open"
	case runstate.Killed:
		return "ended"
	case runstate.Skipped, runstate.Discarded, runstate.Cancelled:
		return "passed"
	default:
		return "bad"
	}
}

// Stands says how the run stands, and that it was tried again.
func (b RunBar) Stands(p *locales.Printer) string {
	if b.Retried {
		return p.T("bars.retried", "State", p.T("state."+string(b.State)))
	}
	return p.T("state." + string(b.State))
}

// title says of a bar what its row in the table says.
func (b RunBar) title(p *locales.Printer) string {
	s := "#" + format.Digits(b.LogID) + " · " + b.Stands(p) + " · " + b.At.Absolute
	for _, more := range []string{b.Duration, b.Unlike} {
		if more != "" {
			s += " · " + more
		}
	}
	return s
}
