package alarm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/runstate"
)

// maxListed is how many alarms a merged message spells out; the rest is a number.
const maxListed = 30

// item is one notice as a message tells it.
type item struct {
	notice db.AlarmNotice
	job    string // its description, or its number when it has been deleted
	group  string // title and app name
	link   string // to the run, else to the job; "" for none
	book   string // the runbook of the job; "" for none
	open   bool   // the job has an open alarm now, and
	acked  bool   // somebody looks after all of them
	over   bool   // this alarm has ended since
	ended  bool   // the run has, of an alarm that tells of one while it goes on
	keeper string // who looks after this alarm since
	ack    string // by which the reader says that they look after it; "" for none
}

// message is what one recipient is told at a time.
type message struct {
	id           string // the same for every try, so that a receiver may know a repetition
	lang         string
	recipient    string
	subject      string // the channel's own title and text, with placeholders; "": the usual ones
	text         string
	words        Printer
	zone         *time.Location
	items        []item
	counted      bool // say only how many
	test         bool
	escalated    bool   // it tells a second channel of what nobody looks after
	minutes      int64  // how long nobody has looked after the alarm, of a message to a second channel; 0: it is none
	install      string // names this installation where several share a receiver
	acknowledged bool   // it says only that somebody looks after the alarm
	outside      bool   // of a mail whose server must not be a private address
	all          string // the page of open alarms; "" for none
}

// compose reads everything a message says.
func (a *Alarmer) compose(ctx context.Context, c *channel, held []db.ListAlarmDeliveriesOfHolderRow) (*message, error) {
	m := a.blank(c)
	m.id, m.recipient, m.counted = strconv.FormatInt(held[0].ID, 10), held[0].Recipient, held[0].Counted == 1
	m.acknowledged = held[0].Acked == 1
	notices, err := a.queries.ListAlarmNotices(ctx, a.cfg.Pool, db.IDs(held, func(r *db.ListAlarmDeliveriesOfHolderRow) int64 { return r.NoticeID }))
	if err != nil {
		return nil, err
	}
	jobIDs := db.IDs(notices, func(n *db.AlarmNotice) int64 { return n.JobID })
	rows, err := a.queries.ListAlarmJobs(ctx, a.cfg.Pool, jobIDs)
	if err != nil {
		return nil, err
	}
	jobs := make(map[int64]*db.ListAlarmJobsRow, len(rows))
	for i := range rows {
		jobs[rows[i].ID] = &rows[i]
	}
	states, err := a.queries.ListAlarmStates(ctx, a.cfg.Pool, jobIDs)
	if err != nil {
		return nil, err
	}
	ended, err := a.endedRuns(ctx, notices)
	if err != nil {
		return nil, err
	}
	groups := make(map[int64]string)
	for _, n := range notices {
		it := item{notice: n, job: fmt.Sprintf("#%d", n.JobID), link: a.cfg.Link(n.JobID, n.LogID), ended: ended[n.LogID] && goesOnWhenTold(&n)}
		it.stands(states)
		group := n.JobGroup
		if j := jobs[n.JobID]; j != nil {
			it.job, group = line(j.JobDesc), j.JobGroup
			if jobspec.Linkable(j.Runbook) && n.Cause != string(scheduler.AlarmRecovered) {
				it.book = j.Runbook
			}
		} else {
			it.over = false // that of a job which is gone has not recovered
		}
		if _, known := groups[group]; !known {
			if groups[group], err = a.groupName(ctx, group); err != nil {
				return nil, err
			}
		}
		it.group = groups[group]
		m.items = append(m.items, it)
	}
	if m.escalated = held[0].Escalated == 1; m.escalated && len(m.items) == 1 {
		m.minutes = max(1, (held[0].CreatedAt-m.items[0].notice.FirstAt)/time.Minute.Milliseconds())
	}
	// Of several alarms none is named: who reads a heap of them chooses in the console.
	if len(m.items) == 1 && !m.counted && opens(scheduler.AlarmCause(m.items[0].notice.Cause)) && !m.items[0].over && jobs[m.items[0].notice.JobID] != nil {
		m.items[0].ack = a.cfg.AckLink(a.linkToken(held[0].ID))
	}
	return m, nil
}

