package scheduler

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/upkeep"
)

// published are the samples of a registry that are not 0, as "name{group,job,result}".
func published(t *testing.T, registry *prometheus.Registry, names ...string) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]float64)
	for _, f := range families {
		for _, name := range names {
			if f.GetName() != name {
				continue
			}
			for _, m := range f.GetMetric() {
				key := name
				for _, l := range m.GetLabel() {
					key += " " + l.GetName() + "=" + l.GetValue()
				}
				n := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
				if n != 0 {
					got[key] += n
				}
			}
		}
	}
	return got
}

func TestRunsAreMeasuredByGroupAndByTheJobsThatWereChosen(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		registry := prometheus.NewRegistry()
		b, sweep := sweeping(t, pool, func(c *Config) { c.Registerer, c.MeasuredJobs = registry, MeasuredJobs{IDs: map[int64]bool{2: true}} }, addressA)
		b.executors.run = func(_ wire.Target, req *wire.RunRequest) (wire.Answer, error) {
			if req.ExecutorHandler == "refused" {
				return wire.Answer{Code: wire.CodeFail, Msg: "no such handler"}, nil
			}
			return yes, nil
		}
		plain := b.addJob(nil)
		chosen := b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount = 1 })
		if plain != 1 || chosen != 2 {
			t.Fatalf("jobs %d and %d", plain, chosen)
		}
		refused := b.addJob(func(p *db.InsertJobParams) { p.ExecutorHandler = "refused" })
		b.finish(b.trigger(plain), 200, "")
		b.trigger(plain)
		b.finish(b.trigger(chosen), 500, "")
		b.trigger(refused)
		b.await("the retry is made", func() bool { return len(b.allRuns()) == 5 })
		b.settled()
		sweep()
		got := published(t, registry, "punctual_run_lateness_seconds", "punctual_run_results_total", "punctual_run_retries_total", "punctual_runs_running")
		if diff := cmp.Diff(map[string]float64{
			"punctual_run_lateness_seconds group=orders job=":               3,
			"punctual_run_lateness_seconds group=orders job=2":              2,
			"punctual_run_results_total group=orders job= result=succeeded": 1,
			"punctual_run_results_total group=orders job= result=notsent":   1,
			"punctual_run_results_total group=orders job=2 result=failed":   1,
			"punctual_run_retries_total group=orders job=2":                 1,
			"punctual_runs_running group=orders job=":                       1,
			"punctual_runs_running group=orders job=2":                      1,
		}, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTheSeriesOfGroupsAndJobsAreBounded(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	m := newRunMetrics(registry, MeasuredJobs{All: true}, func(id int64) string { return fmt.Sprint("g", id) })
	for group := int64(1); group <= 2*maxGroupLabels; group++ {
		for job := int64(1); job <= 20; job++ {
			m.counted([]upkeep.Change{{Group: group, Job: group*100 + job, From: upkeep.StateRunning, To: upkeep.StateSucceeded, Outcome: event.Succeeded}})
		}
	}
	got := published(t, registry, "punctual_run_results_total")
	var sum float64
	for _, n := range got {
		sum += n
	}
	if sum != 2*maxGroupLabels*20 {
		t.Errorf("%v runs were counted", sum)
	}
	if most := maxJobLabels + maxGroupLabels + 2; len(got) > most {
		t.Errorf("%d series, want at most %d", len(got), most)
	}
	m.keep(map[int64]*group{7: {id: 7, appName: "g7"}})
	for key := range published(t, registry, "punctual_run_results_total") {
		if key != "punctual_run_results_total group=(other) job= result=succeeded" && key[:36] != "punctual_run_results_total group=g7 " {
			t.Errorf("%s is of a group that has gone", key)
		}
	}
}

func TestMeasuredJobsAreAllOrAList(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]MeasuredJobs{"": {}, "all": {All: true}, " 3, 12 ": {IDs: map[int64]bool{3: true, 12: true}}, "2147483647": {IDs: map[int64]bool{math.MaxInt32: true}}} {
		if got, err := ParseMeasuredJobs(text); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"some", "3,-1", "0"} {
		if _, err := ParseMeasuredJobs(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
