package alarm

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
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
}

// maxHookText bounds the text in a generic webhook's body.
const maxHookText = 20_000

// hook is a message for a generic receiver.
func hook(s *Settings, m *message, now time.Time) (*webCall, error) {
	body, err := hookJSON(s.Template, m)
	if unknown, ok := errors.AsType[unknownPlaceholders](err); ok {
		return nil, troubled(hookUnknown, strings.Join(unknown, ", "))
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
	full := hookBody{ID: m.id, Title: m.title(), Text: m.plain(maxHookText), Test: m.test, Alarms: []hookAlarm{}}
	for i := range m.items {
		it := &m.items[i]
		n := &it.notice
		full.Alarms = append(full.Alarms, hookAlarm{
			Cause: n.Cause, JobID: n.JobID, JobName: it.job, Group: it.group, LogID: n.LogID, Count: n.EventCount, FollowUp: n.FollowUp == 1,
			FirstAt: m.stamp(n.FirstAt), LastAt: m.stamp(n.LastAt), Detail: m.detail(it), URL: it.link, Runbook: it.book,
		})
	}
	if template == "" {
		return json.Marshal(full)
	}
	return fillTemplate(template, &full)
}

func (m *message) stamp(ms int64) string {
	return time.UnixMilli(ms).In(m.zone).Format(time.RFC3339)
}

// placeholder is {{name}}, with or without a dot and blanks, so that who knows Go's templates is not surprised.
var placeholder = regexp.MustCompile(`\{\{\s*\.?([A-Za-z]+)\s*\}\}`)

// unknownPlaceholders is the error of a template with names that mean nothing.
type unknownPlaceholders []string

func (u unknownPlaceholders) Error() string { return "unknown placeholder " + strings.Join(u, ", ") }

// errNotJSON means that a template makes no JSON.
var errNotJSON = troubled(hookNotJSON)

// fillTemplate puts a message into a template of a JSON body. Placeholders stand inside of JSON strings or, for numbers,
// bare; values are escaped for JSON, so no job's name can break out of its string. There are no loops and no conditions:
// a template is text that an administrator types in a form, and must neither run for ever nor fail at three in the morning.
func fillTemplate(template string, full *hookBody) ([]byte, error) {
	first := hookAlarm{}
	if len(full.Alarms) > 0 {
		first = full.Alarms[0]
	}
	values := map[string]string{
		"id": full.ID, "title": full.Title, "text": full.Text, "cause": first.Cause, "jobId": strconv.FormatInt(first.JobID, 10),
		"jobName": first.JobName, "group": first.Group, "logId": strconv.FormatInt(first.LogID, 10),
		"count": strconv.FormatInt(first.Count, 10), "alarms": strconv.Itoa(len(full.Alarms)), "firstAt": first.FirstAt,
		"lastAt": first.LastAt, "detail": first.Detail, "url": first.URL, "runbook": first.Runbook,
	}
	var unknown []string
	filled := placeholder.ReplaceAllStringFunc(template, func(found string) string {
		name := placeholder.FindStringSubmatch(found)[1]
		value, ok := values[name]
		if !ok {
			unknown = append(unknown, name)
			return found
		}
		quoted, err := json.Marshal(value)
		if err != nil {
			return ""
		}
		return string(quoted[1 : len(quoted)-1])
	})
	if len(unknown) > 0 {
		return nil, unknownPlaceholders(unknown)
	}
	if !json.Valid([]byte(filled)) {
		return nil, errNotJSON
	}
	return []byte(filled), nil
}