// goesOnWhenTold reports whether a notice is about a run that has not ended when it is raised.
func goesOnWhenTold(n *db.AlarmNotice) bool {
	return n.LogID > 0 && (n.Cause == string(scheduler.AlarmSlow) || n.Cause == string(scheduler.AlarmApproval))
}

// endedRuns are the runs that went on when they were told of, and do no more.
func (a *Alarmer) endedRuns(ctx context.Context, notices []db.AlarmNotice) (map[int64]bool, error) {
	var ids []int64
	for i := range notices {
		if goesOnWhenTold(&notices[i]) {
			ids = append(ids, notices[i].LogID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := a.queries.ListRunsByID(ctx, a.cfg.Pool, ids)
	ended := make(map[int64]bool, len(rows))
	for _, r := range rows {
		ended[r.ID] = !runstate.Of(event.Outcome(r.Outcome), r.TriggerCode, r.HandleCode, "").Open()
	}
	return ended, err
}

// stands notes how the alarms of the job stand when the message leaves, which may be long after what it tells of.
func (it *item) stands(states []db.AlarmState) {
	n := &it.notice
	waits := false
	it.over = opens(scheduler.AlarmCause(n.Cause))
	for _, s := range states {
		if s.JobID != n.JobID || !isOpen(s) {
			continue
		}
		it.open, waits = true, waits || s.AckedAt == 0
		if s.Cause == n.Cause {
			it.over, it.keeper = false, s.AckedBy
		}
	}
	it.acked = it.open && !waits
}

// blank is a message of a channel's language that says nothing yet.
func (a *Alarmer) blank(c *channel) *message {
	lang := cmp.Or(c.row.Lang, a.cfg.Defaults().Language)
	return &message{lang: lang, words: a.cfg.Printer(lang), zone: a.cfg.Pool.Zone(), install: a.installation(), all: a.cfg.OpenLink(), subject: c.settings.Subject, text: c.settings.Text}
}

func (a *Alarmer) groupName(ctx context.Context, id int64) (string, error) {
	g, err := a.queries.GetGroup(ctx, a.cfg.Pool, id)
	if errors.Is(db.Error(err), db.ErrNotFound) {
		return fmt.Sprintf("#%d", id), nil
	}
	if err != nil {
		return "", err
	}
	if g.Title == "" || g.Title == g.AppName {
		return line(g.AppName), nil
	}
	return line(g.Title) + " (" + line(g.AppName) + ")", nil
}

// line makes one line of a text: names go into subjects and titles, where a line break would end more than the line.
func line(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 }), " ")
}

// trimmedLine is a text on one line, with no space at its ends: what a value that was typed or sent is saved as. It is trimmed last, since a character
// of control at an end leaves the space before it there.
func trimmedLine(s string) string { return strings.TrimSpace(line(s)) }

// title is the subject of a mail and the first line elsewhere.
func (m *message) title() string {
	if m.own(m.subject) {
		own := line(m.inOwnWords(m.subject, maxTitle))
		switch {
		case m.test:
			return m.usualTitle() + ": " + own
		case strings.TrimSpace(own) != "":
			return own
		}
	}
	return m.usualTitle()
}

// maxTitle bounds what a placeholder of a title stands for.
const maxTitle = 300

