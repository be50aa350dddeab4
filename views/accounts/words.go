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

// tone is the badge's colour.
func tone(class string) string {
	switch class {
	case "ontime":
		return "success"
	case "missing", "doubled", "lost", "notsent":
		return "failed"
	case "late", "unplanned", "unknown":
		return "late"
	case "stands", "pending":
		return "changed"
	default:
		return ""
	}
}

// image is the badge's icon.
func image(class string) string {
	switch class {
	case "ontime":
		return "circle-check"
	case "missing":
		return "circle-help"
	case "doubled":
		return "copy"
	case "lost":
		return "circle-x"
	case "notsent":
		return "unplug"
	case "skipped":
		return "skip-forward"
	case "late", "pending":
		return "history"
	case "deleted":
		return "trash-2"
	default:
		return "circle-dashed"
	}
}
