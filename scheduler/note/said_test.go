package note

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/locales"
)

func TestEverySentenceIsSaidInTheReadersLanguage(t *testing.T) {
	t.Parallel()
	everySentence(t, slices.Concat(Sentences, executorSentences, callSentences), Said)
}

// everySentence tests that sentences are put into every language, with all that they quote.
func everySentence(t *testing.T, sentences []Sentence, said func(Printer, string) string) {
	t.Helper()
	verbs := regexp.MustCompile(`%[sdvq]`)
	c := locales.New()
	for _, s := range sentences {
		n := 0
		text := verbs.ReplaceAllStringFunc(s.Format, func(verb string) string {
			n++
			if verb == "%q" {
				return fmt.Sprintf("%q", fmt.Sprint(900+n))
			}
			return fmt.Sprint(900 + n)
		})
		for _, lang := range locales.Languages() {
			got := said(c.Printer(lang), text)
			if lang == locales.Chinese && got == text || strings.Contains(got, "no value") || strings.Contains(got, "{{") {
				t.Errorf("%s: %q is shown as %q", lang, text, got)
			}
			for i := 1; i <= n; i++ {
				if !strings.Contains(got, fmt.Sprint(900+i)) {
					t.Errorf("%s: %q lost %d in %q", lang, text, 900+i, got)
				}
			}
			// It must be taken for itself and not for another sentence that begins alike.
			if want := c.Printer(lang).T(s.Key, "V1", "901", "V2", "902", "V3", "903"); got != want {
				t.Errorf("%s: %q is taken for another sentence: %q, want %q", lang, text, got, want)
			}
		}
	}
}

func TestSaidTranslatesWhatASentenceQuotesAndLeavesOthersWordsAlone(t *testing.T) {
	t.Parallel()
	p := locales.New().Printer(locales.Chinese)
	for text, want := range map[string]string{
		"result lost: nobody listens at executor http://10.0.0.1:9999/ any more":  "任务结果丢失：执行器 http://10.0.0.1:9999/ 已无法连接",
		"discarded: 2 of the job's runs are running, and it may have 2 at a time": "已丢弃：该任务有 2 次运行正在执行，最多允许同时 2 次",
		"500 job handler [pay] not found.":                                        "500 执行器没有名为“pay”的 JobHandler",
		"job execute timeout ":                                                    "执行时间超过了任务的超时时间",
		"not sent: dial: dial tcp 10.0.0.1:9999: connect: connection refused":     "未发送：10.0.0.1:9999 拒绝连接",
		"200 Success":   "200 Success",
		"paid 5 orders": "paid 5 orders",
		"":              "",
	} {
		if got := Said(p, text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
