package manage

import (
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestAListFindsChineseNamesAsTheyAreTyped where that is asked for: a program that looks for a text means that one.
func TestAListFindsChineseNamesAsTheyAreTyped(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		for _, name := range []string{"日终结算", "日终 rzjs", "对账"} {
			b.create(t, func(in *JobInput) { in.Name = name })
		}
		b.create(t, func(in *JobInput) { in.Name, in.Group = "日终结算", b.closed })
		for _, tt := range []struct {
			filter JobFilter
			want   int64
		}{
			{JobFilter{Text: "rzjs", Typed: true}, 2}, {JobFilter{Text: "rizhong", Typed: true}, 2}, {JobFilter{Text: "rzjs"}, 1}, {JobFilter{Text: "日终", Typed: true}, 2},
			{JobFilter{Text: "dz", Typed: true}, 1}, {JobFilter{Text: "dz", Typed: true, Handler: "none"}, 0}, {JobFilter{Text: "zz", Typed: true}, 0},
		} {
			tt.filter.Status, tt.filter.Limit = AnyStatus, 10
			list, err := b.Jobs.List(t.Context(), b.user, tt.filter)
			n, counted := b.Jobs.Count(t.Context(), b.user, tt.filter)
			if err != nil || counted != nil || int64(len(list.Jobs)) != tt.want || n != tt.want {
				t.Errorf("%+v: %d listed, %d counted, want %d; %v, %v", tt.filter, len(list.Jobs), n, tt.want, err, counted)
			}
		}
	})
}
