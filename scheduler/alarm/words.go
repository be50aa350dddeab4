package alarm

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler"
)

// What a channel's own words may have, in characters.
const (
	maxSubject = 200
	maxWords   = 4_000
)

// placeholder is {{name}}, with or without a dot and blanks, so that who knows Go's templates is not surprised.
var placeholder = regexp.MustCompile(`\{\{\s*\.?([A-Za-z]+)\s*\}\}`)

// values are what the placeholders of a template stand for: of the first alarm, if there are several. There are no loops and no
// conditions: a template is text that somebody types in a form, and must neither run for ever nor fail at three in the morning.
func (b *hookBody) values() map[string]string {
	first := hookAlarm{}
	if len(b.Alarms) > 0 {
		first = b.Alarms[0]
	}
	return map[string]string{
		"id": b.ID, "title": b.Title, "text": b.Text, "cause": first.Cause, "causeName": first.CauseName, "jobId": strconv.FormatInt(first.JobID, 10),
		"jobName": first.JobName, "group": first.Group, "logId": strconv.FormatInt(first.LogID, 10),
		"count": strconv.FormatInt(first.Count, 10), "alarms": strconv.Itoa(len(b.Alarms)), "firstAt": first.FirstAt,
		"lastAt": first.LastAt, "detail": first.Detail, "url": first.URL, "runbook": first.Runbook, "ack": first.Ack,
	}
}

// unknownPlaceholders is the error of a template with names that mean nothing, each with the number of its line.
type unknownPlaceholders []string

func (u unknownPlaceholders) Error() string { return "unknown placeholder " + u.list() }

func (u unknownPlaceholders) list() string { return strings.Join(u, ", ") }

// fill puts values into a template, each as write has it. What was put in is not read again. The error is unknownPlaceholders.
func fill(template string, values map[string]string, write func(string) string) (string, error) {
	var unknown unknownPlaceholders
	var b strings.Builder
	from := 0
	for _, at := range placeholder.FindAllStringSubmatchIndex(template, -1) {
		name := template[at[2]:at[3]]
		value, known := values[name]
		if !known {
			unknown = append(unknown, name+" ("+strconv.Itoa(lineOf(template, at[0]))+")")
		}
		b.WriteString(template[from:at[0]])
		b.WriteString(write(value))
		from = at[1]
	}
	b.WriteString(template[from:])
	if unknown != nil {
		return b.String(), unknown
	}
	return b.String(), nil
}

func lineOf(text string, at int) int { return 1 + strings.Count(text[:at], "\n") }

// unclosed is the number of the first line with two opening braces that begin no placeholder; 0: there is none.
func unclosed(template string) int {
	rest := placeholder.ReplaceAllStringFunc(template, func(found string) string {
		return strings.Repeat(" ", len(found)-strings.Count(found, "\n")) + strings.Repeat("\n", strings.Count(found, "\n"))
	})
	at := strings.Index(rest, "{{")
	if at < 0 {
		return 0
	}
	return lineOf(rest, at)
}

// forJSON writes a value for the inside of a JSON string, so that no job's name can break out of it.
func forJSON(value string) string {
	quoted, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(quoted[1 : len(quoted)-1])
}

// validWords refuses words with placeholders that mean nothing or have no end.
func validWords(v *checks, s *Settings) {
	s.Subject, s.Text = trimmedLine(s.Subject), lineEnds.Replace(strings.TrimSpace(s.Text))
	v.text(FieldSubject, s.Subject, false, maxSubject)
	v.text(FieldText, s.Text, false, maxWords)
	known := new(hookBody).values()
	for _, field := range []string{FieldSubject, FieldText} {
		template := s.Subject
		if field == FieldText {
			template = s.Text
		}
		_, err := fill(template, known, strings.Clone)
		if unknown, ok := errors.AsType[unknownPlaceholders](err); ok {
			v.add(field, CodePlaceholder, "Names", clip(unknown.list(), 200))
		} else if n := unclosed(template); n > 0 {
			v.add(field, CodeUnclosed, "Line", n)
		}
	}
}

// own says whether the message has a channel's own words instead of the usual ones: they are made for one alarm. A heap of them, a number, and what a
// second channel is told because nobody looks after it are told in the usual ones.
func (m *message) own(words string) bool {
	return words != "" && len(m.items) == 1 && !m.counted && m.minutes == 0
}

// inOwnWords is a template filled with the message, which has one alarm. What is put in is text, like the template: whoever carries the message takes
// the meaning from what has one there.
func (m *message) inOwnWords(template string, limit int) string {
	usual := *m
	usual.test, usual.subject, usual.text = false, "", ""
	it, full := &usual.items[0], usual.body(limit)
	first := &full.Alarms[0]
	first.FirstAt, first.LastAt = m.time(it.notice.FirstAt), m.time(it.notice.LastAt)
	first.Detail = clip(first.Detail, max(limit/2, 100)) // what stands below it must not be what is cut off
	text, _ := fill(template, full.values(), strings.Clone)
	return text
}

// Preview is a message as a channel's words make it.
type Preview struct {
	Title, Text string
	At          time.Time // of the message that it is made of; zero: an invented failure
}

// Preview draws the words of a channel as it was typed: of its latest message, or else of an invented failure. The error is [invalid.Fields] when
// the words are refused.
func (a *Alarmer) Preview(ctx context.Context, c Channel) (Preview, error) {
	var v checks
	validWords(&v, &c.Settings)
	if err := v.err(); err != nil {
		return Preview{}, err
	}
	ch := &channel{row: db.AlarmChannel{Lang: c.Language, Kind: string(c.Kind)}, settings: c.Settings}
	m := a.blank(ch)
	m.items = []item{a.invented(m)}
	var p Preview
	if c.ID != 0 {
		latest, err := a.queries.GetLatestAlarmDelivery(ctx, a.cfg.Pool, c.ID)
		switch err = db.Error(err); {
		case errors.Is(err, db.ErrNotFound):
		case err != nil:
			return p, err
		default:
			told, err := a.compose(ctx, ch, []db.ListAlarmDeliveriesOfHolderRow{{ID: latest.ID, NoticeID: latest.NoticeID}})
			if err != nil {
				return p, err
			}
			if len(told.items) == 1 { // its notice may be gone
				m, p.At = told, when(latest.CreatedAt)
			}
		}
	}
	it := &m.items[0]
	it.over, it.ended, it.keeper = false, false, "" // as it was told
	if opens(scheduler.AlarmCause(it.notice.Cause)) {
		it.ack = a.cfg.AckLink("…") // the real one is its reader's
	}
	p.Title, p.Text = m.title(), m.plain(maxHookText)
	return p, nil
}

// invented is a failure that shows what a channel's words look like. It leads to no run.
func (a *Alarmer) invented(m *message) item {
	now := a.cfg.Now().UnixMilli()
	return item{
		job: m.words.T("alarm.sample.job"), group: m.words.T("alarm.sample.group"), link: a.cfg.Link(0, 0), ack: a.cfg.AckLink("…"),
		notice: db.AlarmNotice{Cause: string(scheduler.AlarmFailed), EventCount: 1, FirstAt: now, LastAt: now, Detail: "java.lang.IllegalStateException: ledger closed\n\tat com.example.Settle.run(Settle.java:42)"},
	}
}
