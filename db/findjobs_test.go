package db_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestSearchJobsFindsWhatFindJobsFinds compares the searches in parts, by the index on the names and by those on the handlers and tags with the plain one, and that from the end with its rows,
// also where ids are missing.
func TestSearchJobsFindsWhatFindJobsFinds(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		bounds := [][2]int64{{1, 2000}, {9, 0}, {1, 0}, {2000, 2000}}
		compare := func(f db.JobFilter, found int) {
			t.Helper()
			all, err := db.FindJobs(t.Context(), pool, f, 0, 1000)
			if err != nil {
				t.Fatal(err)
			}
			for _, offset := range []int64{0, 3, 7, 40} {
				for _, limit := range []int64{1, 5, 50} {
					end := all[:max(0, len(all)-int(offset))]
					if got, err := db.FindJobsFromEnd(t.Context(), pool, f, offset, limit); err != nil || !slices.Equal(got, end[max(0, len(end)-int(limit)):]) {
						t.Errorf("%+v from the end but %d, %d: %v, %v, of %v", f, offset, limit, got, err, all)
					}
					want, err := db.FindJobs(t.Context(), pool, f, offset, limit)
					if err != nil {
						t.Fatal(err)
					}
					var got []int64
					for _, bounds := range bounds {
						pool.NewestFirst(bounds[0])
						pool.FewJobs(bounds[1])
						got, err = db.SearchJobs(t.Context(), pool, f, offset, limit)
						if err != nil || !slices.Equal(got, want) {
							t.Errorf("%+v from %d, %d: %v, %v, want %v", f, offset, limit, got, err, want)
						}
					}
					if offset == 0 && limit == 50 && len(got) != found {
						t.Errorf("%+v: %d found, want %d", f, len(got), found)
					}
				}
			}
		}
		compare(db.JobFilter{Text: "%a%"}, 0)
		for i := range 31 {
			desc := fmt.Sprintf("even %d", i)
			if i%2 == 1 {
				desc = fmt.Sprintf("odd %d", i)
			}
			id, err := db.New().InsertJob(t.Context(), pool, db.InsertJobParams{JobGroup: 1, JobDesc: desc, Author: db.Text(desc[:2]), ExecutorHandler: db.Text("do " + desc), Tags: "all," + desc[:3], ScheduleType: "NONE", MisfireStrategy: "DO_NOTHING", GlueType: "BEAN"})
			if err != nil {
				t.Fatal(err)
			}
			if i > 20 && i < 27 {
				if _, err := db.New().DeleteJob(t.Context(), pool, db.DeleteJobParams{ID: id}); err != nil {
					t.Fatal(err)
				}
			}
		}
		compare(db.JobFilter{Text: "%ODD%"}, 12)
		compare(db.JobFilter{Text: "%odd 1%"}, 6)
		compare(db.JobFilter{Text: "%neither%"}, 0)
		compare(db.JobFilter{Text: "%odd 1%", TextIDs: []int64{1, 2, 3, 999}}, 8)
		compare(db.JobFilter{Text: "%neither%", TextIDs: []int64{1}, Groups: []int64{1}}, 1)
		compare(db.JobFilter{Text: "%odd%", Groups: []int64{1, 2}}, 12)
		compare(db.JobFilter{Text: "% 1%"}, 7+4)
		compare(db.JobFilter{Text: "%odd%", Below: 15}, 7)
		compare(db.JobFilter{Text: "%odd%", Below: 1}, 0)
		compare(db.JobFilter{Text: "%odd 13%", TextID: 3}, 2)
		stopped, running := int64(0), int64(1)
		compare(db.JobFilter{Text: "%odd%", Status: &stopped}, 12)
		compare(db.JobFilter{Text: "%odd%", Status: &running}, 0)
		compare(db.JobFilter{Handler: "%O ODD%"}, 12)
		compare(db.JobFilter{Handler: "%odd 1%", Status: &stopped}, 6)
		compare(db.JobFilter{Handler: "%neither%"}, 0)
		compare(db.JobFilter{Author: "%od%"}, 12)
		compare(db.JobFilter{Author: "%od%", Handler: "%1%", Below: 15}, 3)
		compare(db.JobFilter{Tag: "%,odd,%"}, 12)
		compare(db.JobFilter{Tag: "%,all,%", Author: "%od%"}, 12)
		compare(db.JobFilter{Tag: "%,od,%"}, 0)
		compare(db.JobFilter{Tag: "%,ODD,%", Status: &stopped}, 12)
		compare(db.JobFilter{Tag: "%,odd,%", Handler: "%1%"}, 6)
		compare(db.JobFilter{Tag: "%,odd,%", Groups: []int64{1}}, 12)
		compare(db.JobFilter{Text: "%odd 1%", Author: "%od%"}, 6)
		compare(db.JobFilter{Handler: "%odd%", Text: "%1%"}, 6)
		compare(db.JobFilter{Handler: "%%"}, 25)
		compare(db.JobFilter{Name: "odd 1"}, 1)
		compare(db.JobFilter{Name: "odd 1", Groups: []int64{1}, Below: 3}, 1)
		compare(db.JobFilter{Name: "odd"}, 0)
		compare(db.JobFilter{Groups: []int64{1}}, 25)
		compare(db.JobFilter{Groups: []int64{1, 2}, Below: 15}, 14)
		compare(db.JobFilter{Groups: []int64{2}}, 0)
		compare(db.JobFilter{Groups: []int64{1}, Status: &stopped}, 25)
		compare(db.JobFilter{Groups: []int64{1}, Status: &running}, 0)
		compare(db.JobFilter{Groups: []int64{1}, Text: "%odd 1%", Below: 15}, 3)
		compare(db.JobFilter{Groups: []int64{1}, Text: "%odd 13%", TextID: 3}, 2)
		compare(db.JobFilter{Groups: []int64{1}, Author: "%od%", Status: &stopped}, 12)
		compare(db.JobFilter{Groups: []int64{1}, Handler: "%odd 1%"}, 6)
		compare(db.JobFilter{Handler: "%%", Groups: []int64{1}, IDs: []int64{1, 2, 31}}, 3)
		many := make([]int64, 70_000) // more than a statement has placeholders for
		for i := range many {
			many[i] = int64(31 + i)
		}
		compare(db.JobFilter{Groups: []int64{1}, IDs: many}, 1)
		// From ids that far apart on the groups have neither few jobs nor many.
		if _, err := db.New().InsertJob(t.Context(), pool, db.InsertJobParams{JobGroup: 3, JobDesc: "odd last", ExecutorHandler: "do odd 1", Tags: "all,odd", ScheduleType: "NONE", MisfireStrategy: "DO_NOTHING", GlueType: "FLOW"}); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET id = 1000 WHERE job_group = 3"); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET trigger_status = CASE WHEN id < 9 THEN 1 ELSE 2 END, schedule_type = 'CRON' WHERE id < 15"); err != nil {
			t.Fatal(err)
		}
		flows := true
		bounds = [][2]int64{{1, 2000}, {1, 0}, {1, 10}}
		for found, f := range map[int]db.JobFilter{
			26: {}, 14: {Status: &running}, 12: {Status: &stopped}, 13: {Text: "%odd%"}, 10: {Text: "%odd%", TextIDs: []int64{1, 3}, Below: 17},
			7: {Handler: "%odd 1%"}, 4: {Handler: "%odd 1%", Status: &stopped}, 1: {Flows: &flows}, 8: {Handler: "%odd%", Tag: "%,odd,%", Below: 17},
			3: {Held: &db.HeldJobs{IDs: []int64{2, 4, 6}}}, 15: {IDs: []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 1000}},
			0: {Handler: "%neither%"},
		} {
			f.Groups = []int64{1, 3}
			compare(f, found)
		}
	})
}

