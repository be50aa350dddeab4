package gallery

import (
	"time"

	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/nodes"
)

// The fake data of the pages for administrators.

func (f fakes) nodes() nodes.ListPage {
	return nodes.ListPage{
		Page: f.page("/nodes"),
		Rows: []nodes.Row{
			{ID: 12, Name: "scheduler-1", Address: "http://10.1.0.11:8080", Version: "0.1.0", State: nodes.StateLive, Self: true, Started: f.at(-50 * time.Hour), Beat: f.at(-400 * time.Millisecond), Low: 90432},
			{ID: 13, Name: "scheduler-2", Address: "http://10.1.0.12:8080", Version: "0.1.0", State: nodes.StateLive, Started: f.at(-49 * time.Hour), Beat: f.at(-900 * time.Millisecond), Low: 90431},
			{ID: 14, Name: "scheduler-3", Address: "http://10.1.0.13:8080", Version: "0.1.0", State: nodes.StateSilent, Started: f.at(-3 * time.Hour), Beat: f.at(-4 * time.Second), Low: 90420},
			{ID: 9, Name: "scheduler-3", Address: "http://10.1.0.13:8080", Version: "0.0.9", State: nodes.StateGone, Started: f.at(-200 * time.Hour), Beat: f.at(-4 * time.Minute), Low: 90120},
		},
		Load: nodes.Load{Name: "scheduler-1", MayAct: true, Lease: format.Duration(f.Printer, 5*time.Second), Planned: 1842, Queued: 12, InFlight: 31, Unsent: 1885, Results: 40},
	}
}
