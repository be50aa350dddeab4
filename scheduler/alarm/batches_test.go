package alarm

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
)

// TestWhichMessagesAreOne: those of one recipient, however it is spelled, that are many, or that quiet hours have only counted. What is raised to the
// next level is not mixed with what is not.
func TestWhichMessagesAreOne(t *testing.T) {
	t.Parallel()
	due := func(n int, first int64, recipient string, counted, escalated int64) (rows []db.ListDueAlarmDeliveriesRow) {
		for i := range n {
			rows = append(rows, db.ListDueAlarmDeliveriesRow{ID: first + int64(i), Recipient: recipient, Counted: counted, Escalated: escalated})
		}
		return rows
	}
	many := mergeAbove + 1
	for name, tt := range map[string]struct {
		due    [][]db.ListDueAlarmDeliveriesRow
		single bool
		want   string
	}{
		"few":                          {[][]db.ListDueAlarmDeliveriesRow{due(2, 1, "ann", 0, 0)}, false, "[[1] [2]]"},
		"as many as go one by one":     {[][]db.ListDueAlarmDeliveriesRow{due(mergeAbove, 1, "ann", 0, 0)}, false, "[[1] [2] [3] [4] [5]]"},
		"many":                         {[][]db.ListDueAlarmDeliveriesRow{due(many, 1, "ann", 0, 0)}, false, "[[1 2 3 4 5 6]]"},
		"many, each of which counts":   {[][]db.ListDueAlarmDeliveriesRow{due(many, 1, "ann", 0, 0)}, true, "[[1] [2] [3] [4] [5] [6]]"},
		"many of two spellings":        {[][]db.ListDueAlarmDeliveriesRow{due(3, 1, "ann", 0, 0), due(3, 4, "ANN", 0, 0)}, false, "[[1 2 3 4 5 6]]"},
		"few of each of two":           {[][]db.ListDueAlarmDeliveriesRow{due(3, 1, "ann", 0, 0), due(3, 4, "bob", 0, 0)}, false, "[[1] [2] [3] [4] [5] [6]]"},
		"many, half of them escalated": {[][]db.ListDueAlarmDeliveriesRow{due(3, 1, "ann", 0, 0), due(3, 4, "ann", 0, 1)}, false, "[[1] [2] [3] [4] [5] [6]]"},
		"many of each":                 {[][]db.ListDueAlarmDeliveriesRow{due(many, 1, "ann", 0, 0), due(many, 7, "ann", 0, 1)}, false, "[[1 2 3 4 5 6] [7 8 9 10 11 12]]"},
		"few that were counted":        {[][]db.ListDueAlarmDeliveriesRow{due(2, 1, "ann", 1, 0), due(1, 3, "ann", 0, 0)}, false, "[[1 2] [3]]"},
	} {
		var all []db.ListDueAlarmDeliveriesRow
		for _, rows := range tt.due {
			all = append(all, rows...)
		}
		if diff := cmp.Diff(tt.want, fmt.Sprint(batches(all, tt.single))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
