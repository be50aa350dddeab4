package db_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// fullJob has a value of its own in every field.
func fullJob(t testing.TB) jobspec.Job {
	t.Helper()
	i := 0
	j, faults := jobspec.Read(func(f *jobspec.Field) string {
		i++
		switch f.Kind {
		case jobspec.Number:
			return fmt.Sprint(i)
		case jobspec.Moments:
			return fmt.Sprintf("2026-01-02 03:04:%02d", i)
		case jobspec.Choice:
			return f.Options[len(f.Options)-1]
		case jobspec.Text, jobspec.List, jobspec.Flag:
		}
		return f.Name
	}, time.UTC)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	j.ID = 7
	return j
}

// A field that is stored by one query and not by another, or not read back, would be lost when a job is saved.
func TestARowHoldsTheWholeDefinition(t *testing.T) {
	t.Parallel()
	want := fullJob(t)
	row := reflect.New(reflect.TypeFor[db.Job]()).Elem()
	for _, from := range []reflect.Value{reflect.ValueOf(db.JobRow(want)), reflect.ValueOf(db.JobChange(want))} {
		theirs := []string{"JobGroup", "AddTime", "UpdateTime", "GlueUpdateTime", "NewNextTime", "OldNextTime", "OldStatus", "OldRevision"}
		for i := range from.NumField() {
			name := from.Type().Field(i).Name
			if from.Field(i).IsZero() != slices.Contains(theirs, name) {
				t.Errorf("%s.%s: %v", from.Type(), name, from.Field(i))
			}
			if field := row.FieldByName(name); !from.Field(i).IsZero() {
				field.Set(from.Field(i))
			}
		}
	}
	if diff := cmp.Diff(want, row.Interface().(db.Job).Spec()); diff != "" {
		t.Errorf("what was stored is read as (-want +got):\n%s", diff)
	}
	state := []string{"JobGroup", "AddTime", "UpdateTime", "GlueUpdateTime", "TriggerStatus", "TriggerLastTime", "TriggerNextTime", "Revision", "ClaimedUntil", "PausedAt", "PausedNext", "PausedRev"}
	for i := range row.NumField() {
		if name := row.Type().Field(i).Name; row.Field(i).IsZero() && !slices.Contains(state, name) {
			t.Errorf("the column of Job.%s belongs to no field of a definition", name)
		}
	}
}

func BenchmarkSpec(b *testing.B) {
	row := db.Job{ID: 1, JobDesc: "d", ScheduleConf: "30", ExecutorHandler: "h", MaxConcurrent: 2, Tags: "a,b"}
	b.ReportAllocs()
	for b.Loop() {
		spec = row.Spec()
	}
}

var spec jobspec.Job
