package app

import (
	"net/http"
	"testing"
)

// TestAnOldJobIsNotChangedByItsForm: a choice that only XXL-JOB, or a hand on the tables, knows stays chosen until somebody chooses
// another, and an executor that is gone has to be. Where nothing was chosen, what the form shows is stored.
func TestAnOldJobIsNotChangedByItsForm(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		root := open(t, a).mustLogin()
		adopted(t, a)
		tests := []struct {
			name, column, value string
			field, other        string // what may be chosen in its place
			kept                string // by a form in which it was not touched; none when that is refused
		}{
			{"a route strategy of nobody's", "executor_route_strategy", "'NEAREST'", "route", "ROUND", "NEAREST"},
			{"a block strategy of nobody's", "executor_block_strategy", "'PARALLEL'", "block", "COVER_EARLY", "PARALLEL"},
			{"a misfire strategy of nobody's", "misfire_strategy", "'LATER'", "misfire", "FIRE_ONCE_NOW", "LATER"},
			{"a schedule type of nobody's", "schedule_type", "'WEEKLY'", "schedule_type", "CRON", "WEEKLY"},
			{"an executor that is gone", "job_group", "999", "group", "1", ""},
			{"no route strategy", "executor_route_strategy", "NULL", "route", "ROUND", "FIRST"},
			{"no block strategy", "executor_block_strategy", "NULL", "block", "COVER_EARLY", "SERIAL_EXECUTION"},
			{"no misfire strategy", "misfire_strategy", "''", "misfire", "FIRE_ONCE_NOW", "DO_NOTHING"},
			{"a kind of nobody's", "glue_type", "'GLUE_PERL'", "", "", "GLUE_PERL"},
		}
		for _, tt := range tests {
			for _, statement := range []string{
				"DELETE FROM xxl_job_info WHERE id = 5",
				"INSERT INTO xxl_job_info (id, job_group, job_desc, author, schedule_type, schedule_conf, misfire_strategy, executor_route_strategy, executor_block_strategy, glue_type, executor_handler, glue_source) " +
					"VALUES (5, 1, 'old', 'ann', 'CRON', '0 0 2 * * ?', 'DO_NOTHING', 'LAST', 'DISCARD_LATER', 'BEAN', 'x', '')",
				"UPDATE xxl_job_info SET " + tt.column + " = " + tt.value + " WHERE id = 5",
			} {
				if _, err := a.pool.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			stored := func() (value string) {
				if err := a.pool.QueryRowContext(t.Context(), "SELECT COALESCE("+tt.column+", 'NULL') FROM xxl_job_info WHERE id = 5").Scan(&value); err != nil {
					t.Fatal(err)
				}
				return value
			}
			starts := root.get("/jobs/5").document(t).Find(`form[action="/jobs/5/start"]`).Length() + root.get("/jobs").document(t).Find(`form[action="/jobs/5/start"]`).Length()
			if want := map[bool]int{true: 2}[tt.column != "schedule_type"]; starts != want { // its page and the list
				t.Errorf("%s: %d buttons start it", tt.name, starts)
			}
			form := formTo(t, root.get("/jobs/5/edit").document(t), "/jobs/5")
			form.Set("name", "renamed")
			got := root.post("/jobs/5", form)
			refused := got.document(t).Find(`.field:has([name="` + tt.field + `"]) .error`).Text()
			switch {
			case tt.kept != "" && (got.status != http.StatusSeeOther || stored() != tt.kept):
				t.Errorf("%s: %d %s, stored %q, want %q", tt.name, got.status, got.document(t).Find(".error").Text(), stored(), tt.kept)
			case tt.kept == "" && (got.status != http.StatusUnprocessableEntity || refused == "" || stored() != tt.value):
				t.Errorf("%s: %d, said %q, stored %q, want it refused there", tt.name, got.status, refused, stored())
			case tt.field != "":
				form = formTo(t, root.get("/jobs/5/edit").document(t), "/jobs/5")
				form.Set(tt.field, tt.other)
				if got := root.post("/jobs/5", form); got.status != http.StatusSeeOther || stored() != tt.other {
					t.Errorf("%s, and another: %d %s, stored %q, want %q", tt.name, got.status, got.document(t).Find(".error").Text(), stored(), tt.other)
				}
			}
		}
	})
}
