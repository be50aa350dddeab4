package archive

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are what the service tells about itself.
type metrics struct {
	runs    *prometheus.CounterVec
	bytes   prometheus.Counter
	cut     prometheus.Counter
	pushed  prometheus.Counter
	objects *prometheus.CounterVec
	seconds prometheus.Histogram
}

// What became of runs whose output was to be kept, beside the reasons why it was not.
const (
	outcomeKept    = "kept"
	outcomeEmpty   = "empty"    // it wrote nothing
	outcomeLeftOut = "left out" // too many waited
)

func newMetrics(registry prometheus.Registerer, s *Service) *metrics {
	auto := promauto.With(registry)
	auto.NewGaugeFunc(prometheus.GaugeOpts{Name: "punctual_output_waiting", Help: "Runs whose output waits to be copied, of all admins."},
		func() float64 { return float64(s.waiting.Load()) })
	return &metrics{
		runs: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "punctual_outputs_total", Help: "Outputs of runs that were to be kept, by outcome: kept, empty, executor (it could not be asked), missing (it had none), store (it took nothing), left out (too many waited).",
		}, []string{"outcome"}),
		bytes:  auto.NewCounter(prometheus.CounterOpts{Name: "punctual_output_bytes_total", Help: "Bytes of output that executors pushed, or were asked for, to be kept."}),
		pushed: auto.NewCounter(prometheus.CounterOpts{Name: "punctual_outputs_pushed_total", Help: "Outputs that are kept as their executors pushed them; the others were asked for."}),
		cut:    auto.NewCounter(prometheus.CounterOpts{Name: "punctual_outputs_cut_total", Help: "Outputs of which only the beginning and the end are kept, because they are longer than a run may have."}),
		objects: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "punctual_output_objects_total", Help: "Objects of outputs, by what was done: written, refused (by the store), deleted.",
		}, []string{"did"}),
		seconds: auto.NewHistogram(prometheus.HistogramOpts{Name: "punctual_output_write_seconds", Help: "Time of one write to the output store.",
			Buckets: []float64{.001, .002, .005, .01, .02, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}}),
	}
}
