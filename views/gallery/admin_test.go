package gallery

import (
	"time"

	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/groups"
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

func (f fakes) groupDetail() groups.DetailPage {
	at := func(host string, s groups.AddressState, ago time.Duration, era string, inFlight, queued int) groups.Address {
		a := groups.Address{URL: "http://" + host + ":9999/", State: s, Era: era, InFlight: inFlight, Queued: queued}
		if ago > 0 {
			a.Beat = f.at(-ago)
		}
		return a
	}
	return groups.DetailPage{
		Page: f.page("/executors/3"), ID: 3, AppName: "reporting", Title: f.zh("报表中心", "Reporting"), Jobs: 1204, CanEdit: true,
		Addresses: []groups.Address{
			at("10.2.0.41", groups.AddressOnline, 11*time.Second, "", 3, 0), at("10.2.0.42", groups.AddressLate, 70*time.Second, "J4", 0, 2),
			at("10.2.0.43", groups.AddressSuspect, 40*time.Second, "", 0, 118), at("10.2.0.44", groups.AddressDisabled, 9*time.Second, "", 1, 0),
		},
		Token:   groups.TokenCard{GroupID: 3, Own: true, Token: "k7x2m4qwz5tv6yb3ncsd2rje4p", Previous: f.at(20 * time.Hour)},
		Connect: groups.Connect{AdminURL: "https://jobs.example.com", AppName: "reporting", Token: "k7x2m4qwz5tv6yb3ncsd2rje4p"},
	}
}

func (f fakes) groupLost() groups.DetailPage {
	return groups.DetailPage{
		Page: f.page("/executors/4"), ID: 4, AppName: "legacy-billing", Title: f.zh("旧账务系统", "Legacy billing"), CanEdit: true,
		Token: groups.TokenCard{GroupID: 4, Fixed: true}, Connect: groups.Connect{AdminURL: "http://10.1.0.11:8080", AppName: "legacy-billing", Token: "<" + f.T("token.title") + ">", Secret: true},
	}
}