// TestJobsAreFoundHoweverTheirNamesAreWritten compares texts in the ways that take different paths on MySQL.
func TestJobsAreFoundHoweverTheirNamesAreWritten(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		names := []string{"每日对账 Daily 20:30", "對賬", "Ledger_100% done!", "zwölf 12"}
		for _, name := range names {
			if _, err := db.New().InsertJob(t.Context(), pool, db.InsertJobParams{
				JobGroup: 1, JobDesc: name, Author: db.Text(name), ExecutorHandler: db.Text(name), ScheduleType: "NONE", MisfireStrategy: "DO_NOTHING", GlueType: "BEAN",
			}); err != nil {
				t.Fatal(err)
			}
		}
		for pattern, want := range map[string][]int64{
			"%对账%": {1}, "%對賬%": {2}, "%账 d%": {1}, "%DAILY%": {1}, "%20:30%": {1}, "%0:3%": {1}, "%100!%%": {3}, "%!!%": {3}, "%!_1%": {3}, "%1_0%": {3},
			"%lEDGER%": {3}, "%12%": {4}, "%ZW%": {4}, "%13%": nil, "%账对%": nil, "%20!_30%": nil, "%x%": nil, "%zwölf%": {4},
		} {
			for _, f := range []db.JobFilter{{Text: pattern}, {Author: pattern}, {Handler: pattern}, {Text: pattern, TextID: 99}, {Text: pattern, Groups: []int64{1}}} {
				if got, err := db.SearchJobs(t.Context(), pool, f, 0, 10); err != nil || !slices.Equal(got, want) {
					t.Errorf("%+v: %v, %v, want %v", f, got, err, want)
				}
				if n, err := db.CountJobs(t.Context(), pool, f); err != nil || n != int64(len(want)) {
					t.Errorf("%+v: %d counted, %v, want %d", f, n, err, len(want))
				}
			}
		}
	})
}

// TestJobsAreFoundWhateverTheCollationTakesForTheSame: an index has one of the values that are the same to it, and a pattern may find only another.
func TestJobsAreFoundWhateverTheCollationTakesForTheSame(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		names := []string{"straße", "strasse", "cafe\u0301", "cafe", "ｗｉｄｅ", "wide", "㌔", "キロ", "①", "1", "月结"}
		for _, name := range names {
			if _, err := db.New().InsertJob(t.Context(), pool, db.InsertJobParams{JobGroup: 1, JobDesc: name, ExecutorHandler: db.Text(name), Tags: name, ScheduleType: "NONE", MisfireStrategy: "DO_NOTHING", GlueType: "BEAN"}); err != nil {
				t.Fatal(err)
			}
		}
		for i, name := range names {
			for _, f := range []db.JobFilter{{Tag: "%," + name + ",%"}, {Handler: "%" + name + "%"}} {
				got, err := db.SearchJobs(t.Context(), pool, f, 0, 50)
				if err != nil || !slices.Contains(got, int64(i+1)) {
					t.Errorf("%+v: %v, %v, want %d among them", f, got, err, i+1)
				}
			}
			f := db.JobFilter{Tag: "%," + name + ",%"}
			want, err := db.FindJobs(t.Context(), pool, f, 0, 50)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := db.SearchJobs(t.Context(), pool, f, 0, 50); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %v, %v, want %v", name, got, err, want)
			}
		}
	})
}
