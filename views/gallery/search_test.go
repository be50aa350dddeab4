package gallery

import (
	"strings"
	"time"

	"github.com/punctual-job/punctual/scheduler/runstate"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/runs"
	"github.com/punctual-job/punctual/views/ui"
)

func (f fakes) searchedGroups() []ui.Option {
	return []ui.Option{{Value: "1", Label: f.zh("支付网关", "Payments"), Selected: true}, {Value: "2", Label: f.zh("库存", "Stock")}}
}

// searchPage is a search in kept output that goes on.
func (f fakes) searchPage() runs.SearchPage {
	hit := func(before, after string) []runs.MatchPart {
		return []runs.MatchPart{{Text: before}, {Text: "timeout", Hit: true}, {Text: after}}
	}
	p := runs.SearchPage{
		Page: f.page("/runs/search"), Groups: f.searchedGroups(), Asked: true, Filter: link.OutputSearch{RunFilter: link.RunFilter{Text: "timeout", Group: 1}},
		Further: "/runs/search?q=timeout&before=4000", Stop: "/runs/search?q=timeout&stop=1", Going: true,
		Progress:   f.T("search.reached", "Count", 2, "Hits", "2", "Runs", "41,213", "Size", "3.4 GiB", "At", "2026-03-03 02:00:00"),
		Unreadable: f.T("search.unreadable", "Count", 3, "N", "3"),
		Matches: []runs.Match{
			{LogID: 4711, JobID: 7, JobName: f.zh("每日对账", "Reconcile the day"), State: runstate.Failed, At: f.at(-3 * time.Minute), Lines: []runs.MatchLine{
				{Number: 12, Parts: hit("2026-03-04 02:00:01 ERROR ", " of db-1 after 30 s")},
				{Number: 10_412, Parts: hit("java.net.SocketTimeoutException: ", " "+strings.Repeat("com.example.payments.", 12))},
			}, More: f.T("search.more", "Count", 31, "N", "31")},
			{LogID: 4709, JobID: 9, JobName: f.T("runs.jobgone", "ID", "9"), NoJob: true, State: runstate.Lost, At: f.at(-26 * time.Hour), Lines: []runs.MatchLine{{Number: 3, Parts: hit("", "")}}},
		},
	}
	return p
}
