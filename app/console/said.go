package console

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler"
)

// saying is a sentence that stands in messages in English and is shown in the reader's language.
type saying struct {
	key   string
	match *regexp.Regexp
}

// executorSentences are what executors say, ours and upstream's in the same words (spec §3.9).
var executorSentences = []scheduler.Sentence{
	{Key: "said.nohandler", Format: "job handler [%s] not found."},
	{Key: "said.exit.because", Format: "script exit value(%s) is failed: %s"},
	{Key: "said.exit", Format: "script exit value(%s) is failed"},
	{Key: "said.discardlater", Format: "block strategy effect：Discard Later"},
	{Key: "said.covered.running", Format: "block strategy effect：Cover Early [job running, killed]"},
	{Key: "said.covered.waiting", Format: "block strategy effect：Cover Early [job not executed, in the job queue, killed.]"},
	{Key: "said.timeout", Format: "job execute timeout"},
}

var sayings = func() []saying {
	var list []saying
	for _, s := range append(executorSentences, scheduler.Sentences...) {
		pattern := regexp.QuoteMeta(s.Format)
		for verb, group := range map[string]string{"%s": "(.+)", "%v": "(.+)", "%d": `(\d+)`, "%q": `"(.*)"`} {
			pattern = strings.ReplaceAll(pattern, verb, group)
		}
		list = append(list, saying{s.Key, regexp.MustCompile("(?s)^" + pattern + "$")})
	}
	return list
}()

// said is a text of a message in a language: translated if it is a sentence that we know, and as it is otherwise. What a
// sentence quotes may be one itself.
func said(p *locales.Printer, text string) string {
	trimmed := strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(trimmed, "500 "); ok { // an executor's refusal, with its code
		if own := said(p, rest); own != rest {
			return "500 " + own
		}
		return text
	}
	for _, s := range sayings {
		groups := s.match.FindStringSubmatch(trimmed)
		if groups == nil {
			continue
		}
		args := make([]any, 0, 2*len(groups))
		for i, quoted := range groups[1:] {
			args = append(args, "V"+strconv.Itoa(i+1), said(p, quoted))
		}
		return p.T(s.key, args...)
	}
	return text
}
