package alarm

import (
	"cmp"
	"errors"
	stdmail "net/mail"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/invalid"
)

// What may be wrong with a value: the keys of the messages, with the arguments that these may use.
const (
	CodeRequired      = "alarm.error.required"
	CodeTooLong       = "alarm.error.too_long"       // Max: how many characters fit
	CodeUnknown       = "alarm.error.unknown"        // Value: not one of the values offered
	CodeOutOfRange    = "alarm.error.out_of_range"   // Min, Max
	CodeHalf          = "alarm.error.half"           // quiet hours have only one of their ends
	CodeNoPassword    = "alarm.error.nopassword"     // a user name has none
	CodeNoGroup       = "alarm.error.nogroup"        // the group of a route does not exist
	CodeNoJob         = "alarm.error.nojob"          // nor does its job
	CodeNoCause       = "alarm.error.nocause"        // a route tells of nothing
	CodeTwice         = "alarm.error.twice"          // the channel has a route of that scope
	CodeTaken         = "alarm.error.taken"          // Value: another has it
	CodeEmail         = "alarm.error.email"          // Value: the address that is none
	CodeURL           = "alarm.error.url"            // not an http or https address
	CodeTemplate      = "alarm.error.template"       // it makes no JSON
	CodePlaceholder   = "alarm.error.placeholder"    // Names: they mean nothing; each with its line
	CodeUnclosed      = "alarm.error.unclosed"       // Line: of a placeholder without an end
	CodeMailDomain    = "alarm.error.mail_domain"    // Value: an address to which mails may not go
	CodeMailOnly      = "alarm.error.mail_only"      // only a mail channel can carry the mails of jobs
	CodeNotOfGroup    = "alarm.error.not_of_group"   // nor can one of a group
	CodeEscalateTo    = "alarm.error.escalate_to"    // a second channel is none, the same, or somebody else's
	CodePasswordAgain = "alarm.error.password_again" // for another server
)

// The names of the parts of a channel and a route, by which an [invalid.Field] finds its place in a form.
const (
	FieldName       = "name"
	FieldKind       = "kind"
	FieldLanguage   = "language"
	FieldForJobs    = "for_jobs"
	FieldQuiet      = "quiet"
	FieldQuietMode  = "quiet_mode"
	FieldHost       = "host"
	FieldPort       = "port"
	FieldSecurity   = "security"
	FieldUsername   = "username"
	FieldPassword   = "password"
	FieldFrom       = "from"
	FieldRecipients = "recipients"
	FieldURL        = "url"
	FieldSecret     = "secret"
	FieldChat       = "chat"
	FieldTemplate   = "template"
	FieldSubject    = "subject"
	FieldText       = "text"
	FieldChannel    = "channel"
	FieldScope      = "scope"
	FieldCauses     = "causes"

	FieldEscalateAfter = "escalate_after"
	FieldEscalateTo    = "escalate_to"
)

func refuse(field, key string, args ...any) error {
	return invalid.Fields{{Name: field, Key: key, Args: args}}
}

// Causes lists the causes in the order in which a form offers them.
func Causes() []scheduler.AlarmCause {
	return []scheduler.AlarmCause{
		scheduler.AlarmFailed, scheduler.AlarmTimeout, scheduler.AlarmLost, scheduler.AlarmDispatch, scheduler.AlarmMisfire,
		scheduler.AlarmSlow, scheduler.AlarmSilent, scheduler.AlarmDeadline, scheduler.AlarmApproval, scheduler.AlarmRecovered,
	}
}

// checks gathers what is wrong.
type checks struct{ found invalid.Fields }

func (c *checks) add(field, key string, args ...any) {
	c.found = append(c.found, invalid.Field{Name: field, Key: key, Args: args})
}

func (c *checks) text(field, value string, required bool, longest int) {
	switch {
	case required && value == "":
		c.add(field, CodeRequired)
	case utf8.RuneCountInString(value) > longest:
		c.add(field, CodeTooLong, "Max", longest)
	}
}

func (c *checks) oneOf(field, value string, offered ...string) {
	if !slices.Contains(offered, value) {
		c.add(field, CodeUnknown, "Value", clip(value, 60))
	}
}

func (c *checks) err() error {
	if len(c.found) == 0 {
		return nil
	}
	return c.found
}

// lineEnds makes one of what ends lines: a form has no other.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// Normal is a channel as it would be stored. What would be refused of it is as it is.
func (a *Alarmer) Normal(c Channel) Channel {
	_ = a.validChannel(&c)
	return c
}

