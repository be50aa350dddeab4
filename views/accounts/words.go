package accounts

import (
	"cmp"
	"slices"

	"github.com/punctual-job/punctual/views/link"
)

// ranges are the ranges of the run list that have a beginning.
func ranges() []string {
	return slices.DeleteFunc(slices.Clone(link.Ranges()), func(r string) bool { return r == link.RangeAll })
}

func (p JobPage) rangeShown() string { return cmp.Or(p.Filter.Range, link.RangeDefault) }

// badges are the icon and the colour of each class; one that is not here has a dashed circle.
var badges = map[string]struct{ icon, tone string }{
	"ontime": {"circle-check", "success"}, "missing": {"circle-help", "failed"}, "doubled": {"copy", "failed"}, "lost": {"circle-x", "failed"},
	"notsent": {"unplug", "failed"}, "skipped": {"skip-forward", ""}, "late": {"history", "late"}, "pending": {"history", "changed"},
	"deleted": {"trash-2", ""}, "unplanned": {"", "late"}, "unknown": {"", "late"}, "stands": {"", "changed"},
}

func image(class string) string { return cmp.Or(badges[class].icon, "circle-dashed") }