func (m *message) usualTitle() string {
	t := m.words.T
	app := t("app.name")
	switch {
	case m.test:
		return t("alarm.title.test", "App", app)
	case m.counted:
		return t("alarm.title.quiet", "App", app, "N", m.events())
	case len(m.items) > 1 && m.escalated:
		return t("alarm.title.unheeded", "App", app, "N", len(m.items))
	case len(m.items) > 1:
		return t("alarm.title.many", "App", app, "N", len(m.items))
	}
	it := &m.items[0]
	if m.minutes > 0 {
		return t("alarm.title.escalated", "App", app, "Cause", m.cause(it), "Job", it.job, "Minutes", m.minutes)
	}
	if it.weight() > 1 {
		return t("alarm.title.more", "App", app, "Cause", m.cause(it), "Job", it.job, "N", it.notice.EventCount)
	}
	return t("alarm.title.one", "App", app, "Cause", m.cause(it), "Job", it.job)
}

// weight is how many occurrences an alarm stands for; the count of a recovery is that of the failures before it.
func (it *item) weight() int64 {
	if it.notice.Cause == string(scheduler.AlarmRecovered) {
		return 1
	}
	return max(1, it.notice.EventCount)
}

// events is how many occurrences the message stands for.
func (m *message) events() int64 {
	n := int64(0)
	for i := range m.items {
		n += m.items[i].weight()
	}
	return n
}

func (m *message) cause(it *item) string {
	if _, missed := event.Parse(string(it.notice.Events)).Last(event.NotDone); missed { // it may not be late, it is
		return m.words.T("alarm.missed")
	}
	return m.words.T("alarm.cause." + it.notice.Cause)
}

// fact is a line of a message: what, and its value.
type fact struct{ Name, Value string }

// facts are what is known of one alarm, in the order in which somebody who was woken asks.
func (m *message) facts(it *item) []fact {
	t, n := m.words.T, &it.notice
	facts := []fact{
		{t("alarm.fact.job"), fmt.Sprintf("%s (ID %d)", it.job, n.JobID)},
		{t("alarm.fact.group"), it.group},
		{t("alarm.fact.cause"), t("alarm.cause." + n.Cause + ".help")},
	}
	switch {
	case n.Cause == string(scheduler.AlarmRecovered) && n.EventCount == 0: // it was late, and did not fail
	case n.Cause == string(scheduler.AlarmRecovered):
		facts = append(facts, fact{t("alarm.fact.before"), strconv.FormatInt(n.EventCount, 10)})
	case n.EventCount > 1:
		facts = append(facts, fact{t("alarm.fact.count"), strconv.FormatInt(n.EventCount, 10)})
	}
	when := m.time(n.FirstAt)
	if n.LastAt/1000 != n.FirstAt/1000 {
		when += " – " + m.time(n.LastAt)
	}
	facts = append(facts, fact{t("alarm.fact.time"), when})
	if n.LogID > 0 {
		facts = append(facts, fact{t("alarm.fact.run"), strconv.FormatInt(n.LogID, 10)})
	}
	if since := m.since(it); since != "" {
		facts = append(facts, fact{t("alarm.fact.since"), since})
	}
	return facts
}

// since says what has become of an alarm before its message left.
func (m *message) since(it *item) string {
	switch {
	case it.over:
		return m.words.T("alarm.since.over")
	case it.ended:
		return m.words.T("alarm.since.ended")
	case it.keeper != "":
		return m.words.T("alarms.ack.by", "User", it.keeper)
	default:
		return ""
	}
}

// detail is what the executor said, and what led to an alarm, each with its time of day.
func (m *message) detail(it *item) string {
	var lines []string
	if it.notice.Detail != "" {
		lines = append(lines, it.notice.Detail)
	}
	teller := event.Teller{Printer: m.words, Zone: m.zone, Layout: moments}
	for _, e := range event.Parse(string(it.notice.Events)) {
		lines = append(lines, time.UnixMilli(e.At).In(m.zone).Format("15:04:05.000")+" "+teller.Tell(e))
	}
	return strings.Join(lines, "\n")
}

// moments is how a message writes a time: its readers are anywhere.
const moments = "2006-01-02 15:04:05 -07:00"

