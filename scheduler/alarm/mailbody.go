package alarm

import (
	_ "embed"
	"html/template"
	"strings"

	"github.com/punctual-job/punctual/scheduler"
)

//go:embed mail.html
var mailSource string

// mailHTML escapes everything that is put into it, so a job's name or an executor's text cannot become markup.
var mailHTML = template.Must(template.New("mail").Parse(mailSource))

// mailPage is what the template draws.
type mailPage struct {
	Lang, Title, Intro string
	Color              string // of the bar at the top
	Own                string // in the channel's words
	Facts              []fact
	DetailName, Detail string
	List               []mailEntry
	Rest               string
	Link, LinkName     string
	Book, BookName     string // the job's runbook
	Ack, AckName       string // the page where the reader says that they look after it
	Footer             string
}

type mailEntry struct{ Text, Link string }

const (
	colorBad  = "#c8332d"
	colorGood = "#1f8a4c"
	colorNote = "#2458d3"
)

// html is the message as the HTML part of a mail.
func (m *message) html() (string, error) {
	t := m.words.T
	p := mailPage{Lang: m.lang, Title: m.title(), Color: colorBad, Footer: t("mail.footer", "App", t("app.name"))}
	switch {
	case m.test && m.own(m.text):
		p.Own, p.Color = m.plain(maxMailText), colorNote
	case m.test:
		p.Intro, p.Color = t("alarm.test.text"), colorNote
	case m.counted:
		p.Intro, p.Facts = t("alarm.quiet.text"), m.counts()
	case len(m.items) > 1:
		for i := range m.items[:min(len(m.items), maxListed)] {
			p.List = append(p.List, mailEntry{m.summary(&m.items[i]), m.items[i].link})
		}
		if rest := len(m.items) - maxListed; rest > 0 {
			p.Rest = t("alarm.rest", "N", rest)
		}
	default:
		it := &m.items[0]
		if m.own(m.text) {
			p.Own = m.plain(maxMailText)
		} else {
			p.Facts, p.Detail, p.DetailName = m.facts(it), m.detail(it), t("alarm.fact.detail")
		}
		p.Link, p.LinkName = it.link, t("mail.open")
		p.Book, p.BookName = it.book, t("alarm.runbook")
		p.Ack, p.AckName = it.ack, t("alarm.ack.link")
		switch scheduler.AlarmCause(it.notice.Cause) {
		case scheduler.AlarmRecovered:
			p.Color = colorGood
		case scheduler.AlarmSlow, scheduler.AlarmMisfire, scheduler.AlarmApproval:
			p.Color = colorNote
		case scheduler.AlarmFailed, scheduler.AlarmTimeout, scheduler.AlarmLost, scheduler.AlarmDispatch, scheduler.AlarmSilent, scheduler.AlarmDeadline:
		}
	}
	if all := m.openAlarms(); all != "" {
		p.Link, p.LinkName = all, t("alarm.all.link")
	}
	var b strings.Builder
	if err := mailHTML.Execute(&b, &p); err != nil {
		return "", err
	}
	return b.String(), nil
}
