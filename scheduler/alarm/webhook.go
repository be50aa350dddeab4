package alarm

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"time"
)

// Headers of a generic webhook's request.
const (
	// HeaderSignature is "t=SECONDS,v1=HEX": the HMAC-SHA256 of "SECONDS.BODY" under the channel's secret. The time lets a
	// receiver refuse what somebody recorded and sends again.
	HeaderSignature = "X-Punctual-Signature"
	// HeaderDelivery is the same for every try of a message.
	HeaderDelivery = "X-Punctual-Delivery"
)

// hookBody is the generic webhook's request body when the channel has no template.
type hookBody struct {
	ID     string      `json:"id"`
	Title  string      `json:"title"`
	Text   string      `json:"text"`
	Test   bool        `json:"test"`
	Alarms []hookAlarm `json:"alarms"`
}

type hookAlarm struct {
	Cause    string `json:"cause"`
	JobID    int64  `json:"jobId"`
	JobName  string `json:"jobName"`
	Group    string `json:"group"`
	LogID    int64  `json:"logId"`
	Count    int64  `json:"count"`
	FollowUp bool   `json:"followUp"` // more of what was told before
	FirstAt  string `json:"firstAt"`
	LastAt   string `json:"lastAt"`
	Detail   string `json:"detail"`
	URL      string `json:"url"`
	Runbook  string `json:"runbook,omitempty"`

	CauseName string `json:"-"` // for templates, like the next
	Ack       string `json:"-"`
}

// maxHookText bounds the text in a generic webhook's body.
const maxHookText = 20_000

// hook is a message for a generic receiver.
func hook(s *Settings, m *message, now time.Time) (*webCall, error) {
	body, err := hookJSON(s.Template, m)
	if unknown, ok := errors.AsType[unknownPlaceholders](err); ok {
		return nil, troubled(hookUnknown, unknown.list())
	}
	if err != nil {
		return nil, err
	}
	call := &webCall{url: s.URL, body: body, header: map[string]string{HeaderDelivery: m.id}}
	if s.Secret != "" {
		seconds := strconv.FormatInt(now.Unix(), 10)
		mac := hmac.New(sha256.New, []byte(s.Secret))
		mac.Write([]byte(seconds + "."))
		mac.Write(body)
		call.header[HeaderSignature] = "t=" + seconds + ",v1=" + hex.EncodeToString(mac.Sum(nil))
	}
	return call, nil
}

func hookJSON(template string, m *message) ([]byte, error) {
	full := m.body(maxHookText)
	if template == "" {
		return json.Marshal(full)
	}
	return fillTemplate(template, full)
}

// body is the message as data, its text at most limit bytes long.
func (m *message) body(limit int) *hookBody {
	full := &hookBody{ID: m.id, Title: m.title(), Text: m.plain(limit), Test: m.test, Alarms: []hookAlarm{}}
	for i := range m.items {
		it := &m.items[i]
		n := &it.notice
		full.Alarms = append(full.Alarms, hookAlarm{
			Cause: n.Cause, JobID: n.JobID, JobName: it.job, Group: it.group, LogID: n.LogID, Count: n.EventCount, FollowUp: n.FollowUp == 1,
			FirstAt: m.stamp(n.FirstAt), LastAt: m.stamp(n.LastAt), Detail: m.detail(it), URL: it.link, Runbook: it.book,
			CauseName: m.cause(it), Ack: it.ack,
		})
	}
	return full
}

func (m *message) stamp(ms int64) string {
	return time.UnixMilli(ms).In(m.zone).Format(time.RFC3339)
}

// errNotJSON means that a template makes no JSON.
var errNotJSON = troubled(hookNotJSON)

// fillTemplate puts a message into a template of a JSON body. Placeholders stand inside of JSON strings or, for numbers,
// bare; values are escaped for JSON.
func fillTemplate(template string, full *hookBody) ([]byte, error) {
	filled, err := fill(template, full.values(), forJSON)
	if err != nil {
		return nil, err
	}
	if !json.Valid([]byte(filled)) {
		return nil, errNotJSON
	}
	return []byte(filled), nil
}