func (m *message) time(ms int64) string {
	return time.UnixMilli(ms).In(m.zone).Format(moments)
}

// summary is one alarm in one line, for merged messages.
func (m *message) summary(it *item) string {
	t, job := m.words.T, it.job
	if it.weight() > 1 {
		job += " ×" + strconv.FormatInt(it.notice.EventCount, 10)
	}
	s := t("alarm.summary", "Cause", m.cause(it), "Job", job, "At", m.time(it.notice.LastAt))
	if since := m.since(it); since != "" {
		s = t("alarm.summary.since", "Alarm", s, "Since", t("list.line", "Name", t("alarm.fact.since"), "Value", since))
	}
	return s
}

// openAlarms is where those who read of a heap of alarms see which of them are open, and choose; "" for a message that needs no such place.
func (m *message) openAlarms() string {
	if len(m.items) < 2 && !m.counted {
		return ""
	}
	for i := range m.items {
		if it := &m.items[i]; opens(scheduler.AlarmCause(it.notice.Cause)) && !it.over {
			return m.all
		}
	}
	return ""
}

// counts says how many alarms of each cause there were.
func (m *message) counts() []fact {
	var facts []fact
	for _, cause := range Causes() {
		n := int64(0)
		for i := range m.items {
			if it := &m.items[i]; it.notice.Cause == string(cause) {
				n += it.weight()
			}
		}
		if n > 0 {
			facts = append(facts, fact{m.words.T("alarm.cause." + string(cause)), strconv.FormatInt(n, 10)})
		}
	}
	return facts
}

// plain is the message as text, at most limit bytes long, without its title. Links stand in full, since chat tools make
// them clickable by themselves.
func (m *message) plain(limit int) string {
	if !m.own(m.text) {
		return m.usualText(limit)
	}
	own := m.inOwnWords(m.text, limit)
	if m.test {
		own = m.words.T("alarm.test.text") + "\n\n" + own
	}
	return clip(strings.TrimRight(own, "\n"), limit)
}

func (m *message) usualText(limit int) string {
	var b strings.Builder
	t := m.words.T
	put := func(f fact) { b.WriteString(t("list.line", "Name", f.Name, "Value", f.Value) + "\n") }
	if all := m.openAlarms(); all != "" { // first, since the end of a long list is cut off
		b.WriteString(t("alarm.all.link") + "\n" + all + "\n\n")
	}
	switch {
	case m.test:
		b.WriteString(t("alarm.test.text") + "\n")
	case m.counted:
		b.WriteString(t("alarm.quiet.text") + "\n")
		for _, f := range m.counts() {
			put(f)
		}
	case len(m.items) > 1:
		for i := range m.items[:min(len(m.items), maxListed)] {
			it := &m.items[i]
			b.WriteString("- " + m.summary(it) + "\n")
			if it.link != "" {
				b.WriteString("  " + it.link + "\n")
			}
		}
		if rest := len(m.items) - maxListed; rest > 0 {
			b.WriteString(t("alarm.rest", "N", rest) + "\n")
		}
	default:
		it := &m.items[0]
		for _, f := range m.facts(it) {
			put(f)
		}
		tail := ""
		if it.link != "" {
			tail = "\n" + it.link + "\n"
		}
		if it.book != "" {
			tail += "\n" + t("alarm.runbook") + "\n" + it.book + "\n"
		}
		if it.ack != "" {
			tail += "\n" + t("alarm.ack.link") + "\n" + it.ack + "\n"
		}
		if detail := m.detail(it); detail != "" {
			room := limit - b.Len() - len(tail) - 100 // the link must not be what is cut off
			b.WriteString("\n" + t("alarm.fact.detail") + "\n" + clip(detail, max(room, 100)) + "\n")
		}
		b.WriteString(tail)
	}
	return clip(strings.TrimRight(b.String(), "\n"), limit)
}
