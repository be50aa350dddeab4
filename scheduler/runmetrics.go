package scheduler

import (
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/upkeep"
)

// What is measured by executor group has a series for each of so many groups, and for each of so many of the jobs that were asked
// for. What is beyond has the label [restLabel] together, so that neither the memory nor a scrape grows without bound.
const (
	maxGroupLabels = 200
	maxJobLabels   = 1000
	restLabel      = "(other)"
)

// MeasuredJobs are the jobs whose numbers are told apart in the metrics: none of them, all, or some.
type MeasuredJobs struct {
	All bool
	IDs map[int64]bool
}

// ParseMeasuredJobs reads "all" or a list of job ids.
func ParseMeasuredJobs(text string) (MeasuredJobs, error) {
	var m MeasuredJobs
	if strings.TrimSpace(text) == "all" {
		return MeasuredJobs{All: true}, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		id, err := strconv.ParseInt(part, 10, 32)
		if err != nil || id <= 0 {
			return m, &strconv.NumError{Func: "job id", Num: part, Err: strconv.ErrSyntax}
		}
		if m.IDs == nil {
			m.IDs = make(map[int64]bool)
		}
		m.IDs[id] = true
	}
	return m, nil
}

// runMetrics count runs by executor group, and by job where that is wanted. The label job is empty for all other jobs, so that a
// sum over a group is right whatever is chosen.
type runMetrics struct {
	lateness *prometheus.HistogramVec
	results  *prometheus.CounterVec
	retries  *prometheus.CounterVec
	running  *prometheus.GaugeVec

	jobs MeasuredJobs
	name func(group int64) string // its app name; "" where it is not known

	mu     sync.RWMutex
	series map[seriesKey]*runSeries
	groups map[string]bool // the labels in use
	named  int             // of the series, those of single jobs
}

// seriesKey is what is counted by itself; job is 0 for all jobs of the group that are not told apart.
type seriesKey struct{ group, job int64 }

// runSeries are the metrics of a seriesKey.
type runSeries struct {
	group, job string // labels
	lateness   prometheus.Observer
	retries    prometheus.Counter
	running    prometheus.Gauge
	results    [12]prometheus.Counter // by outcome
}

func newRunMetrics(registry prometheus.Registerer, jobs MeasuredJobs, name func(group int64) string) *runMetrics {
	auto := promauto.With(registry)
	labels := []string{"group", "job"}
	return &runMetrics{
		jobs: jobs, name: name, series: make(map[seriesKey]*runSeries), groups: make(map[string]bool),
		lateness: auto.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: "run_lateness_seconds",
			Help: "From a run's planned time to its being sent, by executor group.", Buckets: []float64{.005, .02, .1, .25, .5, 1, 2.5, 5, 30, 300}}, labels),
		results: auto.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "run_results_total",
			Help: "Runs that ended, by executor group and how."}, []string{"group", "job", "result"}),
		retries: auto.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "run_retries_total",
			Help: "Further attempts of failed runs, by executor group."}, labels),
		running: auto.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: "runs_running",
			Help: "Runs that an executor has and that have no result, of the jobs that this admin looks after, by executor group."}, labels),
	}
}

func (m *runMetrics) of(group, job int64) *runSeries {
	key := seriesKey{group: group}
	if m.jobs.All || m.jobs.IDs[job] {
		key.job = job
	}
	m.mu.RLock()
	s := m.series[key]
	m.mu.RUnlock()
	if s != nil {
		return s
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.series[key]; s != nil {
		return s
	}
	return m.make(key)
}

// make is called with the lock.
func (m *runMetrics) make(key seriesKey) *runSeries {
	s := &runSeries{group: m.name(key.group)}
	if s.group == "" || !m.groups[s.group] && len(m.groups) >= maxGroupLabels {
		s.group, key = restLabel, seriesKey{}
	}
	if key.job != 0 {
		if s.job = strconv.FormatInt(key.job, 10); m.named >= maxJobLabels {
			s.job, key.job = restLabel, -1
		}
	}
	if made := m.series[key]; made != nil {
		return made
	}
	if key.job > 0 {
		m.named++
	}
	if s.group != restLabel {
		m.groups[s.group] = true
	}
	s.lateness, s.retries = m.lateness.WithLabelValues(s.group, s.job), m.retries.WithLabelValues(s.group, s.job)
	s.running = m.running.WithLabelValues(s.group, s.job)
	for _, o := range event.AllOutcomes() {
		if o.Ended() { // from 0 on, so that the first of them is seen as an increase
			s.results[o] = m.results.WithLabelValues(s.group, s.job, o.String())
		}
	}
	m.series[key] = s
	return s
}

// counted is told of runs that went from one state to another.
func (m *runMetrics) counted(changes []upkeep.Change) {
	for _, c := range changes {
		switch {
		case c.From == upkeep.StateNone && c.Retry:
			m.of(c.Group, c.Job).retries.Inc()
		case c.From <= upkeep.StateRunning && c.Outcome.Ended(): // not one that was decided before
			m.of(c.Group, c.Job).results[c.Outcome].Inc()
		}
	}
}

// setRunning publishes how many runs of each job are under way.
func (m *runMetrics) setRunning(runs map[seriesKey]int) {
	sum := make(map[*runSeries]int, len(runs))
	for key, n := range runs {
		sum[m.of(key.group, key.job)] += n
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, s := range m.series {
		s.running.Set(float64(sum[s]))
	}
}

// keep makes the series of the groups that there are, and forgets those of groups that have gone or have another name.
func (m *runMetrics) keep(groups map[int64]*group) {
	names := make(map[string]bool, len(groups))
	for _, g := range groups {
		names[g.appName] = true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, s := range m.series {
		if g := groups[key.group]; s.group != restLabel && (g == nil || g.appName != s.group) {
			delete(m.series, key)
			if key.job > 0 {
				m.named--
			}
		}
	}
	for name := range m.groups {
		if !names[name] {
			delete(m.groups, name)
			for _, v := range []interface{ DeletePartialMatch(prometheus.Labels) int }{m.lateness, m.results, m.retries, m.running} {
				v.DeletePartialMatch(prometheus.Labels{"group": name})
			}
		}
	}
	for id := range groups {
		if key := (seriesKey{group: id}); m.series[key] == nil && len(m.groups) < maxGroupLabels {
			m.make(key)
		}
	}
}