// validChannel tidies a channel's values and refuses what cannot work.
func (a *Alarmer) validChannel(c *Channel) error {
	var v checks
	c.Name = trimmedLine(c.Name)
	v.text(FieldName, c.Name, true, 64)
	if c.Language != "" {
		v.oneOf(FieldLanguage, c.Language, a.cfg.Languages...)
	}
	if c.QuietMode == "" {
		c.QuietMode = QuietQueue
	}
	v.oneOf(FieldQuietMode, string(c.QuietMode), string(QuietQueue), string(QuietCount))
	switch {
	case c.QuietFrom == c.QuietTo && c.QuietFrom >= NoTime && c.QuietFrom < minutesADay: // there are none, whatever time that is
		c.QuietFrom, c.QuietTo = 0, 0
	case c.QuietFrom == NoTime || c.QuietTo == NoTime:
		v.add(FieldQuiet, CodeHalf)
	case c.QuietFrom < 0 || c.QuietFrom >= minutesADay || c.QuietTo < 0 || c.QuietTo >= minutesADay:
		v.add(FieldQuiet, CodeOutOfRange, "Min", "00:00", "Max", "23:59")
	}
	s := &c.Settings
	switch kind, known := c.Kind.Info(); {
	case !known:
		v.add(FieldKind, CodeUnknown, "Value", clip(string(c.Kind), 60))
	case kind.call == nil:
		s.URL, s.Secret, s.Chat, s.Template = "", "", "", ""
		validMail(&v, s)
	default:
		*s = Settings{URL: strings.TrimSpace(s.URL), Secret: strings.TrimSpace(s.Secret), Chat: trimmedLine(s.Chat), Template: s.Template, Subject: s.Subject, Text: s.Text}
		validWeb(&v, s, &kind)
	}
	if kind, _ := c.Kind.Info(); kind.Template {
		s.Subject, s.Text = "", ""
	}
	s.Template = lineEnds.Replace(s.Template)
	validWords(&v, s)
	switch {
	case c.ForJobs && c.Kind != KindMail:
		v.add(FieldForJobs, CodeMailOnly)
	case c.ForJobs && c.GroupID != 0:
		v.add(FieldForJobs, CodeNotOfGroup)
	}
	return v.err()
}

func validMail(v *checks, s *Settings) {
	s.Host = strings.TrimSpace(s.Host)
	v.text(FieldHost, s.Host, true, 255)
	if strings.ContainsAny(s.Host, " /@") {
		v.add(FieldHost, CodeUnknown, "Value", clip(s.Host, 60))
	}
	if s.Security == "" {
		s.Security = SecurityStartTLS
	}
	v.oneOf(FieldSecurity, string(s.Security), string(SecurityStartTLS), string(SecurityTLS), string(SecurityNone))
	if s.Port == 0 {
		s.Port = cmp.Or(map[Security]int{SecurityTLS: 465, SecurityNone: 25}[s.Security], 587)
	}
	if s.Port < 1 || s.Port > 65535 {
		v.add(FieldPort, CodeOutOfRange, "Min", 1, "Max", 65535)
	}
	s.Username = trimmedLine(s.Username)
	v.text(FieldUsername, s.Username, false, 255)
	v.text(FieldPassword, s.Password, false, 1000)
	if s.Username != "" && s.Password == "" {
		v.add(FieldPassword, CodeNoPassword)
	}
	if s.Username == "" {
		s.Password = ""
	}
	s.From = trimmedLine(s.From)
	v.text(FieldFrom, s.From, true, 255)
	if _, err := stdmail.ParseAddress(s.From); err != nil && s.From != "" {
		v.add(FieldFrom, CodeEmail, "Value", clip(s.From, 60))
	}
	var recipients []string
	for _, r := range s.Recipients {
		if r = strings.TrimSpace(r); r == "" {
			continue
		}
		address, err := stdmail.ParseAddress(r)
		if err != nil || len(address.Address) > 255 || strings.ContainsFunc(address.Address, separates) {
			v.add(FieldRecipients, CodeEmail, "Value", clip(r, 60))
			continue
		}
		if !slices.ContainsFunc(recipients, func(have string) bool { return strings.EqualFold(have, address.Address) }) {
			recipients = append(recipients, address.Address)
		}
	}
	if s.Recipients = recipients; len(recipients) > 100 {
		v.add(FieldRecipients, CodeOutOfRange, "Min", 0, "Max", 100)
	}
}

// separates says whether a character ends an address in a list that somebody types: one with it within would be two.
func separates(r rune) bool {
	return r == ',' || r == ';' || r == '，' || r == '；' || r == '\n' || r == '\r'
}

func validWeb(v *checks, s *Settings, kind *KindInfo) {
	s.URL = cmp.Or(s.URL, kind.Default)
	v.text(FieldURL, s.URL, true, 2000)
	if u, err := url.Parse(s.URL); s.URL != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		v.add(FieldURL, CodeURL)
	}
	v.text(FieldSecret, s.Secret, kind.Secret == SecretToken, 1000)
	if kind.Secret == SecretNone {
		s.Secret = ""
	}
	v.text(FieldChat, s.Chat, kind.Chat, 128)
	if !kind.Chat {
		s.Chat = ""
	}
	if !kind.Template || strings.TrimSpace(s.Template) == "" {
		s.Template = ""
		return
	}
	v.text(FieldTemplate, s.Template, false, 10_000)
	sample := hookBody{ID: "1", Title: `a "title"`, Text: "text\n", Alarms: []hookAlarm{{Cause: "failed", JobID: 1, JobName: `a "job"`, LogID: 1, Count: 1}}}
	if _, err := fillTemplate(s.Template, &sample); err != nil {
		if unknown, ok := errors.AsType[unknownPlaceholders](err); ok {
			v.add(FieldTemplate, CodePlaceholder, "Names", clip(unknown.list(), 200))
		} else {
			v.add(FieldTemplate, CodeTemplate)
		}
	}
}
