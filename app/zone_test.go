package app

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
)

// TestAnotherZoneOfTheMachineIsRefused: a container without a zone, or a machine whose zone somebody changed, would run every daily job at
// another hour, and say nothing of it.
func TestAnotherZoneOfTheMachineIsRefused(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		var log bytes.Buffer
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		ask := func(zone *time.Location, kept string) (string, error) {
			t.Helper()
			log.Reset()
			o.Zone, o.Listener = zone, testOptions(t).Listener // the one before has closed its own
			a, err := New(t.Context(), o)
			if err != nil {
				return log.String(), err
			}
			s := settings{pool: a.pool, queries: db.New(), now: time.Now}
			if kept != "" {
				if err := s.set(t.Context(), settingZone, kept); err != nil {
					t.Fatal(err)
				}
			}
			said := log.String()
			if got, err := s.get(t.Context(), settingZone); err != nil || kept == "" && !strings.HasPrefix(got, zone.String()+" UTC") {
				t.Errorf("kept %q, %v", got, err)
			}
			if err := a.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			return said, nil
		}
		const another = "time zone is another one"
		if said, err := ask(time.Local, ""); err != nil || strings.Contains(said, another) {
			t.Fatalf("the first start: %v\n%s", err, said)
		}
		if said, err := ask(time.Local, "Pacific/Nowhere UTC-11:15 UTC-11:15"); err != nil || strings.Contains(said, another) {
			t.Fatalf("the same zone: %v\n%s", err, said)
		}
		_, err := ask(time.Local, "")
		if _, is := errors.AsType[*OptionsError](err); !is || !strings.Contains(err.Error(), "Set PUNCTUAL_TIME_ZONE") || !strings.HasSuffix(err.Error(), "Pacific/Nowhere to go on as before") {
			t.Errorf("another zone of the machine: %v", err)
		}
		if said, err := ask(time.FixedZone("Somewhere", 5*3600), ""); err != nil || !strings.Contains(said, another) || !strings.Contains(said, "Pacific/Nowhere") {
			t.Errorf("another zone that somebody set: %v\n%s", err, said)
		}
		if said, err := ask(time.FixedZone("Somewhere", 5*3600), "Local UTC+05:00 UTC-11:15"); err != nil || strings.Contains(said, another) {
			t.Errorf("the same zone that somebody set: %v\n%s", err, said)
		}
		_, winter, _ := zoneOffsets(time.Local, time.Now())
		if _, err := ask(time.FixedZone("Somewhere", 5*3600), "Halfway "+winter+" UTC-11:15"); err != nil {
			t.Fatal(err)
		}
		if said, err := ask(time.Local, ""); err != nil || !strings.Contains(said, another) {
			t.Errorf("a zone of the machine that differs half of the year: %v\n%s", err, said)
		}
	})
}

func TestTheZoneToGoOnWithIsNamed(t *testing.T) {
	t.Parallel()
	for kept, want := range map[string]string{
		"Asia/Tokyo UTC+09:00 UTC+09:00": "Asia/Tokyo",
		"Local UTC+08:00 UTC+08:00":      "Asia/Shanghai",
		"Local UTC+00:00 UTC+00:00":      "UTC",
		"Local UTC+07:00 UTC+07:00":      "the name of a zone with UTC+07:00",
		"Local UTC+01:00 UTC+02:00":      "the name of a zone with UTC+01:00 and UTC+02:00",
	} {
		if got := suggestedZone(strings.Split(kept, " ")); got != want {
			t.Errorf("%s: %s, want %s", kept, got, want)
		}
	}
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	if name, winter, summer := zoneOffsets(berlin, now); name != "Europe/Berlin" || winter != "UTC+01:00" || summer != "UTC+02:00" {
		t.Errorf("%s %s %s", name, winter, summer)
	}
}
