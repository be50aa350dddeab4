// Package locales holds every word the console shows, in each of its [Languages], and looks them up.
//
// A message has a key such as "jobs.title", used through [Printer.T]. Values go in by name: {{.Name}} in the message,
// T("jobs.deleted", "Name", job.Name) in the code. A message with plural forms takes its number under the name Count.
package locales

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/language"
)

// The languages of the console, as they stand in cookies, in lang attributes and in file names.
const (
	Chinese     = "zh-CN"
	Traditional = "zh-TW"
	English     = "en"
)

// languages is the list that everything else goes by, in the order the language menu shows them. Each has a file of messages.
var languages = []string{Chinese, Traditional, English}

//go:embed *.json
var files embed.FS

// Languages lists the languages in the order the language menu shows them.
func Languages() []string { return slices.Clone(languages) }

// Catalogue is every message in every language. It is read-only after New and safe for concurrent use.
type Catalogue struct {
	printers map[string]func() *Printer
	matcher  language.Matcher
	matched  []string // what the matcher's numbers mean
}

// New knows the embedded message files. Each is read once in a process, when its language is asked for first: that takes a moment,
// and few installations are read in all of them.
func New() *Catalogue { return catalogue() }

var catalogue = sync.OnceValue(func() *Catalogue {
	c := &Catalogue{printers: make(map[string]func() *Printer)}
	// English stands first in the matcher: it is what a browser that asks for none of the languages gets.
	c.matched = append([]string{English}, slices.DeleteFunc(Languages(), func(lang string) bool { return lang == English })...)
	var tags []language.Tag
	for _, lang := range c.matched {
		tags = append(tags, language.MustParse(lang))
		c.printers[lang] = sync.OnceValue(func() *Printer { return read(lang) })
	}
	c.matcher = language.NewMatcher(tags)
	return c
})

// read reads a language's file. It panics on a broken one, which the tests of this package exclude.
func read(lang string) *Printer {
	raw, err := files.ReadFile(lang + ".json")
	if err != nil {
		panic(err)
	}
	var messages map[string]any
	if err := json.Unmarshal(raw, &messages); err != nil {
		panic(err)
	}
	tag := language.MustParse(lang)
	bundle := i18n.NewBundle(tag)
	p := &Printer{lang: lang, localizer: i18n.NewLocalizer(bundle, lang), plain: make(map[string]string, len(messages))}
	for id, message := range messages {
		if text, is := message.(string); is && !strings.Contains(text, "{{") {
			p.plain[id] = text // without what go-i18n makes of a message, which is much for a text
			continue
		}
		m, err := i18n.NewMessage(message)
		if err != nil {
			panic(err)
		}
		m.ID = id
		if err := bundle.AddMessages(tag, m); err != nil {
			panic(err)
		}
	}
	return p
}

// Match picks the language of a request: the first that was chosen before (by the user, in this browser), else the best for
// the Accept-Language header, else the installation's.
func (c *Catalogue) Match(chosen []string, acceptLanguage, installation string) string {
	for _, lang := range chosen {
		if slices.Contains(Languages(), lang) {
			return lang
		}
	}
	if tags, _, err := language.ParseAcceptLanguage(acceptLanguage); err == nil {
		for _, tag := range tags { // one by one: together, the zh that follows zh-HK would win over it
			if _, i, confidence := c.matcher.Match(tag); confidence > language.No {
				return c.matched[i]
			}
		}
	}
	if slices.Contains(Languages(), installation) {
		return installation
	}
	return English
}

// Printer returns the printer of a language, the English one for a language the console does not speak.
func (c *Catalogue) Printer(lang string) *Printer {
	if p, ok := c.printers[lang]; ok {
		return p()
	}
	return c.printers[English]()
}

// Printer says messages in one language. Page structs carry it, so a template writes p.T("jobs.title").
type Printer struct {
	lang      string
	localizer *i18n.Localizer
	plain     map[string]string // messages without values: most of a page, and not worth a template each
}

// Lang is the printer's language, ready for a lang attribute.
func (p *Printer) Lang() string { return p.lang }

// Word says a value of a family, such as Word("glue.", "BEAN"). A value the family does not have, which an adopted
// database may hold, is shown as it is.
func (p *Printer) Word(family, value string) string {
	if s, ok := p.plain[family+value]; ok {
		return s
	}
	return value
}

// viaToken stands in the name of who did something with an API token, as the audit log keeps it: "ann via token deploy".
const viaToken = " via token "

// Who says who did something. What was done with an API token is kept under its owner's name and its own, in English.
func (p *Printer) Who(name string) string {
	if owner, token, ok := strings.Cut(name, viaToken); ok && owner != "" {
		return p.T("who.token", "Name", owner, "Token", token)
	}
	return name
}

// Line is a name and what is said of it, as "Retry: nightly".
func (p *Printer) Line(name, value string) string {
	return p.T("list.line", "Name", name, "Value", value)
}

// Colon is what stands between the two where each is drawn by itself.
func (p *Printer) Colon() string { return p.Line("", "") }

// List names several things.
func (p *Printer) List(words []string) string { return strings.Join(words, p.T("list.comma")) }

// Gap stands between two sentences: a blank, which Chinese does without.
func (p *Printer) Gap() string { return p.T("list.sentence", "First", "", "Then", "") }

// turning takes the marks without width out of a name that turn the direction of what follows: in a sentence they would turn its end too.
var turning = strings.NewReplacer("\u202a", "", "\u202b", "", "\u202c", "", "\u202d", "", "\u202e", "", "\u2066", "", "\u2067", "", "\u2068", "", "\u2069", "")

// T says the message of a key. The arguments are pairs of a name and its value. What is counted is named Count, N, All, Running, Waiting
// or Limit, or Max after Count, and written with separators; the number named Count also chooses the plural form. The value named User is
// said as [Printer.Who] does. A key that does not exist is shown as !key!, which the view tests look for.
func (p *Printer) T(key string, args ...any) string {
	if s, ok := p.plain[key]; ok {
		return s
	}
	config := &i18n.LocalizeConfig{MessageID: key}
	if len(args) > 0 {
		data := make(map[string]any, len(args)/2)
		for i := 0; i+1 < len(args); i += 2 {
			name := fmt.Sprint(args[i])
			data[name] = args[i+1]
			if text, ok := args[i+1].(string); ok {
				data[name] = turning.Replace(text)
			}
			switch name {
			case "Count":
				config.PluralCount = args[i+1]
				data[name] = grouped(args[i+1])
			case "N", "All", "Running", "Waiting", "Limit":
				data[name] = grouped(args[i+1])
			case "Max":
				if config.PluralCount != nil { // of what is counted
					data[name] = grouped(args[i+1])
				}
			case "User":
				if who, ok := args[i+1].(string); ok {
					data[name] = p.Who(turning.Replace(who))
				}
			}
		}
		config.TemplateData = data
	}
	s, err := p.localizer.Localize(config)
	if err != nil {
		return "!" + key + "!"
	}
	return s
}

// grouped is a value with separators, if it is a whole number.
func grouped(value any) any {
	if n, err := strconv.ParseInt(fmt.Sprint(value), 10, 64); err == nil {
		return Number(n)
	}
	return value
}

// Number groups the digits of n: 12,345. All languages of the console write it so.
func Number(n int64) string {
	if n < 0 {
		return "−" + Number(-n)
	}
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
