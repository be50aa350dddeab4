package alarm

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are what an operator watches the alarms by.
type metrics struct {
	events     *prometheus.CounterVec
	deliveries *prometheus.CounterVec
	delay      prometheus.Histogram
}

// newMetrics makes the metrics, which are published by being made where there is a registry.
func newMetrics(registry prometheus.Registerer) *metrics {
	auto := promauto.With(registry)
	return &metrics{
		events: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "punctual_alarm_events_total", Help: "Events that may interest somebody, by cause.",
		}, []string{"cause"}),
		deliveries: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "punctual_alarm_deliveries_total", Help: "Tries to send an alarm, by kind of channel and outcome (sent, failed, refused).",
		}, []string{"kind", "outcome"}),
		delay: auto.NewHistogram(prometheus.HistogramOpts{
			Name: "punctual_alarm_delay_seconds", Help: "From the first event of a message that is told at once to its sending.",
			Buckets: []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}),
	}
}
