package scheduler

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/punctual-job/punctual/scheduler/tracing"
)

// namespace begins the name of every metric.
const namespace = "punctual"

// metrics are what the engine tells about itself.
type metrics struct {
	claims           *prometheus.CounterVec
	claimSeconds     prometheus.Histogram
	lateness         prometheus.Histogram
	sends            *prometheus.CounterVec
	recordBatches    prometheus.Histogram
	recordSeconds    prometheus.Histogram
	recordCarried    prometheus.Counter
	finishBatches    prometheus.Histogram
	finishSeconds    prometheus.Histogram
	callbacksIgnored prometheus.Counter
	callsRefused     *prometheus.CounterVec
	takeovers        prometheus.Counter
	adopted          prometheus.Counter
	lost             prometheus.Counter
	clockSteps       prometheus.Counter
	foreign          *prometheus.CounterVec
	wentBack         prometheus.Counter
	conditions       *prometheus.GaugeVec
}

// newMetrics makes the metrics, which are published by being made where there is a registry. It panics if one of them is there
// already: a registry is one engine's.
func newMetrics(registry prometheus.Registerer) *metrics {
	auto := promauto.With(registry)
	counter := func(name, help string) prometheus.Counter {
		return auto.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
	}
	counters := func(name, label, help string) *prometheus.CounterVec {
		return auto.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, []string{label})
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return auto.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets})
	}
	sizes := []float64{1, 2, 5, 10, 25, 50, 100, 250}
	seconds := []float64{.001, .002, .005, .01, .02, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	return &metrics{
		claims: counters("claims_total", "decision",
			"Planned fires decided, by decision: fired, misfired, skipped, conflict (another node had it), locked (left out for a while), refused (the database would not hold it), held back (a round left out because too much is unsent)."),
		claimSeconds:     histogram("claim_seconds", "Time of one claim transaction.", seconds),
		lateness:         histogram("lateness_seconds", "From a run's planned time to its being sent.", seconds),
		sends:            counters("sends_total", "outcome", "Runs sent to executors, by outcome."),
		recordBatches:    histogram("record_batch_size", "Outcomes written together.", sizes),
		recordSeconds:    histogram("record_seconds", "Time of one write of outcomes.", seconds),
		recordCarried:    counter("record_carried_total", "Outcomes written together with their run's result."),
		finishBatches:    histogram("callback_batch_size", "Results written together.", sizes),
		finishSeconds:    histogram("callback_seconds", "Time of one write of results.", seconds),
		callbacksIgnored: counter("callbacks_ignored_total", "Results for runs that are unknown or already had one."),
		callsRefused: counters("executor_calls_refused_total", "reason",
			"Calls of executors that were not taken, by reason: token (wrong), run (results of runs that are not here), name (of a pulling executor, which another one has), copy (of another one's data folder), tooold (XXL-JOB 2.1 and older)."),
		takeovers:  counter("nodes_gone_total", "Admins this one found gone."),
		adopted:    counter("runs_taken_over_total", "Unsent runs taken over from admins that are gone."),
		lost:       counter("runs_lost_total", "Runs given up because their executor is gone."),
		clockSteps: counter("clock_steps_total", "Times the clock of this machine or of the database was set."),
		foreign: counters("foreign_scheduler_total", "sign",
			"Signs of another scheduler on this database: runs it made (run), jobs whose next time it put back (put back)."),
		wentBack: counter("database_went_back_total", "Times the database had forgotten runs that this admin had made, as after a failover to a replica that was behind."),
		conditions: auto.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: "condition",
			Help: "1 while something is not as it should be, as /readyz and the page of the nodes say it."}, []string{"condition"}),
	}
}

// observe counts a length of time, with the trace of the run that took it as an example, if there will be one.
func observe(of prometheus.Observer, d time.Duration, place tracing.Place) {
	if place.TraceID != "" {
		if of, ok := of.(prometheus.ExemplarObserver); ok {
			of.ObserveWithExemplar(d.Seconds(), prometheus.Labels{"trace_id": place.TraceID})
			return
		}
	}
	of.Observe(d.Seconds())
}

// publishState publishes the gauges that read the engine's state.
func (e *Engine) publishState() {
	auto := promauto.With(e.cfg.Registerer)
	gauge := func(name, help string, read func() float64) {
		auto.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, read)
	}
	gauge("timer_runs", "Claimed runs waiting for their time.", func() float64 { return float64(e.timer.len()) })
	gauge("send_queue_runs", "Runs waiting for an executor's queue.", func() float64 { q, _ := e.queues.depth(); return float64(q) })
	gauge("sends_in_flight", "Runs that are being sent to executors.", func() float64 { _, n := e.queues.depth(); return float64(n) })
	gauge("record_queue", "Outcomes waiting to be written.", func() float64 { return float64(len(e.recorder.items) + e.carrier.len()) })
	gauge("callback_queue", "Results waiting to be written.", func() float64 { return float64(len(e.finisher.items)) })
	gauge("unsent_runs", "Runs of this admin that are committed and not recorded as sent.", func() float64 { return float64(e.pending.len()) })
	gauge("clock_database_lead_seconds", "By how much the database's clock is ahead of the time the jobs go by: not 0 after it was set, until that is followed.", func() float64 {
		return e.node.Clocks().Database.Seconds()
	})
	gauge("clock_machine_lead_seconds", "By how much this machine's clock is ahead of the time the jobs go by.", func() float64 {
		return e.node.Clocks().Machine.Seconds()
	})
	gauge("due_unclaimed_seconds", "By how much the oldest due fire of this admin's share is overdue and not claimed.", func() float64 {
		return e.claimer.lag().Seconds()
	})
	gauge("lease_ok", "1 while this admin may claim and send.", func() float64 {
		if e.node.MayAct() {
			return 1
		}
		return 0
	})
}
