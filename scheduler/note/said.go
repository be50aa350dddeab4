package note

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// saying is a sentence that stands in messages in English and is shown in the reader's language.
type saying struct {
	key      string
	match    *regexp.Regexp
	verbatim bool // what it quotes is never a sentence itself
}

// executorSentences are what executors say, ours and upstream's in the same words (spec §3.9).
var executorSentences = []Sentence{
	{Key: "said.nohandler", Format: "job handler [%s] not found."},
	{Key: "said.exit.because", Format: "script exit value(%s) is failed: %s"},
	{Key: "said.exit", Format: "script exit value(%s) is failed"},
	{Key: "said.discardlater", Format: "block strategy effect：Discard Later"},
	{Key: "said.covered.running", Format: "block strategy effect：Cover Early [job running, killed]"},
	{Key: "said.covered.waiting", Format: "block strategy effect：Cover Early [job not executed, in the job queue, killed.]"},
	{Key: "said.timeout", Format: "job execute timeout"},
}

// callSentences are what Go says of calls that failed, after the step of the call (wire.Stage) that did.
var callSentences = []Sentence{
	{Key: "said.call.refused", Format: "dial: dial tcp %s: connect: connection refused"},
	{Key: "said.call.unreachable", Format: "dial: dial tcp %s: connect: no route to host"},
	{Key: "said.call.timeout", Format: "dial: dial tcp %s: i/o timeout"},
	{Key: "said.call.host", Format: "dial: dial tcp: lookup %s: no such host"},
	{Key: "said.call.certificate", Format: "dial: tls: failed to verify certificate: %s"},
	{Key: "said.call.late", Format: "answer: context deadline exceeded"},
	{Key: "said.call.broken", Format: "answer: EOF"},
	{Key: "said.call.status", Format: "status: HTTP status %d: %s"},
	{Key: "said.call.protocol", Format: "decode: %s"},
}

var sayings = compile(slices.Concat(Sentences, executorSentences, callSentences))

func compile(sentences []Sentence) []saying {
	list := make([]saying, len(sentences))
	for i, s := range sentences {
		pattern := regexp.QuoteMeta(s.Format)
		for verb, group := range map[string]string{"%s": "(.+)", "%v": "(.+)", "%d": `(-?\d+)`, "%q": `"(.*)"`} {
			pattern = strings.ReplaceAll(pattern, verb, group)
		}
		list[i] = saying{key: s.Key, match: regexp.MustCompile("(?s)^" + pattern + "$")}
	}
	return list
}

// deepest bounds sentences within sentences. Real ones quote each other twice or three times; what an executor reports may be
// a sentence repeated as often as fits.
const deepest = 6

// Said is a text of a message in a language: translated if it is a sentence that we know, and as it is otherwise. What a
// sentence quotes may be one itself.
func Said(p Printer, text string) string { return said(p, text, deepest) }

func said(p Printer, text string, depth int) string {
	trimmed := strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(trimmed, "500 "); ok && depth > 0 { // an executor's refusal, with its code
		if own := said(p, rest, depth-1); own != rest {
			return "500 " + own
		}
		return text
	}
	return say(p, sayings, text, depth, said)
}

// say puts a text that is one of the sentences into a language, and what it quotes with quoted. At depth 0 it stays as it is.
func say(p Printer, list []saying, text string, depth int, quoted func(p Printer, text string, depth int) string) string {
	if depth == 0 {
		return text
	}
	trimmed := strings.TrimSpace(text)
	for _, s := range list {
		groups := s.match.FindStringSubmatch(trimmed)
		if groups == nil {
			continue
		}
		args := make([]any, 0, 2*len(groups))
		for i, words := range groups[1:] {
			if !s.verbatim {
				words = quoted(p, words, depth-1)
			}
			args = append(args, "V"+strconv.Itoa(i+1), words)
		}
		return p.T(s.key, args...)
	}
	return text
}
