package alarm

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"github.com/punctual-job/punctual/scheduler"
)

// pagerDutyAPI is where PagerDuty takes events (Events API v2), unless the channel names another receiver that speaks it.
const pagerDutyAPI = "https://events.pagerduty.com/v2/enqueue"

// What the API takes.
const (
	maxPagerSummary = 1_000  // bytes, of 1,024 characters
	maxPagerDetail  = 20_000 // bytes, of 512 KB for the event
)

// What an event does to the incident of its key.
const (
	pagerTrigger     = "trigger"
	pagerAcknowledge = "acknowledge"
	pagerResolve     = "resolve"
)

// pagerEvent is an event of the API.
type pagerEvent struct {
	RoutingKey string        `json:"routing_key"`
	Action     string        `json:"event_action"`
	DedupKey   string        `json:"dedup_key"`
	Client     string        `json:"client,omitempty"`
	ClientURL  string        `json:"client_url,omitempty"`
	Payload    *pagerPayload `json:"payload,omitempty"` // of a trigger
	Links      []pagerLink   `json:"links,omitempty"`
}

type pagerPayload struct {
	Summary   string            `json:"summary"`
	Source    string            `json:"source"`
	Severity  string            `json:"severity"`
	Timestamp string            `json:"timestamp"`
	Component string            `json:"component,omitempty"`
	Group     string            `json:"group,omitempty"`
	Class     string            `json:"class,omitempty"`
	Details   map[string]string `json:"custom_details,omitempty"`
}

type pagerLink struct {
	Href string `json:"href"`
	Text string `json:"text"`
}

// pagerDuty is a message for PagerDuty and for receivers that speak its way.
func pagerDuty(s *Settings, m *message, now time.Time) (*webCall, error) {
	var first *webCall
	events := m.pagerEvents(now)
	for i := len(events) - 1; i >= 0; i-- {
		events[i].RoutingKey = s.Secret
		body, err := json.Marshal(&events[i])
		if err != nil {
			return nil, err
		}
		first = &webCall{url: s.URL, body: body, check: checkPagerDuty, next: first}
	}
	return first, nil
}

// pagerEvents are the events of a message, in their order. The open alarms of a job are one incident, which its recovery resolves. Messages may come
// late and in another order than the job's runs, so what a job is now decides: a failure that is over by now is resolved at once, and a recovery
// of a job that fails again resolves nothing.
func (m *message) pagerEvents(now time.Time) []pagerEvent {
	if m.test {
		key := m.install + "-" + m.id
		return []pagerEvent{{Action: pagerTrigger, DedupKey: key, Payload: &pagerPayload{
			Summary: clip(m.title(), maxPagerSummary), Source: m.words.T("app.name"), Severity: "info",
			Timestamp: now.UTC().Format(time.RFC3339), Details: map[string]string{"text": m.plain(maxPagerDetail)},
		}}, {Action: pagerResolve, DedupKey: key}}
	}
	var events []pagerEvent
	for i := range m.items { // one, unless its notice is gone
		it := &m.items[i]
		cause, key := scheduler.AlarmCause(it.notice.Cause), m.install+"-job-"+strconv.FormatInt(it.notice.JobID, 10)
		switch {
		case cause == scheduler.AlarmRecovered:
			if !it.open {
				events = append(events, pagerEvent{Action: pagerResolve, DedupKey: key})
			}
		case m.acknowledged:
			if it.open && it.acked {
				events = append(events, pagerEvent{Action: pagerAcknowledge, DedupKey: key})
			}
		case !opens(cause): // nothing ends it later, so it is an incident of its own
			key += "-" + it.notice.Cause + "-" + strconv.FormatInt(it.notice.ID, 10)
			events = append(events, m.pagerTrigger(it, key, "warning"))
			if it.ended {
				events = append(events, pagerEvent{Action: pagerResolve, DedupKey: key})
			}
		default:
			severity := "error"
			if m.minutes > 0 {
				severity = "critical"
			}
			events = append(events, m.pagerTrigger(it, key, severity))
			switch {
			case !it.open:
				events = append(events, pagerEvent{Action: pagerResolve, DedupKey: key})
			case it.acked:
				events = append(events, pagerEvent{Action: pagerAcknowledge, DedupKey: key})
			}
		}
	}
	return events
}

func (m *message) pagerTrigger(it *item, key, severity string) pagerEvent {
	one := *m
	one.items, one.counted = []item{*it}, false
	e := pagerEvent{Action: pagerTrigger, DedupKey: key, Client: m.words.T("app.name"), ClientURL: it.link, Payload: &pagerPayload{
		Summary: clip(one.title(), maxPagerSummary), Source: it.group, Severity: severity,
		Timestamp: time.UnixMilli(it.notice.FirstAt).UTC().Format(time.RFC3339),
		Component: it.job, Group: it.group, Class: it.notice.Cause, Details: map[string]string{"text": one.plain(maxPagerDetail)},
	}}
	for _, l := range []pagerLink{{it.link, m.words.T("mail.open")}, {it.book, m.words.T("alarm.runbook")}, {it.ack, m.words.T("alarm.ack")}} {
		if l.Href != "" {
			e.Links = append(e.Links, l)
		}
	}
	return e
}

// checkPagerDuty reads an answer: a receiver that is none of the kind says 200 to anything.
func checkPagerDuty(body []byte) error {
	var answer struct{ Status string }
	if err := json.Unmarshal(body, &answer); err != nil || answer.Status != "success" {
		return notUnderstood(body)
	}
	return nil
}

// installation is a name for this installation that others do not have, though they may share a receiver.
func (a *Alarmer) installation() string {
	mac := hmac.New(sha256.New, a.cfg.Key)
	mac.Write([]byte("punctual installation"))
	return "punctual-" + hex.EncodeToString(mac.Sum(nil)[:4])
}
